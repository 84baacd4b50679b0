package body

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"example.com/mssqlcdc/internal/sqltype"
)

// AppendMap appends a row from a structured message: text, numbers of any Go kind and json.Number, booleans, times, bytes, nil;
// maps and slices become JSON text. What it refuses leaves no trace.
func (d *Decoder) AppendMap(row map[string]any) error {
	d.begin()
	for name, value := range row {
		i := d.find(len(d.columns), []byte(name)) // a map has no order to learn
		if i < 0 {
			if d.options.IgnoreUnknown {
				continue
			}
			return unknown(name)
		}
		if err := d.take(i); err != nil {
			return err
		}
		if d.columns[i].Ignored {
			continue
		}
		d.row[i] = cellValue{}
		if err := d.fromValue(i, &d.row[i], value); err != nil {
			return d.cellError(i, err)
		}
	}
	return d.end()
}

func (d *Decoder) fromValue(i int, v *cellValue, value any) error {
	switch x := value.(type) {
	case nil:
		v.null = true
		return nil
	case string:
		if !utf8.ValidString(x) {
			return errNotUTF8
		}
		from := len(d.arena)
		d.arena = append(d.arena, x...)
		return d.fromText(i, v, from)
	case bool:
		return d.fromBool(i, v, x)
	case json.Number:
		d.number = append(d.number[:0], x...)
		return d.fromNumber(i, v, d.number)
	case int64:
		return d.fromInt(i, v, x)
	case int:
		return d.fromInt(i, v, int64(x))
	case int32:
		return d.fromInt(i, v, int64(x))
	case int16:
		return d.fromInt(i, v, int64(x))
	case int8:
		return d.fromInt(i, v, int64(x))
	case uint8:
		return d.fromInt(i, v, int64(x))
	case uint16:
		return d.fromInt(i, v, int64(x))
	case uint32:
		return d.fromInt(i, v, int64(x))
	case uint:
		return d.fromUint(i, v, uint64(x))
	case uint64:
		return d.fromUint(i, v, x)
	case float64:
		return d.fromFloat(i, v, x, 64)
	case float32:
		return d.fromFloat(i, v, float64(x), 32)
	case time.Time:
		return d.fromTime(i, v, x)
	case []byte:
		return d.fromBytes(i, v, x)
	case map[string]any, []any:
		if d.kinds[i] != sqltype.Text {
			return d.fromNested(i, v, nil)
		}
		raw, err := json.Marshal(x)
		if err != nil {
			return fmt.Errorf("a nested value: %w", err)
		}
		return d.fromNested(i, v, raw)
	}
	return fmt.Errorf("a value of Go type %T has no rule", value)
}

func (d *Decoder) fromInt(i int, v *cellValue, n int64) error {
	d.number = strconv.AppendInt(d.number[:0], n, 10)
	return d.fromNumber(i, v, d.number)
}

func (d *Decoder) fromUint(i int, v *cellValue, n uint64) error {
	d.number = strconv.AppendUint(d.number[:0], n, 10)
	return d.fromNumber(i, v, d.number)
}

// fromFloat takes a number at its shortest text, except for columns that hold floats themselves.
func (d *Decoder) fromFloat(i int, v *cellValue, f float64, bits int) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return d.notFinite(i, v, strconv.FormatFloat(f, 'g', -1, 64))
	}
	if d.kinds[i] == sqltype.Float && bits == 64 {
		v.lo = math.Float64bits(f)
		return nil
	}
	d.number, _ = sqltype.AppendFloat(d.number[:0], f, bits)
	return d.fromNumber(i, v, d.number)
}

func (d *Decoder) fromBytes(i int, v *cellValue, b []byte) error {
	from := len(d.arena)
	d.arena = append(d.arena, b...)
	v.from, v.to = from, len(d.arena)
	switch d.kinds[i] {
	case sqltype.Binary:
		return nil
	case sqltype.UUID, sqltype.RowVersion:
		if want := map[sqltype.Kind]int{sqltype.UUID: 16, sqltype.RowVersion: 8}[d.kinds[i]]; len(b) == want {
			return nil
		}
	}
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	return d.fromText(i, v, from)
}

func (d *Decoder) fromTime(i int, v *cellValue, t time.Time) error {
	switch d.kinds[i] {
	case sqltype.Date, sqltype.Time, sqltype.DateTime, sqltype.DateTime2, sqltype.DateTimeOffset:
		return d.fromClock(i, v, clockOf(t))
	case sqltype.Text:
		from := len(d.arena)
		d.arena = t.AppendFormat(d.arena, time.RFC3339Nano)
		v.from, v.to = from, len(d.arena)
		return nil
	}
	return fmt.Errorf("a time does not fit (%s)", t.Format(time.RFC3339Nano))
}

// shown shortens a user's value for an error.
func shown[T string | []byte](s T) string {
	const most = 64
	if len(s) <= most {
		return string(s)
	}
	cut := []byte(s[:most])
	for len(cut) > 0 && !utf8.Valid(cut) {
		cut = slices.Delete(cut, len(cut)-1, len(cut))
	}
	return string(cut) + "…"
}
