package bulkload

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/text/encoding/charmap"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/tds"
)

// dice takes values out of the fuzzer's bytes.
type dice struct{ b []byte }

func (d *dice) byte() byte {
	if len(d.b) == 0 {
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *dice) uint64() uint64 {
	var v [8]byte
	n := copy(v[:], d.b)
	d.b = d.b[n:]
	return binary.LittleEndian.Uint64(v[:])
}

func (d *dice) text() []byte {
	n := min(int(d.byte()), len(d.b))
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// fuzzColumns are the columns of the fuzzed table, and want what a decoder that
// shares nothing with the encoder has to find; nil is NULL, false a bad value.
var fuzzColumns = []struct {
	decl string
	dt   arrow.DataType
	fill func(d *dice, b array.Builder) (want []byte, ok bool)
}{
	{"int", arrow.PrimitiveTypes.Int64, func(d *dice, b array.Builder) ([]byte, bool) {
		v := int64(d.uint64())
		if d.byte()%2 == 0 {
			v = int64(int32(v))
		}
		b.(*array.Int64Builder).Append(v)
		return binary.LittleEndian.AppendUint32(nil, uint32(v)), v >= math.MinInt32 && v <= math.MaxInt32
	}},
	{"float", arrow.PrimitiveTypes.Float64, func(d *dice, b array.Builder) ([]byte, bool) {
		u := d.uint64()
		f := math.Float64frombits(u)
		b.(*array.Float64Builder).Append(f)
		return binary.LittleEndian.AppendUint64(nil, u), !math.IsNaN(f) && !math.IsInf(f, 0)
	}},
	{"nvarchar(20)", arrow.BinaryTypes.String, func(d *dice, b array.Builder) ([]byte, bool) {
		s := d.text()
		b.(*array.StringBuilder).Append(string(s))
		w := units(s)
		return w, utf8.Valid(s) && len(w) <= 40
	}},
	{"nvarchar(max)", arrow.BinaryTypes.LargeString, func(d *dice, b array.Builder) ([]byte, bool) {
		s := d.text()
		b.(*array.LargeStringBuilder).Append(string(s))
		return units(s), utf8.Valid(s)
	}},
	{"varchar(30)", arrow.BinaryTypes.String, func(d *dice, b array.Builder) ([]byte, bool) {
		s := d.text()
		b.(*array.StringBuilder).Append(string(s))
		w, err := charmap.Windows1252.NewEncoder().Bytes(s)
		return w, err == nil && utf8.Valid(s) && len(w) <= 30
	}},
	{"varbinary(max)", arrow.BinaryTypes.Binary, func(d *dice, b array.Builder) ([]byte, bool) {
		s := d.text()
		b.(*array.BinaryBuilder).Append(s)
		return append([]byte{}, s...), true
	}},
	{"decimal(18,4)", &arrow.Decimal128Type{Precision: 20, Scale: 6}, func(d *dice, b array.Builder) ([]byte, bool) {
		v := int64(d.uint64())
		if d.byte()%2 == 0 {
			v = v / 100 * 100
		}
		b.(*array.Decimal128Builder).Append(decimal128.FromI64(v))
		sign, q := byte(1), v/100
		if q < 0 {
			sign, q = 0, -q
		}
		return binary.LittleEndian.AppendUint64([]byte{sign}, uint64(q)), v%100 == 0
	}},
	{"bigint", arrow.BinaryTypes.String, func(d *dice, b array.Builder) ([]byte, bool) {
		s := d.text()
		for i, c := range s {
			s[i] = "0123456789+-.e 0"[c%16]
		}
		b.(*array.StringBuilder).Append(string(s))
		v, ok := wholeNumber(string(s))
		return binary.LittleEndian.AppendUint64(nil, uint64(v)), ok
	}},
	{"datetime2(7)", &arrow.TimestampType{Unit: arrow.Microsecond}, func(d *dice, b array.Builder) ([]byte, bool) {
		v := int64(d.uint64()) >> (d.byte() % 16)
		b.(*array.TimestampBuilder).Append(arrow.Timestamp(v))
		sec, us := v/1_000_000, v%1_000_000
		if us < 0 {
			sec, us = sec-1, us+1_000_000
		}
		sec += 719_162 * 86_400
		ok := sec >= 0 && sec < 3_652_059*86_400
		days, ticks := sec/86_400, uint64(sec%86_400)*10_000_000+uint64(us)*10
		w := binary.LittleEndian.AppendUint64(nil, ticks)[:5]
		return append(w, byte(days), byte(days>>8), byte(days>>16)), ok
	}},
}

var numeric = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?$`)

// wholeNumber reads a number by big arithmetic, if it is one of 64 bits.
func wholeNumber(s string) (int64, bool) {
	if !numeric.MatchString(s) {
		return 0, false
	}
	mantissa, exponent, _ := strings.Cut(s, "e")
	m, ok := new(big.Rat).SetString(mantissa)
	if !ok {
		return 0, false
	}
	if m.Sign() == 0 {
		return 0, true
	}
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > 400 || e < -400 {
			return 0, false // texts are shorter than that
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil))
		if e < 0 {
			power.Inv(power)
		}
		m.Mul(m, power)
	}
	if !m.IsInt() || !m.Num().IsInt64() {
		return 0, false
	}
	return m.Num().Int64(), true
}

func units(s []byte) []byte {
	w := []byte{}
	for _, u := range utf16.Encode([]rune(string(s))) {
		w = append(w, byte(u), byte(u>>8))
	}
	return w
}

// FuzzRowsReadBack encodes rows and reads them with the decoder of the other side.
func FuzzRowsReadBack(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\x01\x02\x03\x04\x05\x06\x07\x08abcdefghijklmnopqrstuvwxyz\xff\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80"))
	f.Add(bytes.Repeat([]byte{0x20, 0xC3, 0xA9, 0, 1, 7}, 200))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data}
		tg := &Target{Name: catalog.Name{Schema: "dbo", Object: "f"}}
		var fields []arrow.Field
		for i, c := range fuzzColumns {
			name := string(rune('a' + i))
			tg.Columns = append(tg.Columns, column1252(t, name, c.decl))
			fields = append(fields, arrow.Field{Name: name, Type: c.dt, Nullable: true})
		}
		schema := arrow.NewSchema(fields, nil)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		b := array.NewRecordBuilder(mem, schema)
		defer b.Release()
		var want [][][]byte
		bad := map[int]bool{}
		rows := 1 + int(d.byte()%8)
		for row := range rows {
			var cells [][]byte
			for i, c := range fuzzColumns {
				if d.byte()%8 == 7 {
					b.Field(i).AppendNull()
					cells = append(cells, nil)
					continue
				}
				cell, ok := c.fill(d, b.Field(i))
				cells = append(cells, cell)
				bad[row] = bad[row] || !ok
			}
			if !bad[row] {
				want = append(want, cells)
			}
		}
		rec := b.NewRecordBatch()
		defer rec.Release()
		p, err := NewPlan(tg, schema, Options{})
		if err != nil {
			t.Fatal(err)
		}
		body, errs := p.encode(t, rec)
		for _, e := range errs {
			if !bad[e.Row] {
				t.Errorf("a good row was refused: %v", &e)
			}
		}
		if len(errs)+len(want) != rows {
			t.Errorf("%d rows refused and %d good of %d", len(errs), len(want), rows)
		}
		meta := tds.ColMetaData{}
		for i := range p.load.Columns {
			meta.Columns = append(meta.Columns, p.load.Columns[i].Meta)
		}
		r := tds.NewBulkReader(bytes.NewReader(append(meta.AppendBulk(nil), body...)), tds.Limits{})
		for row := range want {
			cells, err := r.Next()
			if err != nil {
				t.Fatalf("reading row %d back: %v", row, err)
			}
			for i := range cells {
				if (cells[i] == nil) != (want[row][i] == nil) || !bytes.Equal(cells[i], want[row][i]) {
					t.Errorf("row %d, %s: %x, want %x", row, fuzzColumns[i].decl, cells[i], want[row][i])
				}
			}
		}
		if _, err := r.Next(); err != io.EOF { //nolint:errorlint // the end of the load is io.EOF itself
			t.Errorf("after the rows: %v", err)
		}
	})
}

// FuzzNumbers compares decimals of all widths with big arithmetic through text.
func FuzzNumbers(f *testing.F) {
	f.Add([]byte("-12.5e3"), uint8(4))
	f.Add([]byte("340282366920938463463374607431768211455"), uint8(0))
	f.Fuzz(func(t *testing.T, s []byte, scale uint8) {
		n, from, ok := parseNumber(s)
		if !ok {
			return
		}
		to := int(scale % 39)
		up, how := n.rescale(from, to)
		if how != fitExact {
			return
		}
		back, how := up.rescale(to, from)
		if how != fitExact || back.hi != n.hi || back.lo != n.lo {
			t.Errorf("%q from scale %d to %d and back: %s, want %s", s, from, to, back.text(from), n.text(from))
		}
	})
}
