package rowset

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/mssqlcdc/internal/sqltype"
)

var errNoNumber = errors.New("a number that is not finite")

// mostVariantUnits is the length of the longest nvarchar that a variant converts to.
const mostVariantUnits = 4000

// variantText gives the text of a variant: what the server converted, if that was char or varchar. ASCII is the same in every code
// page, so there the driver's text serves, however long it is.
func variantText(s string, converted driver.Value) (string, error) {
	if converted == nil || isASCII(s) {
		return s, nil
	}
	text, ok := converted.(string)
	if !ok {
		return "", fmt.Errorf("the text of a variant: %w", wrongKind(converted, "string"))
	}
	if len(text) >= mostVariantUnits && utf16Len(text) >= mostVariantUnits {
		return "", fmt.Errorf("a variant holds more text in a code page than the %d characters that can be read", mostVariantUnits)
	}
	return text, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// appendVariant appends the JSON object of a variant: its value and the declaration that the second expression of
// sqltype.Type.SelectList gave, "decimal(5,2)" or "nvarchar(0,0)".
func appendVariant(dst []byte, x, declared driver.Value) ([]byte, error) {
	decl, ok := declared.(string)
	if !ok {
		return dst, fmt.Errorf("the type of a variant: %w", wrongKind(declared, "string"))
	}
	name, args, _ := strings.Cut(strings.TrimSuffix(decl, ")"), "(")
	precision, digits, _ := strings.Cut(args, ",")
	t := sqltype.Type{Name: strings.ToLower(strings.TrimSpace(name))}
	var err error
	switch t.Name {
	case "decimal", "numeric":
		if t.Precision, err = strconv.Atoi(precision); err == nil {
			t.Scale, err = strconv.Atoi(digits)
		}
		decl = t.String()
	case "time", "datetime2", "datetimeoffset":
		t.Scale, err = strconv.Atoi(digits)
		decl = t.String()
	default:
		decl = t.Name
	}
	if err != nil {
		return dst, fmt.Errorf("a variant of type %s: %w", decl, err)
	}
	dst = append(dst, `{"type":`...)
	dst, _ = sqltype.AppendString(dst, decl)
	dst = append(dst, `,"value":`...)
	if dst, err = appendVariantValue(dst, t, x); err != nil {
		return dst, fmt.Errorf("a variant of type %s: %w", decl, err)
	}
	return append(dst, '}'), nil
}

func appendVariantValue(dst []byte, t sqltype.Type, x driver.Value) ([]byte, error) {
	switch k := t.Kind(); k {
	case sqltype.Bit:
		if b, ok := x.(bool); ok {
			return strconv.AppendBool(dst, b), nil
		}
	case sqltype.TinyInt, sqltype.SmallInt, sqltype.Int, sqltype.BigInt:
		if n, ok := x.(int64); ok {
			return strconv.AppendInt(dst, n, 10), nil
		}
	case sqltype.Real, sqltype.Float:
		if f, ok := x.(float64); ok {
			size := 64
			if k == sqltype.Real {
				size = 32
			}
			if dst, ok = sqltype.AppendFloat(dst, f, size); !ok {
				return dst, errNoNumber
			}
			return dst, nil
		}
	case sqltype.Decimal:
		if b, ok := x.([]byte); ok {
			if _, _, err := parseDecimal(b, t.Digits()); err != nil {
				return dst, err
			}
			return append(append(append(dst, '"'), b...), '"'), nil
		}
	case sqltype.Date, sqltype.Time, sqltype.DateTime2, sqltype.DateTime, sqltype.DateTimeOffset:
		if v, ok := x.(time.Time); ok {
			return append(appendVariantTime(append(dst, '"'), t, v), '"'), nil
		}
	case sqltype.Text:
		if s, ok := x.(string); ok {
			if dst, ok = sqltype.AppendString(dst, s); !ok {
				return dst, errors.New("text that is not valid UTF-8")
			}
			return dst, nil
		}
	case sqltype.UUID:
		if b, ok := x.([]byte); ok && len(b) == 16 {
			var u [16]byte
			canonicalUUID(u[:], b)
			return append(sqltype.AppendUUID(append(dst, '"'), u[:]), '"'), nil
		}
	case sqltype.Binary, sqltype.RowVersion:
		if b, ok := x.([]byte); ok {
			return append(sqltype.AppendBase64(append(dst, '"'), b), '"'), nil
		}
	}
	return dst, wrongKind(x, "value of that type")
}

func appendVariantTime(dst []byte, t sqltype.Type, v time.Time) []byte {
	switch t.Kind() {
	case sqltype.Date:
		return sqltype.AppendDate(dst, sqltype.DaysOf(v))
	case sqltype.Time:
		return sqltype.AppendTime(dst, sqltype.NanosOf(v), t.Digits())
	case sqltype.DateTime:
		return sqltype.AppendDateTime(dst, sqltype.DateTimeTicksOf(v))
	case sqltype.DateTimeOffset:
		ticks, offset := sqltype.UTCTicksOf(v)
		return sqltype.AppendDateTimeOffset(dst, ticks, offset, t.Digits())
	}
	return sqltype.AppendDateTime2(dst, sqltype.TicksOf(v), t.Digits())
}
