package snapshot

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/internal/sqltype"
)

// codec is how values of a key column of one type are selected, kept as text and
// sent back. What the server compares a column with has the column's own type,
// length, scale and collation: any other would convert the column, which loses
// the seek, or compare in another order, which skips rows.
type codec struct {
	selected func(column string) string
	decl     string // type of the parameter
	operand  func(param string) string
	text     func(driver.Value) (string, error)
	arg      func(text string) (driver.Value, error) // refuses what text cannot have given
}

var errKeyType = errors.New("it cannot be the key that chunks go by")

func plain(s string) string { return s }

// codecOf gives the codec of a type. It fails for types that no index has as its
// key, and for sql_variant, whose values have types of their own.
func codecOf(t sqltype.Type) (codec, error) {
	c := codec{selected: plain, decl: t.String(), operand: plain}
	switch t.Name {
	case "bit":
		c.text, c.arg = bitText, bitArg
	case "tinyint":
		c.text, c.arg = intText, intArg(0, math.MaxUint8)
	case "smallint":
		c.text, c.arg = intText, intArg(math.MinInt16, math.MaxInt16)
	case "int":
		c.text, c.arg = intText, intArg(math.MinInt32, math.MaxInt32)
	case "bigint":
		c.text, c.arg = intText, intArg(math.MinInt64, math.MaxInt64)
	case "decimal", "numeric":
		c.text, c.arg = decimalText, decimalArg
	case "money":
		// Text converts to money by the rules of a language; a decimal does not.
		c.decl, c.operand = "decimal(19,4)", converted("money")
		c.text, c.arg = decimalText, decimalArg
	case "smallmoney":
		c.decl, c.operand = "decimal(10,4)", converted("smallmoney")
		c.text, c.arg = decimalText, decimalArg
	case "real":
		c.text, c.arg = floatText(32), floatArg(32)
	case "float":
		c.text, c.arg = floatText(64), floatArg(64)
	case "date":
		c.text, c.arg = timeCodec(time.DateOnly)
	case "time":
		c.text, c.arg = timeCodec(withDigits("15:04:05", t.Digits()))
	case "datetime":
		c.text, c.arg = timeCodec("2006-01-02T15:04:05.000")
		c.text = datetimeText
	case "datetime2", "smalldatetime":
		c.text, c.arg = timeCodec(withDigits("2006-01-02T15:04:05", t.Digits()))
	case "datetimeoffset":
		c.text, c.arg = timeCodec(withDigits("2006-01-02T15:04:05", t.Digits()) + "-07:00")
	case "uniqueidentifier":
		c.text, c.arg = uuidText, uuidArg
	case "binary", "varbinary":
		c.text, c.arg = hexText, hexArg(t.Length)
	case "rowversion":
		c.decl = "binary(8)"
		c.text, c.arg = hexText, hexArg(8)
	case "hierarchyid":
		const size = 892
		c.selected, c.decl, c.operand = converted("varbinary(892)"), "varbinary(892)", converted("hierarchyid")
		c.text, c.arg = hexText, hexArg(size)
	case "char", "varchar", "nchar", "nvarchar":
		return textCodec(t)
	default:
		return codec{}, fmt.Errorf("type %s: %w", t, errKeyType)
	}
	if t.Length == sqltype.Max {
		return codec{}, fmt.Errorf("type %s: %w", t, errKeyType)
	}
	return c, nil
}

// textCodec carries text as its UTF-16 code units, so that neither a lone
// surrogate nor a code page changes it, and lets the server make the column's own
// type of it. A parameter that is varchar itself would be in the code page of the
// database, and one that is nvarchar would be compared as such: in an SQL_
// collation that is another order.
func textCodec(t sqltype.Type) (codec, error) {
	n := t.Length
	if t.Name[0] == 'n' {
		n /= 2
	}
	if n < 1 || n > 8000 {
		return codec{}, fmt.Errorf("type %s: %w", t, errKeyType)
	}
	collate := ""
	if t.Collation != "" {
		if strings.Trim(t.Collation, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return codec{}, fmt.Errorf("collation %q is none", t.Collation)
		}
		collate = " COLLATE " + t.Collation
	}
	n = min(n, 4000) // a key has at most 1,700 bytes
	units, unicode := fmt.Sprintf("varbinary(%d)", 2*n), fmt.Sprintf("nvarchar(%d)", n)
	c := codec{decl: units, text: hexText, arg: hexArg(2 * n)}
	c.selected = func(column string) string {
		return "CONVERT(" + units + ", CONVERT(" + unicode + ", " + column + "))"
	}
	c.operand = func(param string) string {
		s := "CONVERT(" + unicode + ", " + param + ")" + collate
		if t.Name == "nvarchar" {
			return s
		}
		return "CONVERT(" + t.String() + ", " + s + ")"
	}
	return c, nil
}

func converted(to string) func(string) string {
	return func(s string) string { return "CONVERT(" + to + ", " + s + ")" }
}

func withDigits(layout string, digits int) string {
	if digits == 0 {
		return layout
	}
	return layout + "." + strings.Repeat("0", digits)
}

func wrongKind(v driver.Value) error {
	return fmt.Errorf("reading a key: the driver gave a %T", v)
}

func bitText(v driver.Value) (string, error) {
	b, ok := v.(bool)
	if !ok {
		return "", wrongKind(v)
	}
	if b {
		return "1", nil
	}
	return "0", nil
}

func bitArg(s string) (driver.Value, error) {
	if s != "0" && s != "1" {
		return nil, errors.New("the value is no bit")
	}
	return s == "1", nil
}

func intText(v driver.Value) (string, error) {
	n, ok := v.(int64)
	if !ok {
		return "", wrongKind(v)
	}
	return strconv.FormatInt(n, 10), nil
}

func intArg(low, high int64) func(string) (driver.Value, error) {
	return func(s string) (driver.Value, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low || n > high || strconv.FormatInt(n, 10) != s {
			return nil, errors.New("the value is no integer of the type")
		}
		return n, nil
	}
}

func decimalText(v driver.Value) (string, error) {
	switch v := v.(type) {
	case []byte:
		return string(v), nil
	case string:
		return v, nil
	}
	return "", wrongKind(v)
}

func decimalArg(s string) (driver.Value, error) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if whole == "" || len(whole)+len(fraction) > 40 || strings.Trim(whole+fraction, "0123456789") != "" {
		return nil, errors.New("the value is no decimal")
	}
	return s, nil
}

func floatText(bits int) func(driver.Value) (string, error) {
	return func(v driver.Value) (string, error) {
		switch v := v.(type) {
		case float64:
			return strconv.FormatFloat(v, 'g', -1, bits), nil
		case float32:
			return strconv.FormatFloat(float64(v), 'g', -1, bits), nil
		}
		return "", wrongKind(v)
	}
}

func floatArg(bits int) func(string) (driver.Value, error) {
	return func(s string) (driver.Value, error) {
		f, err := strconv.ParseFloat(s, bits)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("the value is no finite number")
		}
		return f, nil
	}
}

// timeCodec sends a time as text in the one form that every language and date
// format of the server reads alike.
func timeCodec(layout string) (text func(driver.Value) (string, error), arg func(string) (driver.Value, error)) {
	text = func(v driver.Value) (string, error) {
		t, ok := v.(time.Time)
		if !ok {
			return "", wrongKind(v)
		}
		return t.Format(layout), nil
	}
	arg = func(s string) (driver.Value, error) {
		t, err := time.Parse(layout, s)
		if err != nil || t.Format(layout) != s {
			return nil, errors.New("the value is no time of the type")
		}
		return s, nil
	}
	return text, arg
}

// datetimeText gives the millisecond that the server shows, from which it makes
// the same 1/300 s again.
func datetimeText(v driver.Value) (string, error) {
	t, ok := v.(time.Time)
	if !ok {
		return "", wrongKind(v)
	}
	return string(sqltype.AppendDateTime(nil, sqltype.DateTimeTicksOf(t))), nil
}

// uuidText changes the order on the wire to that of the text (MS-DTYP 2.3.4.2
// "GUID--Packet Representation").
func uuidText(v driver.Value) (string, error) {
	b, ok := v.([]byte)
	if !ok || len(b) != 16 {
		return "", wrongKind(v)
	}
	var u [16]byte
	binary.BigEndian.PutUint32(u[:], binary.LittleEndian.Uint32(b))
	binary.BigEndian.PutUint16(u[4:], binary.LittleEndian.Uint16(b[4:]))
	binary.BigEndian.PutUint16(u[6:], binary.LittleEndian.Uint16(b[6:]))
	copy(u[8:], b[8:])
	return string(sqltype.AppendUUID(nil, u[:])), nil
}

func uuidArg(s string) (driver.Value, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != 16 || string(sqltype.AppendUUID(nil, b)) != s {
		return nil, errors.New("the value is no uniqueidentifier")
	}
	return s, nil
}

func hexText(v driver.Value) (string, error) {
	b, ok := v.([]byte)
	if !ok {
		return "", wrongKind(v)
	}
	return hex.EncodeToString(b), nil
}

func hexArg(size int) func(string) (driver.Value, error) {
	return func(s string) (driver.Value, error) {
		b, err := hex.DecodeString(s)
		if err != nil || len(b) > size {
			return nil, errors.New("the value is not hexadecimal, or too long")
		}
		return b, nil
	}
}
