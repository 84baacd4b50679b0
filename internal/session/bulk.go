package session

import (
	"context"
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/tds"
)

// BulkLoad describes a bulk load: INSERT BULK and the columns of its rows.
type BulkLoad struct {
	Table   string // quoted, as it goes into the statement
	Columns []BulkColumn
	Hints   BulkHints
}

// BulkColumn is a column of the rows. Its Meta says what the cells on the wire
// are; Declaration is the same in T-SQL.
type BulkColumn struct {
	Meta        tds.ColumnMeta
	Declaration string // "nvarchar(10)", "varchar(20) COLLATE Latin1_General_CI_AS"
	// Narrow and UTF8 are for the driver's Bulk, where the cells are UTF-16 and the
	// table's column is not: Narrow appends the bytes that the column stores, UTF8
	// says that they are those of a Go string.
	Narrow func(dst []byte, text string) ([]byte, error)
	UTF8   bool
	// Wide reads the bytes of a column of a code page, for the driver's parameters.
	Wide func(b []byte) (string, error)
	// RawOnly marks a column whose own type the driver's Bulk does not know.
	RawOnly bool
}

// BulkHints are the options of INSERT BULK.
type BulkHints struct {
	CheckConstraints  bool
	FireTriggers      bool
	KeepNulls         bool
	TabLock           bool
	KilobytesPerBatch int
	RowsPerBatch      int
	Order             []string // "[id] ASC": the columns that the rows are sorted by
}

// Statement is the INSERT BULK of the load.
func (l *BulkLoad) Statement() string {
	var b strings.Builder
	b.WriteString("INSERT BULK ")
	b.WriteString(l.Table)
	b.WriteString(" (")
	for i := range l.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("[" + strings.ReplaceAll(l.Columns[i].Meta.Name, "]", "]]") + "] ")
		b.WriteString(l.Columns[i].Declaration)
	}
	b.WriteString(")")
	if options := l.Hints.options(); len(options) > 0 {
		b.WriteString(" WITH (" + strings.Join(options, ", ") + ")")
	}
	return b.String()
}

func (h *BulkHints) options() (out []string) {
	add := func(on bool, text string) {
		if on {
			out = append(out, text)
		}
	}
	add(h.CheckConstraints, "CHECK_CONSTRAINTS")
	add(h.FireTriggers, "FIRE_TRIGGERS")
	add(h.KeepNulls, "KEEP_NULLS")
	add(h.KilobytesPerBatch > 0, "KILOBYTES_PER_BATCH = "+strconv.Itoa(h.KilobytesPerBatch))
	add(h.RowsPerBatch > 0, "ROWS_PER_BATCH = "+strconv.Itoa(h.RowsPerBatch))
	add(len(h.Order) > 0, "ORDER("+strings.Join(h.Order, ", ")+")")
	add(h.TabLock, "TABLOCK")
	return out
}

// metadata is the COLMETADATA that begins the rows.
func (l *BulkLoad) metadata() []byte {
	m := tds.ColMetaData{Columns: make([]tds.ColumnMeta, len(l.Columns))}
	for i := range l.Columns {
		m.Columns[i] = l.Columns[i].Meta
	}
	return m.AppendBulk(nil)
}

// bulkWay is one of the two ways to load.
type bulkWay interface {
	write(rows []byte) error
	finish(ctx context.Context) (int64, error)
	abort(ctx context.Context) error
}

// BulkWriter is a bulk load in progress, on which the connection is busy until
// Finish or Abort. After an error of any of its methods the load has ended, and
// the connection is either ready for the next request or closed (see
// [Conn.Broken]). One goroutine uses it.
type BulkWriter struct {
	way   bulkWay
	ended bool
	err   error
}

// Bulk begins a bulk load: the statement has been accepted when it returns. When
// ctx ends, the load is withdrawn, at the next Write at the latest; the server
// has two seconds to confirm that before the connection is closed.
func (c *Conn) Bulk(ctx context.Context, load BulkLoad) (*BulkWriter, error) {
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	direct, err := c.direct(ctx)
	if err != nil {
		return nil, err
	}
	var way bulkWay
	if direct {
		way, err = c.rawBulk(ctx, &load)
	} else {
		way, err = c.driverBulk(ctx, &load)
	}
	if err != nil {
		return nil, err
	}
	return &BulkWriter{way: way}, nil
}

// Write sends rows: whole ROW tokens of the load's columns (2.2.7.20 ROW). The
// bytes may be changed once it has returned.
func (w *BulkWriter) Write(rows []byte) error {
	if w.ended {
		return w.over()
	}
	if err := w.way.write(rows); err != nil {
		w.ended, w.err = true, err
		return err
	}
	return nil
}

// Finish ends the load and gives the number of rows that the server has stored.
func (w *BulkWriter) Finish(ctx context.Context) (int64, error) {
	if w.ended {
		return 0, w.over()
	}
	w.ended = true
	n, err := w.way.finish(ctx)
	w.err = err
	return n, err
}

// Abort withdraws the load: the server stores nothing of it. It does nothing to a
// load that has ended.
func (w *BulkWriter) Abort(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	w.err = w.way.abort(ctx)
	return w.err
}

func (w *BulkWriter) over() error {
	if w.err != nil {
		return w.err
	}
	return ErrClosed
}
