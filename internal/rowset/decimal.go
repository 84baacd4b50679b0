package rowset

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/endian"
)

var errNotDecimal = errors.New("decimal text with something else than digits, or with more than 38 of them")

// appendDecimal appends the text of a decimal or of money, as the driver gives it.
func appendDecimal(v *vector, x driver.Value) error {
	var hi, lo uint64
	var err error
	scale := v.typ.Digits()
	switch x := x.(type) {
	case []byte:
		hi, lo, err = parseDecimal(x, scale)
	case string:
		hi, lo, err = parseDecimal(x, scale)
	default:
		return wrongKind(x, "decimal text in []byte")
	}
	if err != nil {
		return err
	}
	putDecimal(v.fixed(), hi, lo)
	return nil
}

func putDecimal(dst []byte, hi, lo uint64) {
	if endian.IsBigEndian {
		binary.NativeEndian.PutUint64(dst, hi)
		binary.NativeEndian.PutUint64(dst[8:], lo)
		return
	}
	binary.NativeEndian.PutUint64(dst, lo)
	binary.NativeEndian.PutUint64(dst[8:], hi)
}

// parseDecimal gives the two's complement of a decimal's text, scaled to so many digits after the point.
func parseDecimal[T []byte | string](s T, scale int) (hi, lo uint64, err error) {
	i, negative := 0, false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative, i = s[0] == '-', 1
	}
	digits, significant, after, point := 0, 0, 0, false
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			return 0, 0, errNotDecimal
		}
		if digits++; significant > 0 || c != '0' {
			if significant++; significant > 38 {
				return 0, 0, errNotDecimal
			}
		}
		if point {
			after++
		}
		hi, lo = times10(hi, lo, uint64(c-'0'))
	}
	if digits == 0 {
		return 0, 0, errNotDecimal
	}
	if after > scale {
		return 0, 0, fmt.Errorf("decimal text with %d digits after the point in a column of scale %d", after, scale)
	}
	for ; after < scale; after++ {
		if significant > 0 {
			if significant++; significant > 38 {
				return 0, 0, errNotDecimal
			}
		}
		hi, lo = times10(hi, lo, 0)
	}
	if negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return hi, lo, nil
}

func times10(hi, lo, add uint64) (uint64, uint64) {
	carry, low := bits.Mul64(lo, 10)
	low, c := bits.Add64(low, add, 0)
	return hi*10 + carry + c, low
}
