package exec

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// scalar compiles a scalar expression by its kind.
func (sc *scope) scalar(n ast.ScalarExpression) (*expr, error) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return nil, sqlerr.New(102, "")
	}
	if e, err := sc.literal(n); e != nil || err != nil {
		return e, err
	}
	if sc.group != nil && !sc.group.inAgg && sc.group.grouped(sc, n) {
		sc.group.inAgg = true
		defer func() { sc.group.inAgg = false }()
	}
	switch x := n.(type) {
	case *ast.ColumnReferenceExpression:
		return sc.columnReference(x)
	case *ast.ParenthesisExpression:
		return sc.scalar(x.Expression)
	case *ast.VariableReference:
		return sc.variable(x.Name)
	case *ast.GlobalVariableExpression:
		return sc.global(x.Name)
	case *ast.UnaryExpression:
		return sc.unary(x)
	case *ast.BinaryExpression:
		return sc.binary(x)
	case *ast.SearchedCaseExpression:
		e, err := sc.searchedCase(x)
		return sc.collated(e, x.Collation, err)
	case *ast.SimpleCaseExpression:
		e, err := sc.simpleCase(x)
		return sc.collated(e, x.Collation, err)
	case *ast.IIfCall:
		return sc.iif(x)
	case *ast.CoalesceExpression:
		return sc.coalesce(x.Expressions)
	case *ast.NullIfExpression:
		return sc.nullif(x)
	case *ast.CastCall:
		e, err := sc.cast(x.DataType, x.Parameter, nil, false)
		return sc.collated(e, x.Collation, err)
	case *ast.ConvertCall:
		e, err := sc.cast(x.DataType, x.Parameter, x.Style, false)
		return sc.collated(e, x.Collation, err)
	case *ast.TryCastCall:
		e, err := sc.cast(x.DataType, x.Parameter, nil, true)
		return sc.collated(e, x.Collation, err)
	case *ast.TryConvertCall:
		e, err := sc.cast(x.DataType, x.Parameter, x.Style, true)
		return sc.collated(e, x.Collation, err)
	case *ast.ParseCall:
		return sc.parseCall(x.DataType, x.StringValue, false)
	case *ast.TryParseCall:
		return sc.parseCall(x.DataType, x.StringValue, true)
	case *ast.ScalarSubquery:
		e, err := sc.scalarSubquery(x.QueryExpression)
		return sc.collated(e, x.Collation, err)
	case *ast.FunctionCall:
		e, err := sc.call(x)
		return sc.collated(e, x.Collation, err)
	case *ast.LeftFunctionCall:
		return sc.builtin("LEFT", x.Parameters)
	case *ast.RightFunctionCall:
		return sc.builtin("RIGHT", x.Parameters)
	case *ast.ParameterlessCall:
		e, err := sc.parameterless(x.ParameterlessCallType)
		return sc.collated(e, x.Collation, err)
	case *ast.OdbcFunctionCall:
		return sc.odbcCall(x)
	case *ast.AtTimeZoneCall:
		return sc.atTimeZone(x)
	case *ast.NextValueForExpression:
		return sc.nextValue(x)
	case *ast.IdentifierLiteral:
		return nil, sqlerr.New(207, x.Value)
	}
	return nil, notSupported("the expression " + strings.TrimPrefix(reflect.TypeOf(n).String(), "*ast."))
}

func (sc *scope) columnReference(x *ast.ColumnReferenceExpression) (*expr, error) {
	switch x.ColumnType {
	case "", "Regular":
	case "PseudoColumnAction":
		return sc.actionColumn()
	case "IdentityCol", "PseudoColumnIdentity":
		return sc.specialColumn(func(c Column) bool { return c.Identity }, "$IDENTITY")
	case "RowGuidCol", "PseudoColumnRowGuid":
		return nil, notSupported("$ROWGUID")
	case "Wildcard":
		return nil, sqlerr.New(102, "*")
	default:
		return nil, notSupported("the column kind " + x.ColumnType)
	}
	if x.MultiPartIdentifier == nil || len(x.MultiPartIdentifier.Identifiers) == 0 {
		return nil, sqlerr.New(102, "")
	}
	ids := x.MultiPartIdentifier.Identifiers
	if len(ids) == 1 && strings.EqualFold(ids[0].Value, "$action") {
		return sc.actionColumn()
	}
	e, err := sc.column(ids)
	return sc.collated(e, x.Collation, err)
}

func (sc *scope) specialColumn(is func(Column) bool, name string) (*expr, error) {
	for _, t := range sc.tables {
		for _, c := range t.cols {
			if is(c) {
				id := &ast.Identifier{Value: c.Name}
				return sc.column([]*ast.Identifier{id})
			}
		}
	}
	return nil, sqlerr.New(207, name)
}

// collated applies COLLATE.
func (sc *scope) collated(e *expr, name *ast.Identifier, err error) (*expr, error) {
	if err != nil || name == nil || name.Value == "" {
		return e, err
	}
	coll, err := sc.c.lookupCollation(name.Value)
	if err != nil {
		return nil, err
	}
	if !isString(e.typ) {
		if e.typ.ID != value.Null {
			return nil, sqlerr.New(447, e.typ.String())
		}
		e = sc.c.coerce(e, varcharType(1, coll))
	}
	out := *e
	if out.typ.Coll != coll {
		out.col = nil
	}
	out.typ.Coll, out.coll = coll, collExplicit
	return &out, nil
}

func (c *compiler) lookupCollation(name string) (*collate.Collation, error) {
	switch strings.ToUpper(name) {
	case "DATABASE_DEFAULT", "CATALOG_DEFAULT":
		return c.collation(), nil
	}
	coll, ok := collate.Lookup(name)
	if !ok {
		return nil, sqlerr.New(448, name)
	}
	return coll, nil
}

// variable compiles a reference to a variable: 137 if it is not declared.
func (sc *scope) variable(name string) (*expr, error) {
	if strings.HasPrefix(name, "@@") {
		return sc.global(name)
	}
	v := sc.c.r.lookup(name)
	if v == nil || v.table != nil {
		return nil, sqlerr.New(137, name)
	}
	return &expr{typ: v.typ, nullable: true, eval: func(*frame) (value.Value, error) { return v.val, nil }}, nil
}

func (sc *scope) unary(x *ast.UnaryExpression) (*expr, error) {
	e, err := sc.scalar(x.Expression)
	if err != nil {
		return nil, err
	}
	ev := e.eval
	out := &expr{typ: e.typ, nullable: e.nullable}
	switch x.UnaryExpressionType {
	case "Positive":
		return e, nil
	case "Negative":
		if isString(e.typ) {
			e = sc.c.coerce(e, typeInt)
			ev, out.typ = e.eval, e.typ
		}
		t := out.typ
		if t.ID == value.Bit || t.ID == value.TinyInt {
			out.typ = typeInt
			if t.ID == value.TinyInt {
				out.typ = value.Type{ID: value.SmallInt}
			}
			e = sc.c.coerce(e, out.typ)
			ev, t = e.eval, out.typ
		}
		if e.lit {
			if v, err := value.Negate(e.val, t); err == nil {
				return constant(v, t), nil
			}
		}
		out.eval = func(f *frame) (value.Value, error) {
			v, err := ev(f)
			if err != nil || v.IsNull() {
				return value.Value{}, err
			}
			return value.Negate(v, t)
		}
	case "BitwiseNot":
		t := e.typ
		out.eval = func(f *frame) (value.Value, error) {
			v, err := ev(f)
			if err != nil || v.IsNull() {
				return value.Value{}, err
			}
			return value.BitNot(v, t)
		}
	default:
		return nil, notSupported("the operator " + x.UnaryExpressionType)
	}
	return out, nil
}

var binaryOps = map[string]byte{
	"Add": '+', "Subtract": '-', "Multiply": '*', "Divide": '/', "Modulo": '%', "BitwiseAnd": '&', "BitwiseOr": '|', "BitwiseXor": '^',
}

func (sc *scope) binary(x *ast.BinaryExpression) (*expr, error) {
	op, ok := binaryOps[x.BinaryExpressionType]
	if !ok {
		return nil, notSupported("the operator " + x.BinaryExpressionType)
	}
	a, err := sc.scalar(x.FirstExpression)
	if err != nil {
		return nil, err
	}
	b, err := sc.scalar(x.SecondExpression)
	if err != nil {
		return nil, err
	}
	return sc.c.arith(op, a, b)
}

// arith builds a op b with the server's result type; both operands constant gives a constant where it can be computed.
func (c *compiler) arith(op byte, a, b *expr) (*expr, error) {
	if a.typ.ID == value.Null && b.typ.ID == value.Null {
		a, b = c.coerce(a, typeInt), c.coerce(b, typeInt)
	} else if a.typ.ID == value.Null {
		a = c.coerce(a, b.typ)
	} else if b.typ.ID == value.Null {
		b = c.coerce(b, a.typ)
	}
	coll, kind, err := collOf(a, b, "add operation")
	if err != nil {
		return nil, err
	}
	t, err := value.ArithType(op, a.typ, b.typ)
	if err != nil {
		return nil, err
	}
	if isString(t) {
		t.Coll = coll
	}
	at, bt, ae, be := a.typ, b.typ, a.eval, b.eval
	if a.lit && b.lit {
		if v, _, err := evalArith(op, a.val, b.val, at, bt); err == nil {
			out := constant(v, t)
			out.nullable = a.nullable || b.nullable
			return out, nil
		}
	}
	return &expr{typ: t, nullable: a.nullable || b.nullable, coll: kind, eval: func(f *frame) (value.Value, error) {
		av, err := ae(f)
		if err != nil {
			return value.Value{}, err
		}
		bv, err := be(f)
		if err != nil {
			return value.Value{}, err
		}
		v, _, err := evalArith(op, av, bv, at, bt)
		return v, err
	}}, nil
}

func evalArith(op byte, a, b value.Value, at, bt value.Type) (value.Value, value.Type, error) {
	if a.IsNull() || b.IsNull() {
		return value.Value{}, at, nil
	}
	return value.Arith(op, a, b, at, bt)
}
