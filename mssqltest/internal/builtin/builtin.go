// Package builtin is the stand-in's functions that need no session: strings, numbers, dates, identifiers, LIKE and the
// aggregates. Func and Aggregate are the main types; both give the type of their result before they are called.
//
// What depends on a session or on a database (OBJECT_ID, SUSER_NAME, ISNULL with its typing …) is elsewhere.
package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Func is one function. Eval is called with as many arguments as Type was, of these types; the date functions take the
// name of the date part as their first argument, a text.
type Func struct {
	Name     string
	Min, Max int // number of arguments; Max -1: any
	Type     func(args []value.Type) (value.Type, error)
	Eval     func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error)
}

var funcs = map[string]*Func{}

// register adds functions; it runs at initialisation only.
func register(fs ...Func) {
	for _, f := range fs {
		funcs[f.Name] = &f
	}
}

// Lookup returns the function of that name, in any case.
func Lookup(name string) (*Func, bool) {
	f, ok := funcs[strings.ToUpper(name)]
	return f, ok
}

type (
	typeFunc = func(args []value.Type) (value.Type, error)
	evalFunc = func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error)
)

// always gives one type whatever the arguments are.
func always(t value.Type) typeFunc {
	return func([]value.Type) (value.Type, error) { return t, nil }
}

var (
	typeInt      = value.Type{ID: value.Int}
	typeBigInt   = value.Type{ID: value.BigInt}
	typeFloat    = value.Type{ID: value.Float}
	typeDateTime = value.Type{ID: value.DateTime}
	typeVarBin   = value.Type{ID: value.VarBinary, Len: 8000}
	typeNMax     = value.Type{ID: value.NVarChar, Len: value.Max}
)

func nvarchar(n int) value.Type { return value.Type{ID: value.NVarChar, Len: n} }

func varchar(n int) value.Type { return value.Type{ID: value.VarChar, Len: n} }

// strict makes a function that gives NULL when any argument is NULL.
func strict(f evalFunc) evalFunc {
	return func(env *value.Env, args []value.Value, types []value.Type) (value.Value, error) {
		for _, a := range args {
			if a.IsNull() {
				return value.Value{}, nil
			}
		}
		return f(env, args, types)
	}
}

// text converts an argument to nvarchar(max), or leaves it as it is when it is a text.
func text(env *value.Env, v value.Value, t value.Type) (string, error) {
	if t.IsChar() {
		return v.Str(), nil
	}
	out, err := value.Convert(env, v, t, typeNMax, 0)
	return out.Str(), err
}

// integer converts an argument to bigint.
func integer(env *value.Env, v value.Value, t value.Type) (int64, error) {
	if t.IsInteger() {
		return v.Int(), nil
	}
	out, err := value.Convert(env, v, t, typeBigInt, 0)
	return out.Int(), err
}

// number converts an argument to float.
func number(env *value.Env, v value.Value, t value.Type) (float64, error) {
	if t.ID == value.Float {
		return v.Float(), nil
	}
	out, err := value.Convert(env, v, t, typeFloat, 0)
	return out.Float(), err
}

// invalid is error 8116.
func invalid(t value.Type, argument int, function string) error {
	return sqlerr.New(8116, t.ID.String(), argument, strings.ToLower(function))
}

// textType is the type of a text that a function makes of an argument of type t, with length n of units of t: varchar or
// nvarchar, max for a max argument.
func textType(t value.Type, n int) value.Type {
	out := value.Type{ID: value.VarChar, Len: n, Coll: t.Coll}
	most := 8000
	if t.IsUnicode() {
		out.ID, most = value.NVarChar, 4000
	}
	if t.IsLOB() {
		out.Len = value.Max
	}
	if out.Len > most {
		out.Len = most
	}
	return out
}
