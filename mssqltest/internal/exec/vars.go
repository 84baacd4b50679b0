package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// declare is DECLARE @a int = 1, …. A variable declared in a loop keeps its value unless it has an initial one.
func (r *run) declare(x *ast.DeclareVariableStatement) error {
	for _, d := range x.Declarations {
		name := d.VariableName.Value
		if d.DataType != nil && strings.EqualFold(d.DataType.SqlDataTypeOption, "Cursor") {
			if r.lookup(name) == nil {
				r.vars[strings.ToLower(name)] = &variable{name: name, isCursor: true}
			}
			continue
		}
		t, err := r.compiler().typeOf(d.DataType, false)
		if err != nil {
			return err
		}
		v := r.lookup(name)
		if v == nil {
			v = &variable{name: name, typ: t}
			r.vars[strings.ToLower(name)] = v
		} else if v.table != nil || v.typ != t {
			return sqlerr.New(134, name)
		}
		if d.Value != nil {
			val, err := r.evalTo(d.Value, t)
			if err != nil {
				return err
			}
			v.val = val
		}
	}
	return nil
}

// declareTable is DECLARE @t TABLE (…).
func (r *run) declareTable(b *ast.DeclareTableVariableBody) error {
	name := b.VariableName.Value
	def, err := r.compiler().tableDef(objectName{db: r.compiler().db, schema: defaultSchema, name: name}, b.Definition)
	if err != nil {
		return err
	}
	r.vars[strings.ToLower(name)] = &variable{name: name, table: newMemTable(def)}
	return nil
}

// setVariable is SET @v = expression.
func (r *run) setVariable(x *ast.SetVariableStatement) error {
	if x.FunctionCallExists || x.Identifier != nil {
		return notSupported("SET of a member")
	}
	v := r.lookup(x.Variable.Name)
	if v != nil && v.isCursor {
		return r.setCursor(v, x)
	}
	if x.CursorDefinition != nil {
		return sqlerr.New(137, x.Variable.Name)
	}
	if v == nil || v.table != nil {
		return sqlerr.New(137, x.Variable.Name)
	}
	return r.atomicRead(func() error {
		sc := &scope{c: r.compiler()}
		e, err := sc.assigned(v, x.Expression, x.AssignmentKind)
		if err != nil {
			return err
		}
		val, err := e.eval(sc.newFrame(r, nil))
		if err != nil {
			return err
		}
		v.val = val
		return nil
	})
}

// parseDecls reads "@a int, @b nvarchar(20) OUTPUT".
func (s *Session) parseDecls(decl string) ([]Param, error) {
	if strings.TrimSpace(decl) == "" {
		return nil, nil
	}
	b, err := s.in.parsed.get("CREATE PROCEDURE p " + decl + "\nAS RETURN")
	if err != nil {
		return nil, err
	}
	p, ok := b.stmts[0].(*ast.CreateProcedureStatement)
	if !ok {
		return nil, sqlerr.New(102, decl)
	}
	c := &compiler{r: &run{s: s}, db: s.db}
	out := make([]Param, len(p.Parameters))
	for i, d := range p.Parameters {
		t, err := c.typeOf(d.DataType, false)
		if err != nil {
			return nil, err
		}
		out[i] = Param{Name: d.VariableName.Value, Type: t, Output: strings.EqualFold(d.Modifier, "Output")}
	}
	return out, nil
}

// dynamic runs a text with parameters (sp_executesql) in a scope of its own; output parameters come back.
func (r *run) dynamic(text string, params []Param) ([]Param, error) {
	var out []Param
	err := r.inner(func(in *run) error {
		in.remote = true
		var err error
		out, err = in.dynamicIn(text, params)
		return err
	}, r.sink)
	if err := r.settle(err); err != nil {
		return nil, err
	}
	return out, r.endBatch()
}

// dynamicIn is dynamic without the settling of errors, for a text that runs inside another.
func (r *run) dynamicIn(text string, params []Param) ([]Param, error) {
	b, err := r.s.in.parsed.get(text)
	if err != nil {
		return nil, err
	}
	r.b = b
	for _, p := range params {
		if p.Name == "" {
			continue
		}
		r.vars[strings.ToLower(p.Name)] = &variable{name: p.Name, typ: p.Type, val: p.Value}
	}
	if _, err := r.list(b.stmts); err != nil {
		return nil, err
	}
	var out []Param
	for _, p := range params {
		if p.Output {
			if v := r.lookup(p.Name); v != nil {
				p.Value = v.val
			}
			out = append(out, p)
		}
	}
	return out, nil
}
