package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// rules are the compiled defaults, computed columns and CHECK constraints of a table.
type rules struct {
	f        *frame
	defaults []evalFunc // by column, nil without one
	computed []evalFunc
	checks   []tableCheck
}

type tableCheck struct {
	def  *storage.Check
	test predFunc
}

// compileRules compiles the expressions of a table's definition; they see the row as table 0.
func (r *run) compileRules(def *storage.TableDef, cols []Column, db *storage.Database) (*rules, error) {
	c := r.compiler().at(db)
	sc := &scope{c: c}
	if _, err := sc.add(&tableSlot{alias: def.Name, schema: def.Schema, name: def.Name, cols: cols}); err != nil {
		return nil, err
	}
	out := &rules{defaults: make([]evalFunc, len(cols)), computed: make([]evalFunc, len(cols))}
	for i, col := range def.Columns {
		if col.Default != nil {
			n, ok := col.Default.Expr.(ast.ScalarExpression)
			if !ok {
				var err error
				if n, err = parseExpr(col.Default.Text); err != nil {
					return nil, err
				}
			}
			e, err := sc.expr(n)
			if err != nil {
				return nil, err
			}
			out.defaults[i] = c.assign(e, def, col)
		}
		if col.Computed != nil {
			n, ok := col.Computed.Expr.(ast.ScalarExpression)
			if !ok {
				var err error
				if n, err = parseExpr(col.Computed.Text); err != nil {
					return nil, err
				}
			}
			e, err := sc.expr(n)
			if err != nil {
				return nil, err
			}
			out.computed[i] = c.coerce(e, col.Type).eval
		}
	}
	for _, k := range def.Checks {
		if k.Disabled {
			continue
		}
		n, ok := k.Expr.(ast.BooleanExpression)
		if !ok {
			continue
		}
		p, err := sc.pred(n)
		if err != nil {
			return nil, err
		}
		out.checks = append(out.checks, tableCheck{k, p.test})
	}
	out.f = sc.newFrame(r, nil)
	return out, nil
}

// rulesOf compiles the rules of a target once.
func (r *run) rulesOf(t *target) (*rules, error) {
	if t.rules == nil {
		rs, err := r.compileRules(t.def, t.cols, t.db)
		if err != nil {
			return nil, err
		}
		t.rules = rs
	}
	return t.rules, nil
}

// finish computes the computed columns of a new row and checks NOT NULL (515) and CHECK (547).
func (rs *rules) finish(t *target, row []value.Value, verb string) error {
	rs.f.rows[0] = row
	for i, ev := range rs.computed {
		if ev == nil {
			continue
		}
		v, err := ev(rs.f)
		if err != nil {
			return err
		}
		row[i] = v
	}
	for i, c := range t.def.Columns {
		if !c.Nullable && row[i].IsNull() {
			return sqlerr.New(515, c.Name, t.db.Name()+"."+t.name(), verb)
		}
	}
	for _, k := range rs.checks {
		ok, err := k.test(rs.f)
		if err != nil {
			return err
		}
		if ok == no {
			return sqlerr.New(547, verb, "CHECK", k.def.Name, t.db.Name(), t.name(), checkColumn(t.def, k.def))
		}
	}
	return nil
}

// checkColumn is the ", column 'x'" of message 547 for a constraint on a single column.
func checkColumn(def *storage.TableDef, k *storage.Check) string {
	n, ok := k.Expr.(ast.BooleanExpression)
	if !ok {
		return ""
	}
	name := ""
	w := walker{pre: func(n any) bool {
		if c, ok := n.(*ast.ColumnReferenceExpression); ok && c.MultiPartIdentifier != nil {
			ids := c.MultiPartIdentifier.Identifiers
			last := ids[len(ids)-1].Value
			if name != "" && !sameName(name, last) {
				name = "\x00"
			} else if name == "" {
				name = last
			}
		}
		return true
	}}
	w.walk(valueOf(n))
	if name == "" || name == "\x00" {
		return ""
	}
	return ", column '" + name + "'"
}

// assign compiles the conversion of a value to a column: what is too long, too large or of the wrong kind is an error
// that names table and column.
func (c *compiler) assign(e *expr, def *storage.TableDef, col *storage.Column) evalFunc {
	if e.typ.ID == value.Null {
		return e.eval
	}
	env := *c.env()
	env.Table, env.Column = c.db.Name()+"."+def.QualifiedName(), col.Name
	ev, from, to := e.eval, e.typ, col.Type
	if sameRep(from, to) && from.ID != value.Char && from.ID != value.NChar && from.ID != value.Binary {
		return ev
	}
	return func(f *frame) (value.Value, error) {
		v, err := ev(f)
		if err != nil || v.IsNull() {
			return value.Value{}, err
		}
		return value.Assign(&env, v, from, to)
	}
}
