package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// unify brings expressions to their common type, for CASE, COALESCE, UNION and VALUES.
func (c *compiler) unify(es []*expr) (value.Type, error) {
	t := typeNull
	kind := collDefault
	for i, e := range es {
		var err error
		prev := t
		if t, err = common(t, e.typ); err != nil {
			return t, err
		}
		if isString(t) && isString(e.typ) {
			if i > 0 && isString(prev) {
				coll, k, err := collOf(&expr{typ: prev, coll: kind}, e, "case")
				if err != nil {
					return t, err
				}
				t.Coll, kind = coll, k
			} else {
				t.Coll, kind = e.typ.Coll, e.coll
			}
		}
	}
	if t.ID == value.Null {
		t = typeInt
	}
	for i, e := range es {
		es[i] = c.coerce(e, t)
	}
	return t, nil
}

type whenArm struct {
	test predFunc
	then evalFunc
}

func (sc *scope) searchedCase(x *ast.SearchedCaseExpression) (*expr, error) {
	tests := make([]predFunc, len(x.WhenClauses))
	thens := make([]ast.ScalarExpression, len(x.WhenClauses))
	for i, w := range x.WhenClauses {
		p, err := sc.boolean(w.WhenExpression)
		if err != nil {
			return nil, err
		}
		tests[i], thens[i] = p.test, w.ThenExpression
	}
	return sc.caseOf(tests, thens, x.ElseExpression)
}

func (sc *scope) simpleCase(x *ast.SimpleCaseExpression) (*expr, error) {
	in, err := sc.scalar(x.InputExpression)
	if err != nil {
		return nil, err
	}
	tests := make([]predFunc, len(x.WhenClauses))
	thens := make([]ast.ScalarExpression, len(x.WhenClauses))
	for i, w := range x.WhenClauses {
		when, err := sc.scalar(w.WhenExpression)
		if err != nil {
			return nil, err
		}
		p, err := sc.c.compare("=", in, when)
		if err != nil {
			return nil, err
		}
		tests[i], thens[i] = p.test, w.ThenExpression
	}
	return sc.caseOf(tests, thens, x.ElseExpression)
}

// caseOf builds CASE from compiled conditions.
func (sc *scope) caseOf(tests []predFunc, thens []ast.ScalarExpression, otherwise ast.ScalarExpression) (*expr, error) {
	es := make([]*expr, 0, len(thens)+1)
	nullable, allNull := false, true
	for _, n := range append(append([]ast.ScalarExpression(nil), thens...), otherwise) {
		if n == nil {
			es = append(es, nullOf(typeNull))
			nullable = true
			continue
		}
		e, err := sc.scalar(n)
		if err != nil {
			return nil, err
		}
		nullable = nullable || e.nullable
		allNull = allNull && e.typ.ID == value.Null
		es = append(es, e)
	}
	if allNull {
		return nil, sqlerr.New(8133)
	}
	t, err := sc.c.unify(es)
	if err != nil {
		return nil, err
	}
	arms := make([]whenArm, len(tests))
	for i := range tests {
		arms[i] = whenArm{tests[i], es[i].eval}
	}
	last := es[len(es)-1].eval
	kind := collDefault
	for _, e := range es {
		kind = max(kind, e.coll)
	}
	return &expr{typ: t, nullable: nullable, coll: kind, eval: func(f *frame) (value.Value, error) {
		for _, a := range arms {
			ok, err := a.test(f)
			if err != nil {
				return value.Value{}, err
			}
			if ok == yes {
				return a.then(f)
			}
		}
		return last(f)
	}}, nil
}

func (sc *scope) iif(x *ast.IIfCall) (*expr, error) {
	p, err := sc.boolean(x.Predicate)
	if err != nil {
		return nil, err
	}
	return sc.caseOf([]predFunc{p.test}, []ast.ScalarExpression{x.ThenExpression}, x.ElseExpression)
}

func (sc *scope) coalesce(list []ast.ScalarExpression) (*expr, error) {
	es, err := sc.scalars(list)
	if err != nil {
		return nil, err
	}
	nullable, allNull := true, true
	kind := collDefault
	for _, e := range es {
		nullable = nullable && e.nullable
		allNull = allNull && e.typ.ID == value.Null
		kind = max(kind, e.coll)
	}
	if allNull {
		return nil, sqlerr.New(4127)
	}
	t, err := sc.c.unify(es)
	if err != nil {
		return nil, err
	}
	return &expr{typ: t, nullable: nullable, coll: kind, eval: func(f *frame) (value.Value, error) {
		for _, e := range es {
			v, err := e.eval(f)
			if err != nil || !v.IsNull() {
				return v, err
			}
		}
		return value.Value{}, nil
	}}, nil
}

func (sc *scope) nullif(x *ast.NullIfExpression) (*expr, error) {
	a, err := sc.scalar(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.scalar(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	p, err := sc.c.compare("=", a, b)
	if err != nil {
		return nil, err
	}
	t := a.typ
	if t.ID == value.Null {
		return nil, sqlerr.New(4151)
	}
	return &expr{typ: t, nullable: true, coll: a.coll, eval: func(f *frame) (value.Value, error) {
		eq, err := p.test(f)
		if err != nil || eq == yes {
			return value.Value{}, err
		}
		return a.eval(f)
	}}, nil
}

// isnull is ISNULL(a, b): the type is that of a.
func (sc *scope) isnull(args []*expr) (*expr, error) {
	a, b := args[0], args[1]
	if a.typ.ID == value.Null {
		if b.typ.ID == value.Null {
			return nullOf(typeInt), nil
		}
		return b, nil
	}
	b = sc.c.coerce(b, a.typ)
	if isString(a.typ) && b.typ.Coll == nil {
		b.typ.Coll = a.typ.Coll
	}
	return &expr{typ: a.typ, nullable: a.nullable && b.nullable, coll: a.coll, eval: func(f *frame) (value.Value, error) {
		v, err := a.eval(f)
		if err != nil || !v.IsNull() {
			return v, err
		}
		return b.eval(f)
	}}, nil
}

func (sc *scope) scalars(list []ast.ScalarExpression) ([]*expr, error) {
	es := make([]*expr, len(list))
	for i, n := range list {
		e, err := sc.scalar(n)
		if err != nil {
			return nil, err
		}
		es[i] = e
	}
	return es, nil
}

// chooseCall compiles CHOOSE(n, …): the n-th of the values, NULL beyond them.
func (sc *scope) chooseCall(params []ast.ScalarExpression) (*expr, error) {
	if len(params) < 2 {
		return nil, sqlerr.New(189, "choose", 2, 254)
	}
	es, err := sc.scalars(params)
	if err != nil {
		return nil, err
	}
	t, err := sc.c.unify(es[1:])
	if err != nil {
		return nil, err
	}
	at, vals := sc.c.coerce(es[0], typeInt), make([]*expr, len(es)-1)
	for i, e := range es[1:] {
		vals[i] = sc.c.coerce(e, t)
	}
	return &expr{typ: t, nullable: true, eval: func(f *frame) (value.Value, error) {
		n, err := at.eval(f)
		if err != nil || n.IsNull() || n.Int() < 1 || n.Int() > int64(len(vals)) {
			return value.Value{}, err
		}
		return vals[n.Int()-1].eval(f)
	}}, nil
}
