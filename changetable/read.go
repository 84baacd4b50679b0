package changetable

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

// rereads is how often a read that lost its page under NOLOCK (error 601) is
// made again before it is an error.
const rereads = 3

// firstRows bounds the first page, before the size of a row is known.
const firstRows = 256

// Read reads the changes after from, up to and including high, as far as the
// limits allow. high must not be above the watermark of the database.
//
// The errors that a caller tells apart are BehindError, GapError,
// InstanceGoneError, PermissionError and ValueError. After any error the same
// read can be made again.
func (r *Reader) Read(ctx context.Context, from checkpoint.Position, high checkpoint.LSN, limits Limits) (*Page, error) {
	if err := r.checkFrom(from, high); err != nil {
		return nil, err
	}
	most := limits.Rows
	limits = limits.withDefaults()
	for attempt := 0; ; attempt++ {
		page, err := r.read(ctx, from, high, limits, most)
		if err == nil {
			return page, nil
		}
		r.builder.Discard()
		switch {
		case session.HasNumber(err, 601) && attempt < rereads:
		case session.HasNumber(err, 3952) && r.opts.Isolation == Snapshot:
			r.opts.Isolation = NoLock // ALLOW_SNAPSHOT_ISOLATION was turned off
		default:
			return nil, err
		}
	}
}

func (r *Reader) checkFrom(from checkpoint.Position, high checkpoint.LSN) error {
	switch {
	case from.Instance != "" && from.Instance != r.inst.Capture && !from.Done:
		// Between transactions one instance can go on where another ended.
		return fmt.Errorf("reading changes of %s: a position inside of a transaction of capture instance %s was given to a reader of %s", r.plan.table, from.Instance, r.inst.Capture)
	case from.IsZero():
		return fmt.Errorf("reading changes of %s: there is no position to read from", r.plan.table)
	case from.LSN.Compare(high) > 0:
		return fmt.Errorf("reading changes of %s: the position at LSN %s is above the watermark %s", r.plan.table, from.LSN, high)
	case r.plan.whole && !from.Done:
		return fmt.Errorf("reading changes of %s: the position is inside of a transaction, which change table %s does not allow", r.plan.table, r.plan.object)
	}
	return nil
}

// read reads one page. Two rows are asked for at least, as an update has; where most is 1, a change of one row is given alone.
func (r *Reader) read(ctx context.Context, from checkpoint.Position, high checkpoint.LSN, limits Limits, most int) (*Page, error) {
	r.keys = r.keys[:0]
	n := r.rowLimit(limits)
	full, err := r.fill(ctx, r.plan.page(from, high, n, r.opts.Isolation), high, n, limits.Bytes)
	if err != nil {
		return nil, err
	}
	if most == 1 && len(r.keys) > 1 && r.keys[0].op != Before && !r.plan.whole {
		r.truncate(1)
		full = true
	}
	page := &Page{From: from, AtHigh: !full, columns: r.plan.columns, whole: r.plan.whole}
	if full {
		if page.ended, err = r.cut(ctx, high); err != nil {
			return nil, err
		}
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	if err := r.finish(ctx, page, high); err != nil {
		return nil, err
	}
	return page, nil
}

// rowLimit is how many rows to ask for, so that the server does not read many
// more than the page can hold.
func (r *Reader) rowLimit(limits Limits) int {
	if r.rowSize == 0 {
		return min(limits.Rows, firstRows)
	}
	return max(minRows, min(limits.Rows, limits.Bytes/r.rowSize+1))
}

// cut ends a full page where it may end. It tells whether that is the end of a
// transaction.
func (r *Reader) cut(ctx context.Context, high checkpoint.LSN) (whole bool, err error) {
	last := r.keys[len(r.keys)-1]
	if !r.plan.whole && !last.noCommand {
		if last.op == Before {
			r.truncate(len(r.keys) - 1)
		}
		return false, nil
	}
	// The transaction cannot be split: give back its part, or, if there is
	// nothing else, read all of it.
	if at := slices.IndexFunc(r.keys, func(k rowKey) bool { return k.lsn == last.lsn }); at > 0 {
		r.truncate(at)
		return true, nil
	}
	r.truncate(0)
	_, err = r.fill(ctx, r.plan.transaction(last.lsn, high, r.opts.Isolation), high, 0, 0)
	return true, err
}

func (r *Reader) truncate(n int) {
	r.builder.Truncate(n)
	r.keys = r.keys[:n]
}

// settle reads suspect texts again, exactly.
func (r *Reader) settle(ctx context.Context) error {
	for _, cell := range r.builder.Suspects() {
		k := r.keys[cell.Row]
		var units []byte
		err := r.query(ctx, r.plan.exact(cell.Column, k, r.opts.Isolation), func(row []driver.Value) error {
			b, ok := row[0].([]byte)
			if !ok {
				return fmt.Errorf("reading the exact text of column %s: the driver gave a %T", r.plan.result[cell.Column].Name, row[0])
			}
			units = append([]byte{}, b...)
			return nil
		})
		if err != nil {
			return err
		}
		if err := r.builder.Settle(cell, units); err != nil {
			return &ValueError{Table: r.plan.table, Position: k.position(r.inst.Capture), Err: err}
		}
	}
	return nil
}

// finish checks that the page is still one without a hole, and completes it.
func (r *Reader) finish(ctx context.Context, page *Page, high checkpoint.LSN) error {
	page.Rows, page.Bytes = r.builder.Len(), r.builder.Bytes()
	page.Next = checkpoint.Position{Instance: r.inst.Capture, LSN: high, Done: true}
	first, last := high, high
	if page.Rows > 0 {
		end := r.keys[page.Rows-1]
		first, last = r.keys[0].lsn, end.lsn
		switch {
		case page.AtHigh:
		case page.ended:
			page.Next.LSN = end.lsn
		default:
			page.Next = end.position(r.inst.Capture)
		}
	}
	s := request.Statement{Text: sqlAfterPage, Decl: declAfterPage, Args: []driver.Value{r.inst.Capture, first[:], last[:], page.Next.LSN[:]}}
	found := false
	var start checkpoint.LSN
	err := r.query(ctx, s, func(row []driver.Value) (err error) {
		found = true
		start, err = request.LSN(row[0])
		return err
	}, func(row []driver.Value) error {
		c, err := commitOf(row, r.opts.Location)
		page.Commits = append(page.Commits, c)
		return err
	}, func(row []driver.Value) error {
		c, err := commitOf(row, r.opts.Location)
		page.Next.Proof = c.Proof()
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return &InstanceGoneError{Table: r.plan.table, Instance: r.inst.Capture}
	case start.Compare(low(page.From)) > 0:
		return &GapError{Table: r.plan.table, Instance: r.inst.Capture, Position: page.From.LSN, Start: start}
	}
	if page.Rows == 0 {
		return nil
	}
	r.rowSize = max(1, page.Bytes/page.Rows)
	if page.Record, err = r.builder.Finish(); err != nil {
		return r.explain(err)
	}
	return nil
}

func (r *Reader) explain(err error) error {
	return explain(err, r.plan.table, r.inst.Capture, r.plan.object)
}

// low is the lowest LSN of which changes are wanted after a position.
func low(p checkpoint.Position) checkpoint.LSN {
	if p.Done {
		return p.LSN.Next()
	}
	return p.LSN
}
