package value

import (
	"math"
	"math/big"
	"math/bits"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Arith returns a op b and its type; op is one of + - * / % & | ^. A NULL operand gives NULL. Errors: those of ArithType,
// 8115 overflow, 8134 division by zero, and what converting an operand gives.
func Arith(op byte, a, b Value, at, bt Type) (Value, Type, error) {
	t, err := ArithType(op, at, bt)
	if err != nil || a.IsNull() || b.IsNull() {
		return Value{}, t, err
	}
	v, err := arith(op, a, b, at, bt, t)
	return v, t, err
}

func arith(op byte, a, b Value, at, bt, t Type) (Value, error) {
	switch t.ID.family() {
	case famText:
		return NewString(t.ID, FitText(collate.Join(padded(a, at), padded(b, bt)), varying(t))), nil
	case famBinary:
		raw := a.s + b.s
		if t.Len != Max && len(raw) > t.Len {
			raw = raw[:t.Len]
		}
		return NewRaw(t.ID, raw), nil
	case famDecimal:
		return decimalArith(op, a, b, at, bt, t)
	}
	c := converter{}
	x, err := c.to(a, at, t)
	if err != nil {
		return Value{}, err
	}
	y, err := c.to(b, bt, t)
	if err != nil {
		return Value{}, err
	}
	switch t.ID.family() {
	case famInt:
		return intArith(op, x.Int(), y.Int(), t)
	case famMoney:
		return moneyArith(op, x.Int(), y.Int(), t)
	case famFloat:
		return floatArith(op, x.Float(), y.Float(), t)
	case famDateTime:
		return dateArith(op, x, y, t)
	}
	return Value{}, badOperands(op, at, bt)
}

// padded is the text of a value with the blanks of a char column.
func padded(v Value, t Type) string {
	if t.ID == Char || t.ID == NChar {
		return FitText(v.s, t)
	}
	return v.s
}

// varying keeps a concatenation of char values from being filled twice.
func varying(t Type) Type {
	switch t.ID {
	case Char:
		t.ID = VarChar
	case NChar:
		t.ID = NVarChar
	}
	return t
}

func intArith(op byte, x, y int64, t Type) (Value, error) {
	var n int64
	ok := true
	switch op {
	case '+':
		n = x + y
		ok = (n > x) == (y > 0)
	case '-':
		n = x - y
		ok = (n < x) == (y > 0)
	case '*':
		n, ok = mulInt(x, y)
	case '/', '%':
		switch {
		case y == 0:
			return Value{}, sqlerr.New(8134)
		case y == -1 && op == '/':
			n, ok = -x, x != math.MinInt64
		case y == -1:
			n = 0
		case op == '/':
			n = x / y
		default:
			n = x % y
		}
	case '&':
		n = x & y
	case '|':
		n = x | y
	case '^':
		n = x ^ y
	}
	if !ok || !inRange(t.ID, n) {
		return Value{}, errOverflow("expression", t)
	}
	return NewInt(t.ID, n), nil
}

func mulInt(x, y int64) (int64, bool) {
	d := dec{neg: (x < 0) != (y < 0)}
	d.hi, d.lo = bits.Mul64(decOf(x).lo, decOf(y).lo)
	return d.int64()
}

// moneyArith works in ten thousandths: a product is rounded, a quotient cut.
func moneyArith(op byte, x, y int64, t Type) (Value, error) {
	var n int64
	ok := true
	switch op {
	case '+':
		n = x + y
		ok = (n > x) == (y > 0)
	case '-':
		n = x - y
		ok = (n < x) == (y > 0)
	case '*':
		d := dec{neg: (x < 0) != (y < 0)}
		d.hi, d.lo = bits.Mul64(decOf(x).lo, decOf(y).lo)
		n, ok = d.shrink(4, true).int64()
	case '/', '%':
		if y == 0 {
			return Value{}, sqlerr.New(8134)
		}
		if op == '%' {
			if y != -1 {
				n = x % y
			}
			break
		}
		q, _ := decOf(x).mulSmall(10000)
		z := new(big.Int).Quo(q.big(), big.NewInt(y))
		n, ok = z.Int64(), z.IsInt64()
	}
	if low, high := moneyRange(t.ID); !ok || n < low || n > high {
		return Value{}, errOverflow("expression", t)
	}
	return NewInt(t.ID, n), nil
}

func floatArith(op byte, x, y float64, t Type) (Value, error) {
	var f float64
	switch op {
	case '+':
		f = x + y
	case '-':
		f = x - y
	case '*':
		f = x * y
	case '/':
		if y == 0 {
			return Value{}, sqlerr.New(8134)
		}
		f = x / y
	}
	if math.IsInf(f, 0) || math.IsNaN(f) || t.ID == Real && math.IsInf(float64(float32(f)), 0) {
		return Value{}, errOverflow("expression", t)
	}
	if t.ID == Real {
		return NewReal(float32(f)), nil
	}
	return NewFloat(f), nil
}

// dateArith adds or subtracts two datetimes as days since 1900 with their times.
func dateArith(op byte, x, y Value, t Type) (Value, error) {
	perDay := int64(dtTicksPerDay)
	if t.ID == SmallDateTime {
		perDay = 1440
	}
	days, ticks := int64(x.Days()), x.Ticks()
	if op == '-' {
		days, ticks = days-int64(y.Days()), ticks-y.Ticks()
	} else {
		days, ticks = days+int64(y.Days()), ticks+y.Ticks()
	}
	if ticks < 0 {
		ticks, days = ticks+perDay, days-1
	}
	if ticks >= perDay {
		ticks, days = ticks-perDay, days+1
	}
	if t.ID == SmallDateTime {
		if days < 0 || days > smallMaxDays {
			return Value{}, errOverflow("expression", t)
		}
		return NewSmallDateTime(int32(days), ticks), nil
	}
	if days < daysTo1753 || days > daysTo9999 {
		return Value{}, errOverflow("expression", t)
	}
	return NewDateTime(int32(days), ticks), nil
}

// operand converts one side of decimal arithmetic to a decimal with its own precision and scale.
func operand(v Value, t, other Type) (dec, uint8, error) {
	if t.ID.family() == famDecimal {
		return v.dec(), t.Scale, nil
	}
	p, s := shape(t, other)
	if t.ID.family() == famText {
		p = maxPrecision
	}
	x, err := converter{}.to(v, t, Type{ID: Decimal, Prec: uint8(p), Scale: uint8(s)})
	return x.dec(), uint8(s), err
}

func decimalArith(op byte, a, b Value, at, bt, t Type) (Value, error) {
	x, sx, err := operand(a, at, bt)
	if err != nil {
		return Value{}, err
	}
	y, sy, err := operand(b, bt, at)
	if err != nil {
		return Value{}, err
	}
	var d dec
	ok := true
	switch op {
	case '+', '-':
		if op == '-' {
			y.neg = !y.neg
		}
		s := max(sx, sy)
		if x, ok = x.rescale(sx, s, false); ok {
			if y, ok = y.rescale(sy, s, false); ok {
				d, ok = addDec(x, y)
			}
		}
		if ok {
			d, ok = d.rescale(s, t.Scale, true)
		}
	case '*':
		z := new(big.Int).Mul(x.big(), y.big())
		d, ok = decOfBig(scaleBig(z, int(t.Scale)-int(sx)-int(sy), true))
	case '/', '%':
		if y.isZero() {
			return Value{}, sqlerr.New(8134)
		}
		if op == '/' {
			z := scaleBig(x.big(), int(t.Scale)+int(sy)-int(sx), false)
			d, ok = decOfBig(z.Quo(z, y.big()))
			break
		}
		s := max(sx, sy)
		p, q := scaleBig(x.big(), int(s-sx), false), scaleBig(y.big(), int(s-sy), false)
		d, ok = decOfBig(p.Rem(p, q))
		if ok {
			d, ok = d.rescale(s, t.Scale, true)
		}
	}
	if !ok || !d.fits(t.Prec) {
		return Value{}, errOverflow("expression", t)
	}
	return d.value(t.Scale), nil
}

// scaleBig multiplies by 10ⁿ, or divides when n is negative, rounding half away from zero or cutting.
func scaleBig(z *big.Int, n int, round bool) *big.Int {
	if n >= 0 {
		return z.Mul(z, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
	}
	m := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-n)), nil)
	q, r := new(big.Int).QuoRem(z, m, new(big.Int))
	if round && r.Abs(r).Lsh(r, 1).Cmp(m) >= 0 {
		q.Add(q, big.NewInt(int64(z.Sign())))
	}
	return q
}

// Negate returns -v, of the type of v; a tinyint that has a value but 0 does not fit. Errors: 8117 for what has no minus,
// 8115 overflow.
func Negate(v Value, t Type) (Value, error) {
	f := t.ID.family()
	switch {
	case f == famNone:
		return Value{}, nil
	case !t.IsNumber() || t.ID == Bit:
		return Value{}, sqlerr.New(8117, t.plain(), "minus")
	case v.IsNull():
		return v, nil
	}
	switch f {
	case famInt:
		return intArith('-', 0, v.Int(), t)
	case famMoney:
		return moneyArith('-', 0, v.Int(), t)
	case famDecimal:
		return NewDecimal(!v.neg, v.hi, v.lo, t.Scale), nil
	}
	return floatArith('-', 0, v.Float(), t)
}

// BitNot returns ~v. Error 8117 for what is no integer.
func BitNot(v Value, t Type) (Value, error) {
	if !t.IsInteger() {
		return Value{}, sqlerr.New(8117, t.plain(), "'~'")
	}
	if v.IsNull() {
		return v, nil
	}
	switch t.ID {
	case Bit:
		return NewBit(v.lo == 0), nil
	case TinyInt:
		return NewInt(TinyInt, int64(^uint8(v.lo))), nil
	}
	return NewInt(t.ID, ^v.Int()), nil
}
