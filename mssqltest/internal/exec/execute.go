package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// maxNest is how deep procedures, functions and triggers may call each other.
const maxNest = 32

// argument is one argument of EXEC.
type argument struct {
	name   string
	val    value.Value
	typ    value.Type
	deflt  bool
	output *variable // the variable behind OUTPUT
}

// execute is EXEC: a procedure, or a text. Results go to sink, which INSERT … EXEC replaces.
func (r *run) execute(x *ast.ExecuteSpecification, sink Sink) error {
	if x.LinkedServer != nil {
		return sqlerr.New(7202, x.LinkedServer.Value)
	}
	if x.ExecuteContext != nil {
		return notSupported("EXECUTE AS")
	}
	switch e := x.ExecutableEntity.(type) {
	case *ast.ExecutableStringList:
		return r.executeText(e, sink)
	case *ast.ExecutableProcedureReference:
		status, err := r.executeProcedure(e, sink)
		if err != nil {
			return err
		}
		if x.Variable != nil {
			v := r.lookup(x.Variable.Name)
			if v == nil {
				return sqlerr.New(137, x.Variable.Name)
			}
			v.val, err = value.AssignVar(&r.s.env, value.NewInt(value.Int, int64(status)), typeInt, v.typ)
			if err != nil {
				return err
			}
		}
		r.s.lastError = 0
		if r.s.nest == 0 {
			return sink.Return(status)
		}
		return nil
	}
	return notSupported("this form of EXECUTE")
}

// executeText is EXEC ('…').
func (r *run) executeText(x *ast.ExecutableStringList, sink Sink) error {
	var b strings.Builder
	for _, n := range x.Strings {
		v, err := r.evalTo(n, nvarcharType(value.Max, r.s.db.Collation))
		if err != nil {
			return err
		}
		if !v.IsNull() {
			b.WriteString(v.Str())
		}
	}
	if len(x.Parameters) > 0 {
		return notSupported("EXECUTE of a text with parameters")
	}
	return r.inner(func(in *run) error {
		_, err := in.dynamicIn(b.String(), nil)
		return err
	}, sink)
}

// inner runs a nested scope: its temporary tables, SET options and database end with it.
func (r *run) inner(fn func(in *run) error, sink Sink) error {
	s := r.s
	if s.nest >= maxNest {
		return sqlerr.New(217, maxNest)
	}
	opt, db, temps := s.opt.clone(), s.db, s.temp.push()
	s.nest++
	err := fn(r.nested(sink))
	s.nest--
	s.temp.pop(temps)
	iso := s.opt.Isolation
	s.opt = opt
	s.setIsolationOption(iso, opt.Isolation)
	if s.db != db {
		s.setDB(db)
	}
	s.env.DateFirst, s.env.DateFormat = s.opt.DateFirst, s.opt.DateFormat
	return err
}

// executeProcedure resolves a procedure and its arguments, and calls it.
func (r *run) executeProcedure(x *ast.ExecutableProcedureReference, sink Sink) (int32, error) {
	if x.AdHocDataSource != nil {
		return 0, notSupported("OPENDATASOURCE")
	}
	name, err := r.procedureName(x.ProcedureReference)
	if err != nil {
		return 0, err
	}
	args, err := r.arguments(x.Parameters)
	if err != nil {
		return 0, err
	}
	return r.call(name, args, sink)
}

// procedureName is the name of EXEC p or EXEC @p.
func (r *run) procedureName(x *ast.ProcedureReferenceName) ([]string, error) {
	if x.ProcedureVariable != nil {
		v := r.lookup(x.ProcedureVariable.Name)
		if v == nil {
			return nil, sqlerr.New(137, x.ProcedureVariable.Name)
		}
		if v.val.IsNull() {
			return nil, sqlerr.New(2812, "")
		}
		return SplitName(v.val.Str())
	}
	n := x.ProcedureReference.Name
	var parts []string
	for _, id := range n.Identifiers {
		parts = append(parts, id.Value)
	}
	return parts, nil
}

func (r *run) arguments(ps []*ast.ExecuteParameter) ([]argument, error) {
	out := make([]argument, len(ps))
	named := false
	for i, p := range ps {
		a := &out[i]
		if p.Variable != nil {
			a.name = p.Variable.Name
			named = true
		} else if named {
			return nil, sqlerr.New(119, i+1)
		}
		switch n := p.ParameterValue.(type) {
		case *ast.DefaultLiteral:
			a.deflt = true
			continue
		case *ast.IdentifierLiteral:
			a.val, a.typ = value.NewNVarChar(n.Value), nvarcharType(128, r.s.db.Collation)
			continue
		case *ast.ColumnReferenceExpression:
			// A bare word is a string: EXEC sp_help orders.
			a.val, a.typ = value.NewNVarChar(joinNames(n.MultiPartIdentifier.Identifiers)), nvarcharType(128, r.s.db.Collation)
			continue
		case *ast.VariableReference:
			if p.IsOutput {
				if a.output = r.lookup(n.Name); a.output == nil {
					return nil, sqlerr.New(137, n.Name)
				}
			}
		default:
			if p.IsOutput {
				return nil, sqlerr.New(179)
			}
		}
		v, t, err := r.eval(p.ParameterValue)
		if err != nil {
			return nil, err
		}
		a.val, a.typ = v, t
	}
	return out, nil
}

// call finds a procedure by name and runs it: procedures of the database, the ones that exec itself provides, those of
// the registry; names that begin with sp_ are also looked for in master.
func (r *run) call(parts []string, args []argument, sink Sink) (int32, error) {
	if len(parts) == 4 && parts[0] != "" {
		return 0, sqlerr.New(7202, parts[0])
	}
	name := parts[len(parts)-1]
	schema := ""
	if len(parts) > 1 {
		schema = parts[len(parts)-2]
	}
	db := r.compiler().db
	if len(parts) > 2 && parts[len(parts)-3] != "" {
		var err error
		if db, err = r.database(parts[len(parts)-3]); err != nil {
			return 0, err
		}
	}
	if m := r.module(db, schema, name); m != nil {
		p, ok := m.Parsed.(*procedure)
		if !ok {
			return 0, sqlerr.New(2809, "procedure", name, name, objectKind(m.Type))
		}
		if err := r.permit(db, m.Header(), "EXECUTE"); err != nil {
			return 0, err
		}
		return r.callProcedure(db, m, p, args, sink)
	}
	if strings.EqualFold(name, "sp_executesql") && (schema == "" || strings.EqualFold(schema, "sys") || strings.EqualFold(schema, "dbo")) {
		return r.executeSQL(args, sink)
	}
	if p := r.s.in.Registry.proc(schema, name); p != nil {
		return r.callServer(db, p, args, sink)
	}
	if strings.HasPrefix(strings.ToLower(name), "sp_") {
		master := r.s.in.Storage.DatabaseByID(storage.MasterID)
		if m := r.module(master, schema, name); m != nil {
			if p, ok := m.Parsed.(*procedure); ok {
				return r.callProcedure(db, m, p, args, sink)
			}
		}
	}
	e := sqlerr.New(2812, strings.Join(parts, "."))
	e.State = 62
	return 0, e
}

// objectKind names a type of object in message 2809.
func objectKind(t string) string {
	switch t {
	case "V":
		return "view"
	case "FN", "IF", "TF":
		return "function"
	}
	return "synonym"
}

func (r *run) module(db *storage.Database, schema, name string) *storage.Module {
	m, _ := r.object(db, schema, name).(*storage.Module)
	return m
}

// matchArgs gives each parameter its argument: by name, else by position. -1 means none.
func matchArgs(proc string, names []string, args []argument) ([]int, error) {
	at := make([]int, len(names))
	for i := range at {
		at[i] = -1
	}
	for i, a := range args {
		j := i
		if a.name != "" {
			j = -1
			for k, n := range names {
				if strings.EqualFold(n, a.name) {
					j = k
				}
			}
			if j < 0 {
				return nil, sqlerr.New(8145, a.name, proc)
			}
		}
		if j >= len(names) {
			return nil, sqlerr.New(8144, proc)
		}
		if at[j] >= 0 {
			return nil, sqlerr.New(8143, names[j])
		}
		at[j] = i
	}
	return at, nil
}

// callServer runs a procedure of the registry.
func (r *run) callServer(db *storage.Database, p *Proc, args []argument, sink Sink) (int32, error) {
	names := make([]string, len(p.Params))
	for i, q := range p.Params {
		names[i] = q.Name
	}
	at, err := matchArgs(p.Name, names, args)
	if err != nil {
		return 0, err
	}
	vals, given := make([]value.Value, len(names)), make([]bool, len(names))
	for i, q := range p.Params {
		if at[i] < 0 || args[at[i]].deflt {
			if !q.HasDefault {
				return 0, sqlerr.New(201, p.Name, q.Name)
			}
			vals[i] = q.Default
			continue
		}
		a := args[at[i]]
		given[i] = true
		if vals[i] = a.val; q.Type.ID != value.Null {
			if vals[i], err = value.AssignVar(&r.s.env, a.val, a.typ, r.withCollation(q.Type)); err != nil {
				return 0, err
			}
		}
	}
	var status int32
	err = r.inner(func(in *run) error {
		in.proc = p.Name
		in.db = db
		var err error
		status, err = p.Run(in.context(db), vals, given)
		return err
	}, sink)
	if err != nil {
		return 0, err
	}
	for i, q := range p.Params {
		if q.Output && at[i] >= 0 && args[at[i]].output != nil {
			v := args[at[i]].output
			if v.val, err = value.AssignVar(&r.s.env, vals[i], q.Type, v.typ); err != nil {
				return 0, err
			}
		}
	}
	return status, nil
}

func (r *run) withCollation(t value.Type) value.Type {
	if isString(t) && t.Coll == nil {
		t.Coll = r.s.db.Collation
	}
	return t
}

// executeSQL is EXEC sp_executesql @stmt, @params, values ….
func (r *run) executeSQL(args []argument, sink Sink) (int32, error) {
	if len(args) == 0 {
		return 0, sqlerr.New(201, "sp_executesql", "@statement")
	}
	for i := range min(2, len(args)) {
		if !isString(args[i].typ) && args[i].typ.ID != value.Null || args[i].typ.ID == value.VarChar || args[i].typ.ID == value.Char {
			return 0, sqlerr.New(214, []string{"@statement", "@parameters"}[i], "ntext/nchar/nvarchar")
		}
	}
	var decls []Param
	var err error
	if len(args) > 1 && !args[1].val.IsNull() {
		if decls, err = r.s.parseDecls(args[1].val.Str()); err != nil {
			return 0, err
		}
	}
	rest := args[min(2, len(args)):]
	names := make([]string, len(decls))
	for i, d := range decls {
		names[i] = d.Name
	}
	at, err := matchArgs("", names, rest)
	if err != nil {
		return 0, err
	}
	for i := range decls {
		if at[i] < 0 {
			return 0, sqlerr.New(8178, "", decls[i].Name)
		}
		a := rest[at[i]]
		if decls[i].Value, err = value.AssignVar(&r.s.env, a.val, a.typ, decls[i].Type); err != nil {
			return 0, err
		}
	}
	if args[0].val.IsNull() {
		return 0, nil
	}
	var out []Param
	err = r.inner(func(in *run) error {
		var err error
		out, err = in.dynamicIn(args[0].val.Str(), decls)
		return err
	}, sink)
	if err != nil {
		return 0, err
	}
	for _, p := range out {
		for i, d := range decls {
			if d.Name == p.Name && rest[at[i]].output != nil {
				v := rest[at[i]].output
				if v.val, err = value.AssignVar(&r.s.env, p.Value, p.Type, v.typ); err != nil {
					return 0, err
				}
			}
		}
	}
	return 0, nil
}
