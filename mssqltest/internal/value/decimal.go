package value

import (
	"math/big"
	"math/bits"
	"strings"
)

// dec is a decimal's sign and unscaled magnitude; the scale is beside it.
type dec struct {
	neg    bool
	hi, lo uint64
}

// pow10 holds 10⁰ … 10³⁸.
var pow10 = func() (p [39]dec) {
	p[0].lo = 1
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mulSmall(10)
	}
	return p
}()

func (v Value) dec() dec { return dec{v.neg, v.hi, v.lo} }

func decOf(n int64) dec {
	if n < 0 {
		return dec{neg: true, lo: uint64(-n)}
	}
	return dec{lo: uint64(n)}
}

func (d dec) value(scale uint8) Value { return NewDecimal(d.neg, d.hi, d.lo, scale) }

func (d dec) isZero() bool { return d.hi|d.lo == 0 }

func (d dec) mulSmall(m uint64) (dec, bool) {
	h1, l := bits.Mul64(d.lo, m)
	h2, h := bits.Mul64(d.hi, m)
	sum, carry := bits.Add64(h, h1, 0)
	return dec{d.neg, sum, l}, h2 == 0 && carry == 0
}

// cmpMag compares magnitudes.
func cmpMag(a, b dec) int {
	switch {
	case a.hi != b.hi:
		return cmpUint(a.hi, b.hi)
	default:
		return cmpUint(a.lo, b.lo)
	}
}

func cmpDec(a, b dec) int {
	switch {
	case a.neg && !b.neg:
		return -1
	case !a.neg && b.neg:
		return 1
	case a.neg:
		return cmpMag(b, a)
	}
	return cmpMag(a, b)
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// digits returns the number of decimal digits of the magnitude, 0 for 0.
func digits(hi, lo uint64) int {
	d := dec{hi: hi, lo: lo}
	n := bits.Len64(lo)
	if hi != 0 {
		n = 64 + bits.Len64(hi)
	}
	k := n * 1233 >> 12 // ⌊n·log₁₀2⌋, the digits or one less
	if k < len(pow10) && cmpMag(d, pow10[k]) >= 0 {
		k++
	}
	return k
}

// fits says whether d has at most p digits.
func (d dec) fits(p uint8) bool { return cmpMag(d, pow10[min(p, maxPrecision)]) < 0 }

// rescale gives d, of scale from, the scale to; digits that go are rounded half away from zero, or cut. ok is false on
// overflow of 128 bits.
func (d dec) rescale(from, to uint8, round bool) (dec, bool) {
	switch {
	case from == to:
		return d, true
	case to > from:
		n := to - from
		for ; n > 19; n -= 19 {
			var ok bool
			if d, ok = d.mulSmall(pow10[19].lo); !ok {
				return d, false
			}
		}
		return d.mulSmall(pow10[n].lo)
	}
	return d.shrink(from-to, round), true
}

// shrink divides by 10ⁿ.
func (d dec) shrink(n uint8, round bool) dec {
	if n > maxPrecision {
		return dec{}
	}
	if n <= 19 {
		m := pow10[n].lo
		hi, r := bits.Div64(0, d.hi, m)
		lo, r := bits.Div64(r, d.lo, m)
		out := dec{d.neg, hi, lo}
		if round && r >= m-r && m > 1 {
			out = out.increment()
		}
		return out
	}
	q, r := new(big.Int).QuoRem(d.big(), pow10[n].big(), new(big.Int))
	out, _ := decOfBig(q.Abs(q))
	out.neg = d.neg
	if round && r.Abs(r).Lsh(r, 1).Cmp(pow10[n].big()) >= 0 {
		out = out.increment()
	}
	return out
}

func (d dec) increment() dec {
	lo, carry := bits.Add64(d.lo, 1, 0)
	return dec{d.neg, d.hi + carry, lo}
}

// addDec adds two decimals of one scale.
func addDec(a, b dec) (dec, bool) {
	if a.neg == b.neg {
		lo, c := bits.Add64(a.lo, b.lo, 0)
		hi, c := bits.Add64(a.hi, b.hi, c)
		return dec{a.neg, hi, lo}, c == 0
	}
	if cmpMag(a, b) < 0 {
		a, b = b, a
	}
	lo, c := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, c)
	return dec{a.neg && hi|lo != 0, hi, lo}, true
}

// big returns d as a signed integer.
func (d dec) big() *big.Int {
	x := new(big.Int).SetUint64(d.hi)
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(d.lo))
	if d.neg {
		x.Neg(x)
	}
	return x
}

var mask64 = new(big.Int).SetUint64(^uint64(0))

func decOfBig(x *big.Int) (dec, bool) {
	m := new(big.Int).Abs(x)
	d := dec{neg: x.Sign() < 0, lo: new(big.Int).And(m, mask64).Uint64()}
	m.Rsh(m, 64)
	d.hi = m.Uint64()
	return d, m.BitLen() <= 64
}

// float returns the nearest float64 to d at the given scale.
func (d dec) float(scale uint8) float64 {
	f, _ := new(big.Rat).SetFrac(d.big(), pow10[scale].big()).Float64()
	return f
}

// text writes d with its full scale: "-0.50".
func (d dec) text(scale uint8) string {
	var s string
	if d.hi == 0 {
		s = utoa(d.lo)
	} else {
		x := d
		x.neg = false
		s = x.big().String()
	}
	if n := int(scale); n > 0 {
		if len(s) <= n {
			s = strings.Repeat("0", n+1-len(s)) + s
		}
		s = s[:len(s)-n] + "." + s[len(s)-n:]
	}
	if d.neg && !d.isZero() {
		s = "-" + s
	}
	return s
}

func utoa(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = '0' + byte(n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// parseDec reads sign, digits and point; the digits behind the point beyond scale are rounded. exact keeps all of them
// and gives the scale found. ok is false for what is no number; overflow says that it has too many digits.
func parseDec(s string, scale uint8) (d dec, ok, overflow bool) {
	s = strings.Trim(s, " \t\r\n")
	if s == "" {
		return d, false, false
	}
	switch s[0] {
	case '-':
		d.neg = true
		s = s[1:]
	case '+':
		s = s[1:]
	}
	s = strings.TrimLeft(s, " ")
	seen, point := false, false
	behind := uint8(0)
	var next byte // first digit that is cut off
	cut := false
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return d, false, false
		}
		seen = true
		if point {
			if behind == scale {
				if !cut {
					cut, next = true, c
				}
				continue
			}
			behind++
		}
		x, fit := d.mulSmall(10)
		if fit {
			x, fit = addDec(dec{x.neg, x.hi, x.lo}, dec{neg: x.neg, lo: uint64(c - '0')})
		}
		overflow = overflow || !fit
		x.neg = d.neg
		d = x
	}
	if !seen && !point {
		return d, false, false
	}
	if !overflow {
		var fit bool
		d, fit = d.rescale(behind, scale, false)
		overflow = !fit
	}
	if cut && next >= '5' {
		d = d.increment()
	}
	d.neg = d.neg && !d.isZero()
	return d, true, overflow
}

// ParseDecimalLiteral reads an exact numeric literal: "1.50" is a numeric(3,2). Error 1007: more than 38 digits.
func ParseDecimalLiteral(s string) (Value, Type, error) {
	scale := 0
	if i := strings.IndexByte(s, '.'); i >= 0 {
		scale = len(s) - i - 1
	}
	d, ok, overflow := parseDec(s, uint8(min(scale, maxPrecision)))
	if !ok || overflow || scale > maxPrecision || !d.fits(maxPrecision) {
		return Value{}, Type{}, errNumberOutOfRange(s)
	}
	p := max(digits(d.hi, d.lo), scale, 1)
	return d.value(uint8(scale)), Type{ID: Numeric, Prec: uint8(p), Scale: uint8(scale)}, nil
}
