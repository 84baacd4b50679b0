package body

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/sqltype"
)

// Export is the plan of the exported Arrow form of one schema: the forms that docs/types.md lists for batches that leave the
// project.
type Export struct {
	table   string
	schema  *arrow.Schema
	columns []column
	fields  []arrow.Field
}

// NewExport plans a schema that internal/rowset made. columns are columns of the schema, in the order that the export has. The
// table's name is for errors.
func NewExport(table string, schema *arrow.Schema, columns []int) (*Export, error) {
	e := &Export{table: table, schema: schema}
	var err error
	if e.columns, err = planColumns(schema, columns); err != nil {
		return nil, fmt.Errorf("planning record batches of %s: %w", table, err)
	}
	for _, c := range e.columns {
		f, err := c.typ.ExportedField(c.name)
		if err != nil {
			return nil, fmt.Errorf("planning record batches of %s: column %s: %w", table, c.name, err)
		}
		e.fields = append(e.fields, f)
	}
	return e, nil
}

// Fields are the exported columns.
func (e *Export) Fields() []arrow.Field { return e.fields }

// Columns gives the exported columns of some rows of a record batch of the schema, in the order of rows. They are the caller's to
// release, and may share memory with the batch. A value that has no exported form is an error naming table, column, row and value.
func (e *Export) Columns(rec arrow.RecordBatch, rows []int, mem memory.Allocator) (out []arrow.Array, err error) {
	if rec.Schema() != e.schema && !rec.Schema().Equal(e.schema) {
		return nil, fmt.Errorf("exporting rows of %s: the record batch has another schema", e.table)
	}
	g := newGather(rows, mem)
	for i, c := range e.columns {
		a := rec.Column(c.index)
		exported, bad, err := g.column(c.typ, e.fields[i].Type, a)
		if err != nil {
			for _, a := range out {
				a.Release()
			}
			return nil, fmt.Errorf("exporting row %d of %s: column %s (%s): %w", bad+1, e.table, c.name, c.typ, err)
		}
		out = append(out, exported)
	}
	return out, nil
}

// column gives the exported form of the chosen rows of a column. bad is the row of an error.
func (g *gather) column(t sqltype.Type, out arrow.DataType, a arrow.Array) (exported arrow.Array, bad int, err error) {
	switch t.Kind() {
	case sqltype.DateTime2:
		return g.timestamps(out, a, a.(*array.Int64).Int64Values(), func(dst []byte, v int64) []byte { return sqltype.AppendDateTime2(dst, v, t.Digits()) })
	case sqltype.DateTime:
		ticks := make([]int64, a.Len())
		for i, v := range a.(*array.Int64).Int64Values() {
			ticks[i] = sqltype.DateTimeToTicks(v)
		}
		return g.timestamps(out, a, ticks, func(dst []byte, v int64) []byte { return sqltype.AppendDateTime2(dst, v, 3) })
	case sqltype.DateTimeOffset:
		return g.offsets(t, out.(*arrow.StructType), a.(*array.Struct))
	case sqltype.UUID:
		storage := g.same(a)
		defer storage.Release()
		return array.NewExtensionArrayWithStorage(out.(arrow.ExtensionType), storage), 0, nil
	}
	return g.same(a), 0, nil
}

// timestamps converts ticks, whose nulls are those of a.
func (g *gather) timestamps(out arrow.DataType, a arrow.Array, ticks []int64, text func([]byte, int64) []byte) (arrow.Array, int, error) {
	unit := out.(*arrow.TimestampType).Unit
	values := g.buffer(8 * len(g.rows))
	to := arrow.Int64Traits.CastFromBytes(values.Bytes())
	for n, row := range g.rows {
		if a.IsNull(row) {
			to[n] = 0
			continue
		}
		var ok bool
		if to[n], ok = sqltype.TimestampOf(ticks[row], unit); !ok {
			values.Release()
			return nil, row, fmt.Errorf("%s does not fit %s, which ends in 1677 and 2262", text(nil, ticks[row]), out)
		}
	}
	return g.array(out, a, []*memory.Buffer{values}, nil), 0, nil
}

// offsets converts a datetimeoffset.
func (g *gather) offsets(t sqltype.Type, out *arrow.StructType, a *array.Struct) (arrow.Array, int, error) {
	ticks, minutes := a.Field(0).(*array.Int64).Int64Values(), a.Field(1).(*array.Int16).Int16Values()
	unit := out.Field(0).Type.(*arrow.TimestampType).Unit
	instants, zones := g.buffer(8*len(g.rows)), g.buffer(2*len(g.rows))
	to, zone := arrow.Int64Traits.CastFromBytes(instants.Bytes()), arrow.Int16Traits.CastFromBytes(zones.Bytes())
	for n, row := range g.rows {
		if a.IsNull(row) {
			to[n], zone[n] = 0, 0
			continue
		}
		var ok bool
		if to[n], ok = sqltype.TimestampOf(ticks[row], unit); !ok {
			instants.Release()
			zones.Release()
			return nil, row, fmt.Errorf("%s does not fit %s, which ends in 1677 and 2262", sqltype.AppendDateTimeOffset(nil, ticks[row], minutes[row], t.Digits()), out.Field(0).Type)
		}
		zone[n] = minutes[row]
	}
	first := g.array(out.Field(0).Type, nil, []*memory.Buffer{instants}, nil)
	defer first.Release()
	second := g.array(out.Field(1).Type, nil, []*memory.Buffer{zones}, nil)
	defer second.Release()
	return g.array(out, a, nil, []arrow.ArrayData{first.Data(), second.Data()}), 0, nil
}
