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
	sent int64
	bad  []RowError
}

// fill encodes rows until there is a chunk or no row is left. A row that cannot be
// stored is cut back out.
func (e *encoder) fill() {
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

// row adds one row (2.2.7.20 ROW).
func (e *encoder) row(buf []byte, row int) ([]byte, int, error) {
	buf = append(buf, byte(tds.TokenRow))
	for i, c := range e.cols {
		v := &c.vec
		j := row
		if v.at != nil {
			if v.outer != nil && v.outer.IsNull(row) {
				if !c.nullable {
					return buf, i, errNull
				}
				buf = append(buf, c.null...)
				continue
			}
			j = v.at(row)
		}
		if v.valid != nil && v.isNull(j) {
			if !c.nullable {
				return buf, i, errNull
			}
			buf = append(buf, c.null...)
			continue
		}
		switch c.op {
		case opNull:
			if !c.nullable {
				return buf, i, errNull
			}
			buf = append(buf, c.null...)
		case opBit:
			b := byte(0)
			if v.bit(j) {
				b = 1
			}
			buf = append(buf, 1, b)
		case opU8:
			buf = append(buf, 1, v.u8[j])
		case opI16:
			buf = binary.LittleEndian.AppendUint16(append(buf, 2), uint16(v.i16[j]))
		case opI32:
			n := uint32(v.i32[j])
			buf = append(buf, 4, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		case opI64:
			n := uint64(v.i64[j])
			buf = append(buf, 8, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
		case opF64:
			f := v.f64[j]
			if f-f != 0 {
				var err error
				if buf, err = c.notFinite(buf); err != nil {
					return buf, i, err
				}
				continue
			}
			n := math.Float64bits(f)
			buf = append(buf, 8, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40), byte(n>>48), byte(n>>56))
		case opF32:
			f := v.f32[j]
			if f-f != 0 {
				var err error
				if buf, err = c.notFinite(buf); err != nil {
					return buf, i, err
				}
				continue
			}
			buf = binary.LittleEndian.AppendUint32(append(buf, 4), math.Float32bits(f))
		case opD128:
			d := v.d128[j]
			n := signed(d.HighBits(), d.LowBits())
			if !n.below(c.wire.limit) {
				return buf, i, c.numberRange(j)
			}
			buf = appendMagnitude(buf, n, c.wire.size)
		case opDate:
			days := int64(v.i32[j]) + unixEpoch
			if days < 0 || days > tds.MaxDay {
				return buf, i, c.outOfRange(moment{days: days})
			}
			buf = append(buf, 3, byte(days), byte(days>>8), byte(days>>16))
		default:
			var err error
			if buf, err = c.append(buf, j); err != nil {
				return buf, i, err
			}
		}
	}
	return buf, 0, nil
}

// append adds a cell whose value has to be looked at.
func (c *column) append(buf []byte, j int) ([]byte, error) {
	v := &c.vec
	switch c.op {
	case opText:
		return c.appendText(buf, v.bytesAt(j))
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
	case opGUIDText:
		g, err := parseGUID(v.bytesAt(j))
		if err != nil {
			return buf, err
		}
		return appendGUID(buf, g[:])
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
