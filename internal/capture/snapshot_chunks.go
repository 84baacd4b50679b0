package capture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// chunk is a stretch of the table's key that one goroutine reads.
type chunk struct {
	after, upto snapshot.Key
	pages       chan *snapshot.Page
	whole       bool // every page was sent; set before pages is closed
}

// discard gives back what is not given out.
func (c *chunk) discard() {
	for p := range c.pages {
		p.Release()
	}
}

// chunks reads a table by its key.
func (t *tableSnapshot) chunks(ctx context.Context) error {
	f := t.worker.flow
	after, err := snapshot.ParseKey(t.pos.Snapshot.After)
	if err != nil {
		return fmt.Errorf("going on with the snapshot of %s: %w", t.worker.table.key(), err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parallel := max(1, f.cfg.MaxConnections/max(1, f.cfg.Snapshots.Tables))
	group, ctx := errgroup.WithContext(ctx)
	ordered := make(chan *chunk, parallel)
	slots := make(chan struct{}, parallel)
	group.Go(func() error {
		defer close(ordered)
		return t.cut(ctx, group, after, slots, ordered)
	})
	delivered := t.deliver(ctx, ordered)
	cancel()
	if t.left != nil {
		t.left.discard()
	}
	for c := range ordered {
		c.discard()
	}
	err = group.Wait()
	if delivered != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = delivered
	}
	return err
}

// cut asks the server for the bounds of chunks, one after the other, and starts to read each.
func (t *tableSnapshot) cut(ctx context.Context, group *errgroup.Group, after snapshot.Key, slots chan struct{}, ordered chan<- *chunk) error {
	w := t.worker
	bounds, err := t.reader.Clone(nil)
	if err != nil {
		return err
	}
	for last := false; !last; {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		c := &chunk{after: after, pages: make(chan *snapshot.Page, 1)}
		err := w.borrow(ctx, func(conn *session.Conn) (err error) {
			bounds.Use(conn)
			c.upto, last, err = bounds.Bound(ctx, after, w.flow.cfg.Snapshots.ChunkRows, t.pos.LSN)
			return err
		})
		if err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.ChunkCut)
		after = c.upto
		select {
		case ordered <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
		group.Go(func() error {
			defer func() { close(c.pages); <-slots }()
			return t.readChunk(ctx, c)
		})
	}
	return nil
}

// readChunk reads the pages of a chunk, each on a connection that it borrows for it.
func (t *tableSnapshot) readChunk(ctx context.Context, c *chunk) error {
	w, f := t.worker, t.worker.flow
	if c.upto.IsZero() {
		c.whole = true // the table is empty behind after
		return nil
	}
	reader, err := t.reader.Clone(nil)
	if err != nil {
		return err
	}
	for after := c.after; ; {
		var page *snapshot.Page
		err := w.borrow(ctx, func(conn *session.Conn) (err error) {
			reader.Use(conn)
			began := time.Now()
			page, err = reader.Read(ctx, after, c.upto, t.pos.LSN, snapshot.Limits{Rows: f.cfg.MaxRows, Bytes: f.cfg.MaxBytes})
			if err == nil {
				f.cfg.Observer.Read(w.table.key(), page.Rows, int64(page.Bytes), time.Since(began))
			}
			return err
		})
		if err != nil {
			return err
		}
		after = page.Next
		done := page.Done
		select {
		case c.pages <- page:
		case <-ctx.Done():
			page.Release()
			return ctx.Err()
		}
		if done {
			crashpoint.Hit(crashpoint.ChunkRead)
			c.whole = true
			return nil
		}
	}
}

// deliver gives the pages out in the order of the chunks. After an error nobody reads on: ctx has to end then.
func (t *tableSnapshot) deliver(ctx context.Context, ordered <-chan *chunk) error {
	for c := range ordered {
		for page := range c.pages {
			if err := t.give(ctx, page); err != nil {
				t.left = c
				return err
			}
		}
		// A chunk that ended early must stop everything: a later one would leave a hole behind it.
		if !c.whole {
			return errHole
		}
	}
	return nil
}

// errHole goes with the error that ended a chunk early.
var errHole = errors.New("a chunk was not read to its end")
