package bulkload

import (
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// number is a decimal's sign and magnitude without its scale.
type number struct {
	neg    bool
	hi, lo uint64
}

// pow10 holds the powers of ten that fit into 128 bits.
var pow10 = func() (p [39]number) {
	p[0] = number{lo: 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].times(10)
	}
	return p
}()

// pow10u holds those that fit into 64.
var pow10u = func() (p [20]uint64) {
	for i := range p {
		p[i] = pow10[i].lo
	}
	return p
}()

func numberOf(n int64) number {
	if n < 0 {
		return number{neg: true, lo: -uint64(n)}
	}
	return number{lo: uint64(n)}
}

// signed makes a number of two's complement.
func signed(hi int64, lo uint64) number {
	if hi >= 0 {
		return number{hi: uint64(hi), lo: lo}
	}
	low, borrow := bits.Sub64(0, lo, 0)
	high, _ := bits.Sub64(0, uint64(hi), borrow)
	return number{neg: true, hi: high, lo: low}
}

// times multiplies the magnitude; false is an overflow of 128 bits.
func (n number) times(m uint64) (number, bool) {
	over, hi := bits.Mul64(n.hi, m)
	carry, lo := bits.Mul64(n.lo, m)
	sum, c := bits.Add64(hi, carry, 0)
	return number{n.neg, sum, lo}, over == 0 && c == 0
}

// by divides the magnitude.
func (n number) by(m uint64) (q number, rem uint64) {
	q.neg = n.neg
	q.hi, rem = n.hi/m, n.hi%m
	q.lo, rem = bits.Div64(rem, n.lo, m)
	return q, rem
}

// below compares magnitudes.
func (n number) below(m number) bool { return n.hi < m.hi || n.hi == m.hi && n.lo < m.lo }

// fit says how a number of another scale came out.
type fit uint8

const (
	fitExact   fit = iota
	fitRounded     // digits were dropped, half away from zero
	fitNot         // too large
)

// rescale moves a number from one scale to another.
func (n number) rescale(from, to int) (number, fit) {
	for ; from < to; from += min(to-from, 19) {
		var ok bool
		if n, ok = n.times(pow10u[min(to-from, 19)]); !ok {
			return n, fitNot
		}
	}
	if from == to {
		return n, fitExact
	}
	drop := from - to
	exact := true
	var rem uint64
	for drop > 1 && n.hi|n.lo != 0 {
		step := min(drop-1, 19)
		n, rem = n.by(pow10u[step])
		exact = exact && rem == 0
		drop -= step
	}
	if n.hi|n.lo == 0 {
		if exact {
			return number{}, fitExact
		}
		return number{}, fitRounded
	}
	n, rem = n.by(10)
	if rem >= 5 {
		var carry uint64
		n.lo, carry = bits.Add64(n.lo, 1, 0)
		n.hi += carry
	}
	if exact && rem == 0 {
		return n, fitExact
	}
	return n, fitRounded
}

// narrow256 takes a decimal of 256 bits to a scale; 128 bits hold every decimal
// that a server has.
func narrow256(v decimal256.Num, from, to int) (number, fit) {
	if a := v.Array(); v.Sign() >= 0 && a[2]|a[3] == 0 {
		return number{hi: a[1], lo: a[0]}.rescale(from, to)
	}
	b := v.BigInt()
	how := fitExact
	switch {
	case to > from:
		if to-from > 38 {
			return number{}, fitNot
		}
		b.Mul(b, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to-from)), nil))
	case to < from:
		q, r := new(big.Int), new(big.Int)
		d := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(from-to)), nil)
		q.QuoRem(b, d, r)
		if r.Sign() != 0 {
			how = fitRounded
			if r.Abs(r).Lsh(r, 1).Cmp(d) >= 0 {
				q.Add(q, big.NewInt(int64(b.Sign())))
			}
		}
		b = q
	}
	n := number{neg: b.Sign() < 0}
	if b.BitLen() > 128 {
		return n, fitNot
	}
	var buf [16]byte
	b.Abs(b).FillBytes(buf[:])
	for i := range 8 {
		n.hi = n.hi<<8 | uint64(buf[i])
		n.lo = n.lo<<8 | uint64(buf[8+i])
	}
	return n, how
}

// parseNumber reads the digits of "-12.5e-3" and their scale; false is an overflow
// or no number.
func parseNumber(s []byte) (n number, scale int, ok bool) {
	neg := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	digits, point, exp := 0, false, 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			if n, ok = n.times(10); !ok {
				return n, 0, false
			}
			var carry uint64
			n.lo, carry = bits.Add64(n.lo, uint64(c-'0'), 0)
			n.hi += carry
			digits++
			if point {
				scale++
			}
		case c == '.' && !point:
			point = true
		case (c == 'e' || c == 'E') && digits > 0:
			e := s[i+1:]
			down := len(e) > 0 && e[0] == '-'
			if len(e) > 0 && (e[0] == '-' || e[0] == '+') {
				e = e[1:]
			}
			if len(e) == 0 || len(e) > 4 {
				return n, 0, false
			}
			for _, c := range e {
				if c < '0' || c > '9' {
					return n, 0, false
				}
				exp = exp*10 + int(c-'0')
			}
			if down {
				exp = -exp
			}
			n.neg = neg
			return n, scale - exp, true
		default:
			return n, 0, false
		}
	}
	n.neg = neg
	return n, scale, digits > 0
}

// maxShown is how many zeros an error shows before it turns to an exponent.
const maxShown = 80

// text writes a number for errors.
func (n number) text(scale int) string {
	b := new(big.Int).SetUint64(n.hi)
	s := b.Or(b.Lsh(b, 64), new(big.Int).SetUint64(n.lo)).String()
	switch {
	case scale < -maxShown || scale > maxShown:
		s += "e" + strconv.Itoa(-scale)
	case scale < 0:
		s += strings.Repeat("0", -scale)
	case scale > 0:
		if len(s) <= scale {
			s = strings.Repeat("0", scale+1-len(s)) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.neg {
		s = "-" + s
	}
	return s
}
