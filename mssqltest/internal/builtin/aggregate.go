package builtin

import (
	"math"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Aggregate is one aggregate function. COUNT and COUNT_BIG without argument types are those of *.
type Aggregate struct {
	Name string
	Type func(args []value.Type) (value.Type, error)
	New  func(env *value.Env, args []value.Type) Accumulator
}

// Accumulator takes the arguments row by row; NULLs do not count. DISTINCT is the caller's.
type Accumulator interface {
	Add(args []value.Value) error
	Result() (value.Value, error)
}

// LookupAggregate returns the aggregate of that name, in any case.
func LookupAggregate(name string) (Aggregate, bool) {
	name = strings.ToUpper(name)
	a, ok := aggregates[name]
	a.Name = name
	return a, ok
}

var aggregates = map[string]Aggregate{
	"COUNT":        {Type: countType(typeInt), New: func(_ *value.Env, args []value.Type) Accumulator { return &count{id: value.Int} }},
	"COUNT_BIG":    {Type: countType(typeBigInt), New: func(_ *value.Env, args []value.Type) Accumulator { return &count{id: value.BigInt} }},
	"SUM":          {Type: sumType("sum"), New: newSum("sum", false)},
	"AVG":          {Type: sumType("avg"), New: newSum("avg", true)},
	"MIN":          {Type: extremeType("min"), New: newExtreme(-1)},
	"MAX":          {Type: extremeType("max"), New: newExtreme(1)},
	"STRING_AGG":   {Type: joinType, New: newJoin},
	"STDEV":        {Type: spreadType("stdev"), New: newSpread(true, true)},
	"STDEVP":       {Type: spreadType("stdevp"), New: newSpread(true, false)},
	"VAR":          {Type: spreadType("var"), New: newSpread(false, true)},
	"VARP":         {Type: spreadType("varp"), New: newSpread(false, false)},
	"CHECKSUM_AGG": {Type: always(typeInt), New: func(_ *value.Env, args []value.Type) Accumulator { return &checksums{} }},
}

func countType(t value.Type) typeFunc {
	return func(args []value.Type) (value.Type, error) {
		if len(args) > 0 {
			switch args[0].ID {
			case value.Text, value.NText, value.Image:
				return value.Type{}, sqlerr.New(8117, args[0].ID.String(), "count")
			}
		}
		return t, nil
	}
}

type count struct {
	id value.ID
	n  int64
}

func (c *count) Add(args []value.Value) error {
	if len(args) == 0 || !args[0].IsNull() {
		c.n++
	}
	return nil
}

func (c *count) Result() (value.Value, error) {
	if c.id == value.Int && c.n > math.MaxInt32 {
		return value.Value{}, sqlerr.New(8115, "expression", "int")
	}
	return value.NewInt(c.id, c.n), nil
}

// sumType: integers up to int give int, decimals decimal(38, s) and for AVG at least six digits behind the point, money money,
// the rest float.
func sumType(name string) typeFunc {
	return func(args []value.Type) (value.Type, error) {
		if len(args) != 1 {
			return value.Type{}, sqlerr.New(174, name, 1)
		}
		switch t := args[0]; t.ID {
		case value.TinyInt, value.SmallInt, value.Int:
			return typeInt, nil
		case value.BigInt, value.Money:
			return value.Type{ID: t.ID}, nil
		case value.SmallMoney:
			return value.Type{ID: value.Money}, nil
		case value.Real, value.Float:
			return typeFloat, nil
		case value.Decimal, value.Numeric:
			t.Prec = 38
			if name == "avg" {
				t.Scale = max(t.Scale, 6)
			}
			return t, nil
		default:
			return value.Type{}, sqlerr.New(8117, t.ID.String(), name)
		}
	}
}

// sum adds in the type of the result; integers in bigint, so that only the sum may overflow.
type sum struct {
	mean    bool
	in, acc value.Type // of the arguments, of the total
	out     value.Type
	env     *value.Env
	total   value.Value
	n       int64
}

func newSum(name string, mean bool) func(*value.Env, []value.Type) Accumulator {
	return func(env *value.Env, args []value.Type) Accumulator {
		out, err := sumType(name)(args)
		if err != nil {
			return failed{err}
		}
		acc := out
		switch out.ID {
		case value.Int:
			acc = typeBigInt
		case value.Decimal, value.Numeric:
			acc = value.Type{ID: out.ID, Prec: 38, Scale: args[0].Scale}
		}
		return &sum{mean: mean, in: args[0], acc: acc, out: out, env: env}
	}
}

func (s *sum) Add(args []value.Value) error {
	if args[0].IsNull() {
		return nil
	}
	s.n++
	v, err := value.Convert(s.env, args[0], s.in, s.acc, 0)
	if err != nil || s.total.IsNull() {
		s.total = v
		return err
	}
	total, t, err := value.Arith('+', s.total, v, s.acc, s.acc)
	if err != nil {
		return sqlerr.New(8115, "expression", s.out.ID.String())
	}
	if t != s.acc {
		total, err = value.Convert(s.env, total, t, s.acc, 0)
	}
	s.total = total
	return err
}

func (s *sum) Result() (value.Value, error) {
	if s.n == 0 {
		return value.Value{}, nil
	}
	if !s.mean {
		return value.Convert(s.env, s.total, s.acc, s.out, 0)
	}
	by, bt := value.NewInt(value.BigInt, s.n), typeBigInt
	if s.out.ID == value.Decimal || s.out.ID == value.Numeric {
		return value.DivideDecimal(s.total, s.acc, s.n, s.out)
	}
	q, t, err := value.Arith('/', s.total, by, s.acc, bt)
	if err != nil {
		return value.Value{}, err
	}
	return value.Convert(s.env, q, t, s.out, 0)
}

// failed is the accumulator of arguments that the type function refused.
type failed struct{ err error }

func (f failed) Add([]value.Value) error { return f.err }

func (f failed) Result() (value.Value, error) { return value.Value{}, f.err }

func extremeType(name string) typeFunc {
	return func(args []value.Type) (value.Type, error) {
		if len(args) != 1 {
			return value.Type{}, sqlerr.New(174, name, 1)
		}
		switch t := args[0]; t.ID {
		case value.Bit, value.Text, value.NText, value.Image, value.XML, value.CLR:
			return value.Type{}, sqlerr.New(8117, t.ID.String(), name)
		default:
			return t, nil
		}
	}
}

type extreme struct {
	t    value.Type
	sign int
	best value.Value
}

func newExtreme(sign int) func(*value.Env, []value.Type) Accumulator {
	return func(_ *value.Env, args []value.Type) Accumulator { return &extreme{t: args[0], sign: sign} }
}

func (e *extreme) Add(args []value.Value) error {
	if v := args[0]; !v.IsNull() && (e.best.IsNull() || value.Compare(v, e.best, e.t) == e.sign) {
		e.best = v
	}
	return nil
}

func (e *extreme) Result() (value.Value, error) { return e.best, nil }

func joinType(args []value.Type) (value.Type, error) {
	if len(args) != 2 {
		return value.Type{}, sqlerr.New(174, "string_agg", 2)
	}
	t := textType(args[0], 8000)
	if !args[0].IsChar() {
		t = nvarchar(4000)
	}
	if t.ID == value.NVarChar && t.Len != value.Max {
		t.Len = 4000
	}
	return t, nil
}

// join is STRING_AGG. Error 9829: more than 8000 bytes without a max type.
type join struct {
	env   *value.Env
	types []value.Type
	out   value.Type
	b     []byte
	n     int
}

func newJoin(env *value.Env, args []value.Type) Accumulator {
	t, err := joinType(args)
	if err != nil {
		return failed{err}
	}
	return &join{env: env, types: args, out: t}
}

func (j *join) Add(args []value.Value) error {
	if args[0].IsNull() {
		return nil
	}
	s, err := text(j.env, args[0], j.types[0])
	if err != nil {
		return err
	}
	if j.n > 0 && !args[1].IsNull() {
		sep, err := text(j.env, args[1], j.types[1])
		if err != nil {
			return err
		}
		j.b = append(j.b, sep...)
	}
	j.n++
	if j.b = append(j.b, s...); len(j.b) > maxText {
		return sqlerr.New(701)
	}
	return nil
}

func (j *join) Result() (value.Value, error) {
	if j.n == 0 {
		return value.Value{}, nil
	}
	s := string(j.b)
	if j.out.Len != value.Max {
		n := len(s)
		if j.out.IsUnicode() {
			n = collate.UTF16Len(s)
		}
		if n > j.out.Len {
			return value.Value{}, sqlerr.New(9829)
		}
	}
	return value.NewString(j.out.ID, s), nil
}

func spreadType(name string) typeFunc {
	return func(args []value.Type) (value.Type, error) {
		if len(args) != 1 {
			return value.Type{}, sqlerr.New(174, name, 1)
		}
		if !args[0].IsNumber() || args[0].ID == value.Bit {
			return value.Type{}, sqlerr.New(8117, args[0].ID.String(), name)
		}
		return typeFloat, nil
	}
}

// spread is variance and deviation by Welford's method.
type spread struct {
	env          *value.Env
	t            value.Type
	root, sample bool
	n            int64
	mean, m2     float64
}

func newSpread(root, sample bool) func(*value.Env, []value.Type) Accumulator {
	return func(env *value.Env, args []value.Type) Accumulator {
		return &spread{env: env, t: args[0], root: root, sample: sample}
	}
}

func (s *spread) Add(args []value.Value) error {
	if args[0].IsNull() {
		return nil
	}
	x, err := number(s.env, args[0], s.t)
	if err != nil {
		return err
	}
	s.n++
	d := x - s.mean
	s.mean += d / float64(s.n)
	s.m2 += d * (x - s.mean)
	return nil
}

func (s *spread) Result() (value.Value, error) {
	n := s.n
	if s.sample {
		n--
	}
	if n < 1 {
		return value.Value{}, nil
	}
	f := s.m2 / float64(n)
	if s.root {
		f = math.Sqrt(f)
	}
	return finite(f)
}

type checksums struct {
	n   int64
	sum int32
}

func (c *checksums) Add(args []value.Value) error {
	if !args[0].IsNull() {
		c.n++
		c.sum ^= int32(args[0].Int())
	}
	return nil
}

func (c *checksums) Result() (value.Value, error) {
	if c.n == 0 {
		return value.Value{}, nil
	}
	return value.NewInt(value.Int, int64(c.sum)), nil
}
