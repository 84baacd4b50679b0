package capture

import (
	"container/heap"
	"context"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// mergeBytes bounds the pages that a merge holds, all tables together.
const mergeBytes = 64 << 20

// merge puts the changes of all tables into commit order (ordering global). It works on one window at a time: every table
// that has changes in it is read up to the same watermark, and their pages are merged by commit LSN, command and sequence.
type merge struct {
	flow    *Flow
	lane    *lane
	windows chan window
	free    chan struct{} // holds a token while no window is worked on
}

type window struct {
	high    catalog.Transaction
	workers []*worker
}

func newMerge(f *Flow) *merge {
	m := &merge{flow: f, lane: newLane(f.cfg.MaxInFlight), windows: make(chan window), free: make(chan struct{}, 1)}
	m.free <- struct{}{}
	return m
}

// busy says that a window is worked on.
func (m *merge) busy() bool { return len(m.free) == 0 }

// window gives the merge its next window. Tables whose start is not known yet are left for a later one.
func (m *merge) window(ctx context.Context, high catalog.Transaction, workers []*worker) {
	m.flow.mu.Lock()
	ready := workers[:0]
	for _, w := range workers {
		if _, ok := w.table.earliest(); ok && !w.lane.stop {
			ready = append(ready, w)
		}
	}
	m.flow.mu.Unlock()
	if len(ready) == 0 {
		return
	}
	select {
	case <-m.free:
	case <-ctx.Done():
		return
	}
	select {
	case m.windows <- window{high, ready}:
	case <-ctx.Done():
	}
}

func (m *merge) run(ctx context.Context) error {
	for {
		select {
		case w := <-m.windows:
			if err := m.work(ctx, w); err != nil {
				return err
			}
			m.free <- struct{}{}
		case <-ctx.Done():
			return nil
		}
	}
}

// work merges one window.
func (m *merge) work(ctx context.Context, win window) error {
	f := m.flow
	f.mu.Lock()
	for _, w := range win.workers {
		w.aim(win.high.LSN)
	}
	f.mu.Unlock()
	var h heads
	defer func() {
		for _, c := range h {
			c.page.Release()
		}
	}()
	for _, w := range win.workers {
		c := &cursor{worker: w}
		if more, err := c.next(ctx); err != nil {
			return err
		} else if more {
			h = append(h, c)
		}
	}
	heap.Init(&h)
	out := &batchBuilder{merge: m}
	defer out.discard()
	for len(h) > 0 {
		c := h[0]
		if err := out.add(ctx, c); err != nil {
			return err
		}
		c.row++
		if c.row < c.page.Rows {
			heap.Fix(&h, 0)
			continue
		}
		c.page.Release()
		more, err := c.next(ctx)
		if err != nil {
			heap.Pop(&h) // its page is released
			return err
		}
		if more {
			heap.Fix(&h, 0)
		} else {
			heap.Pop(&h)
		}
	}
	if err := out.flush(ctx); err != nil {
		return err
	}
	done := map[string]checkpoint.Position{}
	f.mu.Lock()
	for _, w := range f.workers {
		if w.pos.Done && w.pos.LSN == win.high.LSN {
			done[w.table.key()] = w.pos
		}
	}
	f.mu.Unlock()
	f.reached(m.lane, done)
	return nil
}

// cursor is a table's place in a merge.
type cursor struct {
	worker *worker
	page   *changetable.Page
	layout *Layout
	row    int
}

// next waits for the table's next page. more is false at the end of the window, and when the table is gone.
func (c *cursor) next(ctx context.Context) (more bool, err error) {
	var h handed
	select {
	case h = <-c.worker.pages:
	case <-c.worker.gone:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	c.page, c.layout, c.row = h.page, h.layout, 0
	return c.page != nil, nil
}

// heads are the tables of a merge by their next change.
type heads []*cursor

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool {
	a, b := h[i], h[j]
	if c := a.page.LSN(a.row).Compare(b.page.LSN(b.row)); c != 0 {
		return c < 0
	}
	if x, y := a.page.CommandID(a.row), b.page.CommandID(b.row); x != y {
		return x < y
	}
	if c := a.page.SeqVal(a.row).Compare(b.page.SeqVal(b.row)); c != 0 {
		return c < 0
	}
	if x, y := a.page.Operation(a.row), b.page.Operation(b.row); x != y {
		return x < y
	}
	return a.worker.table.key() < b.worker.table.key()
}

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)   { *h = append(*h, x.(*cursor)) } //nolint:forcetypeassert // heap of cursors
func (h *heads) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}
