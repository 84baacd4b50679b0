package exec

import (
	"errors"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// cast compiles CAST, CONVERT and their TRY_ forms.
func (sc *scope) cast(d ast.DataTypeReference, n, style ast.ScalarExpression, try bool) (*expr, error) {
	to, err := sc.c.typeOf(d, true)
	if err != nil {
		return nil, err
	}
	e, err := sc.scalar(n)
	if err != nil {
		return nil, err
	}
	var st *expr
	if style != nil {
		if st, err = sc.scalar(style); err != nil {
			return nil, err
		}
		st = sc.c.coerce(st, typeInt)
	}
	return sc.c.convert(e, to, st, try)
}

func (c *compiler) convert(e *expr, to value.Type, style *expr, try bool) (*expr, error) {
	kind := collDefault
	if isString(to) && isString(e.typ) && e.typ.Coll != nil {
		to.Coll, kind = e.typ.Coll, e.coll
	}
	if e.typ.ID == value.Null {
		return nullOf(to), nil
	}
	from, env, ev := e.typ, c.env(), e.eval
	run := func(f *frame) (value.Value, error) {
		v, err := ev(f)
		if err != nil || v.IsNull() {
			return value.Value{}, err
		}
		n := 0
		if style != nil {
			sv, err := style.eval(f)
			if err != nil || sv.IsNull() {
				return value.Value{}, err
			}
			n = int(sv.Int())
		}
		out, err := value.Convert(env, v, from, to, n)
		if err != nil && try {
			var se *sqlerr.Error
			if errors.As(err, &se) && se.Number != 529 {
				return value.Value{}, nil
			}
		}
		return out, err
	}
	if e.lit && (style == nil || style.lit) {
		if v, err := run(nil); err == nil {
			out := constant(v, to)
			out.nullable = e.nullable || try
			return out, nil
		}
	}
	return &expr{typ: to, nullable: e.nullable || try, coll: kind, eval: run}, nil
}

// parseCall is PARSE and TRY_PARSE in the language of the session.
func (sc *scope) parseCall(d ast.DataTypeReference, n ast.ScalarExpression, try bool) (*expr, error) {
	to, err := sc.c.typeOf(d, true)
	if err != nil {
		return nil, err
	}
	e, err := sc.scalar(n)
	if err != nil {
		return nil, err
	}
	if !isString(e.typ) && e.typ.ID != value.Null {
		return nil, sqlerr.New(8116, e.typ.String(), 1, "parse")
	}
	out, err := sc.c.convert(e, to, nil, try)
	if err != nil || try {
		return out, err
	}
	ev, name := out.eval, to.String()
	res := *out
	res.lit = false
	res.eval = func(f *frame) (value.Value, error) {
		v, err := ev(f)
		if err != nil {
			text, _ := e.eval(f)
			return v, sqlerr.New(9819, value.Display(text, e.typ), name, "")
		}
		return v, nil
	}
	return &res, nil
}
