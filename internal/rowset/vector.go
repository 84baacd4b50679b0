package rowset

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/sqltype"
)

// firstRows is the room of a column before anything is known of the batch.
const firstRows = 64

var errTooLong = errors.New("the column would hold more than 2 GiB in one record batch")

// vector is one column being filled: slices in Arrow layout, in the machine's byte order.
type vector struct {
	pool  *Pool
	name  string
	typ   sqltype.Type
	dtype arrow.DataType
	kind  sqltype.Kind
	width int // bytes of a fixed value; 0 = bits; -1 = variable
	cells int // driver values of a row

	rows, nulls int
	valid       []byte // nil until the first NULL
	data        []byte
	used        int    // bytes of data, variable width only
	offsets     []byte // int32, variable width only
	second      []byte // int16: offset_minutes of a datetimeoffset

	hintRows, hintUsed int // sizes of the last batch
}

func newVector(p *Pool, name string, t sqltype.Type) *vector {
	v := &vector{pool: p, name: name, typ: t, dtype: t.Inside(), kind: t.Kind(), cells: t.Cells(), hintRows: firstRows}
	switch v.kind {
	case sqltype.Bit:
		v.width = 0
	case sqltype.TinyInt:
		v.width = 1
	case sqltype.SmallInt:
		v.width = 2
	case sqltype.Int, sqltype.Real, sqltype.Date:
		v.width = 4
	case sqltype.Decimal, sqltype.UUID:
		v.width = 16
	case sqltype.Text, sqltype.Binary, sqltype.Variant:
		v.width = -1
	default:
		v.width = 8
	}
	return v
}

// rowBytes is what one row takes without the contents of variable-width values.
func (v *vector) rowBytes() int {
	switch {
	case v.kind == sqltype.DateTimeOffset:
		return v.width + 2
	case v.width < 0:
		return 4
	case v.width == 0:
		return 1
	}
	return v.width
}

// fixed makes room for one more fixed-width value, counts the row, and gives the place of the value.
func (v *vector) fixed() []byte {
	at := v.rows * v.width
	if at+v.width > len(v.data) {
		v.data = v.pool.Reallocate(max(at+v.width, v.hintRows*v.width), v.data)
	}
	v.markValid()
	v.rows++
	return v.data[at : at+v.width : at+v.width]
}

func (v *vector) put16(x int16) { binary.NativeEndian.PutUint16(v.fixed(), uint16(x)) }
func (v *vector) put32(x int32) { binary.NativeEndian.PutUint32(v.fixed(), uint32(x)) }
func (v *vector) put64(x int64) { binary.NativeEndian.PutUint64(v.fixed(), uint64(x)) }

func (v *vector) putBool(x bool) {
	byteAt := v.rows >> 3
	if byteAt >= len(v.data) {
		v.data = v.pool.Reallocate(max(byteAt+1, v.hintRows>>3), v.data)
	}
	setBit(v.data, v.rows, x)
	v.markValid()
	v.rows++
}

// putSecond stores the second half of a datetimeoffset of the row that was just put.
func (v *vector) putSecond(x int16) {
	end := 2 * v.rows
	if end > len(v.second) {
		v.second = v.pool.Reallocate(max(end, 2*v.hintRows), v.second)
	}
	binary.NativeEndian.PutUint16(v.second[end-2:], uint16(x))
}

// room makes room for n more bytes of a variable-width value.
func (v *vector) room(n int) error {
	if n > math.MaxInt32-v.used {
		return errTooLong
	}
	if v.used+n > len(v.data) {
		v.data = v.pool.Reallocate(max(v.used+n, v.used+v.used/4, v.hintUsed), v.data)
	}
	return nil
}

// endVariable counts a row whose n bytes were written behind used.
func (v *vector) endVariable(n int) {
	v.used += n
	v.markValid()
	v.rows++
	v.endOffset()
}

func (v *vector) endOffset() {
	end := 4 * (v.rows + 1)
	if end > len(v.offsets) {
		first := v.offsets == nil
		v.offsets = v.pool.Reallocate(max(end, 4*(v.hintRows+1)), v.offsets)
		if first {
			binary.NativeEndian.PutUint32(v.offsets, 0)
		}
	}
	binary.NativeEndian.PutUint32(v.offsets[end-4:], uint32(v.used))
}

// span gives the bytes [from, to) of a variable-width value.
func (v *vector) span(row int) (from, to int) {
	return int(binary.NativeEndian.Uint32(v.offsets[4*row:])), int(binary.NativeEndian.Uint32(v.offsets[4*row+4:]))
}

func (v *vector) putBytes(x []byte) error {
	if err := v.room(len(x)); err != nil {
		return err
	}
	copy(v.data[v.used:], x)
	v.endVariable(len(x))
	return nil
}

func (v *vector) putString(x string) error {
	if err := v.room(len(x)); err != nil {
		return err
	}
	copy(v.data[v.used:], x)
	v.endVariable(len(x))
	return nil
}

func (v *vector) putNull() {
	if v.valid == nil {
		v.valid = v.pool.Allocate(max(v.rows, v.hintRows)>>3 + 1)
		for i := 0; i <= v.rows>>3; i++ {
			v.valid[i] = 0xff
		}
	}
	row := v.rows
	switch {
	case v.width == 0:
		v.putBool(false)
	case v.width < 0:
		v.endVariable(0)
	default:
		clear(v.fixed())
		if v.kind == sqltype.DateTimeOffset {
			v.putSecond(0)
		}
	}
	setBit(v.valid, row, false)
	v.nulls++
}

func (v *vector) markValid() {
	if v.valid == nil {
		return
	}
	if v.rows>>3 >= len(v.valid) {
		v.valid = v.pool.Reallocate(v.rows>>3+1, v.valid)
	}
	setBit(v.valid, v.rows, true)
}

// setBit sets bit i of a bitmap that is filled from its beginning: the first bit of a byte clears the others.
func setBit(b []byte, i int, x bool) {
	if i&7 == 0 {
		b[i>>3] = 0
	}
	if x {
		b[i>>3] |= 1 << (i & 7)
	} else {
		b[i>>3] &^= 1 << (i & 7)
	}
}

// truncate forgets the rows from n on.
func (v *vector) truncate(n int) {
	for v.rows > n {
		v.rows--
		if v.valid != nil && v.valid[v.rows>>3]&(1<<(v.rows&7)) == 0 {
			v.nulls--
		}
	}
	if v.width < 0 && v.offsets != nil {
		v.used = int(binary.NativeEndian.Uint32(v.offsets[4*n:]))
	}
}

// finish hands the slices over to an array and makes the vector empty.
func (v *vector) finish() arrow.Array {
	buf := func(b []byte, n int) *memory.Buffer {
		if b == nil {
			return nil
		}
		return memory.NewBufferWithAllocator(b[:n], v.pool)
	}
	bits := (v.rows + 7) / 8
	var valid *memory.Buffer
	if v.nulls > 0 {
		valid = buf(v.valid, bits)
	} else if v.valid != nil {
		v.pool.Free(v.valid)
	}
	var children []arrow.ArrayData
	buffers := []*memory.Buffer{valid}
	switch {
	case v.kind == sqltype.DateTimeOffset:
		st := v.dtype.(*arrow.StructType)
		first, second := buf(v.data, v.rows*v.width), buf(v.second, v.rows*2)
		children = []arrow.ArrayData{
			array.NewData(st.Field(0).Type, v.rows, []*memory.Buffer{nil, first}, nil, 0, 0),
			array.NewData(st.Field(1).Type, v.rows, []*memory.Buffer{nil, second}, nil, 0, 0),
		}
		release(first, second)
	case v.width < 0:
		if v.offsets == nil {
			v.endOffset()
		}
		buffers = append(buffers, buf(v.offsets, 4*(v.rows+1)), buf(v.data, v.used))
	case v.width == 0:
		buffers = append(buffers, buf(v.data, bits))
	default:
		buffers = append(buffers, buf(v.data, v.rows*v.width))
	}
	data := array.NewData(v.dtype, v.rows, buffers, children, v.nulls, 0)
	arr := array.MakeFromData(data)
	data.Release()
	for _, c := range children {
		c.Release()
	}
	release(buffers...)
	v.hintRows, v.hintUsed = max(v.rows, firstRows), v.used
	v.rows, v.nulls, v.used = 0, 0, 0
	v.valid, v.data, v.offsets, v.second = nil, nil, nil, nil
	return arr
}

// discard gives the slices back without making an array.
func (v *vector) discard() {
	for _, b := range [][]byte{v.valid, v.data, v.offsets, v.second} {
		if b != nil {
			v.pool.Free(b)
		}
	}
	v.rows, v.nulls, v.used = 0, 0, 0
	v.valid, v.data, v.offsets, v.second = nil, nil, nil, nil
}

func release(buffers ...*memory.Buffer) {
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
}
