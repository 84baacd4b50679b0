package value

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// anyValue draws a value of the type, near to others as often as far from them.
func anyValue(tt Type) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		switch tt.ID.family() {
		case famInt, famMoney:
			low, high := intRange(tt.ID)
			if tt.ID.family() == famMoney {
				low, high = moneyRange(tt.ID)
			}
			return NewInt(tt.ID, rapid.OneOf(rapid.Int64Range(low, high), rapid.SampledFrom([]int64{low, high, 0, 1})).Draw(t, "n"))
		case famDecimal:
			d := dec{neg: rapid.Bool().Draw(t, "neg"), lo: rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3)).Draw(t, "lo")}
			if tt.Prec > 19 {
				d.hi = rapid.Uint64Range(0, pow10[38].hi-1).Draw(t, "hi")
			} else {
				d.lo %= pow10[tt.Prec].lo
			}
			return d.value(tt.Scale)
		case famFloat:
			f := rapid.OneOf(rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32), rapid.SampledFrom([]float64{0, 1, -1, 1e-300})).Draw(t, "f")
			if tt.ID == Real {
				return NewReal(float32(f))
			}
			return NewFloat(f)
		case famText, famXML, famLOBText:
			return NewString(tt.ID, rapid.StringOfN(rapid.RuneFrom([]rune("abAB -'é1\x00")), 0, 5, -1).Draw(t, "s"))
		case famGUID:
			return NewGUID([16]byte(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 255}), 16, 16).Draw(t, "g")))
		case famBinary, famImage, famCLR:
			return NewBinary(tt.ID, rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 255}), 0, 4).Draw(t, "b"))
		case famVariant:
			it := rapid.SampledFrom(variantTypes()).Draw(t, "inner")
			return NewVariant(anyValue(it).Draw(t, "value"), it)
		}
		days := rapid.Int32Range(0, maxDays).Draw(t, "days")
		ticks := rapid.Int64Range(0, ticksPerDay-1).Draw(t, "ticks")
		switch tt.ID {
		case Date:
			return NewDate(days)
		case Time:
			return NewTime(ticks)
		case DateTime:
			return NewDateTime(max(days-daysTo1900, daysTo1753), ticks%dtTicksPerDay)
		case SmallDateTime:
			return NewSmallDateTime(days%65536, ticks%1440)
		case DateTimeOffset:
			return NewDateTimeOffset(min(max(days, 1), maxDays-1), ticks, rapid.IntRange(-840, 840).Draw(t, "offset"))
		}
		return NewDateTime2(days, ticks)
	})
}

func variantTypes() []Type {
	return []Type{
		{ID: Bit}, {ID: TinyInt}, {ID: Int}, {ID: BigInt}, {ID: Money}, {ID: Decimal, Prec: 10, Scale: 3}, {ID: Decimal, Prec: 38, Scale: 38}, {ID: Float}, {ID: Real},
		{ID: DateTime}, {ID: DateTime2, Scale: 7}, {ID: DateTimeOffset, Scale: 7}, {ID: UniqueIdentifier}, {ID: VarBinary, Len: 10},
		{ID: NVarChar, Len: 10, Coll: collate.Default()}, {ID: VarChar, Len: 10, Coll: collate.Default()},
	}
}

func allTypes() []Type {
	latin, _ := collate.Lookup("Latin1_General_BIN2")
	return append(variantTypes(), Type{ID: SmallInt}, Type{ID: SmallMoney}, Type{ID: Numeric, Prec: 18, Scale: 2}, Type{ID: Decimal, Prec: 19}, Type{ID: Date}, Type{ID: Time, Scale: 7},
		Type{ID: SmallDateTime}, Type{ID: Variant}, Type{ID: RowVersion, Len: 8}, Type{ID: Char, Len: 5, Coll: latin}, Type{ID: NChar, Len: 5, Coll: latin}, Type{ID: CLR, Name: "hierarchyid"})
}

// TestAppendKeyOrder shows that keys compare as values do, with NULL first, and that they may be joined.
func TestAppendKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := rapid.SampledFrom(allTypes()).Draw(t, "type")
		a, b := anyValue(tt).Draw(t, "a"), anyValue(tt).Draw(t, "b")
		ka, kb := AppendKey(nil, a, tt, false), AppendKey(nil, b, tt, false)
		want := Compare(a, b, tt)
		if got := bytes.Compare(ka, kb); got != want {
			t.Fatalf("%s: %s and %s compare as %d, their keys as %d: %x %x", tt, Display(a, tt), Display(b, tt), want, got, ka, kb)
		}
		if got := bytes.Compare(AppendKey(nil, a, tt, true), AppendKey(nil, b, tt, true)); got != -want {
			t.Fatalf("%s: descending keys of %s and %s compare as %d, want %d", tt, Display(a, tt), Display(b, tt), got, -want)
		}
		if want != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
			t.Fatalf("%s: one of the keys of %s and %s is a prefix of the other: %x %x", tt, Display(a, tt), Display(b, tt), ka, kb)
		}
		if Compare(b, a, tt) != -want || Compare(a, a, tt) != 0 {
			t.Fatalf("%s: the order of %s and %s is none", tt, Display(a, tt), Display(b, tt))
		}
		if null := AppendKey(nil, Value{}, tt, false); bytes.Compare(null, ka) >= 0 {
			t.Fatalf("%s: NULL does not come before %s", tt, Display(a, tt))
		}
	})
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, typ, a, b string
		want            int
	}{
		{"uniqueidentifier: the last six bytes first", "uniqueidentifier", "FFFFFFFF-FFFF-FFFF-FFFF-000000000001", "00000000-0000-0000-0000-000000000002", -1},
		{"uniqueidentifier: then the two before", "uniqueidentifier", "FFFFFFFF-FFFF-FFFF-0001-000000000000", "00000000-0000-0000-0002-000000000000", -1},
		{"uniqueidentifier: third group backwards", "uniqueidentifier", "00000000-0000-0100-0000-000000000000", "00000000-0000-0001-0000-000000000000", -1},
		{"uniqueidentifier: first group backwards", "uniqueidentifier", "01000000-0000-0000-0000-000000000000", "00000001-0000-0000-0000-000000000000", -1},
		{"binary filled with zeros", "varbinary(8)", "0x01", "0x0100", 0},
		{"binary", "varbinary(8)", "0x0102", "0x02", -1},
		{"datetimeoffset in UTC", "datetimeoffset(0)", "2024-01-01 12:00 +02:00", "2024-01-01 10:00 +00:00", 0},
		{"decimal", "decimal(5,2)", "-1.50", "1.5", -1},
		{"text", "varchar(5)", "abc", "ABC  ", 0},
		{"hyphen in varchar", "varchar(5)", "a-c", "ab", -1},
		{"hyphen in nvarchar", "nvarchar(5)", "a-c", "ab", 1},
	} {
		a, tt := valueOf(t, test.a, test.typ)
		b, _ := valueOf(t, test.b, test.typ)
		if got := Compare(a, b, tt); got != test.want {
			t.Errorf("%s: Compare(%s, %s) = %d, want %d", test.name, test.a, test.b, got, test.want)
		}
	}
}

func TestVariantOrder(t *testing.T) {
	// Ascending: uniqueidentifier, binary, text, exact numbers, approximate numbers, dates.
	order := [][2]string{
		{"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "uniqueidentifier"}, {"0xFF", "varbinary(2)"}, {"zz", "nvarchar(5)"}, {"-1.5", "money"}, {"-1", "int"}, {"0.001", "decimal(5,3)"}, {"1", "bit"},
		{"1.5", "decimal(5,2)"}, {"12", "tinyint"}, {"100", "bigint"}, {"-1e300", "float"}, {"1", "real"}, {"1753-01-01", "datetime"}, {"2024-01-01", "date"}, {"2024-01-01 00:00:01", "datetime2(0)"},
	}
	for i := range order {
		for j := range order {
			a, at := valueOf(t, order[i][0], order[i][1])
			b, bt := valueOf(t, order[j][0], order[j][1])
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := Compare(NewVariant(a, at), NewVariant(b, bt), Type{ID: Variant}); got != want {
				t.Errorf("%v against %v: %d, want %d", order[i], order[j], got, want)
			}
		}
	}
	a, at := valueOf(t, "1.50", "decimal(5,2)")
	b, bt := valueOf(t, "1.5", "money")
	if Compare(NewVariant(a, at), NewVariant(b, bt), Type{ID: Variant}) != 0 {
		t.Error("1.50 and money 1.5 differ in a sql_variant")
	}
	inner, it := NewVariant(a, at).Variant()
	if it != at || Display(inner, it) != "1.50" {
		t.Errorf("the inner value is %s of type %v", Display(inner, it), it)
	}
}

// TestTextRoundTrip shows that every value comes back from its text.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := rapid.SampledFrom([]Type{
			{ID: Bit}, {ID: TinyInt}, {ID: SmallInt}, {ID: Int}, {ID: BigInt}, {ID: Money}, {ID: SmallMoney}, {ID: Decimal, Prec: 38, Scale: 20}, {ID: Decimal, Prec: 9, Scale: 9},
			{ID: Date}, {ID: Time, Scale: 7}, {ID: DateTime}, {ID: SmallDateTime}, {ID: DateTime2, Scale: 7}, {ID: DateTimeOffset, Scale: 7}, {ID: UniqueIdentifier}, {ID: Float}, {ID: Real},
		}).Draw(t, "type")
		v := anyValue(tt).Draw(t, "v")
		s := Display(v, tt)
		back, err := Convert(nil, NewVarChar(s), Type{ID: VarChar, Len: 100}, tt, 0)
		if err != nil || Compare(v, back, tt) != 0 || back.OffsetMinutes() != v.OffsetMinutes() {
			t.Fatalf("%s: %q came back as %q, %v", tt, s, Display(back, tt), err)
		}
	})
}

// TestBinaryRoundTrip shows that numbers and dates come back from their binary form.
func TestBinaryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := rapid.SampledFrom([]Type{
			{ID: TinyInt}, {ID: SmallInt}, {ID: Int}, {ID: BigInt}, {ID: Money}, {ID: SmallMoney}, {ID: Decimal, Prec: 38, Scale: 20}, {ID: Decimal, Prec: 9, Scale: 9},
			{ID: Date}, {ID: Time, Scale: 7}, {ID: DateTime}, {ID: SmallDateTime}, {ID: DateTime2, Scale: 7}, {ID: DateTimeOffset, Scale: 7}, {ID: UniqueIdentifier},
		}).Draw(t, "type")
		v := anyValue(tt).Draw(t, "v")
		bin := Type{ID: VarBinary, Len: 30}
		b, err := Convert(nil, v, tt, bin, 0)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Convert(nil, b, bin, tt, 0)
		if err != nil || Compare(v, back, tt) != 0 {
			t.Fatalf("%s: %s is %x and came back as %s, %v", tt, Display(v, tt), b.Raw(), Display(back, tt), err)
		}
	})
}

// FuzzConvert shows that no text makes a conversion panic.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{"", "1", "2024-02-29T00:00:00Z", "{ts '2024-01-01 00:00'}", "Jan 1 2024 1PM", "12:30 2024", "-$1,0", "0x", "(", "{d ''}", "1e400", "+", "12:", ":", "AM", "{{{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tt := range append(allTypes(), Type{ID: VarChar, Len: 3, Coll: collate.Default()}) {
			for _, style := range []int{0, 1, 2, 103} {
				v, err := Convert(nil, NewNVarChar(s), Type{ID: NVarChar, Len: 4000}, tt, style)
				if err == nil {
					Display(v, tt)
				}
			}
		}
	})
}

func BenchmarkAppendKeyInt(b *testing.B) {
	var buf [64]byte
	v := NewInt(Int, 12345)
	for b.Loop() {
		AppendKey(buf[:0], v, Type{ID: Int}, false)
	}
}

func BenchmarkAppendKeyText(b *testing.B) {
	var buf [64]byte
	v, t := NewNVarChar("Customer 12345"), Type{ID: NVarChar, Len: 40, Coll: collate.Default()}
	for b.Loop() {
		AppendKey(buf[:0], v, t, false)
	}
}
