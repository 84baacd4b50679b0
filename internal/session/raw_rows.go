package session

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"

	"example.com/mssqlcdc/internal/cellvalue"
	"example.com/mssqlcdc/internal/tds"
)

// Cells is the result of a query past the driver, whose rows are given as they
// came. The rows of [Conn.Query] are Cells where the connection was taken.
type Cells interface {
	driver.RowsNextResultSet
	// Metadata describes the columns of the current result set.
	Metadata() []tds.ColumnMeta
	// NextCells gives the cells of the next row, nil for NULL, or io.EOF at the end
	// of the result set. They live until the next call.
	NextCells() ([][]byte, error)
	// Value is what Next gives for a cell of a column.
	Value(column int, cell []byte) (driver.Value, error)
}

// rawRows is a reply that is read as its rows are asked for. Nothing runs beside
// its user but the attention of a context that ends.
type rawRows struct {
	conn    *Conn
	raw     *rawConn
	ctx     context.Context // of the request; rows do not outlive it
	release func()          // of the watch over ctx
	stop    func() bool     // of the attention

	reply  reply
	meta   *tds.ColMetaData // of the current result set, nil without columns
	next   *tds.ColMetaData // of the one that comes after it, once that has begun
	values []cellvalue.Func // of the current result set, once a value was asked for
	ended  bool             // the reply is read, or its connection is given up
	err    error            // what it came to
}

// rawQuery sends a request and reads up to the first columns of its reply.
func (c *Conn) rawQuery(ctx context.Context, args []driver.NamedValue) (*rawRows, error) {
	r := &rawRows{conn: c, raw: c.raw, ctx: ctx, release: c.watch(ctx)}
	if err := r.raw.sendCall(args); err != nil {
		r.release()
		return nil, c.fail(ctx, err)
	}
	r.stop = r.raw.attendOn(ctx)
	if err := r.raw.begin(); err != nil {
		return nil, r.lost(err)
	}
	if _, err := r.advance(); err != io.EOF { //nolint:errorlint // the end of the rows is io.EOF itself
		return nil, err
	}
	r.meta, r.next = r.next, nil
	return r, nil
}

// advance reads up to the next row of the current result set; io.EOF is its end.
func (r *rawRows) advance() ([][]byte, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.ended, r.next != nil:
		return nil, io.EOF
	}
	for {
		if r.ctx.Err() != nil {
			return nil, r.drain()
		}
		token, err := r.raw.tokens.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // the end of the message is io.EOF itself
			if r.complete() != nil {
				return nil, r.err
			}
			return nil, io.EOF
		case err != nil:
			return nil, r.lost(err)
		}
		switch token {
		case tds.TokenRow, tds.TokenNBCRow:
			return r.raw.tokens.Cells, nil
		case tds.TokenColMetaData:
			r.next = r.raw.tokens.Columns
			return nil, io.EOF
		default:
			r.raw.note(token, &r.reply)
		}
		// After an error the rest of the reply is of no use.
		if r.reply.failed || len(r.reply.errs) > 0 {
			return nil, r.drain()
		}
	}
}

// drain reads the reply to its end and says what it came to, which is an error.
func (r *rawRows) drain() error {
	for {
		token, err := r.raw.tokens.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // as above
			if r.complete() == nil {
				r.err = io.ErrUnexpectedEOF // whoever drains has a reason
			}
			return r.err
		case err != nil:
			return r.lost(err)
		}
		r.raw.note(token, &r.reply)
	}
}

// complete ends a request whose reply is read: the connection is ready for the
// next one, or given up.
func (r *rawRows) complete() error {
	attended := r.stop()
	err := r.raw.nothingElse()
	if err == nil && attended && !r.reply.confirmed {
		_, err = r.raw.read(nil)
	}
	r.ended = true
	r.err = r.conn.outcome(r.ctx, &r.reply, err, attended)
	r.release()
	return r.err
}

// lost gives up the connection of a reply that cannot be read.
func (r *rawRows) lost(err error) error {
	r.stop()
	r.ended = true
	r.err = r.conn.fail(r.ctx, err)
	r.release()
	return r.err
}

// Metadata describes the columns of the current result set.
func (r *rawRows) Metadata() []tds.ColumnMeta {
	if r.meta == nil {
		return nil
	}
	return r.meta.Columns
}

// Columns names the columns of the current result set.
func (r *rawRows) Columns() []string {
	columns := r.Metadata()
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	return names
}

// NextCells gives the cells of the next row.
func (r *rawRows) NextCells() ([][]byte, error) { return r.advance() }

// Value is what Next gives for a cell of a column.
func (r *rawRows) Value(column int, cell []byte) (driver.Value, error) {
	if cell == nil {
		return nil, nil
	}
	columns := r.Metadata()
	if r.values == nil {
		r.values = make([]cellvalue.Func, len(columns))
	}
	of := r.values[column]
	if of == nil {
		var err error
		if of, err = cellvalue.Of(&columns[column].Info); err != nil {
			return nil, fmt.Errorf("reading column %d (%s): %w", column+1, columns[column].Name, err)
		}
		r.values[column] = of
	}
	v, err := of(cell)
	if err != nil {
		return nil, fmt.Errorf("reading column %d (%s): %w", column+1, columns[column].Name, err)
	}
	return v, nil
}

// Next fills one row, or returns io.EOF at the end of the result set.
func (r *rawRows) Next(dest []driver.Value) error {
	cells, err := r.advance()
	if err != nil {
		return err
	}
	for i := range min(len(dest), len(cells)) {
		if dest[i], err = r.Value(i, cells[i]); err != nil {
			return err
		}
	}
	return nil
}

// HasNextResultSet tells whether another result set follows the one just read.
func (r *rawRows) HasNextResultSet() bool { return r.err == nil && r.next != nil }

// NextResultSet moves to the next result set, or returns io.EOF.
func (r *rawRows) NextResultSet() error {
	if r.err != nil {
		return r.err
	}
	if r.next == nil {
		return io.EOF
	}
	r.meta, r.next, r.values = r.next, nil, nil
	return nil
}

// Close ends the request. What is on its way already is read; if that is not all,
// the rest is cancelled at the server, and the connection is closed if it does not
// confirm that within the drain bound.
func (r *rawRows) Close() error {
	if r.ended {
		return nil
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	release := r.conn.watch(over)
	defer release()
	for n := r.raw.tokens.BytesRead(); r.raw.tokens.BytesRead()-n < closeAhead && r.raw.pending(); {
		token, err := r.raw.tokens.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // the end of the message is io.EOF itself
			return r.closed(r.complete())
		case err != nil:
			return r.lost(err)
		}
		r.raw.note(token, &r.reply)
	}
	attended := r.stop() // an attention of ctx may be on its way already
	r.stop = func() bool { return true }
	if !attended {
		r.stop = r.raw.attendOn(over)
	}
	return r.closed(r.drain())
}

// closeAhead is how much of a reply Close reads before it sends an attention, which
// costs a round trip.
const closeAhead = 64 << 10

// closed leaves out what a caller who has closed the rows did not ask for.
func (r *rawRows) closed(err error) error {
	if r.conn.Broken() {
		return err
	}
	return nil
}
