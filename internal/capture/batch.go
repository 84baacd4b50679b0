package capture

import (
	"sync"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
)

// Run is a stretch of rows of one page: rows From to To-1 of Page, changes of Table.
type Run struct {
	Table    *Table
	Page     *changetable.Page
	From, To int
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

	lane  *lane
	acked bool
	ack   func(error)
}

// Ack resolves the batch: nil for delivered, an error for refused. Calls after the first, for the same delivery, do nothing.
// It never blocks, and may be called from any goroutine, also after the Flow is closed.
func (b *Batch) Ack(err error) { b.ack(err) }

// release gives the pages back to their reader.
func (b *Batch) release() {
	for _, r := range b.Runs {
		r.Page.Release()
	}
}

// delivery makes the Ack of one delivery of b.
func delivery(b *Batch, resolve func(*Batch, error)) func(error) {
	var once sync.Once
	return func(err error) { once.Do(func() { resolve(b, err) }) }
}
