package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
)

// Querier runs a statement; session.Conn is one.
type Querier = request.Querier

// query runs a statement and gives the rows of its n-th result set to the n-th
// function. It reads everything, so that nothing stays open.
func query(ctx context.Context, q Querier, text, decl string, args []driver.Value, sets ...func(*cells)) error {
	scans := make([]func([]driver.Value) error, len(sets))
	for i, scan := range sets {
		scans[i] = func(row []driver.Value) error {
			c := &cells{row: row}
			scan(c)
			if c.err == nil && c.next != len(row) {
				c.err = fmt.Errorf("%d columns read of %d", c.next, len(row))
			}
			if c.err != nil {
				return fmt.Errorf("reading metadata: result set %d: %w", i+1, c.err)
			}
			return nil
		}
	}
	n, err := request.Sets(ctx, q, request.Statement{Text: text, Decl: decl, Args: args}, scans...)
	if err == nil && n < len(sets) {
		err = fmt.Errorf("reading metadata: %d result sets, want %d", n, len(sets))
	}
	return err
}

// cells reads one row from left to right. The first cell of a wrong type is
// kept as the error; NULL reads as the zero value.
type cells struct {
	row  []driver.Value
	next int
	err  error
}

func (c *cells) take() driver.Value {
	if c.next >= len(c.row) {
		if c.err == nil {
			c.err = fmt.Errorf("only %d columns", len(c.row))
		}
		return nil
	}
	c.next++
	return c.row[c.next-1]
}

func (c *cells) fail(v driver.Value, want string) {
	if c.err == nil {
		c.err = fmt.Errorf("column %d is a %T, want %s", c.next, v, want)
	}
}

// null tells whether the next cell is NULL, without taking it.
func (c *cells) null() bool { return c.next < len(c.row) && c.row[c.next] == nil }

func (c *cells) text() string {
	switch v := c.take().(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		c.fail(v, "text")
		return ""
	}
}

func (c *cells) int() int64 {
	switch v := c.take().(type) {
	case nil:
		return 0
	case int64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	default:
		c.fail(v, "an integer")
		return 0
	}
}

func (c *cells) bool() bool { return c.int() != 0 }

func (c *cells) bytes() []byte {
	switch v := c.take().(type) {
	case nil:
		return nil
	case []byte:
		return append([]byte{}, v...)
	default:
		c.fail(v, "binary")
		return nil
	}
}

// lsn reads a binary(10). NULL is the zero LSN, as the server itself uses both
// for an instance that has not started.
func (c *cells) lsn() (l checkpoint.LSN) {
	b := c.bytes()
	if len(b) != 0 && len(b) != len(l) {
		if c.err == nil {
			c.err = fmt.Errorf("column %d has %d bytes, want the %d of an LSN", c.next, len(b), len(l))
		}
		return l
	}
	copy(l[:], b)
	return l
}

// clock reads a datetime as the wall clock that it is, labelled UTC.
func (c *cells) clock() time.Time {
	switch v := c.take().(type) {
	case nil:
		return time.Time{}
	case time.Time:
		return time.Date(v.Year(), v.Month(), v.Day(), v.Hour(), v.Minute(), v.Second(), v.Nanosecond(), time.UTC)
	default:
		c.fail(v, "a datetime")
		return time.Time{}
	}
}
