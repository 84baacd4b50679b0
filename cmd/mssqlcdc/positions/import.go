package positions

import (
	"context"
	"errors"
	"fmt"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// foreign is the progress of another reader: one transaction of the database, for all of its tables.
type foreign struct {
	reader string // and where it keeps its progress
	lsn    checkpoint.LSN
}

// position begins with the transaction that the other reader was in. Whether it had finished that transaction in every table
// is not sure in any of the three forms, so the transaction comes again, as a whole.
func (f foreign) position() checkpoint.Position {
	return checkpoint.Position{LSN: below(f.lsn), Done: true}
}

// repeats says which changes come a second time.
func (f foreign) repeats(committed string) string {
	if committed != "" {
		committed = ", committed " + committed + ","
	}
	return fmt.Sprintf("From %s. The changes of transaction %s%s may come again, in every table above; nothing before it comes, and nothing from it on is skipped.",
		f.reader, f.lsn, committed)
}

// importPositions takes the progress of another reader over. What it read from is left as it is.
func importPositions(ctx context.Context, c *call) (err error) {
	p, inputs, err := c.choose(false)
	if err != nil {
		return err
	}
	in := inputs[0]
	names, err := c.named()
	if err != nil {
		return err
	}
	var f foreign
	switch from := c.String("from"); from {
	case "connect-table":
		f, err = readConnectTable(ctx, c, in)
	case "connect-cache":
		f, err = readConnectCache(ctx, c, p)
	case "debezium":
		f, err = readDebezium(c)
	default:
		err = fmt.Errorf("--from: %q is none of connect-table, connect-cache, debezium", from)
	}
	if err != nil {
		return err
	}
	src, srcErr := openSource(ctx, in)
	defer func() { err = errors.Join(err, src.close()) }()
	if srcErr != nil && (len(names) == 0 || !c.Bool("unchecked")) {
		return fmt.Errorf("asking the source which tables there are: %w (with names of tables and --unchecked it is not asked)", srcErr)
	}
	out := &changes{Repeats: f.repeats("")}
	if srcErr != nil {
		for _, table := range names {
			pos := f.position()
			out.Changes = append(out.Changes, change{Table: table, After: &pos, Note: "not checked"})
		}
	} else if out, err = src.adopt(ctx, f, names, c.Bool("unchecked")); err != nil {
		return err
	}
	return c.change(ctx, p, in, true, func(stored map[string]checkpoint.Position) (*changes, error) {
		for i := range out.Changes {
			ch := &out.Changes[i]
			if ch.Before = pointer(stored, ch.Table); ch.Before != nil && !c.Bool("overwrite") {
				return nil, fmt.Errorf("table %s has a position already, %s; --overwrite replaces it", ch.Table, place(ch.Before))
			}
		}
		return out, nil
	})
}

// adopt makes positions of the tables of the source, each checked.
func (s *source) adopt(ctx context.Context, f foreign, names []string, unchecked bool) (*changes, error) {
	if len(names) == 0 {
		names = s.names()
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the input reads no table of database %s", s.name)
	}
	at, found, err := catalog.AtOrBelow(ctx, s.conn, f.lsn)
	if err != nil {
		return nil, err
	}
	committed := ""
	switch {
	case found && at.LSN == f.lsn:
		committed = clock(at.End)
	case found && !unchecked:
		return nil, fmt.Errorf("%s has LSN %s, and database %s has no such transaction (its newest is %s): is it the same database? --unchecked imports it all the same", f.reader, f.lsn, s.name, s.high.LSN)
	}
	out := &changes{Repeats: f.repeats(committed), Changes: []change{}}
	for _, table := range names {
		if err := s.known(table); err != nil && !unchecked {
			return nil, err
		}
		pos, note := f.position(), ""
		oldest, started := s.instance(table, checkpoint.LSN{})
		if started && oldest.StartLSN.Compare(f.lsn) > 0 {
			note = fmt.Sprintf("gap: cleanup has left nothing below %s, and the input will say so", oldest.StartLSN)
			// Its instance was made after that transaction: all that it has is new.
			if found && oldest.CreateDate.After(at.End) {
				pos.LSN, note = below(oldest.StartLSN), "enabled later: begins with its first change"
			}
		}
		if pos, err = s.prove(ctx, table, pos); err != nil {
			return nil, err
		}
		if note == "" {
			if note, _, err = s.check(ctx, table, pos); err != nil {
				return nil, err
			}
		}
		out.Changes = append(out.Changes, change{Table: table, After: &pos, Note: note})
	}
	return out, nil
}
