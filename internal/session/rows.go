package session

import (
	"context"
	"database/sql/driver"
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
	switch err := r.rows.Next(dest); {
	case err == nil:
		return nil
	case err == io.EOF && r.rows.HasNextResultSet(): //nolint:errorlint // the driver's own end of rows, not a wrapped EOF of the network
		return io.EOF
	case err == io.EOF && r.conn.driver.IsValid(): //nolint:errorlint // as above
		r.finish()
		return io.EOF
	default:
		r.err = r.conn.fail(r.ctx, err)
		if r.ctx.Err() == nil {
			r.drain(dest)
			r.finish()
			return r.err
		}
		// A cancelled request has been confirmed or its connection is closed;
		// asking the driver again would send another attention.
		r.ended = true
		r.release()
		return r.err
	}
}

// drain reads what follows an error in the same reply.
func (r *rowSet) drain(dest []driver.Value) {
	for r.rows.Next(dest) == nil { //nolint:revive // nothing to do with the rows
	}
}

// finish ends a request whose reply has been read. The driver's Close frees its
// context; there is nothing left for it to read.
func (r *rowSet) finish() {
	r.ended = true
	if err := r.rows.Close(); err != nil && r.err == nil {
		r.err = r.conn.fail(r.ctx, err)
	}
	r.release()
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
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	r.release()
	release := r.conn.watch(cancelled)
	defer release()
	if err := r.rows.Close(); err != nil {
		return r.conn.fail(r.ctx, err)
	}
	return nil
}
