package body

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"example.com/mssqlcdc/internal/sqltype"
)

// part is a record batch in the making.
type part struct {
	builders []array.Builder // nil for a column that is left out
	seen     Set             // columns that a row had
	rows     []int
	known    []Set // of each row, with the option Partial
	size     int64
}

func (d *Decoder) newPart() *part {
	p := &part{builders: make([]array.Builder, len(d.columns)), rows: make([]int, 0, d.most)}
	for i := range d.columns {
		c := &d.columns[i]
		if c.Ignored || !loadable(d.kinds[i]) || c.Optional && !d.given.Has(i) && !d.options.Partial {
			continue
		}
		p.builders[i] = array.NewBuilder(d.options.Mem, c.Type.Inside())
		p.builders[i].Reserve(d.most)
	}
	return p
}

// append moves the decoder's row into the part, and returns about how many bytes it takes.
func (p *part) append(d *Decoder, row int) (size int64) {
	for i, b := range p.builders {
		if b == nil {
			continue
		}
		v := &d.row[i]
		if d.given.Has(i) {
			p.seen.Add(i)
		}
		if v.null {
			b.AppendNull()
			size++
			continue
		}
		size += 8
		text := d.arena[v.from:v.to]
		switch d.kinds[i] {
		case sqltype.Bit:
			b.(*array.BooleanBuilder).Append(v.lo != 0)
		case sqltype.TinyInt:
			b.(*array.Uint8Builder).Append(uint8(v.lo))
		case sqltype.SmallInt:
			b.(*array.Int16Builder).Append(int16(v.lo))
		case sqltype.Int:
			b.(*array.Int32Builder).Append(int32(v.lo))
		case sqltype.BigInt, sqltype.DateTime, sqltype.DateTime2:
			b.(*array.Int64Builder).Append(int64(v.lo))
		case sqltype.Real:
			b.(*array.Float32Builder).Append(float32From(v.lo))
		case sqltype.Float:
			b.(*array.Float64Builder).Append(float64From(v.lo))
		case sqltype.Decimal:
			b.(*array.Decimal128Builder).Append(decimal128.New(int64(v.hi), v.lo))
			size += 8
		case sqltype.Date:
			b.(*array.Date32Builder).Append(arrow.Date32(int32(v.lo)))
		case sqltype.Time:
			b.(*array.Time64Builder).Append(arrow.Time64(int64(v.lo)))
		case sqltype.DateTimeOffset:
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.Int64Builder).Append(int64(v.lo))
			s.FieldBuilder(1).(*array.Int16Builder).Append(int16(v.hi))
		case sqltype.Text:
			b.(*array.StringBuilder).BinaryBuilder.Append(text)
			size += 2 * int64(len(text))
		case sqltype.Binary:
			b.(*array.BinaryBuilder).Append(text)
			size += int64(len(text))
		case sqltype.RowVersion, sqltype.UUID:
			b.(*array.FixedSizeBinaryBuilder).Append(text)
			size += 8
		}
	}
	if d.options.Partial {
		p.known = append(p.known, d.known())
	}
	p.rows = append(p.rows, row)
	p.size += size
	return size
}

func (p *part) finish(d *Decoder) Part {
	var fields []arrow.Field
	var columns []arrow.Array
	for i, b := range p.builders {
		if b == nil {
			continue
		}
		if p.seen.Has(i) {
			fields = append(fields, d.columns[i].Type.Field(d.columns[i].Name))
			columns = append(columns, b.NewArray())
		}
		b.Release()
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(p.rows)))
	for _, c := range columns {
		c.Release()
	}
	return Part{Record: rec, Rows: p.rows, Known: p.known, Bytes: p.size}
}

func (p *part) release() {
	for _, b := range p.builders {
		if b != nil {
			b.Release()
		}
	}
}
