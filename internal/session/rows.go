package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// rowSet is the result of a query: the driver's rows with our errors.
type rowSet struct {
	conn    *Conn
	ctx     context.Context // of the request; rows do not outlive it
	rows    driver.RowsNextResultSet
	release func()
	ended   bool
	err     error
}

// Columns names the columns of the current result set.
func (r *rowSet) Columns() []string { return r.rows.Columns() }

// Next fills one row, or returns io.EOF at the end of the result set.
func (r *rowSet) Next(dest []driver.Value) error {
	if r.err != nil {
		return r.err
	}
	if r.ended {
		return io.EOF
	}
	err := r.rows.Next(dest)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF) && err == io.EOF && r.conn.driver.IsValid():
		if !r.rows.HasNextResultSet() {
			r.ended = true
			r.release()
		}
		return io.EOF
	}
	r.err = r.conn.fail(r.ctx, err)
	r.ended = true
	r.release()
	return r.err
}

// HasNextResultSet tells whether another result set follows the one just read.
func (r *rowSet) HasNextResultSet() bool {
	return r.err == nil && !r.ended && r.rows.HasNextResultSet()
}

// NextResultSet moves to the next result set, or returns io.EOF.
func (r *rowSet) NextResultSet() error {
	if r.err != nil {
		return r.err
	}
	if r.ended {
		return io.EOF
	}
	return r.rows.NextResultSet()
}

// Close ends the request. What has not been read is cancelled at the server and
// drained, within the drain bound.
func (r *rowSet) Close() error {
	if r.ended {
		return nil
	}
	r.ended = true
	// The driver's Close waits for the server's confirmation; the same bound
	// holds for it as for a cancelled context.
	ended, end := context.WithCancel(context.Background())
	end()
	r.release()
	release := r.conn.watch(ended)
	defer release()
	if err := r.rows.Close(); err != nil {
		return r.conn.fail(r.ctx, err)
	}
	return nil
}
