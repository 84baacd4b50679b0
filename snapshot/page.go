package snapshot

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Page is a stretch of rows of the table, in the order of its key if it has one.
// Whoever read it releases it once; Retain adds a user.
type Page struct {
	// Record has the columns of the reader's Schema. It is nil when Rows is 0.
	Record arrow.RecordBatch
	Rows   int
	Bytes  int // of the values, about
	// Next is the key of the last row, to go on after. It is that of the call
	// when there is no row.
	Next Key
	// Done tells that there is nothing between Next and the end of what was asked
	// for.
	Done bool
	// ReadAt is when the page was read, by the server's clock.
	ReadAt time.Time
}

// Retain adds a user of the page.
func (p *Page) Retain() {
	if p.Record != nil {
		p.Record.Retain()
	}
}

// Release gives the page back. Its record must not be used afterwards.
func (p *Page) Release() {
	if p.Record != nil {
		p.Record.Release()
	}
}
