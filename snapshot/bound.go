package snapshot

import (
	"context"
	"database/sql/driver"
	"fmt"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/request"
)

// Bound asks the server for the key that ends the next chunk: that of the n-th
// row after a key, the zero Key being before the first. last tells that there are
// no n rows any more; the key is then the last of the table, or the zero Key when
// the table is empty, and Read up to it gives the rest.
//
// Rows that come behind the last key later are in the stream. The handover is
// that of the snapshot: on a server that has not reached it, rows could be
// missing, and the answer is a BehindError.
func (r *Reader) Bound(ctx context.Context, after Key, n int, handover checkpoint.LSN) (key Key, last bool, err error) {
	if err := r.checkKeys(after); err != nil {
		return Key{}, false, err
	}
	err = r.fallBack(func() error {
		s, err := r.plan.bound(after, handover, max(n, 1), r.iso)
		if err != nil {
			return r.wrap(err)
		}
		key, last, err = r.askBound(ctx, s, after, handover)
		return err
	})
	return key, last, err
}

func (r *Reader) askBound(ctx context.Context, s request.Statement, after Key, handover checkpoint.LSN) (key Key, last bool, err error) {
	var server proof
	err = request.Each(ctx, r.conn, s, func(set int, names []string, row []driver.Value) (err error) {
		switch {
		case set == 0:
			return server.scan(row)
		case len(names) == 1 && names[0] == "got":
			last = row[0] == int64(0)
			return nil
		}
		key, err = r.keyOf(row)
		return err
	})
	if err != nil {
		return Key{}, false, r.explain(err)
	}
	if !server.there {
		return Key{}, false, &BehindError{Table: r.plan.table, Want: handover, Server: server.reached}
	}
	if !last && key.Equal(after) {
		return Key{}, false, r.wrap(errStill)
	}
	return key, last, nil
}

// checkKeys refuses keys that are not of the table as it is now.
func (r *Reader) checkKeys(keys ...Key) error {
	if r.Keyless() {
		return fmt.Errorf("reading a snapshot of %s: the table has no key to read chunks by; it is read in one pass", r.plan.table)
	}
	want := Key{columns: r.plan.columns()}
	for _, k := range keys {
		if !k.IsZero() && !(Key{columns: k.columns}).Equal(want) {
			return &KeyError{Table: r.plan.table, Key: k, Want: want.columnTexts()}
		}
	}
	return nil
}

// keyOf reads the columns that keyList selects.
func (r *Reader) keyOf(row []driver.Value) (Key, error) {
	if err := width(row, len(r.plan.key)); err != nil {
		return Key{}, err
	}
	k := Key{columns: r.plan.columns(), values: make([]string, len(row))}
	for i, c := range r.plan.key {
		v, err := c.text(row[i])
		if err != nil {
			return Key{}, fmt.Errorf("column %s: %w", c.name, err)
		}
		k.values[i] = v
	}
	return k, nil
}
