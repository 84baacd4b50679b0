package positions

import (
	"context"
	"errors"
	"fmt"
)

// list shows the stored positions of every input that the flags do not rule out. It takes no lease and writes nothing.
func list(ctx context.Context, c *call) error {
	p, inputs, err := c.choose(true)
	if err != nil {
		return err
	}
	if len(c.args) > 0 {
		return fmt.Errorf("list takes a pipeline and no tables, and was given %q", c.args)
	}
	var out []*listing
	for _, in := range inputs {
		l, err := listOne(ctx, c, p, in)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name(), err)
		}
		out = append(out, l)
	}
	if c.Bool("json") {
		return printJSON(c.opts.Out, out)
	}
	for i, l := range out {
		if i > 0 {
			fmt.Fprintln(c.opts.Out)
		}
		l.print(c.opts.Out)
	}
	return nil
}

func listOne(ctx context.Context, c *call, p *document, in *input) (_ *listing, err error) {
	store, done, err := p.open(in)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, store.Close(context.WithoutCancel(ctx)), done(context.WithoutCancel(ctx)))
	}()
	positions, holder, err := store.Peek(ctx)
	if err != nil {
		return nil, err
	}
	l := &listing{Input: in.name(), Store: in.describe(), Holder: holder, Positions: []tablePosition{}}
	for _, table := range tables(positions) {
		l.Positions = append(l.Positions, tablePosition{Table: table, Position: pointer(positions, table)})
	}
	if c.Bool("offline") {
		l.Source = "not asked"
		return l, nil
	}
	src, err := openSource(ctx, in)
	if err != nil {
		l.Source = "not asked: " + err.Error()
		return l, nil
	}
	defer func() { err = errors.Join(err, src.close()) }()
	l.Source = fmt.Sprintf("database %s, newest captured change %s, %s", src.name, src.high.LSN, clock(src.high.End))
	for i := range l.Positions {
		t := &l.Positions[i]
		note, ok, err := src.check(ctx, t.Table, *t.Position)
		if err != nil {
			return nil, err
		}
		t.Note, t.OK = note, &ok
	}
	for _, table := range src.names() {
		if _, ok := positions[table]; !ok {
			l.Positions = append(l.Positions, tablePosition{Table: table, Note: "no position: " + in.begin})
		}
	}
	return l, nil
}
