package exec

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/builtin"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// boolean compiles a condition by its kind.
func (sc *scope) boolean(n ast.BooleanExpression) (*pred, error) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return nil, sqlerr.New(102, "")
	}
	switch x := n.(type) {
	case *ast.BooleanParenthesisExpression:
		return sc.boolean(x.Expression)
	case *ast.BooleanBinaryExpression:
		return sc.andOr(x)
	case *ast.BooleanNotExpression:
		p, err := sc.boolean(x.Expression)
		if err != nil {
			return nil, err
		}
		return negate(p), nil
	case *ast.BooleanComparisonExpression:
		return sc.comparison(x)
	case *ast.BooleanIsNullExpression:
		return sc.isNull(x)
	case *ast.BooleanInExpression:
		return sc.in(x)
	case *ast.BooleanLikeExpression:
		return sc.like(x)
	case *ast.BooleanTernaryExpression:
		return sc.between(x)
	case *ast.ExistsPredicate:
		return sc.exists(x.Subquery)
	case *ast.SubqueryComparisonPredicate:
		op, ok := comparisons[x.ComparisonType]
		if !ok {
			return nil, notSupported("the comparison " + x.ComparisonType)
		}
		return sc.anyAll(op, x.Expression, x.Subquery, x.SubqueryComparisonPredicateType == "All")
	case *ast.UpdateCall:
		return sc.updated(x)
	case *ast.DistinctPredicate:
		return sc.distinctFrom(x)
	}
	return nil, notSupported("the condition " + strings.TrimPrefix(reflect.TypeOf(n).String(), "*ast."))
}

func negate(p *pred) *pred {
	t := p.test
	return &pred{test: func(f *frame) (tri, error) {
		v, err := t(f)
		switch v {
		case yes:
			return no, err
		case no:
			return yes, err
		}
		return unknown, err
	}}
}

func (sc *scope) andOr(x *ast.BooleanBinaryExpression) (*pred, error) {
	a, err := sc.boolean(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.boolean(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	at, bt := a.test, b.test
	stop := no
	if x.BinaryExpressionType == "Or" {
		stop = yes
	}
	return &pred{test: func(f *frame) (tri, error) {
		av, err := at(f)
		if err != nil || av == stop {
			return av, err
		}
		bv, err := bt(f)
		if err != nil || bv == stop || av == unknown {
			if bv == stop {
				return stop, err
			}
			return av, err
		}
		return bv, nil
	}}, nil
}

var comparisons = map[string]string{
	"Equals": "=", "GreaterThan": ">", "LessThan": "<", "GreaterThanOrEqualTo": ">=", "LessThanOrEqualTo": "<=",
	"NotEqualToBrackets": "<>", "NotEqualToExclamation": "<>", "NotLessThan": ">=", "NotGreaterThan": "<=",
}

func (sc *scope) comparison(x *ast.BooleanComparisonExpression) (*pred, error) {
	op, ok := comparisons[x.ComparisonType]
	if !ok {
		return nil, notSupported("the comparison " + x.ComparisonType)
	}
	if f, ok := x.SecondExpression.(*ast.FunctionCall); ok && (f.FunctionName.Value == allCall || f.FunctionName.Value == anyCall) && len(f.Parameters) == 1 {
		if q, ok := f.Parameters[0].(*ast.ScalarSubquery); ok {
			return sc.anyAll(op, x.FirstExpression, q, f.FunctionName.Value == allCall)
		}
	}
	a, err := sc.expr(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.expr(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	return sc.c.compare(op, a, b)
}

// compare builds a comparison in the operands' common type.
func (c *compiler) compare(op string, a, b *expr) (*pred, error) {
	for _, e := range [...]*expr{a, b} {
		if isLegacyLOB(e.typ) || e.typ.ID == value.XML {
			return nil, sqlerr.New(402, a.typ.String(), b.typ.String(), compareName[op])
		}
	}
	coll, _, err := collOf(a, b, compareName[op])
	if err != nil {
		return nil, err
	}
	t, err := common(a.typ, b.typ)
	if err != nil {
		return nil, err
	}
	if t.ID == value.Null {
		t = typeInt
	}
	if isString(t) {
		t.Coll = coll
	}
	p := &pred{op: op, left: a, right: b, key: t}
	p.test = comparison(op, c.comparand(a, t), c.comparand(b, t), t)
	return p, nil
}

// comparison is the test of two operands that are in the type of the comparison.
func comparison(op string, a, b evalFunc, t value.Type) predFunc {
	return func(f *frame) (tri, error) {
		av, err := a(f)
		if err != nil {
			return unknown, err
		}
		bv, err := b(f)
		if err != nil {
			return unknown, err
		}
		if av.IsNull() || bv.IsNull() {
			return unknown, nil
		}
		return triOf(holds(op, value.Compare(av, bv, t))), nil
	}
}

// comparand converts an operand to the type of a comparison. Text and binary compare whatever their declared lengths.
func (c *compiler) comparand(e *expr, t value.Type) evalFunc {
	switch {
	case isString(e.typ) && isString(t) && isUnicode(e.typ) == isUnicode(t),
		isBinary(e.typ) && isBinary(t):
		return e.eval
	}
	if isString(t) {
		t.Len = value.Max
	}
	return c.coerce(e, t).eval
}

var compareName = map[string]string{
	"=": "equal to", "<>": "not equal to", "<": "less than", "<=": "less than or equal to", ">": "greater than",
	">=": "greater than or equal to",
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func (sc *scope) isNull(x *ast.BooleanIsNullExpression) (*pred, error) {
	e, err := sc.expr(x.Expression)
	if err != nil {
		return nil, err
	}
	ev, not := e.eval, x.IsNot
	p := &pred{test: func(f *frame) (tri, error) {
		v, err := ev(f)
		return triOf(v.IsNull() != not), err
	}}
	if !not {
		p.op, p.left = "null", e
	}
	return p, nil
}

func (sc *scope) between(x *ast.BooleanTernaryExpression) (*pred, error) {
	es := make([]*expr, 3)
	for i, n := range [...]ast.ScalarExpression{x.FirstExpression, x.SecondExpression, x.ThirdExpression} {
		e, err := sc.expr(n)
		if err != nil {
			return nil, err
		}
		es[i] = e
	}
	lo, err := sc.c.compare(">=", es[0], es[1])
	if err != nil {
		return nil, err
	}
	hi, err := sc.c.compare("<=", es[0], es[2])
	if err != nil {
		return nil, err
	}
	p := &pred{test: func(f *frame) (tri, error) {
		a, err := lo.test(f)
		if err != nil || a == no {
			return a, err
		}
		b, err := hi.test(f)
		if err != nil || b == no {
			return b, err
		}
		return max(a, b), nil
	}}
	if strings.HasPrefix(x.TernaryExpressionType, "Not") {
		return negate(p), nil
	}
	return p, nil
}

func (sc *scope) in(x *ast.BooleanInExpression) (*pred, error) {
	e, err := sc.expr(x.Expression)
	if err != nil {
		return nil, err
	}
	if x.Subquery != nil {
		p, err := sc.inSubquery(e, x.Subquery)
		if err == nil && x.NotDefined {
			p = negate(p)
		}
		return p, err
	}
	tests := make([]predFunc, len(x.Values))
	list := make([]*expr, len(x.Values))
	for i, n := range x.Values {
		v, err := sc.expr(n)
		if err != nil {
			return nil, err
		}
		p, err := sc.c.compare("=", e, v)
		if err != nil {
			return nil, err
		}
		tests[i], list[i] = p.test, v
	}
	p := &pred{op: "in", left: e, in: list, test: func(f *frame) (tri, error) {
		out := no
		for _, t := range tests {
			v, err := t(f)
			if err != nil || v == yes {
				return v, err
			}
			if v == unknown {
				out = unknown
			}
		}
		return out, nil
	}}
	if x.NotDefined {
		return negate(p), nil
	}
	return p, nil
}

func (sc *scope) like(x *ast.BooleanLikeExpression) (*pred, error) {
	a, err := sc.scalar(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.scalar(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	esc := constant(value.NewNVarChar(""), nvarcharType(1, sc.c.collation()))
	if x.EscapeExpression != nil {
		if esc, err = sc.scalar(x.EscapeExpression); err != nil {
			return nil, err
		}
	}
	coll, _, err := collOf(a, b, "like")
	if err != nil {
		return nil, err
	}
	if coll == nil {
		coll = sc.c.collation()
	}
	uni := isUnicode(a.typ) || isUnicode(b.typ)
	a, b = sc.text(a), sc.text(b)
	p := &pred{test: func(f *frame) (tri, error) {
		var vs [3]value.Value
		for i, e := range [...]*expr{a, b, esc} {
			v, err := e.eval(f)
			if err != nil {
				return unknown, err
			}
			if v.IsNull() {
				return unknown, nil
			}
			vs[i] = v
		}
		return triOf(builtin.Like(vs[0].Str(), vs[1].Str(), vs[2].Str(), coll, uni)), nil
	}}
	if x.NotDefined {
		return negate(p), nil
	}
	return p, nil
}

// text converts an expression that is no text to varchar.
func (sc *scope) text(e *expr) *expr {
	if isString(e.typ) {
		return e
	}
	return sc.c.coerce(e, varcharType(8000, sc.c.collation()))
}

func (sc *scope) distinctFrom(x *ast.DistinctPredicate) (*pred, error) {
	a, err := sc.expr(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.expr(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	eq, err := sc.c.compare("=", a, b)
	if err != nil {
		return nil, err
	}
	not := x.IsNot
	return &pred{test: func(f *frame) (tri, error) {
		av, err := a.eval(f)
		if err != nil {
			return unknown, err
		}
		bv, err := b.eval(f)
		if err != nil {
			return unknown, err
		}
		same := av.IsNull() && bv.IsNull()
		if !av.IsNull() && !bv.IsNull() {
			t, err := eq.test(f)
			if err != nil {
				return unknown, err
			}
			same = t == yes
		}
		return triOf(same == not), nil
	}}, nil
}
