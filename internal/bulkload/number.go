package bulkload

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"example.com/mssqlcdc/internal/tds"
)

// numberAt is the value of a whole number, a boolean, a decimal or a float, at the
// given scale.
func (c *column) numberAt(j, scale int) (number, fit, error) {
	v := &c.vec
	switch c.src.family {
	case famFloat:
		f := v.floatAt(j)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return number{}, fitNot, errNaN
		}
		n, from, ok := c.shortest(f)
		if !ok {
			return n, fitNot, nil
		}
		n, how := n.rescale(from, scale)
		return n, how, nil
	case famDecimal:
		switch v.layout {
		case layI32:
			n, how := numberOf(int64(v.i32[j])).rescale(c.src.scale, scale)
			return n, how, nil
		case layI64:
			n, how := numberOf(v.i64[j]).rescale(c.src.scale, scale)
			return n, how, nil
		case layD128:
			d := v.d128[j]
			n, how := signed(d.HighBits(), d.LowBits()).rescale(c.src.scale, scale)
			return n, how, nil
		}
		n, how := narrow256(v.d256[j], c.src.scale, scale)
		return n, how, nil
	}
	if v.layout == layU64 {
		n, how := number{lo: v.u64[j]}.rescale(0, scale)
		return n, how, nil
	}
	i, _ := v.int64At(j)
	n, how := numberOf(i).rescale(0, scale)
	return n, how, nil
}

// shortest is the shortest decimal that reads back as a float: what people mean
// by it. A float that is too large for 128 bits is not ok.
func (c *column) shortest(f float64) (number, int, bool) {
	size := 64
	if c.vec.layout != layF64 {
		size = 32
	}
	var buf [32]byte
	n, scale, ok := parseNumber(strconv.AppendFloat(buf[:0], f, 'e', -1, size))
	if scale < 0 && ok {
		if n.hi|n.lo == 0 {
			return number{}, 0, true
		}
		if scale < -38 {
			return n, 0, false
		}
		var how fit
		n, how = n.rescale(scale, 0)
		return n, 0, how == fitExact
	}
	return n, scale, ok
}

// valueText shows a number in an error.
func (c *column) valueText(j int) string {
	v := &c.vec
	switch {
	case c.src.family == famFloat:
		return strconv.FormatFloat(v.floatAt(j), 'g', -1, 64)
	case v.layout == layU64:
		return strconv.FormatUint(v.u64[j], 10)
	case v.layout == layD256:
		return v.d256[j].ToString(int32(c.src.scale))
	case c.src.family == famDecimal:
		if n, how, err := c.numberAt(j, c.src.scale); err == nil && how == fitExact {
			return n.text(c.src.scale)
		}
	}
	i, _ := v.int64At(j)
	return strconv.FormatInt(i, 10)
}

func (c *column) numberRange(j int) error {
	return fmt.Errorf("%s is out of the range of %s", c.valueText(j), c.typ)
}

func (c *column) numberLost(j int) error {
	return fmt.Errorf("%s is not exact in %s, and on_lossy does not allow to round numbers", c.valueText(j), c.typ)
}

// exactly gives a number at the column's scale, rounded only where that is allowed.
func (c *column) exactly(j, scale int) (number, error) {
	n, how, err := c.numberAt(j, scale)
	switch {
	case err != nil:
		return n, err
	case how == fitNot:
		return n, c.numberRange(j)
	case how == fitRounded && !c.lossy.Number:
		return n, c.numberLost(j)
	}
	return n, nil
}

// whole is a number at a scale as int64 between the column's limits.
func (c *column) whole(j, scale int) (int64, error) {
	n, err := c.exactly(j, scale)
	if err != nil {
		return 0, err
	}
	if n.hi != 0 || n.lo > 1<<63 || n.lo == 1<<63 && !n.neg {
		return 0, c.numberRange(j)
	}
	i := int64(n.lo)
	if n.neg {
		i = -i
	}
	if i < c.wire.min || i > c.wire.max {
		return 0, c.numberRange(j)
	}
	return i, nil
}

// appendInt adds a cell of an integer type.
func (c *column) appendInt(buf []byte, j int) ([]byte, error) {
	i, ok := c.vec.int64At(j)
	if c.src.family != famInt && c.src.family != famBool {
		var err error
		if i, err = c.whole(j, 0); err != nil {
			return buf, err
		}
	} else if !ok || i < c.wire.min || i > c.wire.max {
		return buf, c.numberRange(j)
	}
	return c.putInt(buf, i), nil
}

// putInt adds a number that the type has.
func (c *column) putInt(buf []byte, i int64) []byte {
	switch c.wire.size {
	case 1:
		return append(buf, 1, byte(i))
	case 2:
		return append(buf, 2, byte(i), byte(i>>8))
	case 4:
		return append(buf, 4, byte(i), byte(i>>8), byte(i>>16), byte(i>>24))
	}
	return binary.LittleEndian.AppendUint64(append(buf, 8), uint64(i))
}

// appendBit takes true, false, 0 and 1.
func (c *column) appendBit(buf []byte, j int) ([]byte, error) {
	n, how, err := c.numberAt(j, 0)
	if err != nil {
		return buf, err
	}
	if how != fitExact || n.hi != 0 || n.lo > 1 || n.neg {
		return buf, fmt.Errorf("%s is neither 0 nor 1", c.valueText(j))
	}
	return append(buf, 1, byte(n.lo)), nil
}

// appendMoney adds a count of 1/10,000.
func (c *column) appendMoney(buf []byte, j int) ([]byte, error) {
	i, err := c.whole(j, 4)
	if err != nil {
		return buf, err
	}
	return c.putMoney(buf, i), nil
}

func (c *column) putMoney(buf []byte, i int64) []byte {
	return tds.AppendMoney(append(buf, byte(c.wire.size)), i, c.wire.size)
}

// appendDecimal adds a sign and a magnitude.
func (c *column) appendDecimal(buf []byte, j int) ([]byte, error) {
	n, err := c.exactly(j, c.wire.scale)
	if err != nil {
		return buf, err
	}
	if !n.below(c.wire.limit) {
		return buf, c.numberRange(j)
	}
	return putMagnitude(reserve(buf, roomPerCell), n, c.wire.size), nil
}

// appendFloat adds a cell of real or float. A number is exact where the float's
// shortest decimal is the number again.
func (c *column) appendFloat(buf []byte, j int) ([]byte, error) {
	f, exact, err := c.asFloat(j)
	if err != nil {
		return buf, err
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return buf, c.numberRange(j)
	}
	if !exact && !c.lossy.Number {
		return buf, c.numberLost(j)
	}
	if c.wire.size == 4 {
		return binary.LittleEndian.AppendUint32(append(buf, 4), math.Float32bits(float32(f))), nil
	}
	return binary.LittleEndian.AppendUint64(append(buf, 8), math.Float64bits(f)), nil
}

// asFloat is a number as the float that the column holds; an infinity is an
// overflow.
func (c *column) asFloat(j int) (f float64, exact bool, err error) {
	size := 8 * c.wire.size
	if c.src.family == famFloat {
		f = c.vec.floatAt(j)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, false, errNaN
		}
		if size == 64 || c.vec.layout != layF64 {
			return f, true, nil
		}
		g := float64(float32(f))
		return g, g == f || sameDigits(f, g), nil
	}
	if c.src.family != famDecimal {
		most := int64(1) << 53
		if size == 32 {
			most = 1 << 24
		}
		if i, ok := c.vec.int64At(j); ok && i >= -most && i <= most {
			return float64(i), true, nil
		}
	}
	n, how, err := c.numberAt(j, c.src.scale)
	if err != nil {
		return 0, false, err
	}
	if how != fitExact { // a decimal of 256 bits
		f, err = strconv.ParseFloat(c.valueText(j), size)
		if err != nil {
			return math.Inf(1), false, nil
		}
		return f, false, nil
	}
	f, err = strconv.ParseFloat(n.text(c.src.scale), size)
	if err != nil {
		return math.Inf(1), false, nil
	}
	var buf [32]byte
	back, scale, ok := parseNumber(strconv.AppendFloat(buf[:0], f, 'e', -1, size))
	if !ok {
		return f, false, nil
	}
	back, how = back.rescale(scale, c.src.scale)
	return f, how == fitExact && back.hi == n.hi && back.lo == n.lo, nil
}

// sameDigits tells whether a float64 is written as the float32 next to it is.
func sameDigits(f, g float64) bool {
	var a, b [32]byte
	return string(strconv.AppendFloat(a[:0], f, 'e', -1, 64)) == string(strconv.AppendFloat(b[:0], g, 'e', -1, 32))
}
