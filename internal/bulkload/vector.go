package bulkload

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// layout says which slice of a vector holds the values.
type layout uint8

const (
	layNone layout = iota
	layBits
	layI8
	layI16
	layI32
	layI64
	layU8
	layU16
	layU32
	layU64
	layF16
	layF32
	layF64
	layD128
	layD256
	layText32 // offsets of 32 bits into data
	layText64
	layFixed // data in pieces of width
	layView
	layNested
)

// vector is one column of a record batch as slices. It borrows the batch's memory
// and must not outlive it.
type vector struct {
	layout layout
	valid  []byte // validity bits from bit off on; nil if there is no NULL
	off    int
	bits   []byte // layBits
	bitOff int
	i8     []int8
	i16    []int16
	i32    []int32
	i64    []int64
	u8     []uint8
	u16    []uint16
	u32    []uint32
	u64    []uint64
	f16    []float16.Num
	f32    []float32
	f64    []float64
	d128   []decimal128.Num
	d256   []decimal256.Num
	off32  []int32
	off64  []int64
	data   []byte
	width  int
	view   func(int) *arrow.ViewHeader
	parts  []*memory.Buffer // of the views that are not inline
	nested arrow.Array
	minute []int16     // offsets of famOffset
	fields [2]validity // of the two fields of famOffset

	// Where values are shared: at gives the place of row i among them, and
	// outer, if it is set, the validity of the row itself.
	at    func(i int) int
	outer arrow.Array
}

// validity are the NULLs of an array inside of another.
type validity struct {
	bits []byte
	off  int
}

func validityOf(a arrow.Array) (n validity) {
	if a.NullN() > 0 && a.Data().Buffers()[0] != nil {
		n.bits, n.off = a.Data().Buffers()[0].Bytes(), a.Data().Offset()
	}
	return n
}

func (n validity) isNull(j int) bool { return n.bits != nil && !bitutil.BitIsSet(n.bits, n.off+j) }

// bind reads the slices of an array.
func (v *vector) bind(a arrow.Array) error {
	*v = vector{}
	switch a := a.(type) {
	case *array.Dictionary:
		v.outer, v.at = a, a.GetValueIndex
		return v.values(a.Dictionary())
	case *array.RunEndEncoded:
		v.at = a.GetPhysicalIndex
		if d, ok := a.Values().(*array.Dictionary); ok {
			v.outer = nil
			v.at = func(i int) int { return d.GetValueIndex(a.GetPhysicalIndex(i)) }
			if d.NullN() > 0 {
				return fmt.Errorf("run-end encoding of a dictionary with NULL is not supported; decode one of them")
			}
			return v.values(d.Dictionary())
		}
		return v.values(a.Values())
	}
	return v.values(a)
}

// values reads the slices of an array whose values are its own.
func (v *vector) values(a arrow.Array) error {
	if ext, ok := a.(array.ExtensionArray); ok {
		return v.values(ext.Storage())
	}
	d := a.Data()
	if d.Len() == 0 {
		return nil // its buffers may be missing
	}
	if a.NullN() > 0 && d.Buffers()[0] != nil {
		v.valid, v.off = d.Buffers()[0].Bytes(), d.Offset()
	}
	switch a := a.(type) {
	case *array.Null:
	case *array.Boolean:
		v.layout = layBits
		if b := d.Buffers()[1]; b != nil {
			v.bits, v.bitOff = b.Bytes(), d.Offset()
		}
	case *array.Int8:
		v.layout, v.i8 = layI8, a.Int8Values()
	case *array.Int16:
		v.layout, v.i16 = layI16, a.Int16Values()
	case *array.Int32, *array.Date32, *array.Time32, *array.Decimal32:
		v.layout, v.i32 = layI32, fixedValues[int32](d)
	case *array.Int64, *array.Date64, *array.Time64, *array.Timestamp, *array.Decimal64:
		v.layout, v.i64 = layI64, fixedValues[int64](d)
	case *array.Uint8:
		v.layout, v.u8 = layU8, a.Uint8Values()
	case *array.Uint16:
		v.layout, v.u16 = layU16, a.Uint16Values()
	case *array.Uint32:
		v.layout, v.u32 = layU32, a.Uint32Values()
	case *array.Uint64:
		v.layout, v.u64 = layU64, a.Uint64Values()
	case *array.Float16:
		v.layout, v.f16 = layF16, a.Values()
	case *array.Float32:
		v.layout, v.f32 = layF32, a.Float32Values()
	case *array.Float64:
		v.layout, v.f64 = layF64, a.Float64Values()
	case *array.Decimal128:
		v.layout, v.d128 = layD128, a.Values()
	case *array.Decimal256:
		v.layout, v.d256 = layD256, a.Values()
	case *array.String, *array.Binary:
		v.layout, v.off32, v.data = layText32, arrow.GetOffsets[int32](d, 1), bufferOf(d, 2)
	case *array.LargeString, *array.LargeBinary:
		v.layout, v.off64, v.data = layText64, arrow.GetOffsets[int64](d, 1), bufferOf(d, 2)
	case *array.FixedSizeBinary:
		w := a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth //nolint:forcetypeassert // what the array is
		v.layout, v.width = layFixed, w
		if b := bufferOf(d, 1); len(b) > 0 {
			v.data = b[d.Offset()*w : (d.Offset()+d.Len())*w]
		}
	case *array.StringView:
		v.layout, v.view, v.parts = layView, a.ValueHeader, d.Buffers()[2:]
	case *array.BinaryView:
		v.layout, v.view, v.parts = layView, a.ValueHeader, d.Buffers()[2:]
	case *array.Struct:
		return v.structure(a)
	default:
		v.layout, v.nested = layNested, a
	}
	return nil
}

// structure reads the two fields of a datetimeoffset, or keeps the array.
func (v *vector) structure(a *array.Struct) error {
	if a.NumField() == 2 && a.Field(1).DataType().ID() == arrow.INT16 {
		switch a.Field(0).(type) {
		case *array.Int64, *array.Timestamp:
			v.fields = [2]validity{validityOf(a.Field(0)), validityOf(a.Field(1))}
			v.layout, v.i64 = layI64, fixedValues[int64](a.Field(0).Data())
			v.minute = fixedValues[int16](a.Field(1).Data())
		}
	}
	if v.layout == layNone {
		v.layout, v.nested = layNested, a
	}
	return nil
}

// fixedValues are the values of an array of fixed width.
func fixedValues[T int16 | int32 | int64](d arrow.ArrayData) []T {
	if d.Len() == 0 || d.Buffers()[1] == nil {
		return nil
	}
	return arrow.GetValues[T](d, 1)
}

func bufferOf(d arrow.ArrayData, i int) []byte {
	if b := d.Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// isNull tells whether the value at place j is NULL.
func (v *vector) isNull(j int) bool { return v.valid != nil && !bitutil.BitIsSet(v.valid, v.off+j) }

func (v *vector) bit(j int) bool { return bitutil.BitIsSet(v.bits, v.bitOff+j) }

// bytesAt is the value of text or binary. It aliases the batch.
func (v *vector) bytesAt(j int) []byte {
	switch v.layout {
	case layText32:
		return v.data[v.off32[j]:v.off32[j+1]]
	case layText64:
		return v.data[v.off64[j]:v.off64[j+1]]
	case layFixed:
		return v.data[j*v.width : (j+1)*v.width]
	case layView:
		h := v.view(j)
		if h.IsInline() {
			return h.InlineBytes()
		}
		at := int(h.BufferOffset())
		return v.parts[h.BufferIndex()].Bytes()[at : at+h.Len()]
	}
	return nil
}

// jsonAt is the JSON of a nested value.
func (v *vector) jsonAt(j int) ([]byte, error) {
	if v.nested == nil {
		return nil, fmt.Errorf("the value is not nested")
	}
	return json.Marshal(v.nested.GetOneForMarshal(j))
}

// int64At is a whole number; false says that it is an unsigned one above int64.
func (v *vector) int64At(j int) (int64, bool) {
	switch v.layout {
	case layBits:
		if v.bit(j) {
			return 1, true
		}
		return 0, true
	case layI8:
		return int64(v.i8[j]), true
	case layI16:
		return int64(v.i16[j]), true
	case layI32:
		return int64(v.i32[j]), true
	case layI64:
		return v.i64[j], true
	case layU8:
		return int64(v.u8[j]), true
	case layU16:
		return int64(v.u16[j]), true
	case layU32:
		return int64(v.u32[j]), true
	case layU64:
		return int64(v.u64[j]), v.u64[j] <= 1<<63-1
	}
	return 0, true
}

func (v *vector) floatAt(j int) float64 {
	switch v.layout {
	case layF16:
		return float64(v.f16[j].Float32())
	case layF32:
		return float64(v.f32[j])
	}
	return v.f64[j]
}
