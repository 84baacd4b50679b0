package snapshot

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Conn runs a statement through sp_executesql: its text, the declaration of its
// parameters ("@from binary(10), @n int"), and their values in that order. One
// goroutine uses a Conn at a time.
type Conn interface {
	Query(ctx context.Context, text, declaration string, args ...driver.Value) (driver.RowsNextResultSet, error)
}

// Isolation says how rows are read.
type Isolation int

const (
	// Auto is Snapshot where the database allows it, else ReadCommitted.
	Auto Isolation = iota
	// Snapshot reads row versions: no lock is taken and no writer waits.
	Snapshot
	// ReadCommitted goes over the key's index under READ COMMITTED: it waits for
	// rows that are being changed, and holds the lock of one row at a time. Where
	// READ_COMMITTED_SNAPSHOT is on, it reads row versions as well.
	ReadCommitted
)

// Options of a Reader. The zero value works everywhere.
type Options struct {
	Isolation Isolation
	// Filter is a condition in T-SQL on the columns of the table, which has the
	// alias t. Only rows that meet it are read.
	Filter string
	// ReplaceInvalidText reads lone surrogates as U+FFFD instead of failing.
	ReplaceInvalidText bool
	// AllowMasked reads masked columns as the login sees them, instead of failing.
	AllowMasked bool
	// AllowRowSecurity reads the rows that a security policy lets the login see,
	// instead of failing.
	AllowRowSecurity bool
}

// Limits bound a page. A page holds at least one row if there is one.
type Limits struct {
	Rows  int // zero means 1000
	Bytes int // zero means 1 MiB
}

const (
	defaultRows  = 1000
	defaultBytes = 1 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Rows <= 0 {
		l.Rows = defaultRows
	}
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	return l
}

// width checks that a row has as many cells as the statement selects.
func width(row []driver.Value, want int) error {
	if len(row) != want {
		return fmt.Errorf("the server sent %d columns, want %d", len(row), want)
	}
	return nil
}
