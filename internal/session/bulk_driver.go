package session

import (
	"context"
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/tds"
)

// driverBulk is a bulk load through the driver's own Bulk, for connections that
// cannot be taken. It is given the same rows, and hands their values to the
// driver in the forms that it does not spoil.
type driverBulk struct {
	conn    *Conn
	ctx     context.Context
	bulk    *mssql.Bulk
	release func()
	cells   []driverCell
	rows    tds.RowReader
	values  []any
	sent    int64
}

func (c *Conn) driverBulk(ctx context.Context, load *BulkLoad) (bulkWay, error) {
	b := &driverBulk{conn: c, ctx: ctx, values: make([]any, len(load.Columns))}
	names := make([]string, len(load.Columns))
	metas := make([]tds.ColumnMeta, len(load.Columns))
	for i := range load.Columns {
		col := &load.Columns[i]
		cell, err := newDriverCell(col)
		if errors.Is(err, errRawOnly) {
			return c.insertBulk(ctx, load)
		}
		if err != nil {
			return nil, fmt.Errorf("beginning a bulk load of %s through the driver: column %s: %w", load.Table, col.Meta.Name, err)
		}
		names[i], metas[i] = col.Meta.Name, col.Meta
		b.cells = append(b.cells, cell)
	}
	b.rows.SetColumns(metas)
	// The driver's own watch over ctx would send an attention after the load has
	// been stored; ours asks before.
	b.bulk = c.driver.CreateBulkContext(context.WithoutCancel(ctx), load.Table, names)
	h := load.Hints
	b.bulk.Options = mssql.BulkOptions{
		CheckConstraints: h.CheckConstraints, FireTriggers: h.FireTriggers, KeepNulls: h.KeepNulls, Tablock: h.TabLock,
		KilobytesPerBatch: h.KilobytesPerBatch, RowsPerBatch: h.RowsPerBatch, Order: h.Order,
	}
	b.release = c.watch(ctx)
	return b, nil
}

func (b *driverBulk) write(rows []byte) error {
	r := tds.NewReader(rows)
	for r.More() {
		if err := b.ctx.Err(); err != nil {
			return b.discard(b.ctx, err)
		}
		if t := tds.Token(r.Uint8()); t != tds.TokenRow {
			return b.discard(b.ctx, fmt.Errorf("writing rows of a bulk load: %v instead of a row", t))
		}
		cells := b.rows.Row(r)
		if err := r.Err(); err != nil {
			return b.discard(b.ctx, fmt.Errorf("writing rows of a bulk load: %w", err))
		}
		for i := range b.cells {
			v, err := b.cells[i](cells[i])
			if err != nil {
				return b.discard(b.ctx, fmt.Errorf("writing rows of a bulk load: column %d: %w", i+1, err))
			}
			b.values[i] = v
		}
		if err := b.addRow(); err != nil {
			return b.discard(b.ctx, err)
		}
		b.sent++
	}
	return nil
}

// addRow gives a row to the driver, which panics on types that it does not know.
func (b *driverBulk) addRow() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("writing rows of a bulk load: the driver: %v", p)
		}
	}()
	return b.bulk.AddRow(b.values)
}

func (b *driverBulk) finish(ctx context.Context) (int64, error) {
	for _, c := range []context.Context{b.ctx, ctx} {
		if err := c.Err(); err != nil {
			return 0, b.discard(c, err)
		}
	}
	defer b.release()
	release := b.conn.watch(ctx)
	defer release()
	if b.sent == 0 {
		return 0, nil // the driver has sent nothing yet
	}
	n, err := b.bulk.Done()
	if err != nil {
		return 0, b.conn.fail(ctx, err)
	}
	return n, nil
}

func (b *driverBulk) abort(context.Context) error {
	if b.sent == 0 {
		b.release()
		return nil
	}
	_ = b.discard(context.Background(), errors.New("withdrawn"))
	return nil
}

// discard gives the connection up: the driver cannot take back what it has sent.
func (b *driverBulk) discard(ctx context.Context, err error) error {
	b.release()
	b.conn.markBroken()
	b.conn.dialer.closeAll()
	return b.conn.fail(ctx, err)
}
