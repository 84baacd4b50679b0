package body

import (
	"errors"
	"math/bits"

	"example.com/mssqlcdc/internal/sqltype"
)

var (
	errNotNumber = errors.New("is not a number")
	errTooLarge  = errors.New("has more than 38 digits")
)

// mostExponent is beyond what any type holds.
const mostExponent = 5000

// parseNumber gives the two's complement of the text of a number times 10^scale, rounded half away from zero, and whether that
// lost digits. It takes what JSON does, and a leading plus or point.
func parseNumber(s []byte, scale int) (hi, lo uint64, lost bool, err error) {
	if !isNumber(s) {
		return 0, 0, false, errNotNumber
	}
	negative := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	mantissa, exponent := s, 0
	for i, c := range s {
		if c == 'e' || c == 'E' {
			mantissa, exponent = s[:i], parseExponent(s[i+1:])
			break
		}
	}
	whole := len(mantissa)
	digits := 0
	for i, c := range mantissa {
		if c == '.' {
			whole = i
		} else {
			digits++
		}
	}
	keep := whole + exponent + scale // digits of the result
	seen, significant, up := 0, 0, false
	for _, c := range mantissa {
		if c == '.' {
			continue
		}
		if seen >= keep {
			lost = lost || c != '0'
			up = up || seen == keep && c >= '5'
			seen++
			continue
		}
		seen++
		if significant > 0 || c != '0' {
			if significant++; significant > 38 {
				return 0, 0, false, errTooLarge
			}
			hi, lo = times10(hi, lo, uint64(c-'0'))
		}
	}
	for ; seen < keep && significant > 0; seen++ {
		if significant++; significant > 38 {
			return 0, 0, false, errTooLarge
		}
		hi, lo = times10(hi, lo, 0)
	}
	if up {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return hi, lo, lost, nil
}

func parseExponent(s []byte) int {
	negative := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	n := 0
	for _, c := range s {
		if n = n*10 + int(c-'0'); n > mostExponent {
			n = mostExponent
		}
	}
	if negative {
		return -n
	}
	return n
}

// isNumber reports whether s is [+-]digits[.digits][e[+-]digits], with a digit before or after the point.
func isNumber(s []byte) bool {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	n := digitsAt(s, i)
	i += n
	if i < len(s) && s[i] == '.' {
		after := digitsAt(s, i+1)
		i += 1 + after
		n += after
	}
	if n == 0 {
		return false
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		e := digitsAt(s, i)
		if e == 0 {
			return false
		}
		i += e
	}
	return i == len(s)
}

func digitsAt(s []byte, i int) int {
	n := 0
	for i+n < len(s) && s[i+n] >= '0' && s[i+n] <= '9' {
		n++
	}
	return n
}

// isWhole reports whether the text of a number has neither point nor exponent.
func isWhole(s []byte) bool {
	for _, c := range s {
		if c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}

func times10(hi, lo, add uint64) (uint64, uint64) {
	carry, low := bits.Mul64(lo, 10)
	low, c := bits.Add64(low, add, 0)
	return hi*10 + carry + c, low
}

// fits reports whether a decimal is in the range of its column.
func fits(t sqltype.Type, hi, lo uint64) bool {
	negative := int64(hi) < 0
	switch t.Name {
	case "money":
		return hi == uint64(int64(lo)>>63)
	case "smallmoney":
		return hi == uint64(int64(lo)>>63) && int64(lo) == int64(int32(lo))
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	limitHi, limitLo := uint64(0), uint64(1)
	for range t.Precision {
		limitHi, limitLo = times10(limitHi, limitLo, 0)
	}
	return hi < limitHi || hi == limitHi && lo < limitLo
}
