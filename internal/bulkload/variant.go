package bulkload

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// maxVariant is the most bytes of data that a sql_variant holds.
const maxVariant = 8000

// variantForm is the inside form of a sql_variant.
type variantForm struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// appendVariant adds a cell of sql_variant from its inside form: a base type and
// a value in the message form of that type (2.2.5.5.4 SQL_VARIANT Values).
func (c *column) appendVariant(buf, text []byte) ([]byte, error) {
	var f variantForm
	if err := json.Unmarshal(text, &f); err != nil {
		return buf, fmt.Errorf("%s is no sql_variant: %w", clip(text), err)
	}
	t, err := variantType(f)
	if err != nil {
		return buf, fmt.Errorf("reading a sql_variant: %w", err)
	}
	v, err := variantOf(t, f.Value)
	if err != nil {
		return buf, fmt.Errorf("reading a sql_variant of %s from %s: %w", t, clip(f.Value), err)
	}
	if len(v.Value) > maxVariant {
		return buf, fmt.Errorf("a sql_variant of %d bytes is longer than %d", len(v.Value), maxVariant)
	}
	at := len(buf)
	buf = v.Append(append(buf, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	return buf, nil
}

// variantType is the type of a variant. Messages name text and binary without a
// length, which the value has itself: the fixed types get as much as it needs, the
// others as much as a variant holds.
func variantType(f variantForm) (sqltype.Type, error) {
	length := 0
	switch f.Type {
	case "nvarchar":
		length = maxVariant / 2
	case "varchar", "varbinary":
		length = maxVariant
	case "nchar", "char", "binary":
		var s string
		if err := json.Unmarshal(f.Value, &s); err != nil {
			return sqltype.Type{}, err
		}
		length = max(1, tds.UTF16Len(s))
		if f.Type == "binary" {
			b, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return sqltype.Type{}, err
			}
			length = max(1, len(b))
		}
	default:
		return sqltype.Parse(f.Type)
	}
	return sqltype.Parse(fmt.Sprintf("%s(%d)", f.Type, length))
}

// variantTypes are the types that a variant carries where a row has nullable twins.
var variantTypes = map[string]tds.DataType{
	"bit": tds.TypeBit, "tinyint": tds.TypeInt1, "smallint": tds.TypeInt2, "int": tds.TypeInt4, "bigint": tds.TypeInt8,
	"real": tds.TypeFlt4, "float": tds.TypeFlt8, "money": tds.TypeMoney, "smallmoney": tds.TypeMoney4,
	"datetime": tds.TypeDateTime, "smalldatetime": tds.TypeDateTim4,
}

// variantOf makes the variant of a value in its message form.
func variantOf(t sqltype.Type, value json.RawMessage) (v tds.Variant, err error) {
	if t.Length == sqltype.Max {
		return v, errors.New("a sql_variant holds no (max) type")
	}
	col := TargetColumn{Type: t, collation: collation{codePage: 1252, lcid: 0x409}}
	w, err := newWire(&col)
	if err != nil {
		return v, err
	}
	if w.frame != frameByte && w.frame != frameShort {
		return v, errors.New("a sql_variant holds no such type")
	}
	// The value becomes a column of one row, whose cell loses its length.
	c := &column{name: t.Name, typ: t, wire: w}
	cell, err := c.fromMessage(value)
	if err != nil {
		return v, err
	}
	v.Info, v.Value = w.info, cell[1:]
	if w.frame == frameShort {
		v.Value = cell[2:]
	}
	if fixed, ok := variantTypes[t.Name]; ok {
		v.Info = tds.Fixed(fixed)
	}
	return v, nil
}

// fromMessage makes a cell of a value in its message form.
func (c *column) fromMessage(value json.RawMessage) ([]byte, error) {
	kind := c.typ.Kind()
	switch kind {
	case sqltype.Bit:
		var b bool
		if err := json.Unmarshal(value, &b); err != nil {
			return nil, err
		}
		if b {
			return []byte{1, 1}, nil
		}
		return []byte{1, 0}, nil
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		var n int64
		if err := json.Unmarshal(value, &n); err != nil {
			return nil, err
		}
		c.src.family, c.vec.layout, c.vec.i64 = famInt, layI64, []int64{n}
		return c.appendInt(nil, 0)
	case sqltype.Real, sqltype.Float:
		var f float64
		if err := json.Unmarshal(value, &f); err != nil {
			return nil, err
		}
		c.src.family, c.vec.layout, c.vec.f64 = famFloat, layF64, []float64{f}
		return c.appendFloat(nil, 0)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, err
	}
	switch kind {
	case sqltype.Decimal:
		return c.decimalOf(s)
	case sqltype.Text:
		return c.appendText(nil, []byte(s))
	case sqltype.UUID:
		g, err := parseGUID([]byte(s))
		if err != nil {
			return nil, err
		}
		return appendGUID(nil, g[:])
	case sqltype.Binary:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, err
		}
		return c.appendBinary(nil, b)
	}
	return c.timeOf(kind, s)
}

// decimalOf makes a cell of decimal, numeric, money or smallmoney.
func (c *column) decimalOf(s string) ([]byte, error) {
	n, from, ok := parseNumber([]byte(s))
	if !ok {
		return nil, errors.New("it is no number")
	}
	n, how := n.rescale(from, c.wire.scale)
	switch {
	case how != fitExact:
		return nil, errors.New("it does not fit")
	case c.wire.form == formMoney:
		i := int64(n.lo)
		if n.neg {
			i = -i
		}
		if n.hi != 0 || (i < 0) != n.neg && n.lo != 0 || i < c.wire.min || i > c.wire.max {
			return nil, errors.New("it is out of range")
		}
		return tds.AppendMoney([]byte{byte(c.wire.size)}, i, c.wire.size), nil
	case !n.below(c.wire.limit):
		return nil, errors.New("it is out of range")
	}
	return putMagnitude(reserve(nil, roomPerCell), n, c.wire.size), nil
}

// timeOf makes a cell of a date or a time.
func (c *column) timeOf(kind sqltype.Kind, s string) ([]byte, error) {
	form := map[sqltype.Kind]string{
		sqltype.Date: time.DateOnly, sqltype.Time: time.TimeOnly, sqltype.DateTime2: "2006-01-02T15:04:05",
		sqltype.DateTime: "2006-01-02T15:04:05", sqltype.DateTimeOffset: time.RFC3339,
	}[kind]
	v, err := time.Parse(form, s)
	if err != nil {
		return nil, err
	}
	c.src.digits, c.perDay = 7, 86_400*pow10i[7]
	switch kind {
	case sqltype.Time:
		return c.appendTime(nil, sqltype.NanosOf(v)/100)
	case sqltype.DateTimeOffset:
		ticks, minutes := sqltype.UTCTicksOf(v)
		return c.appendOffset(nil, c.momentOf(ticks), int64(minutes))
	}
	return c.appendMoment(nil, c.momentOf(sqltype.TicksOf(v)))
}
