package exec

import (
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

var (
	typeInt     = value.Type{ID: value.Int}
	typeBigInt  = value.Type{ID: value.BigInt}
	typeFloat   = value.Type{ID: value.Float}
	typeNull    = value.Type{ID: value.Null}
	typeTinyInt = value.Type{ID: value.TinyInt}
)

// literal compiles a constant; nil if the node is none.
func (sc *scope) literal(n ast.ScalarExpression) (*expr, error) {
	switch x := n.(type) {
	case *ast.IntegerLiteral:
		return integerLiteral(x.Value, sc.c.env())
	case *ast.NumericLiteral:
		return numericLiteral(x.Value, sc.c.env())
	case *ast.RealLiteral:
		v, err := strconv.ParseFloat(realText(x.Value), 64)
		if err != nil {
			return nil, sqlerr.New(168, x.Value, 8)
		}
		return constant(value.NewFloat(v), typeFloat), nil
	case *ast.MoneyLiteral:
		t := value.Type{ID: value.Money}
		s := strings.TrimLeft(x.Value, "$£€¥ ")
		st := varcharType(len(s), sc.c.collation())
		v, err := value.Convert(sc.c.env(), value.NewVarChar(s), st, t, 0)
		if err != nil {
			return nil, err
		}
		return constant(v, t), nil
	case *ast.StringLiteral:
		s := x.Value
		if x.IsNational {
			return constant(value.NewNVarChar(s), nvarcharType(max(collate.UTF16Len(s), 1), sc.c.collation())), nil
		}
		return constant(sc.c.varcharValue(s), varcharType(max(len(s), 1), sc.c.collation())), nil
	case *ast.BinaryLiteral:
		b, err := binaryLiteral(x.Value)
		if err != nil {
			return nil, err
		}
		return constant(value.NewVarBinary(b), value.Type{ID: value.VarBinary, Len: max(len(b), 1)}), nil
	case *ast.NullLiteral:
		return nullOf(typeNull), nil
	case *ast.OdbcLiteral:
		return sc.odbcLiteral(x)
	}
	return nil, nil
}

// realText takes "1E", "1e+" to numbers that ParseFloat reads.
func realText(s string) string {
	s = strings.TrimRight(s, "+-")
	if strings.HasSuffix(s, "e") || strings.HasSuffix(s, "E") {
		s += "0"
	}
	return s
}

func integerLiteral(s string, env *value.Env) (*expr, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v > 2147483647 || v < -2147483648 {
		return numericLiteral(s, env)
	}
	return constant(value.NewInt(value.Int, v), typeInt), nil
}

func numericLiteral(s string, env *value.Env) (*expr, error) {
	whole, frac, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	p := len(whole) + len(frac)
	if p > 38 {
		return nil, sqlerr.New(1007, s)
	}
	t := value.Type{ID: value.Numeric, Prec: uint8(max(p, 1)), Scale: uint8(len(frac))}
	v, err := value.Convert(env, value.NewVarChar(s), varcharType(len(s), env.DBCollation), t, 0)
	if err != nil {
		return nil, err
	}
	return constant(v, t), nil
}

func binaryLiteral(s string) ([]byte, error) {
	h := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(h)%2 == 1 {
		h = "0" + h
	}
	b := make([]byte, len(h)/2)
	for i := range b {
		n, err := strconv.ParseUint(h[2*i:2*i+2], 16, 8)
		if err != nil {
			return nil, sqlerr.New(102, s)
		}
		b[i] = byte(n)
	}
	return b, nil
}

// odbcLiteral compiles {d '…'}, {t '…'}, {ts '…'} and {guid '…'}.
func (sc *scope) odbcLiteral(x *ast.OdbcLiteral) (*expr, error) {
	t := value.Type{ID: value.DateTime}
	if strings.EqualFold(x.OdbcLiteralType, "Guid") {
		t = value.Type{ID: value.UniqueIdentifier}
	}
	v, err := value.Convert(sc.c.env(), value.NewVarChar(x.Value), varcharType(max(len(x.Value), 1), sc.c.collation()), t, 0)
	if err != nil {
		return nil, err
	}
	return constant(v, t), nil
}

func varcharType(n int, c *collate.Collation) value.Type {
	if n > 8000 {
		n = value.Max
	}
	return value.Type{ID: value.VarChar, Len: n, Coll: c}
}

func nvarcharType(n int, c *collate.Collation) value.Type {
	if n > 4000 {
		n = value.Max
	}
	return value.Type{ID: value.NVarChar, Len: n, Coll: c}
}

func sysnameType(c *collate.Collation) value.Type {
	return value.Type{ID: value.NVarChar, Len: 128, Coll: c, Name: "sysname"}
}
