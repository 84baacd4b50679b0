package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// procParam is a declared parameter of a procedure or function.
type procParam struct {
	name   string
	typ    value.Type
	deflt  ast.ScalarExpression
	output bool
}

// procedure is the parsed form of a stored procedure.
type procedure struct {
	params []procParam
	body   []ast.Statement
	b      *batch
}

// function is the parsed form of a function: scalar (returns), inline (query), or with a table variable (table).
type function struct {
	name    string
	params  []procParam
	returns *value.Type
	query   *ast.SelectStatement
	table   *storage.TableDef
	tableAs string
	body    []ast.Statement
	b       *batch
}

// view is the parsed form of a view.
type view struct {
	query   *ast.SelectStatement
	columns []string
}

// synonym is the parsed form of a synonym.
type synonym struct{ target *ast.SchemaObjectName }

// aliasType is the parsed form of CREATE TYPE … FROM.
type aliasType struct {
	typ      value.Type
	nullable bool
}

// callProcedure runs a procedure of a user: its parameters are its variables, SET options and temporary tables end with
// it; 266 if it leaves @@TRANCOUNT changed.
func (r *run) callProcedure(db *storage.Database, m *storage.Module, p *procedure, args []argument, sink Sink) (int32, error) {
	names := make([]string, len(p.params))
	for i, q := range p.params {
		names[i] = q.name
	}
	h := m.Header()
	at, err := matchArgs(h.Name, names, args)
	if err != nil {
		return 0, err
	}
	vars := make([]*variable, len(p.params))
	for i, q := range p.params {
		v := &variable{name: q.name, typ: q.typ}
		vars[i] = v
		switch {
		case at[i] >= 0 && !args[at[i]].deflt:
			a := args[at[i]]
			if a.output != nil && !q.output {
				return 0, sqlerr.New(8162, q.name)
			}
			if v.val, err = value.AssignVar(&r.s.env, a.val, a.typ, q.typ); err != nil {
				return 0, err
			}
		case q.deflt != nil:
			if v.val, err = r.evalTo(q.deflt, q.typ); err != nil {
				return 0, err
			}
		default:
			return 0, sqlerr.New(201, h.Name, q.name)
		}
	}
	before := r.s.tran.count
	var status int32
	err = r.inner(func(in *run) error {
		in.proc, in.procID, in.b = h.Name, h.ID, p.b
		if db != r.s.db {
			in.db = db
			r.s.setDB(db)
		}
		for _, v := range vars {
			in.vars[strings.ToLower(v.name)] = v
		}
		_, err := in.list(p.body)
		status = in.status
		return err
	}, sink)
	if err != nil {
		return 0, err
	}
	for i := range p.params {
		if at[i] < 0 || args[at[i]].output == nil {
			continue
		}
		out := args[at[i]].output
		if out.val, err = value.AssignVar(&r.s.env, vars[i].val, vars[i].typ, out.typ); err != nil {
			return 0, err
		}
	}
	if n := r.s.tran.count; n != before {
		e := sqlerr.New(266, before, n)
		if r.trying() {
			return status, e
		}
		if err := r.sink.Message(r.located(e, nil)); err != nil {
			return status, err
		}
	}
	return status, nil
}

// returns is the type that RETURN must give in a scalar function, nil elsewhere.
func (r *run) returns() *value.Type {
	if f := r.fn; f != nil {
		return f.returns
	}
	return nil
}

// callScalar runs a scalar function.
func (r *run) callScalar(db *storage.Database, m *storage.Module, fn *function, args []value.Value) (value.Value, error) {
	var out value.Value
	err := r.callFunction(db, m, fn, args, func(in *run) error {
		if _, err := in.list(fn.body); err != nil {
			return err
		}
		out = in.result
		return nil
	})
	return out, err
}

// callTable runs a function that fills a table variable and returns its rows.
func (r *run) callTable(db *storage.Database, m *storage.Module, fn *function, args []value.Value) ([]*storage.Row, error) {
	mem := newMemTable(fn.table)
	err := r.callFunction(db, m, fn, args, func(in *run) error {
		in.vars[strings.ToLower(fn.tableAs)] = &variable{name: fn.tableAs, table: mem}
		_, err := in.list(fn.body)
		return err
	})
	return mem.rows, err
}

// callFunction makes the scope of a function. Its errors end the statement that called it, whatever TRY blocks it has not.
func (r *run) callFunction(db *storage.Database, m *storage.Module, fn *function, args []value.Value, body func(*run) error) error {
	if r.s.nest >= maxNest {
		return sqlerr.New(217, maxNest)
	}
	in := r.nested(discard{})
	in.proc, in.procID, in.b, in.fn, in.inFunc, in.db = m.Header().Name, m.Header().ID, fn.b, fn, true, db
	in.try = 1 // errors come up instead of being reported
	for i, p := range fn.params {
		in.vars[strings.ToLower(p.name)] = &variable{name: p.name, typ: p.typ, val: args[i]}
	}
	rowCount, lastError := r.s.rowCount, r.s.lastError
	r.s.nest++
	err := body(in)
	r.s.nest--
	r.s.rowCount, r.s.lastError = rowCount, lastError
	return err
}

// remoteCall is an RPC by name: parameters by name or position, output ones and the status come back.
func (r *run) remoteCall(name string, params []Param) (int32, []Param, error) {
	parts, err := SplitName(name)
	if err != nil {
		return 0, nil, r.report(err)
	}
	args := make([]argument, len(params))
	for i, p := range params {
		args[i] = argument{name: p.Name, val: p.Value, typ: p.Type, deflt: p.Default}
		if p.Output {
			args[i].output = &variable{name: p.Name, typ: p.Type, val: p.Value}
		}
	}
	status, err := r.call(parts, args, r.sink)
	if err != nil {
		if se := r.asSQL(err); se != nil {
			err = r.fail(r.located(se, nil))
		}
		return 0, nil, r.settle(err)
	}
	var out []Param
	for i, p := range params {
		if p.Output {
			p.Value = args[i].output.val
			out = append(out, p)
		}
	}
	return status, out, r.endBatch()
}
