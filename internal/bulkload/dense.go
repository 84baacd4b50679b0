package bulkload

import (
	"encoding/binary"
	"math"

	"example.com/mssqlcdc/internal/tds"
)

// dense is the length that every row of the batch has, or 0: no column has a NULL
// and every cell has a fixed length. Such rows are encoded column by column.
func (e *encoder) dense() int {
	size := 1
	for _, c := range e.cols {
		n := c.fixed()
		if n == 0 {
			return 0
		}
		size += n
	}
	return size
}

// fixed is the length of the column's cells with their length byte, or 0 if they
// differ in this batch.
func (c *column) fixed() int {
	if c.vec.at != nil || c.vec.valid != nil {
		return 0
	}
	switch c.op {
	case opBit, opU8:
		return 2
	case opI16:
		return 3
	case opI32, opF32:
		return 5
	case opI64, opF64:
		return 9
	case opDate:
		return 4
	case opD128:
		return 1 + c.wire.size
	case opWall:
		return 1 + c.wire.info.Size
	}
	return 0
}

// fillDense encodes n rows of size bytes each. It is false when a row cannot be
// stored: then the rows have to be taken one by one.
func (e *encoder) fillDense(n, size int) bool {
	buf := reserve(e.buf[:0], n*size)[:n*size]
	e.buf = buf[:0]
	for at := 0; at < len(buf); at += size {
		buf[at] = byte(tds.TokenRow)
	}
	at := 1
	for _, c := range e.cols {
		if !c.dense(buf[at:], size, e.next, e.next+n) {
			return false
		}
		at += c.fixed()
	}
	e.buf = buf
	e.next += n
	e.sent += int64(n)
	return true
}

// dense writes the cells of rows from to to-1, each stride bytes behind the last.
func (c *column) dense(buf []byte, stride, from, to int) bool {
	v := &c.vec
	switch c.op {
	case opBit:
		for j := from; j < to; j++ {
			b := buf[:2]
			b[0], b[1] = 1, 0
			if v.bit(j) {
				b[1] = 1
			}
			buf = after(buf, stride)
		}
	case opU8:
		for _, x := range v.u8[from:to] {
			b := buf[:2]
			b[0], b[1] = 1, x
			buf = after(buf, stride)
		}
	case opI16:
		for _, x := range v.i16[from:to] {
			b := buf[:3]
			b[0] = 2
			binary.LittleEndian.PutUint16(b[1:], uint16(x))
			buf = after(buf, stride)
		}
	case opI32:
		for _, x := range v.i32[from:to] {
			b := buf[:5]
			b[0] = 4
			binary.LittleEndian.PutUint32(b[1:], uint32(x))
			buf = after(buf, stride)
		}
	case opI64:
		for _, x := range v.i64[from:to] {
			b := buf[:9]
			b[0] = 8
			binary.LittleEndian.PutUint64(b[1:], uint64(x))
			buf = after(buf, stride)
		}
	case opF32:
		for _, x := range v.f32[from:to] {
			if x-x != 0 {
				return false
			}
			b := buf[:5]
			b[0] = 4
			binary.LittleEndian.PutUint32(b[1:], math.Float32bits(x))
			buf = after(buf, stride)
		}
	case opF64:
		for _, x := range v.f64[from:to] {
			if x-x != 0 {
				return false
			}
			b := buf[:9]
			b[0] = 8
			binary.LittleEndian.PutUint64(b[1:], math.Float64bits(x))
			buf = after(buf, stride)
		}
	case opDate:
		for _, x := range v.i32[from:to] {
			days := int64(x) + unixEpoch
			if uint64(days) > tds.MaxDay {
				return false
			}
			b := buf[:4]
			b[0], b[1], b[2], b[3] = 3, byte(days), byte(days>>8), byte(days>>16)
			buf = after(buf, stride)
		}
	case opD128:
		return c.denseDecimal(buf, stride, from, to)
	case opWall:
		return c.denseWall(buf, stride, from, to)
	}
	return true
}

// after is what is behind the next stride bytes, nothing behind the last row.
func after(buf []byte, stride int) []byte { return buf[min(stride, len(buf)):] }

func (c *column) denseDecimal(buf []byte, stride, from, to int) bool {
	size, limit := c.wire.size, c.wire.limit
	for _, d := range c.vec.d128[from:to] {
		n := signed(d.HighBits(), d.LowBits())
		if !n.below(limit) {
			return false
		}
		var cell [18]byte
		putMagnitude(cell[:0], n, size)
		copy(buf[:size+1], cell[:])
		buf = after(buf, stride)
	}
	return true
}

func (c *column) denseWall(buf []byte, stride, from, to int) bool {
	size := c.wire.info.Size
	for _, x := range c.vec.i64[from:to] {
		days, tod := c.split(x)
		if uint64(days) > tds.MaxDay {
			return false
		}
		var cell [12]byte
		putDateTime2(cell[:0], days, tod*c.mult, size)
		copy(buf[:size+1], cell[:])
		buf = after(buf, stride)
	}
	return true
}
