package builtin

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func init() {
	register(
		Func{"ABS", 1, 1, numericType("abs"), strict(abs)},
		Func{"SIGN", 1, 1, numericType("sign"), strict(sign)},
		Func{"CEILING", 1, 1, wholeType("ceiling"), strict(ceiling)},
		Func{"FLOOR", 1, 1, wholeType("floor"), strict(floor)},
		Func{"ROUND", 2, 3, numericType("round"), strict(round)},
		Func{"POWER", 2, 2, numericType("power"), strict(power)},
		Func{"RAND", 0, 1, always(typeFloat), random},
		Func{"PI", 0, 0, always(typeFloat), func(*value.Env, []value.Value, []value.Type) (value.Value, error) {
			return value.NewFloat(math.Pi), nil
		}},
		Func{"ATN2", 2, 2, always(typeFloat), strict(atn2)},
		Func{"LOG", 1, 2, always(typeFloat), strict(logarithm)},
		Func{"STR", 1, 3, always(varchar(8000)), strict(str)},
		Func{"ISNUMERIC", 1, 1, always(typeInt), isNumeric},
	)
	for name, f := range map[string]func(float64) float64{
		"SQRT": math.Sqrt, "SQUARE": func(x float64) float64 { return x * x }, "EXP": math.Exp, "LOG10": math.Log10, "SIN": math.Sin, "COS": math.Cos, "TAN": math.Tan,
		"COT": func(x float64) float64 { return 1 / math.Tan(x) }, "ASIN": math.Asin, "ACOS": math.Acos, "ATAN": math.Atan,
		"DEGREES": func(x float64) float64 { return x * 180 / math.Pi }, "RADIANS": func(x float64) float64 { return x * math.Pi / 180 },
	} {
		register(Func{name, 1, 1, always(typeFloat), strict(floatFunc(f))})
	}
}

// errDomain is error 3623.
func errDomain() error { return sqlerr.New(3623) }

func finite(f float64) (value.Value, error) {
	switch {
	case math.IsNaN(f):
		return value.Value{}, errDomain()
	case math.IsInf(f, 0):
		return value.Value{}, sqlerr.New(8115, "expression", "float")
	}
	return value.NewFloat(f), nil
}

func floatFunc(f func(float64) float64) evalFunc {
	return func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		x, err := number(env, args[0], types[0])
		if err != nil {
			return value.Value{}, err
		}
		return finite(f(x))
	}
}

// numericType is the type of a function that keeps the kind of number: small integers become int, smallmoney money, real
// and texts float.
func numericType(name string) typeFunc {
	return func(args []value.Type) (value.Type, error) {
		switch t := args[0]; t.ID {
		case value.TinyInt, value.SmallInt, value.Int:
			return typeInt, nil
		case value.BigInt, value.Money, value.Float:
			return value.Type{ID: t.ID}, nil
		case value.SmallMoney:
			return value.Type{ID: value.Money}, nil
		case value.Decimal, value.Numeric:
			if name == "round" || name == "power" {
				t.Prec = 38
			}
			return t, nil
		case value.Bit, value.Real, value.Char, value.VarChar, value.NChar, value.NVarChar:
			return typeFloat, nil
		default:
			return value.Type{}, invalid(t, 1, name)
		}
	}
}

func wholeType(name string) typeFunc {
	of := numericType(name)
	return func(args []value.Type) (value.Type, error) {
		t, err := of(args)
		if t.ID == value.Decimal || t.ID == value.Numeric {
			t.Scale = 0
		}
		return t, err
	}
}

// kept converts the first argument to the type of the result.
func kept(env *value.Env, args []value.Value, types []value.Type, of typeFunc) (value.Value, value.Type, error) {
	t, err := of(types)
	if err != nil {
		return value.Value{}, t, err
	}
	v, err := value.Convert(env, args[0], types[0], t, 0)
	return v, t, err
}

func negative(v value.Value, t value.Type) bool {
	switch t.ID {
	case value.Float:
		return v.Float() < 0
	case value.Decimal, value.Numeric:
		neg, _, _ := v.Decimal()
		return neg
	}
	return v.Int() < 0
}

func isZero(v value.Value, t value.Type) bool {
	switch t.ID {
	case value.Float:
		return v.Float() == 0
	case value.Decimal, value.Numeric:
		_, hi, lo := v.Decimal()
		return hi|lo == 0
	}
	return v.Int() == 0
}

func abs(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	v, t, err := kept(env, args, types, numericType("abs"))
	if err != nil || !negative(v, t) {
		return v, err
	}
	return value.Negate(v, t)
}

func sign(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	v, t, err := kept(env, args, types, numericType("sign"))
	if err != nil {
		return value.Value{}, err
	}
	n := int64(1)
	switch {
	case isZero(v, t):
		n = 0
	case negative(v, t):
		n = -1
	}
	return value.Convert(env, value.NewInt(value.Int, n), typeInt, t, 0)
}

// whole rounds to the next whole number, up or down.
func whole(env *value.Env, args []value.Value, types []value.Type, up bool) (value.Value, error) {
	switch t := types[0]; t.ID {
	case value.Decimal, value.Numeric:
		neg, _, _ := args[0].Decimal()
		rt, _ := wholeType("floor")(types)
		cut, err := value.RoundDecimal(args[0], t, 0, false, rt)
		if err != nil {
			return value.Value{}, err
		}
		back, err := value.Convert(env, cut, rt, t, 0)
		if err == nil && value.Compare(back, args[0], t) == 0 || neg == up {
			return cut, nil
		}
		op := byte('-')
		if up {
			op = '+'
		}
		one := value.NewDecimal(false, 0, 1, 0)
		out, ot, err := value.Arith(op, cut, one, rt, value.Type{ID: rt.ID, Prec: 1})
		if err != nil {
			return value.Value{}, err
		}
		return value.Convert(env, out, ot, rt, 0)
	case value.Money, value.SmallMoney:
		n := args[0].Int()
		r := n % 10000
		n -= r
		if r > 0 && up {
			n += 10000
		}
		if r < 0 && !up {
			n -= 10000
		}
		return value.NewMoney(n), nil
	}
	v, t, err := kept(env, args, types, wholeType("floor"))
	if err != nil || t.ID != value.Float {
		return v, err
	}
	if up {
		return value.NewFloat(math.Ceil(v.Float())), nil
	}
	return value.NewFloat(math.Floor(v.Float())), nil
}

func ceiling(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	return whole(env, args, types, true)
}

func floor(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	return whole(env, args, types, false)
}

// round rounds half away from zero, or with a third argument that is not 0 cuts.
func round(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	v, t, err := kept(env, args, types, numericType("round"))
	if err != nil {
		return value.Value{}, err
	}
	n, err := integer(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	cut := int64(0)
	if len(args) > 2 {
		if cut, err = integer(env, args[2], types[2]); err != nil {
			return value.Value{}, err
		}
	}
	n = max(min(n, 308), -308)
	if t.ID == value.Float {
		return roundFloat(v.Float(), int(n), cut != 0)
	}
	scale := uint8(0)
	d := value.Type{ID: value.Decimal, Prec: 38, Scale: t.Scale}
	if t.ID == value.Money {
		d.Scale = 4
	}
	x, err := value.Convert(env, v, t, d, 0)
	if err != nil {
		return value.Value{}, err
	}
	if n >= int64(d.Scale) {
		return v, nil
	}
	if n > 0 {
		scale = uint8(n)
	}
	if n < 0 {
		return roundTens(env, x, d, int(-n), cut != 0, t)
	}
	at := value.Type{ID: value.Decimal, Prec: 38, Scale: scale}
	if x, err = value.RoundDecimal(x, d, scale, cut == 0, at); err != nil {
		return value.Value{}, err
	}
	return value.Convert(env, x, at, t, 0)
}

// roundTens rounds before the point.
func roundTens(env *value.Env, x value.Value, d value.Type, n int, cut bool, t value.Type) (value.Value, error) {
	if n > 37 {
		return value.Convert(env, value.NewInt(value.Int, 0), typeInt, t, 0)
	}
	y := value.RoundTens(x, d, n, !cut)
	return value.Convert(env, y, value.Type{ID: value.Decimal, Prec: 38}, t, 0)
}

func roundFloat(f float64, n int, cut bool) (value.Value, error) {
	if cut {
		p := math.Pow(10, float64(n))
		return finite(math.Trunc(f*p) / p)
	}
	if n >= 0 {
		s := strconv.FormatFloat(f, 'f', min(n+18, 340), 64)
		p := math.Pow(10, float64(n))
		out := math.Trunc(math.Abs(f)*p+0.5) / p
		if math.Abs(f)*p > 1<<53 || math.IsInf(p, 0) {
			return value.NewFloat(f), nil
		}
		if strings.HasPrefix(s, "-") {
			out = -out
		}
		return finite(out)
	}
	p := math.Pow(10, float64(-n))
	return finite(math.Copysign(math.Trunc(math.Abs(f)/p+0.5)*p, f))
}

// power computes in float and gives the type of the first argument; exact powers of integers stay exact.
func power(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	t, err := numericType("power")(types)
	if err != nil {
		return value.Value{}, err
	}
	x, err := number(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	y, err := number(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	if x == 0 && y < 0 {
		return value.Value{}, sqlerr.New(8134)
	}
	f, err := finite(math.Pow(x, y))
	if err != nil {
		return value.Value{}, err
	}
	return value.Convert(env, f, typeFloat, t, 0)
}

func atn2(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	y, err := number(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	x, err := number(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	return finite(math.Atan2(y, x))
}

func logarithm(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	x, err := number(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	if x <= 0 {
		return value.Value{}, errDomain()
	}
	if len(args) == 1 {
		return finite(math.Log(x))
	}
	base, err := number(env, args[1], types[1])
	if err != nil {
		return value.Value{}, err
	}
	if base <= 0 || base == 1 {
		return value.Value{}, errDomain()
	}
	return finite(math.Log(x) / math.Log(base))
}

// random with a seed gives the same number each time.
func random(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	if len(args) == 0 || args[0].IsNull() {
		return value.NewFloat(env.Random()), nil
	}
	seed, err := integer(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	return value.NewFloat(rand.New(rand.NewPCG(uint64(seed), 0)).Float64()), nil
}

// str writes a float in so many characters with so many digits behind the point; asterisks when it does not fit.
func str(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	f, err := number(env, args[0], types[0])
	if err != nil {
		return value.Value{}, err
	}
	width, digits := int64(10), int64(0)
	if len(args) > 1 {
		if width, err = integer(env, args[1], types[1]); err != nil {
			return value.Value{}, err
		}
	}
	if len(args) > 2 {
		if digits, err = integer(env, args[2], types[2]); err != nil {
			return value.Value{}, err
		}
	}
	if width < 0 || width > 8000 || digits < 0 {
		return value.Value{}, nil
	}
	digits = min(digits, 16)
	s := strconv.FormatFloat(roundHalf(f, int(digits)), 'f', int(digits), 64)
	for len(s) > int(width) && digits > 0 {
		digits--
		s = strconv.FormatFloat(roundHalf(f, int(digits)), 'f', int(digits), 64)
	}
	if len(s) > int(width) {
		return value.NewVarChar(strings.Repeat("*", int(width))), nil
	}
	return value.NewVarChar(strings.Repeat(" ", int(width)-len(s)) + s), nil
}

func roundHalf(f float64, digits int) float64 {
	v, err := roundFloat(f, digits, false)
	if err != nil {
		return f
	}
	return v.Float()
}

// isNumeric says whether a text converts to some number type.
func isNumeric(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
	is := false
	switch {
	case args[0].IsNull():
	case types[0].IsNumber():
		is = true
	case types[0].IsChar():
		if strings.TrimSpace(args[0].Str()) == "" {
			break
		}
		for _, t := range []value.Type{typeFloat, {ID: value.Money}, {ID: value.Decimal, Prec: 38}} {
			if _, err := value.Convert(env, args[0], types[0], t, 0); err == nil {
				is = true
			}
		}
	}
	return value.Convert(env, value.NewBit(is), value.Type{ID: value.Bit}, typeInt, 0)
}
