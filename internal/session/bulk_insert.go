package session

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/tds"
)

// insertBulk is a load by one INSERT per row, for tables with a column that the
// driver's Bulk cannot send. Its parameters are text where the driver has no value
// of the type; the server converts them to the declared one.
type insertBulk struct {
	conn  *Conn
	ctx   context.Context
	load  *BulkLoad
	cells []driverCell
	rows  tds.RowReader
	decl  string
	full  string // the statement of a row without a NULL
	nulls []bool
	args  []driver.Value
	sent  int64
}

func (c *Conn) insertBulk(ctx context.Context, load *BulkLoad) (*insertBulk, error) {
	if !load.Hints.CheckConstraints || !load.Hints.FireTriggers {
		return nil, fmt.Errorf("beginning a load of %s through the driver: it has a column that only INSERT can store, which always checks and fires: raw_tds is not in use, and the hints CHECK_CONSTRAINTS and FIRE_TRIGGERS are off", load.Table)
	}
	b := &insertBulk{conn: c, ctx: ctx, load: load, args: make([]driver.Value, len(load.Columns)), nulls: make([]bool, len(load.Columns))}
	metas := make([]tds.ColumnMeta, len(load.Columns))
	var decl []string
	for i := range load.Columns {
		col := &load.Columns[i]
		cell, typ, err := insertCell(col)
		if err != nil {
			return nil, fmt.Errorf("beginning a load of %s through the driver: column %s: %w", load.Table, col.Meta.Name, err)
		}
		b.cells = append(b.cells, cell)
		decl = append(decl, "@p"+strconv.Itoa(i)+" "+typ)
		metas[i] = col.Meta
	}
	b.decl = strings.Join(decl, ", ")
	b.full = b.statement()
	b.rows.SetColumns(metas)
	return b, nil
}

// statement is the INSERT of a row with these NULLs, which stay so or become the
// columns' defaults.
func (b *insertBulk) statement() string {
	null := "DEFAULT"
	if b.load.Hints.KeepNulls {
		null = "NULL"
	}
	var names, values []string
	identity := false
	for i := range b.load.Columns {
		meta := &b.load.Columns[i].Meta
		identity = identity || meta.Flags&tds.ColumnIdentity != 0
		names = append(names, "["+strings.ReplaceAll(meta.Name, "]", "]]")+"]")
		if b.nulls[i] {
			values = append(values, null)
		} else {
			values = append(values, "@p"+strconv.Itoa(i))
		}
	}
	text := "INSERT INTO " + b.load.Table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	if identity {
		return "SET IDENTITY_INSERT " + b.load.Table + " ON; " + text + "; SET IDENTITY_INSERT " + b.load.Table + " OFF"
	}
	return text
}

func (b *insertBulk) write(rows []byte) error {
	r := tds.NewReader(rows)
	for r.More() {
		if t := tds.Token(r.Uint8()); t != tds.TokenRow {
			return b.discard(fmt.Errorf("writing rows of a load: %v instead of a row", t))
		}
		cells := b.rows.Row(r)
		if err := r.Err(); err != nil {
			return b.discard(fmt.Errorf("writing rows of a load: %w", err))
		}
		if err := b.insert(cells); err != nil {
			return err
		}
	}
	return nil
}

func (b *insertBulk) insert(cells [][]byte) error {
	text, some := b.full, false
	for i := range b.cells {
		v, err := b.cells[i](cells[i])
		if err != nil {
			return b.discard(fmt.Errorf("writing rows of a load: column %d: %w", i+1, err))
		}
		if b.nulls[i] = v == nil; v == nil {
			// Not nil: the driver would send text, which does not become binary.
			some = true
			if b.load.Columns[i].binary() {
				v = []byte{}
			}
		}
		b.args[i] = v
	}
	if some {
		text = b.statement()
	}
	n, err := b.conn.Exec(b.ctx, text, b.decl, b.args...)
	if err != nil {
		return err
	}
	b.sent += n
	return nil
}

func (b *insertBulk) finish(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, b.discard(err)
	}
	return b.sent, nil
}

func (b *insertBulk) abort(context.Context) error {
	if b.sent > 0 {
		_ = b.discard(errors.New("withdrawn"))
	}
	return nil
}

// discard closes the connection, which takes back the rows of its transaction.
func (b *insertBulk) discard(err error) error {
	b.conn.markBroken()
	b.conn.dialer.closeAll()
	return b.conn.fail(b.ctx, err)
}

func (c *BulkColumn) binary() bool {
	switch c.Meta.Info.Type {
	case tds.TypeBigVarBinary, tds.TypeBigBinary, tds.TypeImage:
		return true
	}
	return false
}

// insertCell plans the parameter of a column, and its declaration.
func insertCell(col *BulkColumn) (driverCell, string, error) {
	t := &col.Meta.Info
	layout := ""
	switch t.Type {
	case tds.TypeNVarChar, tds.TypeNChar, tds.TypeNText:
		return nullable(func(b []byte) (any, bool, error) { return tds.DecodeUTF16(b), len(b)%2 == 0, nil }), "nvarchar(max)", nil
	case tds.TypeBigVarChar, tds.TypeBigChar, tds.TypeText:
		if col.Wide == nil {
			return nil, "", errRawOnly
		}
		return nullable(func(b []byte) (any, bool, error) { s, err := col.Wide(b); return s, true, err }), "nvarchar(max)", nil
	case tds.TypeBigVarBinary, tds.TypeBigBinary, tds.TypeImage:
		return nullable(func(b []byte) (any, bool, error) { return bytes.Clone(b), true, nil }), "varbinary(max)", nil
	case tds.TypeDateN:
		layout = time.DateOnly
	case tds.TypeTimeN:
		layout = "15:04:05.9999999"
	case tds.TypeDateTime2N:
		layout = "2006-01-02T15:04:05.9999999"
	case tds.TypeDateTimeOffsetN:
		layout = "2006-01-02T15:04:05.9999999-07:00"
	case tds.TypeDateTimN:
		if layout = "2006-01-02T15:04:05.000"; t.Size == 4 {
			layout = "2006-01-02T15:04:05"
		}
	case tds.TypeSSVariant:
		return nil, "", errRawOnly
	default:
		decode, err := cellValue(col)
		if err != nil {
			return nil, "", err
		}
		return nullable(decode), col.Declaration, nil
	}
	decode := timeValue(t)
	return nullable(func(b []byte) (any, bool, error) {
		v, ok, err := decode(b)
		at, isTime := v.(time.Time)
		if t.Type == tds.TypeDateTimN && t.Size == 8 {
			at = at.Round(time.Millisecond)
		}
		return at.Format(layout), ok && isTime, err
	}), col.Declaration, nil
}
