package exec

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// globalVar is an @@ function.
type globalVar struct {
	typ func(c *compiler) value.Type
	get func(r *run) value.Value
}

func intGlobal(get func(r *run) int64) globalVar {
	return globalVar{fixedType(typeInt), func(r *run) value.Value { return value.NewInt(value.Int, get(r)) }}
}

func nameGlobal(get func(r *run) string) globalVar {
	return globalVar{nameType, func(r *run) value.Value { return value.NewNVarChar(get(r)) }}
}

var globals = map[string]globalVar{
	"@@VERSION":          {textType(300), func(r *run) value.Value { return value.NewNVarChar(r.s.in.Version) }},
	"@@SERVERNAME":       nameGlobal(func(r *run) string { return r.s.in.ServerName }),
	"@@SERVICENAME":      nameGlobal(func(r *run) string { return "MSSQLSERVER" }),
	"@@LANGUAGE":         nameGlobal(func(r *run) string { return r.s.opt.Language }),
	"@@LANGID":           {fixedType(value.Type{ID: value.SmallInt}), func(*run) value.Value { return value.NewInt(value.SmallInt, 0) }},
	"@@ROWCOUNT":         intGlobal(func(r *run) int64 { return r.s.rowCount }),
	"@@ERROR":            intGlobal(func(r *run) int64 { return int64(r.s.lastError) }),
	"@@TRANCOUNT":        intGlobal(func(r *run) int64 { return int64(r.s.tran.count) }),
	"@@NESTLEVEL":        intGlobal(func(r *run) int64 { return int64(r.s.nest) }),
	"@@SPID":             {fixedType(value.Type{ID: value.SmallInt}), func(r *run) value.Value { return value.NewInt(value.SmallInt, int64(r.s.spid)) }},
	"@@PROCID":           intGlobal(func(r *run) int64 { return int64(r.procID) }),
	"@@DATEFIRST":        {fixedType(typeTinyInt), func(r *run) value.Value { return value.NewInt(value.TinyInt, int64(r.s.opt.DateFirst)) }},
	"@@TEXTSIZE":         intGlobal(func(r *run) int64 { return r.s.opt.TextSize }),
	"@@MAX_PRECISION":    {fixedType(typeTinyInt), func(*run) value.Value { return value.NewInt(value.TinyInt, 38) }},
	"@@MICROSOFTVERSION": intGlobal(func(*run) int64 { return 0x100003E8 }),
	"@@MAX_CONNECTIONS":  intGlobal(func(*run) int64 { return 32767 }),
	"@@CONNECTIONS":      intGlobal(func(*run) int64 { return 1 }),
	"@@FETCH_STATUS":     intGlobal(func(r *run) int64 { return r.s.fetchStatus }),
	"@@CURSOR_ROWS":      intGlobal(func(r *run) int64 { return r.s.cursorRows }),
	"@@OPTIONS":          intGlobal(func(r *run) int64 { return r.s.optionBits() }),
	"@@DBTS": {fixedType(value.Type{ID: value.VarBinary, Len: 8}), func(r *run) value.Value {
		b := r.s.db.LastRowVersion()
		return value.NewVarBinary(b[:])
	}},
	"@@IDENTITY": {fixedType(identityType), func(r *run) value.Value { return r.s.lastIdentity }},
	"@@LOCK_TIMEOUT": intGlobal(func(r *run) int64 {
		if r.s.opt.LockTimeout < 0 {
			return -1
		}
		return r.s.opt.LockTimeout.Milliseconds()
	}),
}

// optionBits is @@OPTIONS.
func (s *Session) optionBits() int64 {
	var n int64
	for name, bit := range map[string]int64{
		"ANSI_WARNINGS": 8, "ANSI_PADDING": 16, "ANSI_NULLS": 32, "ARITHABORT": 64, "ARITHIGNORE": 128, "QUOTED_IDENTIFIER": 256,
		"ANSI_NULL_DFLT_ON": 1024, "CONCAT_NULL_YIELDS_NULL": 4096, "NUMERIC_ROUNDABORT": 8192, "CURSOR_CLOSE_ON_COMMIT": 4,
	} {
		if s.opt.Flags[name] {
			n |= bit
		}
	}
	if s.opt.ImplicitTransactions {
		n |= 2
	}
	if s.opt.NoCount {
		n |= 512
	}
	if s.opt.XactAbort {
		n |= 16384
	}
	return n
}

// global compiles an @@ function.
func (sc *scope) global(name string) (*expr, error) {
	if g, ok := globals[strings.ToUpper(name)]; ok {
		return &expr{typ: g.typ(sc.c), nullable: true, eval: func(f *frame) (value.Value, error) { return g.get(f.r), nil }}, nil
	}
	if f := sc.c.r.s.in.Registry.globals[strings.ToLower(name)]; f != nil {
		return sc.registered(f, sc.c.db, nil)
	}
	return nil, sqlerr.New(137, name)
}
