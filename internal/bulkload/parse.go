package bulkload

import (
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/sqltype"
)

// newParser reads text for a column of another kind, as the texts of JSON messages are read.
func (c *column) newParser() *body.Parser {
	return body.NewParser(c.typ, body.Lossy{Number: c.lossy.Number, Time: c.lossy.Time, NaN: c.lossy.NaN})
}

// appendParsed adds the cell of a value that is given as text.
func (c *column) appendParsed(buf, text []byte) ([]byte, error) {
	v, err := c.parser.Parse(text)
	switch {
	case err != nil:
		return buf, err
	case v.Null && !c.nullable:
		return buf, errNull
	case v.Null:
		return append(buf, c.null...), nil
	}
	switch c.typ.Kind() {
	case sqltype.Bit:
		return append(buf, 1, byte(v.Lo)), nil
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		return c.putInt(buf, int64(v.Lo)), nil
	case sqltype.Real:
		return put4(reserve(buf, roomPerCell), uint32(v.Lo)), nil
	case sqltype.Float:
		return put8(reserve(buf, roomPerCell), v.Lo), nil
	case sqltype.Decimal:
		n := signed(int64(v.Hi), v.Lo)
		if c.wire.form == formMoney {
			return c.putMoney(buf, int64(v.Lo)), nil
		}
		return putMagnitude(reserve(buf, roomPerCell), n, c.wire.size), nil
	case sqltype.Date:
		return c.appendMoment(buf, moment{days: int64(v.Lo) + unixEpoch})
	case sqltype.Time:
		return c.appendTime(buf, int64(v.Lo))
	case sqltype.DateTime:
		return c.appendTicks300(buf, int64(v.Lo))
	case sqltype.DateTimeOffset:
		return c.appendOffset(buf, c.momentOf(int64(v.Lo)), int64(v.Hi))
	case sqltype.UUID:
		return appendGUID(buf, v.Bytes)
	case sqltype.Binary:
		return c.appendBinary(buf, v.Bytes)
	}
	return c.appendMoment(buf, c.momentOf(int64(v.Lo))) // datetime2 and smalldatetime
}

// parsesInto are the units that a parser gives times in: nanoseconds of the day for time, else 100 ns since 0001-01-01.
func (s *source) parsesInto(kind sqltype.Kind) {
	s.digits, s.epoch = 7, 0
	if kind == sqltype.Time {
		s.digits = 9
	}
}
