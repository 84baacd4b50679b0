package snapshot

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

const (
	// firstRows bounds the first page, before the size of a row is known.
	firstRows = 256
	// rereads is how often a page is read again because a row of it changed
	// before its text was read exactly.
	rereads = 3
)

// errStill says that a key does not come after itself for the server, which would
// read the same rows for ever.
var errStill = errors.New("the server gave a row again that is not after its own key; tell us the type and collation of the key's columns")

// errChanged says that a row was gone when its text was read exactly.
var errChanged = errors.New("rows change faster than they can be read")

// Read reads the rows after one key, up to and including another, as far as the
// limits allow; Page.Next is what to go on after. A zero after begins with the
// first row, a zero upto does not end before the last. The handover is the LSN of
// Handover; a zero LSN asks for no proof, for a snapshot that nothing follows.
//
// The errors that a caller tells apart are BehindError, GoneError,
// PermissionError, FilterError, KeyError and ValueError. After any error the same
// read can be made again.
func (r *Reader) Read(ctx context.Context, after, upto Key, handover checkpoint.LSN, limits Limits) (page *Page, err error) {
	if err := r.checkKeys(after, upto); err != nil {
		return nil, err
	}
	limits = limits.withDefaults()
	for attempt := 0; ; attempt++ {
		err = r.fallBack(func() error {
			page, err = r.read(ctx, after, upto, handover, limits)
			return err
		})
		if err == nil {
			return page, nil
		}
		r.builder.Discard()
		if !errors.Is(err, errChanged) || attempt >= rereads {
			return nil, err
		}
	}
}

// fallBack goes on without SNAPSHOT isolation when that was turned off.
func (r *Reader) fallBack(f func() error) error {
	err := f()
	if r.iso != Snapshot || !session.HasNumber(err, 3952) || r.opts.Isolation == Snapshot {
		return err
	}
	r.builder.Discard()
	r.iso = ReadCommitted
	return f()
}

func (r *Reader) read(ctx context.Context, after, upto Key, handover checkpoint.LSN, limits Limits) (*Page, error) {
	n := r.rowLimit(limits)
	s, err := r.plan.page(after, upto, handover, n, r.iso)
	if err != nil {
		return nil, r.wrap(err)
	}
	f := &filling{reader: r, key: make([]driver.Value, len(r.plan.key)), cells: make([][]byte, len(r.plan.key))}
	full, err := f.run(ctx, s, handover, n, limits.Bytes)
	if err != nil {
		return nil, err
	}
	page := &Page{Rows: r.builder.Len(), Bytes: r.builder.Bytes(), Next: after, Done: !full, ReadAt: f.server.now}
	if page.Rows == 0 {
		return page, nil
	}
	if page.Next, err = f.last(); err != nil {
		return nil, r.wrap(err)
	}
	if page.Next.Equal(after) {
		return nil, r.wrap(errStill)
	}
	if err := r.settle(ctx, f.suspects); err != nil {
		return nil, err
	}
	return r.finish(page)
}

func (r *Reader) finish(page *Page) (_ *Page, err error) {
	r.rowSize = max(1, page.Bytes/page.Rows)
	if page.Record, err = r.builder.Finish(); err != nil {
		return nil, r.wrap(err)
	}
	return page, nil
}

// rowLimit is how many rows to ask for, so that the server does not read many
// more than the page can hold.
func (r *Reader) rowLimit(limits Limits) int {
	if r.rowSize == 0 {
		return min(limits.Rows, firstRows)
	}
	return max(1, min(limits.Rows, limits.Bytes/r.rowSize+1))
}

// filling is a page that is being read.
type filling struct {
	reader   *Reader
	server   proof
	key      []driver.Value // of the last row; bytes in it are its own
	suspects []Key          // of the rows with suspects, one for each
	cells    [][]byte       // of the wire, instead of key
	source   session.Cells  // of cells
}

// run reads the statement's rows into the builder. It tells whether there may be
// more than it read. Whatever happens, the request is over when it returns.
func (f *filling) run(ctx context.Context, s request.Statement, handover checkpoint.LSN, maxRows, maxBytes int) (full bool, err error) {
	r := f.reader
	errFull := errors.New("the page is full")
	err = request.EachRow(ctx, r.conn, s, f.server.scan, func(row *request.Row) error {
		if err := f.add(row); err != nil {
			return err
		}
		if r.builder.Bytes() >= maxBytes {
			return errFull
		}
		return nil
	})
	var value *ValueError
	switch {
	case errors.Is(err, errFull):
		return true, nil
	case errors.As(err, &value):
		return false, value
	case err != nil:
		return false, r.explain(err)
	case !f.server.there:
		return false, &BehindError{Table: r.plan.table, Want: handover, Server: f.server.reached}
	}
	return r.builder.Len() >= maxRows, nil
}

func (f *filling) add(row *request.Row) error {
	r := f.reader
	cells := r.plan.cells
	if err := r.append(row, len(r.plan.key)); err != nil {
		return err
	}
	if row.Source != nil {
		f.source = row.Source
		for i, c := range row.Cells[cells:] {
			if f.cells[i] == nil {
				f.cells[i] = []byte{} // an empty value is not NULL
			}
			f.cells[i] = append(f.cells[i][:0], c...)
		}
		return nil
	}
	for i, v := range row.Values[cells:] {
		if b, ok := v.([]byte); ok {
			kept, _ := f.key[i].([]byte)
			v = append(kept[:0:cap(kept)], b...)
			if len(b) == 0 {
				v = []byte{}
			}
		}
		f.key[i] = v
	}
	for n := len(r.builder.Suspects()); len(f.suspects) < n; {
		k, err := r.keyOf(f.key)
		if err != nil {
			return err
		}
		f.suspects = append(f.suspects, k)
	}
	return nil
}

// append appends the table's columns of a row, which more columns follow.
func (r *Reader) append(row *request.Row, more int) error {
	cells := r.plan.cells
	if row.Len() != cells+more {
		return fmt.Errorf("the server sent %d columns, want %d", row.Len(), cells+more)
	}
	var err error
	switch {
	case row.Source == nil:
		err = r.builder.AppendDriverRow(row.Values[:cells])
	case row.First:
		if err = r.builder.Plan(row.Source.Metadata()); err != nil {
			return err
		}
		fallthrough
	default:
		err = r.builder.AppendCells(row.Cells)
	}
	if err != nil {
		return &ValueError{Table: r.plan.table, Err: err}
	}
	return nil
}

// last is the key of the last row. No column of a key is NULL.
func (f *filling) last() (Key, error) {
	if f.source != nil {
		for i, cell := range f.cells {
			var err error
			if f.key[i], err = f.source.Value(f.reader.plan.cells+i, cell); err != nil {
				return Key{}, err
			}
		}
	}
	return f.reader.keyOf(f.key)
}

// proof is the first result set of every read.
type proof struct {
	reached checkpoint.LSN
	there   bool
	now     time.Time
}

func (p *proof) scan(row []driver.Value) (err error) {
	if err := width(row, 3); err != nil {
		return err
	}
	if p.reached, err = request.LSN(row[0]); err != nil {
		return err
	}
	now, ok := row[2].(time.Time)
	if !ok {
		return fmt.Errorf("reading the server's time: the driver gave a %T", row[2])
	}
	p.there, p.now = row[1] == int64(1), now.UTC()
	return nil
}
