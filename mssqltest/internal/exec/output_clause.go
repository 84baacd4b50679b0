package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// outputPlan is a compiled OUTPUT clause: to the client, or INTO a table, or both.
type outputPlan struct {
	sc     *scope
	f      *frame
	from   int // tables of the statement's own FROM
	level  *levelPlan
	rows   [][]value.Value
	into   *inserter
	intoP  *levelPlan
	action string
}

// outputPlan compiles the clause. from is the scope of the statement's FROM, whose rows come with each change.
func (r *run) outputPlan(c *compiler, t *target, out *ast.OutputClause, into *ast.OutputIntoClause, kinds string, from *scope) (*outputPlan, error) {
	if out == nil && into == nil {
		return nil, nil
	}
	if out != nil && r.hasTriggers(t, outputEvents(kinds, from)) {
		return nil, sqlerr.New(334, t.def.Name)
	}
	p := &outputPlan{sc: &scope{c: c}}
	if from != nil {
		p.sc.tables = append(p.sc.tables, from.tables...)
		p.from = len(from.tables)
	}
	for _, name := range [...]string{"inserted", "deleted"} {
		cols := append([]Column(nil), t.cols...)
		slot := &tableSlot{alias: name, aliased: true, cols: cols}
		if kinds != "both" && kinds != name {
			slot.cols = nil
			slot.alias = "\x00" + name
		}
		slot.outer = kinds == "both" && from != nil && from.action != nil
		if _, err := p.sc.add(slot); err != nil {
			return nil, err
		}
	}
	p.sc.action = func(*frame) (value.Value, error) { return value.NewNVarChar(p.action), nil }
	if from == nil || from.action == nil {
		p.sc.action = nil
	}
	p.f = p.sc.newFrame(r, nil)
	if out != nil {
		p.level = &levelPlan{sc: p.sc, ast: &ast.QuerySpecification{SelectElements: out.SelectColumns}}
		if err := p.level.selectList(topQuery); err != nil {
			return nil, err
		}
	}
	if into != nil {
		p.intoP = &levelPlan{sc: p.sc, ast: &ast.QuerySpecification{SelectElements: into.SelectColumns}}
		if err := p.intoP.selectList(topQuery); err != nil {
			return nil, err
		}
		to, err := r.target(into.IntoTable)
		if err != nil {
			return nil, err
		}
		if err := r.outputTarget(to); err != nil {
			return nil, err
		}
		if p.into, err = r.newInserter(c, to, into.IntoTableColumns); err != nil {
			return nil, err
		}
		if len(p.into.cols) != len(p.intoP.outs) {
			return nil, p.into.wrongCount(len(p.intoP.outs), false)
		}
	}
	return p, nil
}

// outputEvents are the events whose triggers an OUTPUT clause without INTO must not meet.
func outputEvents(kinds string, from *scope) uint8 {
	switch {
	case kinds == "inserted":
		return onInsert
	case kinds == "deleted":
		return onDelete
	case from != nil && from.action != nil:
		return onInsert | onUpdate | onDelete
	}
	return onUpdate
}

// outputTarget refuses what the table of OUTPUT … INTO must not have: triggers (331), foreign keys on either side (332),
// check constraints (333).
func (r *run) outputTarget(t *target) error {
	if t.t == nil {
		return nil
	}
	if r.hasTriggers(t, onInsert|onUpdate|onDelete) {
		return sqlerr.New(331, t.def.Name)
	}
	if len(t.def.ForeignKeys) > 0 {
		return sqlerr.New(332, t.def.Name, t.def.ForeignKeys[0].Name)
	}
	if refs := r.references(t.db, t.t.ID()); len(refs) > 0 {
		return sqlerr.New(332, t.def.Name, refs[0].fk.Name)
	}
	for _, k := range t.def.Checks {
		if !k.Disabled {
			return sqlerr.New(333, t.def.Name, k.Name)
		}
	}
	return nil
}

// actionColumn is $action.
func (sc *scope) actionColumn() (*expr, error) {
	if sc.action == nil {
		return nil, sqlerr.New(207, "$action")
	}
	return &expr{typ: nvarcharType(10, sc.c.collation()), eval: sc.action}, nil
}

// row takes one change.
func (p *outputPlan) row(r *run, inserted, deleted []value.Value, from [][]value.Value, action string) error {
	copy(p.f.rows, from)
	width := len(p.sc.tables[p.from].cols) + len(p.sc.tables[p.from+1].cols)
	if inserted == nil {
		inserted = make([]value.Value, width)
	}
	if deleted == nil {
		deleted = make([]value.Value, width)
	}
	p.f.rows[p.from], p.f.rows[p.from+1], p.action = inserted, deleted, action
	if p.level != nil {
		row, err := p.level.project(p.f)
		if err != nil {
			return err
		}
		p.rows = append(p.rows, row)
	}
	if p.into == nil {
		return nil
	}
	row, err := p.intoP.project(p.f)
	if err != nil {
		return err
	}
	env := r.s.env
	for i, e := range p.intoP.outs {
		if row[i].IsNull() {
			continue
		}
		col := p.into.t.def.Columns[p.into.cols[i]]
		env.Table, env.Column = p.into.t.name(), col.Name
		if row[i], err = value.Assign(&env, row[i], e.typ, col.Type); err != nil {
			return err
		}
	}
	return p.into.add(row)
}

// finish writes the rows of INTO and sends the others.
func (p *outputPlan) finish(r *run) error {
	if p.into != nil {
		scope, session := r.scopeIdentity, r.s.lastIdentity
		if _, err := p.into.finish(); err != nil {
			return err
		}
		r.scopeIdentity, r.s.lastIdentity = scope, session
	}
	if p.level == nil {
		return nil
	}
	if err := r.sink.Columns(p.level.cols); err != nil {
		return err
	}
	for _, row := range p.rows {
		if err := r.sink.Row(row); err != nil {
			return err
		}
		r.stmt.returned++
	}
	return nil
}
