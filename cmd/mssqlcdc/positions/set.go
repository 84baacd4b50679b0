package positions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// target is where set moves tables to.
type target struct {
	earliest, latest bool
	lsn              checkpoint.LSN
	at               time.Time
}

// parseTarget reads --to, in the words of start_from.
func parseTarget(text string) (t target, err error) {
	switch {
	case text == "":
		err = errors.New("say where: earliest, latest, an LSN, or a time")
	case text == "earliest":
		t.earliest = true
	case text == "latest":
		t.latest = true
	case strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X"):
		if t.lsn, err = checkpoint.ParseLSN(text); err == nil && t.lsn.IsZero() {
			err = errors.New("an LSN of zeros means unknown; use earliest")
		}
	default:
		if t.at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			err = fmt.Errorf("%q is none of earliest, latest, 0x and 20 hexadecimal digits, or a time such as 2026-03-01T00:00:00Z", text)
		}
	}
	return t, err
}

// set moves tables to a position.
func set(ctx context.Context, c *call) (err error) {
	to, err := parseTarget(c.String("to"))
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	p, inputs, err := c.choose(false)
	if err != nil {
		return err
	}
	in := inputs[0]
	names, err := c.named()
	switch {
	case err != nil:
		return err
	case c.Bool("all") == (len(names) > 0):
		return errors.New("name the tables to set, or give --all")
	}
	src, srcErr := openSource(ctx, in)
	defer func() { err = errors.Join(err, src.close()) }()
	if srcErr != nil && (to.lsn.IsZero() || c.Bool("all") || ctx.Err() != nil) {
		return fmt.Errorf("asking the source: %w", srcErr)
	}
	if c.Bool("all") {
		names = src.names()
	}
	after := map[string]change{}
	for _, table := range names {
		if srcErr != nil {
			pos := checkpoint.Position{LSN: to.lsn, Done: true}
			after[table] = change{Table: table, After: &pos, Note: "changes after this transaction come; not checked: " + srcErr.Error()}
			continue
		}
		if after[table], err = src.resolve(ctx, table, to, c.Bool("unchecked")); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return c.change(ctx, p, in, false, func(stored map[string]checkpoint.Position) (*changes, error) {
		out := &changes{Changes: []change{}}
		for _, table := range names {
			ch := after[table]
			ch.Before = pointer(stored, table)
			if ch.Before != nil && ch.Before.Snapshot != nil {
				ch.Note += "; its snapshot is given up unfinished"
			} else if ch.Before != nil {
				switch c := ch.After.Compare(*ch.Before); {
				case c > 0:
					ch.Note += "; what is between before and after is skipped"
				case c < 0:
					ch.Note += "; what is between after and before comes again"
				}
			}
			out.Changes = append(out.Changes, ch)
		}
		return out, nil
	})
}

// resolve finds the position of a target for a table, and says what it means.
func (s *source) resolve(ctx context.Context, table string, to target, unchecked bool) (change, error) {
	ch := change{Table: table}
	if err := s.known(table); err != nil && !unchecked {
		return ch, err
	}
	oldest, started := s.instance(table, checkpoint.LSN{})
	if !started && !unchecked {
		return ch, errors.New("the capture job has not handled it yet, so it has no position")
	}
	pos := checkpoint.Position{Done: true}
	switch {
	case to.earliest:
		if !started {
			return ch, errors.New("where its changes begin is not known")
		}
		pos.LSN = below(oldest.StartLSN)
		ch.Note = "every change that cleanup has left comes, from " + oldest.StartLSN.String()
	case to.latest:
		pos.LSN = s.high.LSN
		ch.Note = "changes captured from now on come"
	case !to.lsn.IsZero():
		pos.LSN = to.lsn
		at, found, err := catalog.AtOrBelow(ctx, s.conn, to.lsn)
		switch {
		case err != nil:
			return ch, err
		case found && at.LSN == to.lsn:
			ch.Note = fmt.Sprintf("changes after the transaction of %s come", clock(at.End))
		case !unchecked:
			nearest := "and none is below it"
			if found {
				nearest = fmt.Sprintf("the nearest below is %s, of %s", at.LSN, clock(at.End))
			}
			return ch, fmt.Errorf("no transaction in cdc.lsn_time_mapping has the LSN %s, %s; --unchecked writes it all the same", to.lsn, nearest)
		default:
			ch.Note = "changes above this LSN come; no transaction has it"
		}
	default:
		first, found, err := catalog.FirstAt(ctx, s.conn, to.at, s.loc)
		switch {
		case err != nil:
			return ch, err
		case !found:
			pos.LSN = s.high.LSN
			ch.Note = "nothing was committed since then: changes captured from now on come"
		default:
			pos.LSN = below(first.LSN)
			ch.Note = fmt.Sprintf("changes from the transaction of %s on come", clock(first.End))
			if started && pos.LSN.Compare(below(oldest.StartLSN)) <= 0 {
				pos.LSN = below(oldest.StartLSN)
				ch.Note = "every change that cleanup has left comes, from " + oldest.StartLSN.String()
			}
		}
	}
	if pos.IsZero() {
		return ch, errors.New("the capture job has not recorded a transaction yet, so there is no such position")
	}
	pos, err := s.prove(ctx, table, pos)
	if err != nil {
		return ch, err
	}
	ch.After = &pos
	if note, ok, err := s.check(ctx, table, pos); err != nil {
		return ch, err
	} else if !ok {
		if !unchecked {
			return ch, fmt.Errorf("reading cannot go on from %s: %s; --unchecked writes it all the same", pos.LSN, note)
		}
		ch.Note += "; " + note
	}
	return ch, nil
}
