package sqltype

import (
	"encoding/base64"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// AppendDate appends days since 1970-01-01 as 2006-01-02.
func AppendDate(dst []byte, days int32) []byte { return appendDay(dst, int64(days)+daysTo1970) }

// AppendTime appends nanoseconds since midnight as 15:04:05 with so many digits after the point.
func AppendTime(dst []byte, nanos int64, digits int) []byte {
	return appendClock(dst, nanos/100, digits)
}

// AppendDateTime2 appends 100 ns ticks since 0001-01-01 as 2006-01-02T15:04:05 with so many digits after the point.
func AppendDateTime2(dst []byte, ticks int64, digits int) []byte {
	day := floorDiv(ticks, secondsPerDay*ticksPerSecond)
	dst = append(appendDay(dst, day), 'T')
	return appendClock(dst, ticks-day*secondsPerDay*ticksPerSecond, digits)
}

// AppendDateTime appends 1/300 s ticks since 1900-01-01 as 2006-01-02T15:04:05.000, rounded to milliseconds as the server shows it.
func AppendDateTime(dst []byte, ticks int64) []byte {
	return AppendDateTime2(dst, DateTimeToTicks(ticks), 3)
}

// DateTimeToTicks gives the 100 ns ticks of the millisecond that the server shows for a datetime.
func DateTimeToTicks(ticks int64) int64 {
	s := floorDiv(ticks, datetimePerSecond)
	ms := ((ticks-s*datetimePerSecond)*10 + 1) / 3
	return (s+(daysTo1970-days1900To1970)*secondsPerDay)*ticksPerSecond + ms*10_000
}

// AppendDateTimeOffset appends an instant in UTC with its offset in RFC 3339.
func AppendDateTimeOffset(dst []byte, ticks int64, offsetMinutes int16, digits int) []byte {
	dst = AppendDateTime2(dst, ticks+int64(offsetMinutes)*60*ticksPerSecond, digits)
	sign, m := byte('+'), int(offsetMinutes)
	if m < 0 {
		sign, m = '-', -m
	}
	dst = append(dst, sign)
	dst = append2(dst, m/60)
	return append2(append(dst, ':'), m%60)
}

func appendDay(dst []byte, days int64) []byte {
	y, m, d := civil(days)
	if y < 0 { // outside of every SQL Server type; an offset can show the last hours of the year 0
		dst, y = append(dst, '-'), -y
	}
	dst = append2(append2(dst, y/100), y%100)
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d)
}

func appendClock(dst []byte, ticks int64, digits int) []byte {
	s := int(ticks / ticksPerSecond)
	dst = append2(dst, s/3600)
	dst = append2(append(dst, ':'), s/60%60)
	dst = append2(append(dst, ':'), s%60)
	if digits <= 0 {
		return dst
	}
	var f [8]byte
	f[0] = '.'
	for i, v := 7, ticks%ticksPerSecond; i > 0; i, v = i-1, v/10 {
		f[i] = byte('0' + v%10)
	}
	return append(dst, f[:min(digits, 7)+1]...)
}

func append2(dst []byte, v int) []byte { return append(dst, byte('0'+v/10%10), byte('0'+v%10)) }

// AppendDecimal appends a decimal with all digits of its scale.
func AppendDecimal(dst []byte, v decimal128.Num, scale int) []byte {
	hi, lo := uint64(v.HighBits()), v.LowBits()
	if v.Sign() < 0 {
		dst = append(dst, '-')
		var carry uint64
		lo, carry = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, carry)
	}
	var buf [48]byte
	n := len(buf)
	for digits := 0; hi != 0 || lo != 0 || digits <= scale; digits++ {
		if digits == scale && scale > 0 {
			n--
			buf[n] = '.'
		}
		var r uint64
		if hi == 0 {
			lo, r = lo/10, lo%10
		} else {
			hi, r = hi/10, hi%10
			lo, r = bits.Div64(r, lo, 10)
		}
		n--
		buf[n] = byte('0' + r)
	}
	return append(dst, buf[n:]...)
}

// AppendUUID appends 16 bytes in the order of the text form as upper-case text.
func AppendUUID(dst, v []byte) []byte {
	const digits = "0123456789ABCDEF"
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// AppendBase64 appends bytes in standard base64 with padding.
func AppendBase64(dst, v []byte) []byte { return base64.StdEncoding.AppendEncode(dst, v) }

// AppendFloat appends the shortest JSON number that reads back as the same float of so many bits. It reports false, with dst as it
// was, for NaN and the infinities, which neither SQL Server nor JSON has.
func AppendFloat(dst []byte, v float64, bitSize int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, false
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bitSize), true
}

// AppendString appends a JSON string. Only what JSON demands is escaped: quotes, backslashes and control characters. It reports
// false, with dst as it was, when s is not valid UTF-8.
func AppendString(dst []byte, s string) ([]byte, bool) {
	const hex = "0123456789abcdef"
	whole := len(dst)
	dst = append(dst, '"')
	start, wide := 0, uint64(0)
	for i := 0; ; i++ {
		n, seen := plainRun(s[i:])
		wide |= seen
		if i += n; i == len(s) {
			break
		}
		b := s[i]
		if b >= utf8.RuneSelf {
			wide |= 0x80
			continue
		}
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
		start = i + 1
	}
	if wide != 0 && !validUTF8(s) {
		return dst[:whole], false
	}
	return append(append(dst, s[start:]...), '"'), true
}

// validUTF8 is utf8.ValidString, faster where characters of two and three bytes follow each other.
func validUTF8(s string) bool {
	for i := 0; i < len(s); {
		b := s[i]
		switch {
		case b < utf8.RuneSelf:
			i++
			for len(s)-i >= 8 && load64(s[i:])&highs == 0 {
				i += 8
			}
		case b >= 0xC2 && b < 0xE0 && i+1 < len(s) && s[i+1]&0xC0 == 0x80:
			i += 2
		case b > 0xE0 && b < 0xF0 && b != 0xED && i+2 < len(s) && s[i+1]&0xC0 == 0x80 && s[i+2]&0xC0 == 0x80:
			i += 3
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return false
			}
			i += n
		}
	}
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plainRun counts the bytes at the beginning of s, sixteen or eight at a time, that JSON strings hold as they are, and tells in the
// high bits of seen whether any of them is not ASCII.
func plainRun(s string) (n int, seen uint64) {
	for len(s)-n >= 16 {
		x, y := load64(s[n:]), load64(s[n+8:])
		if special(x)|special(y) != 0 {
			break
		}
		seen |= x | y
		n += 16
	}
	if len(s)-n >= 8 {
		if x := load64(s[n:]); special(x) == 0 {
			seen |= x
			n += 8
		}
	}
	return n, seen & highs
}

// special sets the high bit of each of 8 bytes that JSON demands to escape; of bytes after such a one it may as well.
func special(x uint64) uint64 {
	quote, backslash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}
