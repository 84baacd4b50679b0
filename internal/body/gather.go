package body

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gather takes rows out of arrays.
type gather struct {
	rows   []int
	dense  bool // the rows follow each other: a slice of the array will do
	memory memory.Allocator
}

func newGather(rows []int, mem memory.Allocator) *gather {
	g := &gather{rows: rows, dense: true, memory: mem}
	for n, row := range rows {
		g.dense = g.dense && row == rows[0]+n
	}
	return g
}

// same gives the chosen rows of an array in its own type. The kinds are those of sqltype's inside forms.
func (g *gather) same(a arrow.Array) arrow.Array {
	if g.dense && len(g.rows) > 0 {
		return array.NewSlice(a, int64(g.rows[0]), int64(g.rows[0]+len(g.rows)))
	}
	switch v := a.(type) {
	case *array.Boolean:
		bits := g.buffer(bitutil.CeilByte(len(g.rows)) / 8)
		clear(bits.Bytes())
		for n, row := range g.rows {
			if v.Value(row) {
				bitutil.SetBit(bits.Bytes(), n)
			}
		}
		return g.array(a.DataType(), a, []*memory.Buffer{bits}, nil)
	case *array.String:
		return g.spans(a, v.ValueOffsets(), v.ValueBytes())
	case *array.Binary:
		return g.spans(a, v.ValueOffsets(), v.ValueBytes())
	}
	width := a.DataType().(arrow.FixedWidthDataType).Bytes()
	values := g.buffer(width * len(g.rows))
	to := values.Bytes()
	if len(g.rows) > 0 {
		from := a.Data().Buffers()[1].Bytes()[a.Data().Offset()*width:]
		for n, row := range g.rows {
			copy(to[n*width:(n+1)*width], from[row*width:])
		}
	}
	return g.array(a.DataType(), a, []*memory.Buffer{values}, nil)
}

// spans copies values of different lengths. The bytes begin at the first offset.
func (g *gather) spans(a arrow.Array, offsets []int32, bytes []byte) arrow.Array {
	size := 0
	for _, row := range g.rows {
		size += int(offsets[row+1] - offsets[row])
	}
	places, values := g.buffer(4*(len(g.rows)+1)), g.buffer(size)
	to := arrow.Int32Traits.CastFromBytes(places.Bytes())
	to[0] = 0
	for n, row := range g.rows {
		from := bytes[offsets[row]-offsets[0] : offsets[row+1]-offsets[0]]
		copy(values.Bytes()[to[n]:], from)
		to[n+1] = to[n] + int32(len(from))
	}
	return g.array(a.DataType(), a, []*memory.Buffer{places, values}, nil)
}

// array makes an array of the chosen rows from its buffers, which it takes over, with the nulls of another; nil has none.
func (g *gather) array(dt arrow.DataType, nulls arrow.Array, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.Array {
	valid, missing := (*memory.Buffer)(nil), 0
	if nulls != nil && nulls.NullN() > 0 {
		valid = g.buffer(bitutil.CeilByte(len(g.rows)) / 8)
		clear(valid.Bytes())
		for n, row := range g.rows {
			if nulls.IsNull(row) {
				missing++
			} else {
				bitutil.SetBit(valid.Bytes(), n)
			}
		}
	}
	d := array.NewData(dt, len(g.rows), append([]*memory.Buffer{valid}, buffers...), children, missing, 0)
	defer d.Release()
	for _, b := range buffers {
		b.Release()
	}
	if valid != nil {
		valid.Release()
	}
	return array.MakeFromData(d)
}

func (g *gather) buffer(size int) *memory.Buffer {
	b := memory.NewResizableBuffer(g.memory)
	b.Resize(size)
	return b
}
