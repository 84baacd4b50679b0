package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// sessionFunc is a function of the session's state.
type sessionFunc struct {
	min, max int
	typ      func(c *compiler) value.Type
	args     []value.Type
	eval     func(r *run, args []value.Value) (value.Value, error)
}

func fixedType(t value.Type) func(*compiler) value.Type {
	return func(*compiler) value.Type { return t }
}

func nameType(c *compiler) value.Type { return sysnameType(c.collation()) }

func textType(n int) func(*compiler) value.Type {
	return func(c *compiler) value.Type { return nvarcharType(n, c.collation()) }
}

var sessionFuncs map[string]sessionFunc

func init() {
	argName := []value.Type{nvarcharType(776, nil)}
	sessionFuncs = map[string]sessionFunc{
		"SCOPE_IDENTITY": {0, 0, fixedType(identityType), nil, func(r *run, _ []value.Value) (value.Value, error) { return r.scopeIdentity, nil }},
		"XACT_STATE": {0, 0, fixedType(value.Type{ID: value.SmallInt}), nil, func(r *run, _ []value.Value) (value.Value, error) {
			return value.NewInt(value.SmallInt, r.s.tran.state()), nil
		}},
		"CURRENT_TRANSACTION_ID": {0, 0, fixedType(typeBigInt), nil, func(r *run, _ []value.Value) (value.Value, error) {
			return value.NewInt(value.BigInt, int64(r.s.TranDescriptor())), nil
		}},
		"CURSOR_STATUS":     {2, 2, fixedType(value.Type{ID: value.SmallInt}), []value.Type{nvarcharType(20, nil), nvarcharType(256, nil)}, (*run).cursorStatus},
		"SESSION_CONTEXT":   {1, 1, fixedType(value.Type{ID: value.Variant}), argName, (*run).sessionContext},
		"FORMATMESSAGE":     {1, 21, textType(2048), []value.Type{nvarcharType(2048, nil), {}}, (*run).formatMessageCall},
		"COLUMNS_UPDATED":   {0, 0, fixedType(value.Type{ID: value.VarBinary, Len: 128}), nil, (*run).columnsUpdated},
		"TRIGGER_NESTLEVEL": {0, 3, fixedType(typeInt), []value.Type{typeInt, nvarcharType(10, nil), nvarcharType(10, nil)}, (*run).triggerNestLevel},
		"ROWCOUNT_BIG": {0, 0, fixedType(typeBigInt), nil, func(r *run, _ []value.Value) (value.Value, error) {
			return value.NewInt(value.BigInt, r.s.rowCount), nil
		}},
		"ERROR_NUMBER":   {0, 0, fixedType(typeInt), nil, errorField(func(e *sqlerr.Error) value.Value { return value.NewInt(value.Int, int64(e.Number)) })},
		"ERROR_SEVERITY": {0, 0, fixedType(typeInt), nil, errorField(func(e *sqlerr.Error) value.Value { return value.NewInt(value.Int, int64(e.Class)) })},
		"ERROR_STATE":    {0, 0, fixedType(typeInt), nil, errorField(func(e *sqlerr.Error) value.Value { return value.NewInt(value.Int, int64(e.State)) })},
		"ERROR_LINE":     {0, 0, fixedType(typeInt), nil, errorField(func(e *sqlerr.Error) value.Value { return value.NewInt(value.Int, int64(e.Line)) })},
		"ERROR_MESSAGE":  {0, 0, textType(4000), nil, errorField(func(e *sqlerr.Error) value.Value { return value.NewNVarChar(e.Message) })},
		"ERROR_PROCEDURE": {0, 0, textType(128), nil, errorField(func(e *sqlerr.Error) value.Value {
			if e.Proc == "" {
				return value.Value{}
			}
			return value.NewNVarChar(e.Proc)
		})},
		"APP_NAME":       {0, 0, nameType, nil, func(r *run, _ []value.Value) (value.Value, error) { return value.NewNVarChar(r.s.app), nil }},
		"HOST_NAME":      {0, 1, nameType, nil, func(r *run, _ []value.Value) (value.Value, error) { return value.NewNVarChar(r.s.host), nil }},
		"ORIGINAL_LOGIN": {0, 0, nameType, nil, func(r *run, _ []value.Value) (value.Value, error) { return value.NewNVarChar(r.s.login), nil }},
		"CONTEXT_INFO": {0, 0, fixedType(value.Type{ID: value.VarBinary, Len: 128}), nil, func(r *run, _ []value.Value) (value.Value, error) {
			if r.s.contextInfo == nil {
				return value.Value{}, nil
			}
			return value.NewVarBinary(r.s.contextInfo), nil
		}},
		"IDENT_CURRENT": {1, 1, fixedType(identityType), argName, func(r *run, a []value.Value) (value.Value, error) {
			t, _ := r.identityTable(a[0])
			if t == nil {
				return value.Value{}, nil
			}
			last, _ := t.IdentityCurrent()
			return identityValue(last), nil
		}},
		"IDENT_SEED": {1, 1, fixedType(identityType), argName, func(r *run, a []value.Value) (value.Value, error) {
			if _, c := r.identityTable(a[0]); c != nil {
				return identityValue(c.Identity.Seed), nil
			}
			return value.Value{}, nil
		}},
		"IDENT_INCR": {1, 1, fixedType(identityType), argName, func(r *run, a []value.Value) (value.Value, error) {
			if _, c := r.identityTable(a[0]); c != nil {
				return identityValue(c.Identity.Increment), nil
			}
			return value.Value{}, nil
		}},
		"SESSIONPROPERTY": {1, 1, fixedType(typeInt), argName, func(r *run, a []value.Value) (value.Value, error) {
			if a[0].IsNull() {
				return value.Value{}, nil
			}
			on, ok := r.s.opt.Flags[strings.ToUpper(a[0].Str())]
			if !ok {
				return value.Value{}, nil
			}
			return value.NewInt(value.Int, map[bool]int64{true: 1}[on]), nil
		}},
	}
}

// identityType is numeric(38,0), the type of SCOPE_IDENTITY and @@IDENTITY.
var identityType = value.Type{ID: value.Numeric, Prec: 38}

func errorField(get func(*sqlerr.Error) value.Value) func(*run, []value.Value) (value.Value, error) {
	return func(r *run, _ []value.Value) (value.Value, error) {
		if e := r.caughtError(); e != nil {
			return get(e), nil
		}
		return value.Value{}, nil
	}
}

// identityTable finds the table that an IDENT_ function names, with its identity column.
func (r *run) identityTable(v value.Value) (*storage.Table, *storage.Column) {
	if v.IsNull() {
		return nil, nil
	}
	parts, err := SplitName(v.Str())
	if err != nil {
		return nil, nil
	}
	db, schema, name, err := r.nameParts(parts)
	if err != nil {
		return nil, nil
	}
	t, _ := r.object(db, schema, name).(*storage.Table)
	if t == nil {
		return nil, nil
	}
	i := t.Def().IdentityColumn()
	if i < 0 {
		return nil, nil
	}
	return t, t.Def().Columns[i]
}

// sessionCall compiles a call of a session function.
func (sc *scope) sessionCall(f sessionFunc, name string, params []ast.ScalarExpression) (*expr, error) {
	if len(params) < f.min || len(params) > f.max {
		return nil, sqlerr.New(174, strings.ToLower(name), f.min)
	}
	es, err := sc.scalars(params)
	if err != nil {
		return nil, err
	}
	for i, e := range es {
		es[i] = sc.c.coerceArg(e, f.args, i)
	}
	return &expr{typ: f.typ(sc.c), nullable: true, eval: func(fr *frame) (value.Value, error) {
		vs, err := evalAll(es, fr)
		if err != nil {
			return value.Value{}, err
		}
		return f.eval(fr.r, vs)
	}}, nil
}

// parameterless is CURRENT_TIMESTAMP, USER and their like.
func (sc *scope) parameterless(kind string) (*expr, error) {
	switch kind {
	case "CurrentTimestamp":
		return sc.apply("GETDATE", nil)
	case "SystemUser":
		return &expr{typ: sysnameType(sc.c.collation()), eval: func(f *frame) (value.Value, error) { return value.NewNVarChar(f.r.s.login), nil }}, nil
	case "User", "CurrentUser", "SessionUser":
		return &expr{typ: sysnameType(sc.c.collation()), eval: func(f *frame) (value.Value, error) {
			return value.NewNVarChar(f.r.s.UserName(f.r.s.db)), nil
		}}, nil
	}
	return nil, notSupported("the function " + kind)
}

// odbcCall is {fn name(…)}.
func (sc *scope) odbcCall(x *ast.OdbcFunctionCall) (*expr, error) {
	name := strings.ToUpper(x.Name.Value)
	switch name {
	case "NOW", "CURDATE", "CURTIME", "CURRENT_TIMESTAMP":
		return sc.apply("GETDATE", nil)
	case "UCASE":
		name = "UPPER"
	case "LCASE":
		name = "LOWER"
	case "LENGTH":
		name = "LEN"
	case "IFNULL":
		es, err := sc.scalars(x.Parameters)
		if err != nil {
			return nil, err
		}
		if len(es) != 2 {
			return nil, sqlerr.New(174, "ifnull", 2)
		}
		return sc.isnull(es)
	case "DATABASE":
		return &expr{typ: sysnameType(sc.c.collation()), eval: func(f *frame) (value.Value, error) { return value.NewNVarChar(f.r.s.db.Name()), nil }}, nil
	case "USER":
		return sc.parameterless("User")
	}
	return sc.builtin(name, x.Parameters)
}
