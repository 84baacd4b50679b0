package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// How a module statement treats an object that exists or does not.
type moduleVerb uint8

const (
	verbCreate moduleVerb = iota
	verbAlter
	verbCreateOrAlter
)

// moduleStatement finds how to run CREATE, ALTER and DROP of views, procedures, functions, types and synonyms.
func (r *run) moduleStatement(st ast.Statement) (func() error, bool) {
	ddl := func(fn func() error) (func() error, bool) { return func() error { return r.ddl(fn) }, true }
	switch x := st.(type) {
	case *ast.CreateViewStatement:
		return ddl(func() error { return r.defineView(x.SchemaObjectName, x.SelectStatement, x.Columns, verbCreate) })
	case *ast.CreateOrAlterViewStatement:
		return ddl(func() error {
			return r.defineView(x.SchemaObjectName, x.SelectStatement, x.Columns, verbCreateOrAlter)
		})
	case *ast.AlterViewStatement:
		return ddl(func() error { return r.defineView(x.SchemaObjectName, x.SelectStatement, x.Columns, verbAlter) })
	case *ast.CreateProcedureStatement:
		return ddl(func() error {
			return r.defineProcedure(x.ProcedureReference, x.Parameters, x.StatementList, verbCreate)
		})
	case *ast.CreateOrAlterProcedureStatement:
		return ddl(func() error {
			return r.defineProcedure(x.ProcedureReference, x.Parameters, x.StatementList, verbCreateOrAlter)
		})
	case *ast.AlterProcedureStatement:
		return ddl(func() error { return r.defineProcedure(x.ProcedureReference, x.Parameters, x.StatementList, verbAlter) })
	case *ast.CreateFunctionStatement:
		return ddl(func() error { return r.defineFunction(x.Name, x.Parameters, x.ReturnType, x.StatementList, verbCreate) })
	case *ast.CreateOrAlterFunctionStatement:
		return ddl(func() error {
			return r.defineFunction(x.Name, x.Parameters, x.ReturnType, x.StatementList, verbCreateOrAlter)
		})
	case *ast.AlterFunctionStatement:
		return ddl(func() error { return r.defineFunction(x.Name, x.Parameters, x.ReturnType, x.StatementList, verbAlter) })
	case *ast.CreateTypeUddtStatement:
		return ddl(func() error { return r.createType(x) })
	case *ast.CreateSynonymStatement:
		return ddl(func() error {
			return r.define(x.Name, "SN", &synonym{target: x.ForName}, verbCreate, "CREATE SYNONYM")
		})
	case *ast.DropViewStatement:
		return ddl(func() error { return r.dropModules(x.Objects, x.IsIfExists, "view", "V") })
	case *ast.DropProcedureStatement:
		return ddl(func() error { return r.dropModules(x.Objects, x.IsIfExists, "procedure", "P") })
	case *ast.DropFunctionStatement:
		return ddl(func() error { return r.dropModules(x.Objects, x.IsIfExists, "function", "FN", "IF", "TF") })
	case *ast.DropSynonymStatement:
		return ddl(func() error { return r.dropModules(x.Objects, x.IsIfExists, "synonym", "SN") })
	case *ast.DropTypeStatement:
		return ddl(func() error { return r.dropType(x) })
	}
	return nil, false
}

// define creates or replaces a module.
func (r *run) define(n *ast.SchemaObjectName, kind string, parsed any, verb moduleVerb, perm string) error {
	o, err := r.compiler().nameOf(n)
	if err != nil {
		return err
	}
	if o.db != r.compiler().db {
		return sqlerr.New(166, perm)
	}
	if err := r.writable(o.db); err != nil {
		return err
	}
	if err := r.permitDatabase(o.db, perm); err != nil {
		return err
	}
	sch := r.catalog(o.db).Schema(o.schema)
	if sch == nil {
		return sqlerr.New(2760, o.schema)
	}
	m := &storage.Module{Parsed: parsed, Text: r.text()}
	m.Schema, m.SchemaID, m.Name, m.Type = sch.Name, sch.ID, o.name, kind
	old := r.object(o.db, o.schema, o.name)
	switch {
	case verb == verbCreate || verb == verbCreateOrAlter && old == nil:
		return r.stmt.tx.CreateModule(o.db, m)
	case old == nil:
		return sqlerr.New(208, o.text)
	}
	om, ok := old.(*storage.Module)
	if !ok || om.Type != kind {
		return sqlerr.New(2010, o.text)
	}
	return r.stmt.tx.AlterModule(o.db, om, m)
}

func (r *run) defineView(n *ast.SchemaObjectName, q *ast.SelectStatement, cols []*ast.Identifier, verb moduleVerb) error {
	v := &view{query: q, columns: identifierNames(cols)}
	// The view is compiled once so that names that do not exist are found now.
	if _, err := (&scope{c: r.compiler()}).viewTable(r.compiler().db, &tableSlot{alias: n.BaseIdentifier.Value}, v); err != nil {
		if e := r.asSQL(err); e != nil && e.Number == 8155 {
			return sqlerr.New(4511, 1)
		}
		return err
	}
	return r.define(n, "V", v, verb, "CREATE VIEW")
}

// params compiles declared parameters.
func (r *run) params(ps []*ast.ProcedureParameter) ([]procParam, error) {
	out := make([]procParam, len(ps))
	c := r.compiler()
	for i, p := range ps {
		if p.IsVarying || strings.EqualFold(p.Modifier, "ReadOnly") {
			return nil, notSupported("cursor and table-valued parameters")
		}
		t, err := c.typeOf(p.DataType, false)
		if err != nil {
			return nil, err
		}
		out[i] = procParam{name: p.VariableName.Value, typ: t, deflt: p.Value, output: strings.EqualFold(p.Modifier, "Output")}
		for j := range i {
			if sameName(out[j].name, out[i].name) {
				return nil, sqlerr.New(134, out[i].name)
			}
		}
	}
	return out, nil
}

func (r *run) defineProcedure(ref *ast.ProcedureReference, ps []*ast.ProcedureParameter, body *ast.StatementList, verb moduleVerb) error {
	if body == nil {
		return notSupported("procedures of an assembly")
	}
	params, err := r.params(ps)
	if err != nil {
		return err
	}
	return r.define(ref.Name, "P", &procedure{params: params, body: body.Statements, b: r.b}, verb, "CREATE PROCEDURE")
}

func (r *run) defineFunction(n *ast.SchemaObjectName, ps []*ast.ProcedureParameter, ret ast.FunctionReturnType, body *ast.StatementList, verb moduleVerb) error {
	params, err := r.params(ps)
	if err != nil {
		return err
	}
	if n == nil || n.BaseIdentifier == nil {
		return sqlerr.New(102, "FUNCTION")
	}
	f := &function{name: n.BaseIdentifier.Value, params: params, b: r.b}
	kind := "FN"
	switch x := ret.(type) {
	case *ast.ScalarFunctionReturnType:
		t, err := r.compiler().typeOf(x.DataType, false)
		if err != nil {
			return err
		}
		f.returns = &t
	case *ast.SelectFunctionReturnType:
		kind, f.query = "IF", x.SelectStatement
	case *ast.TableValuedFunctionReturnType:
		kind = "TF"
		d := x.DeclareTableVariableBody
		f.tableAs = d.VariableName.Value
		if f.table, err = r.compiler().tableDef(objectName{db: r.compiler().db, schema: defaultSchema, name: f.tableAs}, d.Definition); err != nil {
			return err
		}
	default:
		return notSupported("this kind of function")
	}
	if body != nil {
		f.body = body.Statements
	}
	if kind != "IF" && len(f.body) == 0 {
		return notSupported("functions of an assembly")
	}
	return r.define(n, kind, f, verb, "CREATE FUNCTION")
}

// dropModules is DROP VIEW, PROCEDURE and their like.
func (r *run) dropModules(names []*ast.SchemaObjectName, ifExists bool, what string, kinds ...string) error {
	for _, n := range names {
		o, err := r.compiler().nameOf(n)
		if err != nil {
			return err
		}
		m, _ := r.object(o.db, o.schema, o.name).(*storage.Module)
		ok := false
		for _, k := range kinds {
			ok = ok || m != nil && m.Type == k
		}
		if !ok {
			if ifExists {
				continue
			}
			return sqlerr.New(3701, "drop", what, o.text)
		}
		if err := r.writable(o.db); err != nil {
			return err
		}
		if err := r.permit(o.db, m.Header(), "ALTER"); err != nil {
			return sqlerr.New(3701, "drop", what, o.text)
		}
		if err := r.stmt.tx.DropModule(o.db, m); err != nil {
			return err
		}
	}
	return nil
}

// typePrefix keeps the names of types apart from those of objects, which may be the same.
const typePrefix = "type\x00"

func typeModule(n *ast.SchemaObjectName) *ast.SchemaObjectName {
	cp := *n
	cp.BaseIdentifier = &ast.Identifier{Value: typePrefix + n.BaseIdentifier.Value}
	return &cp
}

// createType is CREATE TYPE name FROM type.
func (r *run) createType(x *ast.CreateTypeUddtStatement) error {
	t, err := r.compiler().typeOf(x.DataType, false)
	if err != nil {
		return err
	}
	a := &aliasType{typ: t, nullable: x.NullableConstraint == nil || x.NullableConstraint.Nullable}
	a.typ.Name = x.Name.BaseIdentifier.Value
	return r.define(typeModule(x.Name), "TY", a, verbCreate, "CREATE TYPE")
}

func (r *run) dropType(x *ast.DropTypeStatement) error {
	return r.dropModules([]*ast.SchemaObjectName{typeModule(x.Name)}, x.IsIfExists, "type", "TY")
}

func (c *compiler) alias(n *ast.SchemaObjectName) *aliasType {
	if n == nil || n.BaseIdentifier == nil {
		return nil
	}
	o, err := c.nameOf(typeModule(n))
	if err != nil {
		return nil
	}
	m, _ := c.r.object(o.db, o.schema, o.name).(*storage.Module)
	if m == nil {
		return nil
	}
	a, _ := m.Parsed.(*aliasType)
	return a
}

// aliasType finds a type of the user: 2715 if there is none.
func (c *compiler) aliasType(n *ast.SchemaObjectName) (value.Type, error) {
	if a := c.alias(n); a != nil {
		return a.typ, nil
	}
	return value.Type{}, sqlerr.New(2715, 1, n.BaseIdentifier.Value)
}

// aliasNullable is what an alias type says of NULL.
func (c *compiler) aliasNullable(n *ast.SchemaObjectName) (nullable, ok bool) {
	if a := c.alias(n); a != nil {
		return a.nullable, true
	}
	return true, false
}

// AliasTypeName is the name of the alias type behind a catalog object of type TY, and its base type.
func AliasTypeName(m *storage.Module) (name string, base value.Type, nullable, ok bool) {
	a, ok := m.Parsed.(*aliasType)
	if !ok {
		return "", value.Type{}, false, false
	}
	base = a.typ
	base.Name = ""
	return strings.TrimPrefix(m.Name, typePrefix), base, a.nullable, true
}

// ModuleParams lists the parameters of a procedure or function, for the catalog views.
func ModuleParams(m *storage.Module) []ProcParam {
	var ps []procParam
	switch x := m.Parsed.(type) {
	case *procedure:
		ps = x.params
	case *function:
		ps = x.params
	}
	out := make([]ProcParam, len(ps))
	for i, p := range ps {
		out[i] = ProcParam{Name: p.name, Type: p.typ, HasDefault: p.deflt != nil, Output: p.output}
	}
	return out
}
