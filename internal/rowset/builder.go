package rowset

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// Column is a column of a result: its name in the record batch and its type. A source of rows selects Type.SelectList for it.
type Column struct {
	Name string
	Type sqltype.Type
}

// Options of a Builder. The zero value takes its memory from a pool of its own and reports suspect text.
type Options struct {
	Pool *Pool
	// ReplaceInvalidText keeps U+FFFD where the server's text is not valid Unicode; otherwise such cells are Suspects.
	ReplaceInvalidText bool
}

// Builder fills record batches of one shape, one after the other. One goroutine uses it.
type Builder struct {
	table    string
	opts     Options
	schema   *arrow.Schema
	cols     []*vector
	appends  []appendFunc
	variable []*vector
	cells    int
	perRow   int
	rows     int
	suspects []Cell
	scratch  []byte

	wire     []tds.TypeInfo // of the expressions that Plan has prepared for
	puts     []cellFunc     // by column
	variants map[int]variantPlan
}

// NewBuilder plans the columns of a result. The table's name is for errors.
func NewBuilder(table string, columns []Column, opts Options) (*Builder, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("planning rows of %s: there is no column", table)
	}
	if opts.Pool == nil {
		opts.Pool = NewPool(nil, 0)
	}
	b := &Builder{table: table, opts: opts}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		if err := c.Type.Validate(); err != nil {
			return nil, fmt.Errorf("planning rows of %s: column %s: %w", table, c.Name, err)
		}
		fields[i] = c.Type.Field(c.Name)
		v := newVector(opts.Pool, c.Name, c.Type)
		b.cols = append(b.cols, v)
		b.appends = append(b.appends, appendFor(v.kind))
		if v.width < 0 {
			b.variable = append(b.variable, v)
		}
		b.cells += c.Type.Cells()
		b.perRow += v.rowBytes()
	}
	b.schema = arrow.NewSchema(fields, nil)
	return b, nil
}

// Schema is the schema of the record batches. Its fields carry the SQL Server types: see sqltype.FromField.
func (b *Builder) Schema() *arrow.Schema { return b.schema }

// Cells is the number of driver values in a row: one per expression of the columns' select lists.
func (b *Builder) Cells() int { return b.cells }

// Len is the number of rows so far.
func (b *Builder) Len() int { return b.rows }

// Bytes is the size of the rows so far, for bounds on pages.
func (b *Builder) Bytes() int {
	n := b.rows * b.perRow
	for _, v := range b.variable {
		n += v.used
	}
	return n
}

// AppendDriverRow appends a row of go-mssqldb's values. It keeps none of the slices. A row that cannot be appended leaves the
// builder as it was.
func (b *Builder) AppendDriverRow(row []driver.Value) error {
	if len(row) != b.cells {
		return fmt.Errorf("reading row %d of %s: %d values for %d selected expressions", b.rows+1, b.table, len(row), b.cells)
	}
	cell := 0
	for i, v := range b.cols {
		x := row[cell]
		var err error
		switch {
		case x == nil:
			if !v.typ.Nullable {
				err = errors.New("NULL in a column that cannot have it")
			} else {
				v.putNull()
			}
		case v.kind == sqltype.Text:
			err = b.appendText(i, v, x)
		case v.kind == sqltype.Variant:
			err = b.appendVariant(i, v, x, row[cell+1], row[cell+2])
		default:
			err = b.appends[i](v, x)
		}
		if err != nil {
			b.Truncate(b.rows)
			return b.cellError(Cell{Row: b.rows, Column: i}, err)
		}
		cell += v.cells
	}
	b.rows++
	return nil
}

// Truncate forgets the rows from n on.
func (b *Builder) Truncate(n int) {
	for _, v := range b.cols {
		v.truncate(n)
	}
	for len(b.suspects) > 0 && b.suspects[len(b.suspects)-1].Row >= n {
		b.suspects = b.suspects[:len(b.suspects)-1]
	}
	b.rows = n
}

// Finish gives the rows as a record batch, which the caller releases, and makes the builder empty. It fails, and keeps the rows,
// while a suspect is unsettled.
func (b *Builder) Finish() (arrow.RecordBatch, error) {
	if len(b.suspects) > 0 {
		return nil, b.cellError(b.suspects[0], errors.New("the text may have lost something and was not read again"))
	}
	arrays := make([]arrow.Array, len(b.cols))
	for i, v := range b.cols {
		arrays[i] = v.finish()
	}
	rec := array.NewRecordBatch(b.schema, arrays, int64(b.rows))
	for _, a := range arrays {
		a.Release()
	}
	b.rows = 0
	return rec, nil
}

// Discard gives the slices of unfinished rows back to the pool. The builder is empty afterwards and can be used again.
func (b *Builder) Discard() {
	for _, v := range b.cols {
		v.discard()
	}
	b.rows, b.suspects = 0, nil
}

func (b *Builder) appendText(column int, v *vector, x driver.Value) error {
	s, ok := x.(string)
	if !ok {
		return wrongKind(x, "string")
	}
	return v.putString(b.inspect(column, s))
}

func (b *Builder) appendVariant(column int, v *vector, x, declared, converted driver.Value) error {
	if s, ok := x.(string); ok {
		s, err := variantText(s, converted)
		if err != nil {
			return err
		}
		x = b.inspect(column, s)
	}
	var err error
	if b.scratch, err = appendVariant(b.scratch[:0], x, declared); err != nil {
		return err
	}
	return v.putBytes(b.scratch)
}

// inspect makes s valid UTF-8 and notes the cell as a suspect if something may be lost: the driver writes U+FFFD both for itself
// and for whatever it cannot decode.
func (b *Builder) inspect(column int, s string) string {
	valid := utf8.ValidString(s)
	if valid && !strings.Contains(s, "\uFFFD") {
		return s
	}
	if !b.opts.ReplaceInvalidText {
		b.suspects = append(b.suspects, Cell{Row: b.rows, Column: column})
	}
	if !valid {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func (b *Builder) cellError(c Cell, err error) error {
	v := b.cols[c.Column]
	return fmt.Errorf("reading row %d of %s: column %s (%s): %w", c.Row+1, b.table, v.name, v.typ, err)
}
