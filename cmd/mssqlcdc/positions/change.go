package positions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// closeBound is how long giving the positions free may take.
const closeBound = 10 * time.Second

// plan says what is to be written, given what is stored.
type plan func(stored map[string]checkpoint.Position) (*changes, error)

// change takes the positions of an input as a running process does, shows what becomes of them, and writes it once that is
// agreed to. Nobody else can write in between, where the store has a lease or a lock.
func (c *call) change(ctx context.Context, p *document, in *input, ask bool, plan plan) (err error) {
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.store.Takeover = c.Bool("force")
	in.store.OnStandby = func(owner string, remaining time.Duration) {
		cancel(fmt.Errorf("a running process, %s, holds these positions for another %s: stop it, or give --force, and it goes on from what is written", owner, remaining.Round(time.Second)))
	}
	store, done, err := p.open(in)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
		defer cancel()
		err = errors.Join(err, store.Close(closing), done(closing))
	}()
	stored, err := store.Load(held)
	switch {
	case err != nil && held.Err() != nil && ctx.Err() == nil:
		return context.Cause(held)
	case errors.Is(err, checkpoint.ErrFileInUse):
		return fmt.Errorf("%w: stop it first; --force cannot help, because it would write its own positions over yours", err)
	case err != nil:
		return err
	}
	out, err := plan(stored)
	if err != nil {
		return err
	}
	out.Store = in.describe()
	if !c.Bool("json") {
		out.print(c.opts.Out)
	}
	if ask {
		if _, err := c.confirm("Write these positions?"); err != nil {
			if c.Bool("json") {
				err = errors.Join(err, printJSON(c.opts.Out, out))
			}
			return err
		}
	}
	set, gone := map[string]checkpoint.Position{}, []string(nil)
	for _, ch := range out.Changes {
		switch {
		case ch.After != nil:
			set[ch.Table] = *ch.After
		case ch.Before != nil:
			gone = append(gone, ch.Table)
		}
	}
	if err := errors.Join(store.Save(ctx, set), store.Delete(ctx, gone...)); err != nil {
		return err
	}
	out.Written = true
	if c.Bool("json") {
		return printJSON(c.opts.Out, out)
	}
	if in.cache != "" {
		fmt.Fprintln(c.opts.Out, "written; a cache has no lock, so a pipeline that is running writes over it")
		return nil
	}
	fmt.Fprintln(c.opts.Out, "written")
	return nil
}

// named gives the tables of the arguments, as positions are kept by.
func (c *call) named() (out []string, _ error) {
	for _, text := range c.args {
		n, err := catalog.ParseName(text)
		if err != nil {
			return nil, err
		}
		out = append(out, n.String())
	}
	return out, nil
}

// reset forgets positions.
func reset(ctx context.Context, c *call) error {
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
		return errors.New("name the tables whose positions to forget, or give --all")
	}
	return c.change(ctx, p, in, c.Bool("all"), func(stored map[string]checkpoint.Position) (*changes, error) {
		if c.Bool("all") {
			names = tables(stored)
		}
		out := &changes{Changes: []change{}}
		for _, table := range names {
			before := pointer(stored, table)
			if before == nil {
				return nil, fmt.Errorf("table %s has no position; those of %q are stored", table, tables(stored))
			}
			out.Changes = append(out.Changes, change{Table: table, Before: before, Note: in.begin})
		}
		return out, nil
	})
}
