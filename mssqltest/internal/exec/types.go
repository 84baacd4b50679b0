package exec

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// typeOf reads a type reference; lengths that are not given are 1 in a declaration and 30 in a CAST.
func (c *compiler) typeOf(d ast.DataTypeReference, inCast bool) (value.Type, error) {
	switch x := d.(type) {
	case *ast.SqlDataTypeReference:
		name := ""
		if x.Name == nil && x.SqlDataTypeOption == "" {
			return c.namedType(c.r.source(x), inCast)
		}
		if x.Name != nil && x.Name.BaseIdentifier != nil {
			name = x.Name.BaseIdentifier.Value
			if x.Name.SchemaIdentifier != nil && !sameName(x.Name.SchemaIdentifier.Value, "sys") {
				return c.aliasType(x.Name)
			}
		}
		return c.systemType(name, x.Parameters, inCast)
	case *ast.XmlDataTypeReference:
		return value.Type{ID: value.XML, Len: value.Max}, nil
	case *ast.UserDataTypeReference:
		if x.Name == nil || x.Name.BaseIdentifier == nil {
			return value.Type{}, sqlerr.New(102, "")
		}
		if x.Name.SchemaIdentifier == nil || sameName(x.Name.SchemaIdentifier.Value, "sys") {
			if t, err := c.systemType(x.Name.BaseIdentifier.Value, x.Parameters, inCast); err == nil {
				return t, nil
			}
		}
		return c.aliasType(x.Name)
	case nil:
		return value.Type{}, sqlerr.New(102, "")
	}
	return value.Type{}, notSupported("this kind of data type")
}

// namedType reads a type that teesql gives no name for: an alias type in DECLARE.
func (c *compiler) namedType(text string, inCast bool) (value.Type, error) {
	parts, err := SplitName(text)
	if err != nil {
		return value.Type{}, err
	}
	n := &ast.SchemaObjectName{BaseIdentifier: &ast.Identifier{Value: parts[len(parts)-1]}}
	if len(parts) > 1 {
		n.SchemaIdentifier = &ast.Identifier{Value: parts[len(parts)-2]}
	}
	return c.typeOf(&ast.UserDataTypeReference{Name: n}, inCast)
}

// systemType is a type of the server by its name and its arguments.
func (c *compiler) systemType(name string, params []ast.ScalarExpression, inCast bool) (value.Type, error) {
	args := make([]int, 0, 2)
	for _, p := range params {
		switch x := p.(type) {
		case *ast.IntegerLiteral:
			n, err := strconv.Atoi(x.Value)
			if err != nil {
				return value.Type{}, sqlerr.New(102, x.Value)
			}
			args = append(args, n)
		case *ast.MaxLiteral:
			args = append(args, value.Max)
		default:
			return value.Type{}, sqlerr.New(102, "(")
		}
	}
	return systemType(name, args, inCast, c.collation())
}

func systemType(name string, args []int, inCast bool, coll *collate.Collation) (value.Type, error) {
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	if a, ok := typeSynonyms[name]; ok {
		name = a
	}
	if len(args) == 0 {
		switch name {
		case "char", "varchar", "nchar", "nvarchar", "binary", "varbinary":
			args = []int{1}
			if inCast {
				args = []int{30}
			}
		}
	}
	t, err := value.ParseTypeName(name, args...)
	if err != nil {
		return t, err
	}
	switch t.ID {
	case value.Char, value.VarChar, value.NChar, value.NVarChar, value.Text, value.NText:
		t.Coll = coll
	}
	return t, nil
}

var typeSynonyms = map[string]string{
	"dec": "decimal", "integer": "int", "character": "char", "char varying": "varchar", "character varying": "varchar",
	"national char": "nchar", "national character": "nchar", "national char varying": "nvarchar",
	"national character varying": "nvarchar", "double precision": "float", "binary varying": "varbinary",
}

// sameRep reports whether a value of one type is already a value of the other, apart from its length.
func sameRep(a, b value.Type) bool {
	if a.ID != b.ID {
		return false
	}
	switch a.ID {
	case value.Decimal, value.Numeric:
		return a.Scale == b.Scale && b.Prec >= a.Prec
	case value.Time, value.DateTime2, value.DateTimeOffset:
		return a.Scale == b.Scale
	case value.VarChar, value.NVarChar, value.VarBinary:
		return b.Len == value.Max || a.Len != value.Max && b.Len >= a.Len
	case value.Char, value.NChar, value.Binary:
		return a.Len == b.Len
	}
	return true
}

// isString and the like are classes of types.
func isString(t value.Type) bool {
	switch t.ID {
	case value.Char, value.VarChar, value.NChar, value.NVarChar, value.Text, value.NText:
		return true
	}
	return false
}

func isUnicode(t value.Type) bool {
	return t.ID == value.NChar || t.ID == value.NVarChar || t.ID == value.NText
}

func isBinary(t value.Type) bool {
	return t.ID == value.Binary || t.ID == value.VarBinary || t.ID == value.Image || t.ID == value.RowVersion
}

func isExact(t value.Type) bool {
	switch t.ID {
	case value.Bit, value.TinyInt, value.SmallInt, value.Int, value.BigInt, value.Decimal, value.Numeric, value.Money, value.SmallMoney:
		return true
	}
	return false
}

// isLegacyLOB are text, ntext and image, which cannot be compared or sorted (306, 402).
func isLegacyLOB(t value.Type) bool {
	return t.ID == value.Text || t.ID == value.NText || t.ID == value.Image
}

// common is the type that two operands meet in; NULL takes the other's.
func common(a, b value.Type) (value.Type, error) {
	switch {
	case a.ID == value.Null:
		return b, nil
	case b.ID == value.Null:
		return a, nil
	}
	t, err := value.Common(a, b)
	if err != nil {
		return t, err
	}
	if isString(t) && t.Coll == nil {
		if t.Coll = a.Coll; t.Coll == nil {
			t.Coll = b.Coll
		}
	}
	return t, nil
}

// coerce converts an expression to a type, at once if it is a constant.
func (c *compiler) coerce(e *expr, to value.Type) *expr {
	if e.typ.ID == value.Null {
		out := *e
		out.typ = to
		return &out
	}
	if sameRep(e.typ, to) {
		if e.typ == to {
			return e
		}
		out := *e
		out.typ = to
		out.col = e.col
		return &out
	}
	from, env := e.typ, c.env()
	if e.lit {
		if v, err := value.Convert(env, e.val, from, to, 0); err == nil {
			out := constant(v, to)
			out.coll = e.coll
			return out
		}
	}
	ev := e.eval
	return &expr{
		typ: to, nullable: e.nullable, coll: e.coll, deps: e.deps, volatile: e.volatile,
		eval: func(f *frame) (value.Value, error) {
			v, err := ev(f)
			if err != nil || v.IsNull() {
				return value.Value{}, err
			}
			return value.Convert(env, v, from, to, 0)
		},
	}
}

// collOf settles the collation of two operands: explicit over implicit over default; 468 where two equals differ.
func collOf(a, b *expr, op string) (*collate.Collation, collKind, error) {
	ac, bc := a.typ.Coll, b.typ.Coll
	switch {
	case !isString(a.typ) || ac == nil:
		return bc, b.coll, nil
	case !isString(b.typ) || bc == nil:
		return ac, a.coll, nil
	case a.coll > b.coll || ac == bc:
		return ac, max(a.coll, b.coll), nil
	case b.coll > a.coll:
		return bc, b.coll, nil
	case a.coll == collDefault:
		return ac, collDefault, nil
	}
	return nil, 0, sqlerr.New(468, bc.Name, ac.Name, op)
}
