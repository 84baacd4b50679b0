package verify

import (
	"context"
	"errors"
	"fmt"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// comparison is a Run.
type comparison struct {
	conf     *Config
	src, dst *side
	state    *state
}

// Run compares the tables, one after the other. A table that cannot be compared has its error in the report; an error is returned
// for what concerns all of them, such as a server that cannot be reached or a context that ended. Progress is kept then.
func Run(ctx context.Context, conf Config) (report *Report, err error) {
	c := &comparison{}
	if c.conf, err = conf.withDefaults(); err != nil {
		return nil, err
	}
	c.src, c.dst = &side{what: "source", conf: conf.Source}, &side{what: "target", conf: conf.Target}
	defer func() { err = errors.Join(err, c.src.close(), c.dst.close()) }()
	from, err := c.src.place(ctx)
	if err != nil {
		return nil, err
	}
	to, err := c.dst.place(ctx)
	if err != nil {
		return nil, err
	}
	if c.state, err = loadState(conf.State, from+" with "+to); err != nil {
		return nil, err
	}
	report = &Report{Equal: true, Tables: []*Table{}}
	whole := true
	for _, p := range c.conf.Tables {
		t, err := c.table(ctx, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("comparing %s: %w", p.Source, context.Cause(ctx))
		}
		if err != nil {
			t.Error, t.Equal, whole = err.Error(), false, false
		}
		report.Tables = append(report.Tables, t)
		report.Equal = report.Equal && t.Equal
	}
	if whole {
		return report, c.state.remove()
	}
	return report, nil
}

// table compares a pair of tables.
func (c *comparison) table(ctx context.Context, pair Pair) (*Table, error) {
	found := &Table{Source: pair.Source.String(), Target: pair.Target.String()}
	t, err := c.open(ctx, pair)
	if err != nil {
		return found, err
	}
	p := c.state.Tables[found.Source]
	if p == nil || p.Compared != t.compared {
		p = &progress{Compared: t.compared, Found: found}
		c.state.Tables[found.Source] = p
	}
	found = p.Found
	if p.Done {
		return found, nil
	}
	found.Notes = append([]string(nil), t.pairing.notes...)
	t.progress, t.found = p, found
	if t.inLine {
		found.Method = "chunks of the key"
		err = t.compareChunks(ctx)
	} else {
		found.Method = "buckets of row hashes"
		err = t.compareBuckets(ctx)
	}
	if err != nil {
		return found, errors.Join(err, c.state.save())
	}
	found.Equal = found.Differences == 0 && found.Unsettled == 0
	p.Done, p.Pending, p.SourceSums, p.TargetSums = true, nil, nil, nil
	return found, c.state.save()
}

// tables is a pair of tables that is being compared.
type tables struct {
	conf     *Config
	state    *state
	pairing  *pairing
	compared string
	src, dst *table
	inLine   bool // the keys have the same order
	progress *progress
	found    *Table
}

// open describes both tables and pairs their columns up.
func (c *comparison) open(ctx context.Context, pair Pair) (*tables, error) {
	src, err := c.reader(ctx, c.src, pair.Source.Schema, pair.Source.Object, nil)
	if err != nil {
		return nil, err
	}
	dst, err := c.reader(ctx, c.dst, pair.Target.Schema, pair.Target.Object, nil)
	if err != nil {
		return nil, err
	}
	p, err := pairUp(src.Schema(), dst.Schema(), src.ChunkKey(), c.conf)
	if err != nil {
		return nil, err
	}
	t := &tables{conf: c.conf, state: c.state, pairing: p, inLine: dst.Follows(src)}
	t.compared = fmt.Sprintf("%s with %s: %s %t", pair.Source, pair.Target, p, t.inLine)
	if t.src, err = c.narrow(ctx, c.src, pair.Source.Schema, pair.Source.Object, p, false); err != nil {
		return nil, err
	}
	t.dst, err = c.narrow(ctx, c.dst, pair.Target.Schema, pair.Target.Object, p, true)
	return t, err
}

func (c *comparison) reader(ctx context.Context, s *side, schema, name string, columns []string) (r *snapshot.Reader, err error) {
	err = s.do(ctx, func(conn *session.Conn) (err error) {
		r, err = snapshot.OpenTable(ctx, conn, schema, name, columns, snapshot.Options{})
		return err
	})
	return r, err
}

// narrow opens a table anew for the columns that are compared.
func (c *comparison) narrow(ctx context.Context, s *side, schema, name string, p *pairing, target bool) (*table, error) {
	columns := p.names(func(c column) string {
		if target {
			return c.target
		}
		return c.name
	})
	r, err := c.reader(ctx, s, schema, name, columns)
	if err != nil {
		return nil, err
	}
	e, err := newEncoder(schema+"."+name, p, r.Schema(), target)
	if err != nil {
		return nil, err
	}
	return &table{side: s, reader: r, encoder: e, pause: c.conf.Pause, limits: snapshot.Limits{Rows: min(c.conf.Chunk, 5000), Bytes: pageBytes}}, nil
}

// list adds a row to those that are shown, as long as there is room.
func (t *tables) list(to *Table, d Difference) {
	if len(t.found.Rows)+len(to.Rows) < t.conf.List {
		to.Rows = append(to.Rows, d)
	}
}

// add takes over what was found out at once, so that what is stored never counts a row twice.
func (t *tables) add(more *Table) {
	t.found.Differences += more.Differences
	t.found.Unsettled += more.Unsettled
	t.found.Rows = append(t.found.Rows, more.Rows...)
	t.found.Notes = append(t.found.Notes, more.Notes...)
}

// most is how many rows of a table may differ before the rest of it is not read.
const most = 100_000

func (t *tables) full() bool { return t.found.Differences >= most }
