package tds

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestScalarGolden(t *testing.T) {
	if d, ok := DecodeDecimal(unhex(t, "0039300000")); !ok || d != (Decimal{Neg: true, Lo: 12345}) {
		t.Errorf("decimal -123.45: %+v %t", d, ok)
	}
	checkHex(t, "decimal", AppendDecimal(nil, Decimal{Neg: true, Lo: 12345}, 5), "0039300000")
	checkHex(t, "negative zero", AppendDecimal(nil, Decimal{Neg: true}, 5), "0100000000")
	checkHex(t, "decimal of 16 bytes", AppendDecimal(nil, Decimal{Hi: 1, Lo: 2}, 17), "01 0200000000000000 0100000000000000")
	checkHex(t, "decimal of 12 bytes", AppendDecimal(nil, Decimal{Hi: 1, Lo: 2}, 13), "01 0200000000000000 01000000")
	if m, ok := DecodeMoney(unhex(t, "ffffffffc7cfffff")); !ok || m != -12345 {
		t.Errorf("money -1.2345: %d", m)
	}
	checkHex(t, "money", AppendMoney(nil, -12345, 8), "ffffffffc7cfffff")
	checkHex(t, "smallmoney", AppendMoney(nil, -12345, 4), "c7cfffff")
	guid := [16]byte(unhex(t, "00112233445566778899aabbccddeeff"))
	checkHex(t, "guid", AppendGUID(nil, guid), "33221100554477668899aabbccddeeff")
	if g, ok := DecodeGUID(unhex(t, "33221100554477668899aabbccddeeff")); !ok || g != guid {
		t.Errorf("guid: %x", g)
	}
	// 2024-02-29 is day 738944; 12:34:56.789012 in 100 ns.
	ticks := uint64((12*3600+34*60+56)*1e7 + 7890120)
	checkHex(t, "datetime2(7)", AppendDateTime2(nil, 738944, ticks, 7), "c87cfd766980460b")
	if d, n, ok := DecodeDateTime2(unhex(t, "f6bf692ac939f90a"), 7); !ok || d != UnixDay-1 || n != 863999999990 {
		t.Errorf("1969-12-31 23:59:59.999999: %d %d %t", d, n, ok)
	}
	if d, n, ok := DecodeDateTime(unhex(t, "25b100002d5acf00")); !ok || d != 45349 || n != 13589037 {
		t.Errorf("datetime: %d %d %t", d, n, ok)
	}
	checkHex(t, "datetime", AppendDateTime(nil, 45349, 13589037), "25b100002d5acf00")
	if d, m, ok := DecodeSmallDateTime(unhex(t, "25b1f202")); !ok || d != 45349 || m != 754 {
		t.Errorf("smalldatetime: %d %d %t", d, m, ok)
	}
	checkHex(t, "smalldatetime", AppendSmallDateTime(nil, 45349, 754), "25b1f202")
	checkHex(t, "datetimeoffset(0)", AppendDateTimeOffset(nil, 1, 2, 0, -840), "020000 010000 b8fc")
	if d, n, o, ok := DecodeDateTimeOffset(unhex(t, "020000 010000 b8fc"), 0); !ok || d != 1 || n != 2 || o != -840 {
		t.Errorf("datetimeoffset: %d %d %d %t", d, n, o, ok)
	}
}

func TestScalarRefusals(t *testing.T) {
	refused := map[string]bool{}
	note := func(name string, ok bool) { refused[name] = !ok }
	_, ok := Int64(make([]byte, 3))
	note("int of 3 bytes", ok)
	_, ok = Float64(make([]byte, 2))
	note("float of 2 bytes", ok)
	if d, ok := DecodeDecimal(unhex(t, "01 39")); !ok || d != (Decimal{Lo: 57}) {
		t.Errorf("a magnitude of one byte is %+v, %v", d, ok)
	}
	_, ok = DecodeDecimal(unhex(t, "02 01000000"))
	note("decimal sign 2", ok)
	_, ok = DecodeDecimal(nil)
	note("decimal of no bytes", ok)
	_, ok = DecodeMoney(make([]byte, 5))
	note("money of 5 bytes", ok)
	_, ok = DecodeDate(unhex(t, "dbb937"))
	note("day after 9999-12-31", ok)
	_, ok = DecodeTime(unhex(t, "805101"), 0)
	note("24:00:00", ok)
	_, ok = DecodeTime(unhex(t, "0000000000"), 9)
	note("scale 9", ok)
	_, _, ok = DecodeDateTime(unhex(t, "00000000 00a98b01"))
	note("datetime of 24 h", ok)
	_, _, _, ok = DecodeDateTimeOffset(unhex(t, "000000 000000 4903"), 0)
	note("offset of 841 minutes", ok)
	_, _, ok = DecodeSmallDateTime(unhex(t, "0000 a005"))
	note("smalldatetime of 24 h", ok)
	_, ok = DecodeGUID(make([]byte, 15))
	note("guid of 15 bytes", ok)
	for name, r := range refused {
		if !r {
			t.Errorf("%s is accepted", name)
		}
	}
	if d, ok := DecodeDate(unhex(t, "dab937")); !ok || d != MaxDay {
		t.Errorf("9999-12-31: %d %t", d, ok)
	}
}

func TestIntAndFloatRoundTrip(t *testing.T) {
	for _, c := range []struct {
		v    int64
		size int
	}{{0, 1}, {255, 1}, {-32768, 2}, {32767, 2}, {math.MinInt32, 4}, {-1, 4}, {math.MinInt64, 8}, {math.MaxInt64, 8}} {
		b := AppendInt(nil, c.v, c.size)
		if got, ok := Int64(b); !ok || got != c.v || len(b) != c.size {
			t.Errorf("int %d in %d bytes: %x = %d", c.v, c.size, b, got)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1.5, -math.MaxFloat32} {
		for _, size := range []int{4, 8} {
			if got, ok := Float64(AppendFloat(nil, v, size)); !ok || math.Float64bits(got) != math.Float64bits(v) {
				t.Errorf("float %v in %d bytes: %v", v, size, got)
			}
		}
	}
	for _, v := range []int64{0, 1, -1, math.MaxInt32 + 1, math.MinInt64, math.MaxInt64} {
		if got, ok := DecodeMoney(AppendMoney(nil, v, 8)); !ok || got != v {
			t.Errorf("money %d: %d", v, got)
		}
	}
}

func TestTimeScales(t *testing.T) {
	for scale := range uint8(8) {
		last := ticksPerDay[scale] - 1
		if got, ok := DecodeTime(AppendTime(nil, last, scale), scale); !ok || got != last {
			t.Errorf("scale %d: %d, want %d", scale, got, last)
		}
		if got := TicksOf(Ticks100ns(last, scale), scale); got != last {
			t.Errorf("scale %d through 100 ns: %d, want %d", scale, got, last)
		}
	}
}

func TestDecimalSizes(t *testing.T) {
	for prec, want := range map[uint8]int{1: 5, 9: 5, 10: 9, 19: 9, 20: 13, 28: 13, 29: 17, 38: 17} {
		if got := DecimalSize(prec); got != want {
			t.Errorf("precision %d: %d, want %d", prec, got, want)
		}
	}
	d := Decimal{Hi: 1 << 31, Lo: 1}
	for size, want := range map[int]bool{5: false, 9: false, 13: true, 17: true, 6: false} {
		if d.Fits(size) != want {
			t.Errorf("2^95+1 in %d bytes: %t", size, !want)
		}
	}
}

func TestUTF16(t *testing.T) {
	long := strings.Repeat("abcdefgh", 9) + "é" + strings.Repeat("0123456789", 3)
	for _, c := range []struct{ name, text, wire string }{
		{"empty", "", ""},
		{"ascii", "ab", "61006200"},
		{"eight", "abcdefgh", "6100620063006400650066006700 6800"},
		{"two bytes", "é", "e900"},
		{"three bytes", "€", "ac20"},
		{"pair", "😀", "3dd800de"},
		{"high surrogate alone", "\xed\xa0\xbd", "3dd8"},
		{"low surrogate alone", "a\xed\xb8\x80b", "6100 00de 6200"},
		{"two high surrogates", "\xed\xa0\xbd\xed\xa0\xbd", "3dd8 3dd8"},
		{"high surrogate before ascii", "\xed\xa0\xbdab", "3dd8 6100 6200"},
		{"nul", "\x00", "0000"},
		{"noncharacter", "\uffff", "ffff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkHex(t, "encoded", AppendUTF16(nil, c.text), c.wire)
			if got := DecodeUTF16(unhex(t, c.wire)); got != c.text {
				t.Errorf("decoded %q, want %q", got, c.text)
			}
			if n := UTF16Len(c.text); 2*n != len(unhex(t, c.wire)) {
				t.Errorf("length %d", n)
			}
		})
	}
	if got := DecodeUTF16(AppendUTF16(nil, long)); got != long {
		t.Errorf("long text: %q", got)
	}
	checkHex(t, "stray byte", AppendUTF16(nil, "a\xffb"), "6100 fdff 6200")
	if got := DecodeUTF16([]byte{'a', 0, 'b'}); got != "a" {
		t.Errorf("odd byte: %q", got)
	}
	if got := AppendUTF8([]byte("x"), []byte{'a', 0}); string(got) != "xa" {
		t.Errorf("appended: %q", got)
	}
}

// TestUTF16EveryUnit converts each code unit both ways, alone and at each place of a group of eight.
func TestUTF16EveryUnit(t *testing.T) {
	for u := range 0x10000 {
		b := []byte{byte(u), byte(u >> 8)}
		if got := AppendUTF16(nil, DecodeUTF16(b)); !bytes.Equal(got, b) {
			t.Fatalf("unit %04X comes back as %x", u, got)
		}
	}
	for at := range 16 {
		units := bytes.Repeat([]byte{'a', 0}, 24)
		units[2*at], units[2*at+1] = 0xAC, 0x20
		if got := AppendUTF16(nil, DecodeUTF16(units)); !bytes.Equal(got, units) {
			t.Errorf("euro at %d: %x", at, got)
		}
	}
}

func TestCutUTF16(t *testing.T) {
	if got := cutUTF16("a😀b", 2); got != "a" {
		t.Errorf("a pair is cut: %q", got)
	}
	if got := cutUTF16("a😀b", 3); got != "a😀" {
		t.Errorf("got %q", got)
	}
	b := appendBText(nil, strings.Repeat("x", 300))
	if len(b) != 1+2*255 || b[0] != 255 {
		t.Errorf("B_VARCHAR of 300: length byte %d, %d bytes", b[0], len(b))
	}
}
