package bulkload

import (
	"encoding/binary"
	"errors"
	"math"

	"example.com/mssqlcdc/internal/tds"
)

// chunk is how many bytes of rows are encoded before they are sent.
const chunk = 48 << 10

// encoder turns the rows of a record batch into ROW tokens.
type encoder struct {
	cols []*column
	buf  []byte
	next int // row
	rows int // the number of them
	size int // of a row, if all have the same
	sent int64
	bad  []RowError
}

// newEncoder begins with the first row of the batch that the columns are bound to.
func newEncoder(cols []*column, buf []byte, rows int) *encoder {
	e := &encoder{cols: cols, buf: buf, rows: rows}
	e.size = e.dense()
	return e
}

// fill encodes rows until there is a chunk or no row is left. A row that cannot be
// stored is cut back out.
func (e *encoder) fill() {
	if e.size > 0 && e.fillDense(min(e.rows-e.next, max(1, chunk/e.size)), e.size) {
		return
	}
	buf := e.buf[:0]
	for ; e.next < e.rows && len(buf) < chunk; e.next++ {
		start := len(buf)
		var failed int
		var err error
		if buf, failed, err = e.row(buf, e.next); err != nil {
			buf = buf[:start]
			e.bad = append(e.bad, RowError{Row: e.next, Column: e.cols[failed].name, Err: err})
			continue
		}
		e.sent++
	}
	e.buf = buf
}

// roomPerCell is as much as a cell of fixed length takes, or a NULL.
const roomPerCell = 20

// reserve makes room for the cells of fixed length that a row can have, so that
// they are written without looking at the capacity.
func reserve(buf []byte, room int) []byte {
	if cap(buf)-len(buf) >= room {
		return buf
	}
	bigger := make([]byte, len(buf), max(2*cap(buf), len(buf)+room, chunk+chunk/2))
	copy(bigger, buf)
	return bigger
}

func put1(buf []byte, v byte) []byte {
	n := len(buf)
	buf = buf[:n+2]
	buf[n], buf[n+1] = 1, v
	return buf
}

func put2(buf []byte, v uint16) []byte {
	n := len(buf)
	buf = buf[:n+3]
	buf[n] = 2
	binary.LittleEndian.PutUint16(buf[n+1:], v)
	return buf
}

func put4(buf []byte, v uint32) []byte {
	n := len(buf)
	buf = buf[:n+5]
	buf[n] = 4
	binary.LittleEndian.PutUint32(buf[n+1:], v)
	return buf
}

func put8(buf []byte, v uint64) []byte {
	n := len(buf)
	buf = buf[:n+9]
	buf[n] = 8
	binary.LittleEndian.PutUint64(buf[n+1:], v)
	return buf
}

// row adds one row (2.2.7.20 ROW).
func (e *encoder) row(buf []byte, row int) ([]byte, int, error) {
	room := 1 + roomPerCell*len(e.cols)
	buf = append(reserve(buf, room), byte(tds.TokenRow))
	for i, c := range e.cols {
		v := &c.vec
		j := row
		null := c.op == opNull
		switch {
		case v.at != nil:
			if null = v.outer != nil && v.outer.IsNull(row); !null {
				j = v.at(row)
				null = v.isNull(j)
			}
		case v.valid != nil:
			null = null || v.valid[uint(v.off+j)/8]&(1<<(uint(v.off+j)%8)) == 0
		}
		if null {
			if !c.nullable {
				return buf, i, errNull
			}
			n := len(buf)
			binary.LittleEndian.PutUint64(buf[n:n+8], c.nullBits)
			buf = buf[:n+c.nullSize]
			continue
		}
		switch c.op {
		case opBit:
			b := byte(0)
			if v.bit(j) {
				b = 1
			}
			buf = put1(buf, b)
		case opU8:
			buf = put1(buf, v.u8[j])
		case opI16:
			buf = put2(buf, uint16(v.i16[j]))
		case opI32:
			buf = put4(buf, uint32(v.i32[j]))
		case opI64:
			buf = put8(buf, uint64(v.i64[j]))
		case opF64:
			f := v.f64[j]
			if f-f != 0 {
				var err error
				if buf, err = c.notFinite(buf); err != nil {
					return buf, i, err
				}
				continue
			}
			buf = put8(buf, math.Float64bits(f))
		case opF32:
			f := v.f32[j]
			if f-f != 0 {
				var err error
				if buf, err = c.notFinite(buf); err != nil {
					return buf, i, err
				}
				continue
			}
			buf = put4(buf, math.Float32bits(f))
		case opD128:
			d := v.d128[j]
			n := signed(d.HighBits(), d.LowBits())
			if !n.below(c.wire.limit) {
				return buf, i, c.numberRange(j)
			}
			buf = putMagnitude(buf, n, c.wire.size)
		case opDate:
			days := int64(v.i32[j]) + unixEpoch
			if uint64(days) > tds.MaxDay {
				return buf, i, c.outOfRange(moment{days: days})
			}
			buf = append(buf, 3, byte(days), byte(days>>8), byte(days>>16))
		case opWall:
			days, tod := c.split(v.i64[j])
			if uint64(days) > tds.MaxDay {
				return buf, i, c.outOfRange(c.momentOf(v.i64[j]))
			}
			buf = putDateTime2(buf, days, tod*c.mult, c.wire.info.Size)
		case opText:
			s := v.bytesAt(j)
			if c.plain {
				var ok bool
				if buf, ok = c.plainText(buf, s, room); ok {
					continue
				}
			}
			var err error
			if buf, err = c.appendText(buf, s); err != nil {
				return buf, i, err
			}
			buf = reserve(buf, room)
		default:
			var err error
			if buf, err = c.append(buf, j); err != nil {
				return buf, i, err
			}
			buf = reserve(buf, room)
		}
	}
	return buf, 0, nil
}

// putMagnitude writes a decimal cell with its length.
func putMagnitude(buf []byte, n number, size int) []byte {
	at := len(buf)
	b := buf[at : at+18]
	b[0], b[1] = byte(size), 1
	if n.neg && n.hi|n.lo != 0 {
		b[1] = 0
	}
	binary.LittleEndian.PutUint64(b[2:], n.lo)
	binary.LittleEndian.PutUint64(b[10:], n.hi)
	return buf[:at+1+size]
}

// putDateTime2 writes a datetime2 cell of size bytes, the last three of them the
// day.
func putDateTime2(buf []byte, days, tod int64, size int) []byte {
	at := len(buf)
	b := buf[at : at+1+8+3]
	b[0] = byte(size)
	binary.LittleEndian.PutUint64(b[1:], uint64(tod))
	d := b[size-2:]
	d[0], d[1], d[2] = byte(days), byte(days>>8), byte(days>>16)
	return buf[:at+1+size]
}

// append adds a cell whose value has to be looked at.
func (c *column) append(buf []byte, j int) ([]byte, error) {
	v := &c.vec
	switch c.op {
	case opBinary:
		return c.appendBinary(buf, v.bytesAt(j))
	case opMoment:
		return c.appendMoment(buf, c.momentOf(c.unitsAt(j)))
	case opTime:
		return c.appendTime(buf, c.unitsAt(j))
	case opTicks300:
		return c.appendTicks300(buf, v.i64[j])
	case opTicks300Moment:
		return c.appendMoment(buf, ofDateTime(v.i64[j]))
	case opInstantOffset:
		return c.appendOffset(buf, c.momentOf(v.i64[j]), c.offsetAt(v.i64[j]))
	case opOffset, opOffsetMoment:
		if v.minute == nil || v.fields[0].isNull(j) || v.fields[1].isNull(j) {
			return buf, errors.New("a datetimeoffset without its instant or its offset")
		}
		if c.op == opOffset {
			return c.appendOffset(buf, c.momentOf(v.i64[j]), int64(v.minute[j]))
		}
		return c.appendMoment(buf, c.momentOf(v.i64[j]))
	case opGUID:
		return appendGUID(buf, v.bytesAt(j))
	case opParse:
		return c.appendParsed(buf, v.bytesAt(j))
	case opNested:
		text, err := v.jsonAt(j)
		if err != nil {
			return buf, err
		}
		return c.appendText(buf, text)
	case opVariant:
		return c.appendVariant(buf, v.bytesAt(j))
	}
	return c.appendNumber(buf, j)
}

// appendNumber adds a number that is not of the column's own kind.
func (c *column) appendNumber(buf []byte, j int) (out []byte, err error) {
	switch c.op {
	case opInt:
		out, err = c.appendInt(buf, j)
	case opBitNumber:
		out, err = c.appendBit(buf, j)
	case opFloat:
		out, err = c.appendFloat(buf, j)
	case opMoney:
		out, err = c.appendMoney(buf, j)
	default:
		out, err = c.appendDecimal(buf, j)
	}
	if err == errNaN { //nolint:errorlint // the value itself, from this package
		return c.notFinite(buf)
	}
	return out, err
}

// notFinite stores NULL for NaN and the infinities, or refuses them.
func (c *column) notFinite(buf []byte) ([]byte, error) {
	if !c.lossy.NaN {
		return buf, errNaN
	}
	if !c.nullable {
		return buf, errNull
	}
	return append(buf, c.null...), nil
}

// unitsAt is the value of a date, a time or a timestamp in its own unit.
func (c *column) unitsAt(j int) int64 {
	if c.vec.layout == layI32 {
		return int64(c.vec.i32[j])
	}
	return c.vec.i64[j]
}
