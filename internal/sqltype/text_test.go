package sqltype

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"
)

var (
	firstDay = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTick = time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
)

// instants draws times of 100 ns within the years 1 to 9999.
func instants() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		ticks := rapid.Int64Range(0, TicksOf(lastTick)).Draw(t, "ticks")
		return firstDay.Add(0).AddDate(0, 0, int(ticks/(secondsPerDay*ticksPerSecond))).Add(time.Duration(ticks % (secondsPerDay * ticksPerSecond) * 100))
	})
}

func TestTimesAgreeWithTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := instants().Draw(t, "v")
		digits := rapid.IntRange(0, 7).Draw(t, "digits")
		layout := "15:04:05"
		if digits > 0 {
			layout += "." + strings.Repeat("0", digits)
		}
		if got, want := string(AppendDateTime2(nil, TicksOf(v), digits)), v.Format("2006-01-02T"+layout); got != want {
			t.Errorf("datetime2(%d) = %s, want %s", digits, got, want)
		}
		if got, want := string(AppendDate(nil, DaysOf(v))), v.Format("2006-01-02"); got != want {
			t.Errorf("date = %s, want %s", got, want)
		}
		if got, want := string(AppendTime(nil, NanosOf(v), digits)), v.Format(layout); got != want {
			t.Errorf("time(%d) = %s, want %s", digits, got, want)
		}
		offset := rapid.IntRange(-14*60, 14*60).Draw(t, "offset")
		local := v.In(time.FixedZone("", offset*60))
		ticks, minutes := UTCTicksOf(local)
		if local.Year() >= 1 && local.Year() <= 9999 {
			if got, want := string(AppendDateTimeOffset(nil, ticks, minutes, digits)), local.Format("2006-01-02T"+layout+"-07:00"); got != want {
				t.Errorf("datetimeoffset(%d) = %s, want %s", digits, got, want)
			}
		}
	})
}

// The driver rounds a datetime to milliseconds; every 1/300 s of a day has to come back from that.
func TestDateTimeTicksComeBack(t *testing.T) {
	for _, day := range []time.Time{time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
		first := DateTimeTicksOf(day)
		for tick := range int64(3 * datetimePerSecond) {
			ms := int64(math.Trunc(float64(tick%300)/0.3 + 0.5)) // as the driver does
			v := day.Add(time.Duration(tick/300)*time.Second + time.Duration(ms)*time.Millisecond)
			if got := DateTimeTicksOf(v); got != first+tick {
				t.Fatalf("%v: tick %d, want %d", v, got, first+tick)
			}
			if got, want := string(AppendDateTime(nil, first+tick)), v.Format("2006-01-02T15:04:05.000"); got != want {
				t.Fatalf("tick %d = %s, want %s", tick, got, want)
			}
		}
	}
	if got, want := DateTimeTicksOf(time.Date(1900, 1, 1, 0, 0, 0, 3_000_000, time.UTC)), int64(1); got != want {
		t.Errorf("1900-01-01T00:00:00.003 is tick %d, want %d", got, want)
	}
}

func TestWallClockIgnoresZone(t *testing.T) {
	tokyo := time.FixedZone("", 9*3600)
	v := time.Date(2024, 2, 29, 23, 59, 59, 123_456_700, tokyo)
	u := time.Date(2024, 2, 29, 23, 59, 59, 123_456_700, time.UTC)
	if TicksOf(v) != TicksOf(u) || DaysOf(v) != DaysOf(u) || NanosOf(v) != NanosOf(u) || DateTimeTicksOf(v) != DateTimeTicksOf(u) {
		t.Errorf("the wall clock of %v is not that of %v", v, u)
	}
}

func TestDecimalAgreesWithBig(t *testing.T) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		n, _ := new(big.Int).SetString(digits, 10)
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		if n.CmpAbs(limit) >= 0 {
			t.Skip()
		}
		want := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
		if got := string(AppendDecimal(nil, decimal128.FromBigInt(n), scale)); got != want {
			t.Errorf("%s with scale %d = %s, want %s", n, scale, got, want)
		}
	})
}

func TestStringReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		quoted, ok := AppendString([]byte("x"), s)
		if ok != utf8.ValidString(s) {
			t.Fatalf("AppendString(%q) reports %v", s, ok)
		}
		var back string
		if err := json.Unmarshal(quoted[1:], &back); err != nil || back != s {
			t.Errorf("AppendString(%q) = %s, read back as %q, %v", s, quoted, back, err)
		}
	})
	tests := []struct{ s, want string }{
		{"", `""`}, {"<a href='x'>&</a>", `"<a href='x'>&</a>"`}, {"\u2028", "\"\u2028\""}, {"a\"b\\c\n\r\t\x00\x1f\x7f", `"a\"b\\c\n\r\t\u0000\u001f` + "\x7f" + `"`},
		{"😀é", `"😀é"`}, {"\uFFFD", "\"\uFFFD\""},
	}
	for _, tt := range tests {
		if got, ok := AppendString(nil, tt.s); !ok || string(got) != tt.want {
			t.Errorf("AppendString(%q) = %s, %v, want %s", tt.s, got, ok, tt.want)
		}
	}
	for _, bad := range []string{"\x80", "a\xffb", "\xed\xa0\x80", "ab\xc3"} {
		if got, ok := AppendString([]byte("x"), bad); ok || string(got) != "x" {
			t.Errorf("AppendString(%q) = %q, %v, want it refused", bad, got, ok)
		}
	}
}

func TestFloatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		if text, ok := AppendFloat(nil, f, 64); ok {
			var back float64
			if err := json.Unmarshal(text, &back); err != nil || math.Float64bits(back) != math.Float64bits(f) {
				t.Errorf("float %x = %s, read back as %x, %v", f, text, back, err)
			}
		} else if !math.IsInf(f, 0) && !math.IsNaN(f) {
			t.Errorf("float %v refused", f)
		}
		g := rapid.Float32().Draw(t, "g")
		if text, ok := AppendFloat(nil, float64(g), 32); ok {
			if back, err := strconv.ParseFloat(string(text), 32); err != nil || float32(back) != g || !json.Valid(text) {
				t.Errorf("real %x = %s, read back as %x, %v", g, text, back, err)
			}
		}
	})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got, ok := AppendFloat(nil, f, 64); ok {
			t.Errorf("AppendFloat(%v) = %s, want it refused", f, got)
		}
	}
}

func TestUUIDText(t *testing.T) {
	b := []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}
	if got, want := string(AppendUUID(nil, b)), "01234567-89AB-CDEF-0123-456789ABCDEF"; got != want {
		t.Errorf("AppendUUID = %s, want %s", got, want)
	}
}

// Every byte at every place of the 8 bytes that are looked at together, among neighbours that could carry into it.
func TestStringEscapesEverywhere(t *testing.T) {
	for _, neighbour := range []string{"a", " ", "!", "\x01", "\"", "\\", "[", "\x7f"} {
		for b := range 128 {
			for at := range 9 {
				s := strings.Repeat(neighbour, at) + string(rune(b)) + strings.Repeat(neighbour, 9-at)
				quoted, ok := AppendString(nil, s)
				var back string
				if err := json.Unmarshal(quoted, &back); !ok || err != nil || back != s {
					t.Fatalf("AppendString(%q) = %s, %v, read back as %q, %v", s, quoted, ok, back, err)
				}
			}
		}
	}
}

// TestAppendStringAtEveryPlace puts what is special at every distance from a look at sixteen bytes, and compares with the slow way.
func TestAppendStringAtEveryPlace(t *testing.T) {
	for before := range 40 {
		for _, s := range []string{"", "\"", "\\", "\n", "\x01", "\x1f", "\x7f", "é", "名", "😀", "\xff", "\xed\xa0\x80", "\xe0\x80\x80", "é\xc3", "名\"前", "\u2028", "\xc0\x80", "\xf4\x90\x80\x80", "\xe5\x90"} {
			for _, after := range []string{"", "plain text of more than sixteen", "名前名前名前名前"} {
				text := strings.Repeat("x", before) + s + after
				got, ok := AppendString([]byte("> "), text)
				if ok != utf8.ValidString(text) {
					t.Fatalf("%q: valid %v", text, ok)
				}
				if !ok {
					if string(got) != "> " {
						t.Fatalf("%q: left %q", text, got)
					}
					continue
				}
				var back string
				if err := json.Unmarshal(got[2:], &back); err != nil || back != text {
					t.Fatalf("%q: %q gives %q, %v", text, got, back, err)
				}
			}
		}
	}
}
