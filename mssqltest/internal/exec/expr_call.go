package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/builtin"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// call compiles a function call: window functions, aggregates, functions of the session, of the registry, built-in ones,
// and those of the user.
func (sc *scope) call(x *ast.FunctionCall) (*expr, error) {
	name := strings.ToUpper(x.FunctionName.Value)
	switch t := x.CallTarget.(type) {
	case nil:
	case *ast.MultiPartIdentifierCallTarget:
		return sc.qualifiedCall(x, t.MultiPartIdentifier.Identifiers)
	case *ast.ExpressionCallTarget:
		return sc.xmlValue(x, t.Expression)
	default:
		return nil, notSupported("methods of values")
	}
	switch x.FunctionName.Value {
	case parenCall:
		return sc.scalar(x.Parameters[0])
	case collateCall:
		return sc.collateCall(x)
	}
	if x.OverClause != nil {
		return sc.window(x)
	}
	if isAggregate(name) {
		return sc.aggregate(x)
	}
	if len(x.JsonParameters) > 0 {
		return nil, notSupported("JSON functions")
	}
	switch name {
	case "ISJSON", "JSON_VALUE", "JSON_QUERY", "JSON_MODIFY":
		return sc.jsonCall(name, x.Parameters)
	case "CHOOSE":
		return sc.chooseCall(x.Parameters)
	case "ISNULL":
		if len(x.Parameters) != 2 {
			return nil, sqlerr.New(174, "isnull", 2)
		}
		es, err := sc.scalars(x.Parameters)
		if err != nil {
			return nil, err
		}
		return sc.isnull(es)
	case "TRIM":
		if x.TrimOptions != nil {
			return nil, notSupported("TRIM with LEADING, TRAILING or BOTH")
		}
	case "DATEADD", "DATEDIFF", "DATEDIFF_BIG", "DATEPART", "DATENAME", "DATETRUNC", "DATE_BUCKET":
		return sc.datePart(name, x.Parameters)
	}
	if f, ok := sessionFuncs[name]; ok {
		return sc.sessionCall(f, name, x.Parameters)
	}
	if f := sc.c.r.s.in.Registry.scalar("", name); f != nil {
		return sc.registered(f, sc.c.db, x.Parameters)
	}
	return sc.builtin(name, x.Parameters)
}

// collateCall is a COLLATE that was rewritten to a call.
func (sc *scope) collateCall(x *ast.FunctionCall) (*expr, error) {
	if len(x.Parameters) != 2 {
		return nil, sqlerr.New(102, "COLLATE")
	}
	name, ok := x.Parameters[1].(*ast.StringLiteral)
	if !ok {
		return nil, sqlerr.New(102, "COLLATE")
	}
	e, err := sc.expr(x.Parameters[0])
	return sc.collated(e, &ast.Identifier{Value: name.Value}, err)
}

// datePart passes the first argument, a bare word, as its name.
func (sc *scope) datePart(name string, params []ast.ScalarExpression) (*expr, error) {
	if len(params) == 0 {
		return nil, sqlerr.New(174, strings.ToLower(name), 2)
	}
	word := ""
	switch p := params[0].(type) {
	case *ast.ColumnReferenceExpression:
		if p.MultiPartIdentifier != nil && len(p.MultiPartIdentifier.Identifiers) == 1 {
			word = p.MultiPartIdentifier.Identifiers[0].Value
		}
	case *ast.IdentifierLiteral:
		word = p.Value
	}
	if word == "" {
		return nil, sqlerr.New(1023, 1, strings.ToLower(name))
	}
	es, err := sc.scalars(params[1:])
	if err != nil {
		return nil, err
	}
	first := constant(value.NewNVarChar(word), nvarcharType(30, sc.c.collation()))
	return sc.apply(name, append([]*expr{first}, es...))
}

// volatileFuncs give another value at each call; the others are constants within a statement when their arguments are.
var volatileFuncs = wordSet("NEWID RAND NEWSEQUENTIALID CRYPT_GEN_RANDOM")

func (sc *scope) builtin(name string, params []ast.ScalarExpression) (*expr, error) {
	es, err := sc.scalars(params)
	if err != nil {
		return nil, err
	}
	return sc.apply(name, es)
}

// apply calls a built-in function.
func (sc *scope) apply(name string, args []*expr) (*expr, error) {
	f, ok := builtin.Lookup(name)
	if !ok {
		return nil, sqlerr.New(195, name, "built-in function name")
	}
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		if f.Min == f.Max {
			return nil, sqlerr.New(174, strings.ToLower(name), f.Min)
		}
		return nil, sqlerr.New(189, strings.ToLower(name), f.Min, f.Max)
	}
	if volatileFuncs[name] {
		sc.volatile = true
	}
	types := make([]value.Type, len(args))
	kind := collDefault
	nullable := name != "CONCAT" && name != "CONCAT_WS"
	for i, a := range args {
		if a.typ.ID == value.Null {
			args[i] = sc.c.coerce(a, varcharType(1, sc.c.collation()))
		}
		types[i] = args[i].typ
		kind = max(kind, a.coll)
	}
	t, err := f.Type(types)
	if err != nil {
		return nil, err
	}
	if isString(t) && t.Coll == nil {
		t.Coll = sc.c.collation()
	}
	if len(args) == 0 || notNullFuncs[name] {
		nullable = false
	}
	env, eval := sc.c.env(), f.Eval
	return &expr{typ: t, nullable: nullable, coll: kind, eval: func(fr *frame) (value.Value, error) {
		vs := make([]value.Value, len(args))
		for i, a := range args {
			v, err := a.eval(fr)
			if err != nil {
				return value.Value{}, err
			}
			vs[i] = v
		}
		return eval(env, vs, types)
	}}, nil
}

// notNullFuncs never give NULL.
var notNullFuncs = wordSet("GETDATE GETUTCDATE SYSDATETIME SYSUTCDATETIME SYSDATETIMEOFFSET NEWID PI ISNUMERIC ISDATE CURRENT_TIMESTAMP CHECKSUM")

// registered calls a function of the registry.
func (sc *scope) registered(f *Scalar, db *storage.Database, params []ast.ScalarExpression) (*expr, error) {
	if len(params) < f.Min || f.Max >= 0 && len(params) > f.Max {
		return nil, sqlerr.New(174, strings.ToLower(f.Name), f.Min)
	}
	es, err := sc.scalars(params)
	if err != nil {
		return nil, err
	}
	types := make([]value.Type, len(es))
	for i, e := range es {
		es[i] = sc.c.coerceArg(e, f.ArgTypes, i)
		types[i] = es[i].typ
	}
	t := f.Type
	if f.TypeOf != nil {
		t = f.TypeOf(types)
	}
	if isString(t) && t.Coll == nil {
		t.Coll = sc.c.collation()
	}
	return &expr{typ: t, nullable: true, eval: func(fr *frame) (value.Value, error) {
		vs := make([]value.Value, len(es))
		for i, e := range es {
			v, err := e.eval(fr)
			if err != nil {
				return value.Value{}, err
			}
			vs[i] = v
		}
		return f.Eval(fr.r.context(db), vs)
	}}, nil
}

// coerceArg converts argument i to its declared type; the last declared type repeats.
func (c *compiler) coerceArg(e *expr, types []value.Type, i int) *expr {
	if len(types) == 0 {
		return e
	}
	t := types[min(i, len(types)-1)]
	if t.ID == value.Null {
		return e
	}
	if isString(t) && t.Coll == nil {
		t.Coll = c.collation()
	}
	return c.coerce(e, t)
}

// qualifiedCall is schema.f(…) or db.schema.f(…): a function of the server's schema sys or of the user.
func (sc *scope) qualifiedCall(x *ast.FunctionCall, q []*ast.Identifier) (*expr, error) {
	if len(q) > 2 {
		return nil, sqlerr.New(7202, q[0].Value)
	}
	schema, dbName := q[len(q)-1].Value, ""
	if len(q) == 2 {
		dbName = q[0].Value
	}
	db, err := sc.c.database(dbName)
	if err != nil {
		return nil, err
	}
	if f := sc.c.r.s.in.Registry.scalar(schema, x.FunctionName.Value); f != nil {
		return sc.registered(f, db, x.Parameters)
	}
	return sc.userFunction(db, schema, x.FunctionName.Value, x.Parameters)
}

// userFunction compiles a call of a scalar function of a database.
func (sc *scope) userFunction(db *storage.Database, schema, name string, params []ast.ScalarExpression) (*expr, error) {
	m, _ := sc.c.r.object(db, schema, name).(*storage.Module)
	var fn *function
	if m != nil {
		fn, _ = m.Parsed.(*function)
	}
	if fn == nil || fn.returns == nil {
		return nil, sqlerr.New(4121, schema, schema+"."+name)
	}
	if err := sc.c.r.permit(db, m.Header(), "EXECUTE"); err != nil {
		return nil, err
	}
	if len(params) != len(fn.params) {
		if len(params) > len(fn.params) {
			return nil, sqlerr.New(8144, schema+"."+name)
		}
		return nil, sqlerr.New(313, schema+"."+name)
	}
	args, err := sc.functionArgs(fn, params)
	if err != nil {
		return nil, err
	}
	sc.volatile = true
	t := *fn.returns
	return &expr{typ: t, nullable: true, coll: collImplicit, eval: func(f *frame) (value.Value, error) {
		vs, err := evalAll(args, f)
		if err != nil {
			return value.Value{}, err
		}
		return f.r.callScalar(db, m, fn, vs)
	}}, nil
}

// functionArgs compiles arguments to the parameters' types; DEFAULT takes the declared default.
func (sc *scope) functionArgs(fn *function, params []ast.ScalarExpression) ([]*expr, error) {
	args := make([]*expr, len(params))
	for i, n := range params {
		p := fn.params[i]
		if _, ok := n.(*ast.DefaultLiteral); ok {
			if p.deflt == nil {
				return nil, sqlerr.New(201, fn.name, p.name)
			}
			n = p.deflt
		}
		e, err := sc.scalar(n)
		if err != nil {
			return nil, err
		}
		args[i] = sc.c.coerce(e, p.typ)
	}
	return args, nil
}

func evalAll(es []*expr, f *frame) ([]value.Value, error) {
	vs := make([]value.Value, len(es))
	for i, e := range es {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}
