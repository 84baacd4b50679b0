package changetable

import (
	"context"
	"database/sql/driver"
	"time"
)

// Conn runs a statement through sp_executesql: its text, the declaration of its
// parameters ("@from binary(10), @n int"), and their values in that order. One
// goroutine uses a Conn at a time.
type Conn interface {
	Query(ctx context.Context, text, declaration string, args ...driver.Value) (driver.RowsNextResultSet, error)
}

// Isolation says how change tables are read without waiting for the capture job.
// Watermarks and metadata are never read dirty, whatever it is.
type Isolation int

const (
	// NoLock reads the change table, and only it, with NOLOCK. It is safe below
	// the watermark, where rows are final.
	NoLock Isolation = iota
	// Versioned relies on READ_COMMITTED_SNAPSHOT of the database.
	Versioned
	// Snapshot runs each statement under SNAPSHOT isolation.
	Snapshot
)

// Options of a Reader. The zero value works everywhere.
type Options struct {
	Isolation Isolation
	// Location is the time zone of the server's clock; nil is UTC.
	Location *time.Location
	// ReplaceInvalidText reads lone surrogates as U+FFFD instead of failing.
	ReplaceInvalidText bool
}

// Limits bound a page. A page holds at least one change, and whole before and
// after images.
type Limits struct {
	Rows  int // zero means 1000
	Bytes int // zero means 1 MiB
}

const (
	defaultRows  = 1000
	defaultBytes = 1 << 20
	minRows      = 2 // an update is two rows
)

func (l Limits) withDefaults() Limits {
	if l.Rows <= 0 {
		l.Rows = defaultRows
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	l.Rows = max(l.Rows, minRows)
	return l
}
