package capture

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
)

// Run is a stretch of rows of one page: rows From to To-1 of Page, changes of Table.
type Run struct {
	Table    *Table
	Layout   *Layout
	Page     *changetable.Page // nil for rows of a snapshot
	Snapshot *SnapshotRun      // nil for changes
	From, To int
}

// release gives the run's page back.
func (r Run) release() {
	switch {
	case r.Snapshot == nil:
		r.Page.Release()
	case r.Snapshot.Page != nil:
		r.Snapshot.Page.Release()
	}
}

// Layout is the shape of the records of one reading of a capture instance. There is one pointer for each, so a plan made
// for it can be kept by it.
type Layout struct {
	Capture  string
	Schema   *arrow.Schema // the captured columns, then the change columns
	Captured int           // how many captured columns there are
	Key      []int         // key columns by their place in Schema, in key order
}

func newLayout(r *changetable.Reader) *Layout {
	return &Layout{Capture: r.Capture(), Schema: r.Schema(), Captured: r.Captured(), Key: r.Key()}
}

// Batch is what a Flow gives out at once. Under ordering table it is one run of one table; under ordering global it holds
// whole transactions of several tables in commit order (a transaction larger than the page limits is cut).
//
// The receiver may read the runs until it calls Ack, and calls Ack exactly once for each time that it got the batch.
type Batch struct {
	Runs []Run
	Rows int
	// Attempt counts how often the batch was given out; 1 is the first time.
	Attempt int

	// positions may be saved for their tables when this batch and all before it are acknowledged.
	positions map[string]checkpoint.Position
	progress  []*progress // of snapshots by signal, when this batch and all before it are acknowledged
	bytes     int64

	lane       *lane
	superseded int  // answers to this attempt and earlier ones do not count
	out        bool // given out and not resolved
	acked      bool
	abandoned  bool // its lane stands still, and what it held was given back
	ack        func(error)
	fail       func(error)
}

// Ack resolves the batch: nil for delivered, an error for refused. Calls after the first, for the same delivery, do nothing.
// It never blocks, and may be called from any goroutine, also after the Flow is closed.
func (b *Batch) Ack(err error) { b.ack(err) }

// Delivery is Ack bound to this delivery: it does nothing any more when the batch is given out again.
func (b *Batch) Delivery() func(error) { return b.ack }

// release gives the pages back to their reader.
func (b *Batch) release() {
	for _, r := range b.Runs {
		r.release()
	}
}

// delivery makes the Ack of one delivery of b.
func delivery(b *Batch, resolve func(*Batch, int, error)) func(error) {
	var once sync.Once
	attempt := b.Attempt
	return func(err error) { once.Do(func() { resolve(b, attempt, err) }) }
}

// Fail resolves the batch as one that can never be given out, such as a value without a form in the message. Its lane stands
// still from then on: the table is parked for good, or the flow ends when it is told to stop.
func (b *Batch) Fail(err error) { b.fail(err) }
