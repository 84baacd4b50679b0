package changetable

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
)

// Operations as __$operation has them.
const (
	Delete = 1
	Insert = 2
	Before = 3 // old row of an update
	After  = 4 // new row of an update
)

// Page is a stretch of changes of one instance, in the order of the change
// table. Whoever read it releases it once; Retain adds a user.
type Page struct {
	// Record has the columns of the reader's Schema. It is nil when Rows is 0.
	Record arrow.RecordBatch
	Rows   int
	Bytes  int // of the values, about
	// From is the position that was read after, Next the one to go on from. Next
	// is never between the two rows of an update.
	From, Next checkpoint.Position
	// AtHigh tells that there is nothing between the page and the watermark; Next
	// is then all of the watermark.
	AtHigh bool
	// Commits are the transactions of the page and those of other tables between
	// them, by LSN.
	Commits []Commit

	columns []catalog.Column // the captured columns
	whole   bool             // there is no position inside a transaction
	ended   bool             // the page ends at the end of a transaction
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

// LSN is the commit LSN of a row.
func (p *Page) LSN(row int) (l checkpoint.LSN) {
	copy(l[:], p.binary(0).Value(row))
	return l
}

// SeqVal is the place of a row's change in the log.
func (p *Page) SeqVal(row int) (l checkpoint.LSN) {
	copy(l[:], p.binary(2).Value(row))
	return l
}

// CommandID is the number of a row's command in its transaction. It is 0 where
// the change table has none.
func (p *Page) CommandID(row int) int32 { return p.int32(1).Value(row) }

// Operation is Delete, Insert, Before or After.
func (p *Page) Operation(row int) int32 { return p.int32(3).Value(row) }

// UpdateMask is the mask of changed columns as the server has it; it belongs to
// the record.
func (p *Page) UpdateMask(row int) []byte { return p.binary(4).Value(row) }

func (p *Page) binary(change int) *array.Binary {
	return p.Record.Column(len(p.columns) + change).(*array.Binary) //nolint:forcetypeassert // the plan's own columns
}

func (p *Page) int32(change int) *array.Int32 {
	return p.Record.Column(len(p.columns) + change).(*array.Int32) //nolint:forcetypeassert // the plan's own columns
}

// Position is the position to store when everything up to and including a row is
// done. At the first row of an update it is the position before the update: the
// two rows stay together.
func (p *Page) Position(row int) checkpoint.Position {
	if p.Operation(row) == Before {
		if row == 0 {
			return p.From
		}
		return p.Position(row - 1)
	}
	last := row == p.Rows-1
	if last && p.AtHigh {
		return p.Next
	}
	pos := checkpoint.Position{Instance: p.Next.Instance, LSN: p.LSN(row), Proof: p.Commit(row).Proof()}
	if last && p.ended || !last && p.LSN(row+1) != pos.LSN {
		pos.Done = true
		return pos
	}
	if p.whole || p.int32(1).IsNull(row) {
		// Inside a transaction that cannot be split there is no position; what is
		// done is everything before it.
		return p.beforeTransaction(row)
	}
	pos.CommandID, pos.SeqVal, pos.Operation = p.CommandID(row), p.SeqVal(row), p.Operation(row)
	return pos
}

func (p *Page) beforeTransaction(row int) checkpoint.Position {
	lsn := p.LSN(row)
	for row >= 0 && p.LSN(row) == lsn {
		row--
	}
	if row < 0 {
		return p.From
	}
	return p.Position(row)
}

// Commit is the transaction of a row. Only its LSN is set if the server does not
// list it any more.
func (p *Page) Commit(row int) Commit {
	lsn := p.LSN(row)
	i, found := slices.BinarySearchFunc(p.Commits, lsn, func(c Commit, l checkpoint.LSN) int { return c.LSN.Compare(l) })
	if !found {
		return Commit{LSN: lsn}
	}
	return p.Commits[i]
}

// Changed tells whether a captured column is in the update mask of a row.
func (p *Page) Changed(row, column int) bool {
	return maskHas(p.UpdateMask(row), p.columns[column].Ordinal)
}

// NotLogged tells whether a NULL of a captured column means that the server did
// not log the value: the column is a LOB that the update left alone, or text,
// ntext or image in an old row.
func (p *Page) NotLogged(row, column int) bool {
	c := &p.columns[column]
	if !c.LOB || !p.Record.Column(column).IsNull(row) {
		return false
	}
	switch p.Operation(row) {
	case Delete:
		return c.Legacy
	case Before:
		return c.Legacy || !p.Changed(row, column)
	case After:
		return !p.Changed(row, column)
	}
	return false
}

// HasLOB tells whether NotLogged can be true for any column.
func (p *Page) HasLOB() bool {
	return slices.ContainsFunc(p.columns, func(c catalog.Column) bool { return c.LOB })
}

// maskHas tests the bit of a column. The mask is one big-endian number: the bit
// of ordinal 1 is the lowest of its last byte.
func maskHas(mask []byte, ordinal int) bool {
	at := len(mask) - 1 - (ordinal-1)/8
	return ordinal > 0 && at >= 0 && mask[at]&(1<<((ordinal-1)%8)) != 0
}
