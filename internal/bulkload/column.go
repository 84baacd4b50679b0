package bulkload

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/sqltype"
)

// op says how a value becomes a cell. The first ones are the pairs of types that
// need no look at the value.
type op uint8

const (
	opNull op = iota
	opBit
	opU8
	opI16
	opI32
	opI64
	opF32
	opF64
	opD128 // of the column's scale
	opWall // timestamps into a datetime2 that has their digits
	opInt  // numbers of all kinds from here on
	opBitNumber
	opFloat
	opDecimal
	opMoney
	opDate
	opMoment
	opTicks300 // datetime from its inside form
	opTicks300Moment
	opInstantOffset
	opOffset
	opOffsetMoment
	opTime
	opText
	opNested
	opBinary
	opGUID
	opVariant
	opParse // text for a column of another kind
)

// column is how the values of a field become the cells of a column.
type column struct {
	name     string
	typ      sqltype.Type
	field    int
	op       op
	nullable bool
	null     []byte
	nullBits uint64 // the same, for one write of eight bytes
	nullSize int
	lossy    Lossy
	src      source
	perDay   int64 // units of the source in a day
	wire     *wire
	mult     int64 // of a time of day, for opWall
	plain    bool  // opText into nvarchar or nchar
	vec      vector
	scratch  []byte
	parser   *body.Parser // opParse
}

// newColumn pairs a field with a column.
func newColumn(field int, f arrow.Field, t *TargetColumn, lossy Lossy) (*column, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	src, err := classify(f)
	if err != nil {
		return nil, err
	}
	w, err := newWire(t)
	if err != nil {
		return nil, err
	}
	c := &column{name: t.Name, typ: t.Type, field: field, nullable: t.Type.Nullable, null: w.nullCell(), lossy: lossy, src: src, wire: w}
	var bits [8]byte
	c.nullSize = copy(bits[:], c.null)
	c.nullBits = binary.LittleEndian.Uint64(bits[:])
	c.perDay = 86_400 * pow10i[src.digits]
	var why string
	if c.op, why = c.choose(f); why != "" {
		return nil, fmt.Errorf("a field of type %s cannot be stored in %s: %s", src.text, t.Type, why)
	}
	if c.op == opParse {
		c.perDay = 86_400 * pow10i[c.src.digits]
	}
	return c, nil
}

// choose finds the op of a pair, or says why there is none.
func (c *column) choose(f arrow.Field) (op, string) {
	if c.src.family == famNull {
		return opNull, ""
	}
	if c.src.family == famText && c.wire.form != formUTF16 && c.wire.form != formNarrow && c.wire.form != formVariant {
		c.src.parsesInto(c.typ.Kind())
		c.parser = c.newParser()
		return opParse, ""
	}
	switch c.wire.form {
	case formInt, formBit, formFloat, formDecimal, formMoney:
		return c.chooseNumber(f)
	case formDate, formDateTime2, formDateTime, formSmallDateTime:
		return c.chooseMoment()
	case formTime:
		if c.src.family == famClock {
			return opTime, ""
		}
		return 0, "it is no time of day"
	case formDateTimeOffset:
		switch c.src.family {
		case famInstant:
			return opInstantOffset, ""
		case famOffset:
			return opOffset, ""
		case famWall, famDateTime:
			return 0, "it has no time zone; give the timestamps one"
		}
		return 0, "it is no instant"
	case formGUID:
		if c.src.family == famBinary && (c.src.width == 16 || c.src.width == 0) {
			return opGUID, ""
		}
		return 0, "it is neither text nor 16 bytes"
	case formUTF16, formNarrow:
		switch c.src.family {
		case famText:
			c.plain = c.wire.form == formUTF16 && c.wire.frame != frameLong && c.wire.page == nil
			return opText, ""
		case famNested:
			return opNested, ""
		}
		return 0, "it is not text; cast it to a string"
	case formBinary:
		if c.src.family == famBinary {
			return opBinary, ""
		}
		return 0, "it is not binary"
	}
	if c.src.family == famVariant {
		return opVariant, ""
	}
	return 0, "values of sql_variant are given as {\"type\":…,\"value\":…} with the metadata mssql.type"
}

func (c *column) chooseNumber(f arrow.Field) (op, string) {
	switch c.src.family {
	case famBool, famInt, famFloat, famDecimal:
	default:
		return 0, "it is not a number"
	}
	id, w := f.Type.ID(), c.wire
	switch w.form {
	case formBit:
		if id == arrow.BOOL {
			return opBit, ""
		}
		return opBitNumber, ""
	case formInt:
		switch {
		case id == arrow.UINT8 && w.size == 1:
			return opU8, ""
		case id == arrow.INT16 && w.size == 2:
			return opI16, ""
		case id == arrow.INT32 && w.size == 4:
			return opI32, ""
		case id == arrow.INT64 && w.size == 8:
			return opI64, ""
		}
		return opInt, ""
	case formFloat:
		switch {
		case id == arrow.FLOAT32 && w.size == 4:
			return opF32, ""
		case id == arrow.FLOAT64 && w.size == 8:
			return opF64, ""
		}
		return opFloat, ""
	case formMoney:
		return opMoney, ""
	}
	if id == arrow.DECIMAL128 && c.src.scale == w.scale {
		return opD128, ""
	}
	return opDecimal, ""
}

func (c *column) chooseMoment() (op, string) {
	switch c.src.family {
	case famDate:
		if c.wire.form == formDate {
			return opDate, ""
		}
		c.perDay = 1
		return opMoment, ""
	case famWall, famInstant:
		if c.wire.form == formDateTime2 && c.wire.scale >= c.src.digits {
			c.mult = pow10i[c.wire.scale-c.src.digits]
			return opWall, ""
		}
		return opMoment, ""
	case famDateTime:
		if c.wire.form == formDateTime {
			return opTicks300, ""
		}
		return opTicks300Moment, ""
	case famOffset:
		if !c.lossy.Time {
			return 0, "its offset would be lost, and on_lossy does not allow that for time"
		}
		return opOffsetMoment, ""
	case famClock:
		return 0, "it is a time without a date"
	}
	return 0, "it is no date; cast it first"
}
