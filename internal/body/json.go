package body

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/sqltype"
)

// JSON is the plan of the JSON form of one schema: a flat object per row, in the order of the columns.
type JSON struct {
	table  string
	schema *arrow.Schema
	body   []column
	key    []column
}

// column is one column of an object.
type column struct {
	index int    // in the schema
	name  string // for errors
	label []byte // "name":
	typ   sqltype.Type
}

// NewJSON plans a schema that internal/rowset made. body and key are columns of the schema: those of the object in its order, and
// those of the key in the key's order, none for a table without a key. The table's name is for errors.
func NewJSON(table string, schema *arrow.Schema, body, key []int) (*JSON, error) {
	j := &JSON{table: table, schema: schema}
	var err error
	if j.body, err = planColumns(schema, body); err == nil {
		j.key, err = planColumns(schema, key)
	}
	if err != nil {
		return nil, fmt.Errorf("planning messages of %s: %w", table, err)
	}
	return j, nil
}

func planColumns(schema *arrow.Schema, columns []int) ([]column, error) {
	plan := make([]column, 0, len(columns))
	for _, i := range columns {
		if i < 0 || i >= schema.NumFields() {
			return nil, fmt.Errorf("there is no column %d in a schema of %d", i, schema.NumFields())
		}
		f := schema.Field(i)
		t, err := sqltype.FromField(f)
		if err != nil {
			return nil, err
		}
		label, ok := sqltype.AppendString(nil, f.Name)
		if !ok {
			return nil, fmt.Errorf("the name of column %d is not valid UTF-8: %q", i, f.Name)
		}
		plan = append(plan, column{index: i, name: f.Name, label: append(label, ':'), typ: t})
	}
	return plan, nil
}

// HasKey reports whether AppendKey gives anything.
func (j *JSON) HasKey() bool { return len(j.key) > 0 }

// Rows is a JSON tied to a record batch. It is valid until the batch is released, and for any number of goroutines.
type Rows struct {
	plan *JSON
	body []cell
	key  []cell
	rows int
}

// Bind ties the plan to a record batch of its schema. The batch stays the caller's.
func (j *JSON) Bind(rec arrow.RecordBatch) (*Rows, error) {
	r := &Rows{plan: j, rows: int(rec.NumRows())}
	if rec.Schema() != j.schema && !rec.Schema().Equal(j.schema) {
		return nil, fmt.Errorf("writing messages of %s: the record batch has another schema", j.table)
	}
	bind := func(columns []column) ([]cell, error) {
		cells := make([]cell, len(columns))
		for i, c := range columns {
			var err error
			if cells[i], err = bindCell(c.typ, rec.Column(c.index)); err != nil {
				return nil, fmt.Errorf("writing messages of %s: column %s (%s): %w", j.table, c.name, c.typ, err)
			}
		}
		return cells, nil
	}
	var err error
	if r.body, err = bind(j.body); err != nil {
		return nil, err
	}
	r.key, err = bind(j.key)
	return r, err
}

// Len is the number of rows.
func (r *Rows) Len() int { return r.rows }

// AppendRow appends the object of a row. Columns of the schema that are in unchanged are left out.
func (r *Rows) AppendRow(dst []byte, row int, unchanged Set) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '{')
	sep := false
	for i := range r.body {
		c := &r.plan.body[i]
		if unchanged.Has(c.index) {
			continue
		}
		if sep {
			dst = append(dst, ',')
		}
		sep = true
		dst = append(dst, c.label...)
		cell := &r.body[i]
		if cell.nulls && cell.values.IsNull(row) {
			dst = append(dst, "null"...)
			continue
		}
		var err error
		if dst, err = cell.append(dst, row); err != nil {
			return dst[:start], r.cellError(c, row, err)
		}
	}
	return append(dst, '}'), nil
}

// AppendKey appends the object of a row's key, and nothing for a table without a key.
func (r *Rows) AppendKey(dst []byte, row int) ([]byte, error) {
	if len(r.key) == 0 {
		return dst, nil
	}
	start := len(dst)
	for i := range r.key {
		c := &r.plan.key[i]
		if i == 0 {
			dst = append(dst, '{')
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, c.label...)
		cell := &r.key[i]
		if cell.nulls && cell.values.IsNull(row) {
			return dst[:start], r.cellError(c, row, errors.New("NULL in a column of the key"))
		}
		var err error
		if dst, err = cell.append(dst, row); err != nil {
			return dst[:start], r.cellError(c, row, err)
		}
	}
	return append(dst, '}'), nil
}

func (r *Rows) cellError(c *column, row int, err error) error {
	return fmt.Errorf("writing row %d of %s: column %s (%s): %w", row+1, r.plan.table, c.name, c.typ, err)
}
