package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// changePlan is the FROM and WHERE of UPDATE and DELETE: which rows of the target are meant.
type changePlan struct {
	t     *target
	bound *boundTable
	sc    *scope
	slot  int
	src   source
	lim   limit
	cols  map[string]int // columns of a view or a common table expression, by their base column
}

// planChange resolves the target of UPDATE or DELETE among its FROM tables and compiles WHERE.
func (r *run) planChange(c *compiler, ref ast.TableReference, from *ast.FromClause, where *ast.WhereClause, top *ast.TopRowFilter) (*changePlan, error) {
	p := &changePlan{sc: &scope{c: c}, slot: -1}
	var root fromNode
	var err error
	if from != nil {
		if root, err = p.sc.from(from.TableReferences); err != nil {
			return nil, err
		}
		p.slot = p.sc.targetSlot(ref)
	}
	var base *boundTable
	if p.slot < 0 {
		var n fromNode
		if n, base, p.cols, err = p.sc.changeable(ref); err == nil && n == nil {
			n, err = p.sc.tableRef(ref, false)
		}
		if err != nil {
			return nil, err
		}
		if root == nil {
			root = n
		} else {
			root = &joinNode{left: root, right: n}
		}
		p.slot = len(p.sc.tables) - 1
	}
	if p.bound = base; p.bound == nil {
		if p.bound = p.sc.tables[p.slot].source; p.bound == nil {
			return nil, notSupported("changes of a view or a common table expression that is named in FROM")
		}
		p.bound.track()
		p.bound.access.ForUpdate = true
	}
	if p.bound.logical {
		return nil, sqlerr.New(286)
	}
	p.t = p.bound.target(r)
	var preds []*pred
	if where != nil {
		if where.Cursor != nil {
			return nil, notSupported("WHERE CURRENT OF")
		}
		p.sc.noAgg = "WHERE"
		if preds, err = p.sc.conjuncts(nil, where.SearchCondition); err != nil {
			return nil, err
		}
		p.sc.noAgg = ""
	}
	if p.src, err = p.sc.planFrom(root, preds, nil); err != nil {
		return nil, err
	}
	tc, err := c.top(top, nil, nil, false)
	if err != nil {
		return nil, err
	}
	p.lim, err = tc.start(&frame{r: r})
	if n := r.s.opt.RowCount; n > 0 && (!p.lim.has || p.lim.count > n) {
		p.lim.has, p.lim.count = true, n
	}
	return p, err
}

// target is the bound table as what a statement changes.
func (b *boundTable) target(r *run) *target {
	if b.mem != nil {
		return &target{mem: b.mem, def: b.mem.def, db: r.compiler().db, cols: columnsOf(b.mem.def)}
	}
	def := b.t.Def()
	return &target{t: b.t, def: def, db: b.t.Database(), cols: columnsOf(def)}
}

// targetSlot finds the table of FROM that UPDATE and DELETE name: by alias, or by the table's name. -1 if it is not there.
func (sc *scope) targetSlot(ref ast.TableReference) int {
	switch x := ref.(type) {
	case *ast.NamedTableReference:
		ids := x.SchemaObject.Identifiers
		for i, t := range sc.tables {
			if len(ids) > 0 && t.named(ids) {
				return i
			}
		}
		o, err := sc.c.nameOf(x.SchemaObject)
		if err != nil {
			return -1
		}
		for i, t := range sc.tables {
			if t.source != nil && t.source.t != nil && sc.c.same(t.name, o.name) && sc.c.same(t.schema, o.schema) && sameName(t.db, o.db.Name()) {
				return i
			}
		}
	case *ast.VariableTableReference:
		for i, t := range sc.tables {
			if sameName(t.alias, x.Variable.Name) {
				return i
			}
		}
	}
	return -1
}

// each calls fn once for each row that is meant, with the frame that selected it.
func (p *changePlan) each(r *run, fn func(f *frame, row *storage.Row) error) error {
	if p.lim.none {
		return nil
	}
	f := p.sc.newFrame(r, nil)
	seen := map[*storage.Row]bool{}
	n := int64(0)
	err := p.src.each(f, func() error {
		row := p.bound.rowOf(f.rows[p.slot])
		if row == nil || seen[row] {
			return nil
		}
		seen[row] = true
		if err := fn(f, row); err != nil {
			return err
		}
		if n++; p.lim.has && n >= p.lim.count {
			return errStop
		}
		if n%256 == 0 {
			return r.ctx.Err()
		}
		return nil
	})
	if err == errStop {
		return nil
	}
	return err
}

// setter is one compiled SET clause.
type setter struct {
	col int // -1: only a variable
	v   *variable
	val evalFunc // in the column's type, or the variable's
	typ value.Type
}

// setters compiles SET clauses.
func (sc *scope) setters(t *target, cols map[string]int, clauses []ast.SetClause) ([]setter, error) {
	var out []setter
	seen := map[int]bool{}
	for _, cl := range clauses {
		x, ok := cl.(*ast.AssignmentSetClause)
		if !ok {
			return nil, notSupported("method calls in SET")
		}
		s := setter{col: -1}
		if x.Variable != nil {
			if s.v = sc.c.r.lookup(x.Variable.Name); s.v == nil || s.v.table != nil {
				return nil, sqlerr.New(137, x.Variable.Name)
			}
		}
		if x.Column == nil {
			e, err := sc.assigned(s.v, x.NewValue, x.AssignmentKind)
			if err != nil {
				return nil, err
			}
			s.val, s.typ = e.eval, s.v.typ
			out = append(out, s)
			continue
		}
		ids := x.Column.MultiPartIdentifier.Identifiers
		i, err := t.column(ids[len(ids)-1].Value)
		if cols != nil {
			i, err = sc.c.through(cols, ids[len(ids)-1].Value)
		}
		if err != nil {
			return nil, err
		}
		col := t.def.Columns[i]
		switch {
		case seen[i]:
			return nil, sqlerr.New(264, col.Name)
		case col.Identity != nil:
			return nil, sqlerr.New(8102, col.Name)
		case col.Computed != nil:
			return nil, sqlerr.New(271, col.Name)
		case col.Type.ID == value.RowVersion:
			return nil, sqlerr.New(272)
		case col.GeneratedAlways != 0:
			return nil, sqlerr.New(13537, t.db.Name()+"."+t.name())
		}
		seen[i] = true
		t.noteSet(i)
		s.col, s.typ = i, col.Type
		if _, ok := x.NewValue.(*ast.DefaultLiteral); ok {
			rs, err := sc.c.r.rulesOf(t)
			if err != nil {
				return nil, err
			}
			s.val = func(*frame) (value.Value, error) {
				if ev := rs.defaults[i]; ev != nil {
					return ev(rs.f)
				}
				return value.Value{}, nil
			}
			out = append(out, s)
			continue
		}
		e, err := sc.expr(x.NewValue)
		if err != nil {
			return nil, err
		}
		if op, ok := compoundOps[x.AssignmentKind]; ok {
			cur, err := sc.column(ids)
			if err != nil {
				return nil, err
			}
			if e, err = sc.c.arith(op, cur, e); err != nil {
				return nil, err
			}
		}
		s.val = sc.c.at(t.db).assign(e, t.def, col)
		out = append(out, s)
	}
	return out, nil
}

// applySetters makes the new form of a row.
func applySetters(r *run, t *target, set []setter, f *frame, old []value.Value) ([]value.Value, error) {
	row := append([]value.Value(nil), old...)
	for _, s := range set {
		v, err := s.val(f)
		if err != nil {
			return nil, err
		}
		if s.col >= 0 {
			row[s.col] = v
		}
		if s.v != nil {
			if s.col >= 0 {
				if v, err = value.AssignVar(&r.s.env, v, s.typ, s.v.typ); err != nil {
					return nil, err
				}
			}
			s.v.val = v
		}
	}
	for i, c := range t.def.Columns {
		if c.Type.ID == value.RowVersion {
			row[i] = t.rowVersion()
		}
		if c.GeneratedAlways == 1 {
			v, err := r.periodValue(c)
			if err != nil {
				return nil, err
			}
			row[i] = v
		}
	}
	return row, t.rules.finish(t, row, "UPDATE")
}

// updateStatement is UPDATE.
func (r *run) updateStatement(x *ast.UpdateStatement) error {
	n := int64(0)
	run := func() error {
		c, err := r.compiler().with(x.WithCtesAndXmlNamespaces)
		if err != nil {
			return err
		}
		n, err = r.update(c, x.UpdateSpecification)
		return err
	}
	if err := r.changeOf(x.UpdateSpecification.Target, run); err != nil {
		return err
	}
	return r.done(CmdUpdate, n, true)
}

// changeOf runs a change; one of a table variable starts no implicit transaction.
func (r *run) changeOf(ref ast.TableReference, fn func() error) error {
	if _, mem := ref.(*ast.VariableTableReference); mem {
		return r.atomicRead(fn)
	}
	return r.change(fn)
}

func (r *run) update(c *compiler, x *ast.UpdateSpecification) (int64, error) {
	p, err := r.planChange(c, x.Target, x.FromClause, x.WhereClause, x.TopRowFilter)
	if err != nil {
		return 0, err
	}
	if err := r.permitChange(p.t, "UPDATE"); err != nil {
		return 0, err
	}
	if _, err := r.rulesOf(p.t); err != nil {
		return 0, err
	}
	set, err := p.sc.setters(p.t, p.cols, x.SetClauses)
	if err != nil {
		return 0, err
	}
	out, err := r.outputPlan(c, p.t, x.OutputClause, x.OutputIntoClause, "both", p.sc)
	if err != nil {
		return 0, err
	}
	var changes []storage.Change
	var froms [][][]value.Value
	err = p.each(r, func(f *frame, row *storage.Row) error {
		vals, err := applySetters(r, p.t, set, f, row.Vals)
		if err != nil {
			return err
		}
		changes = append(changes, storage.Change{Old: row, New: vals})
		if out != nil {
			froms = append(froms, f.snapshot().rows)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return r.finishChanges(p.t, changes, "UPDATE", out, froms, nil)
}

// finishChanges writes the changes of UPDATE, DELETE and MERGE, checks foreign keys and gives the OUTPUT rows.
func (r *run) finishChanges(t *target, changes []storage.Change, verb string, out *outputPlan, froms [][][]value.Value, actions []string) (int64, error) {
	events := t.events
	switch verb {
	case "UPDATE":
		events = onUpdate
	case "DELETE":
		events = onDelete
	}
	return int64(len(changes)), r.changing(t, events, changes, verb, func() error {
		return r.giveOutput(changes, verb, out, froms, actions)
	})
}

// giveOutput gives the rows of an OUTPUT clause.
func (r *run) giveOutput(changes []storage.Change, verb string, out *outputPlan, froms [][][]value.Value, actions []string) error {
	if out == nil {
		return nil
	}
	for i, ch := range changes {
		var old []value.Value
		if ch.Old != nil {
			old = ch.Old.Vals
		}
		action := verb
		if actions != nil {
			action = actions[i]
		}
		if err := out.row(r, ch.New, old, froms[i], action); err != nil {
			return err
		}
	}
	return out.finish(r)
}

// deleteStatement is DELETE.
func (r *run) deleteStatement(x *ast.DeleteStatement) error {
	n := int64(0)
	run := func() error {
		c, err := r.compiler().with(x.WithCtesAndXmlNamespaces)
		if err != nil {
			return err
		}
		d := x.DeleteSpecification
		p, err := r.planChange(c, d.Target, d.FromClause, d.WhereClause, d.TopRowFilter)
		if err != nil {
			return err
		}
		if err := r.permitChange(p.t, "DELETE"); err != nil {
			return err
		}
		out, err := r.outputPlan(c, p.t, d.OutputClause, d.OutputIntoClause, "deleted", p.sc)
		if err != nil {
			return err
		}
		var changes []storage.Change
		var froms [][][]value.Value
		err = p.each(r, func(f *frame, row *storage.Row) error {
			changes = append(changes, storage.Change{Old: row})
			if out != nil {
				froms = append(froms, f.snapshot().rows)
			}
			return nil
		})
		if err != nil {
			return err
		}
		n, err = r.finishChanges(p.t, changes, "DELETE", out, froms, nil)
		return err
	}
	if err := r.changeOf(x.DeleteSpecification.Target, run); err != nil {
		return err
	}
	return r.done(CmdDelete, n, true)
}

// truncate is TRUNCATE TABLE: 4711 for a table that is captured, 4712 for one that a foreign key refers to.
func (r *run) truncate(x *ast.TruncateTableStatement) error {
	err := r.change(func() error {
		if len(x.PartitionRanges) > 0 {
			return notSupported("TRUNCATE of partitions")
		}
		o, err := r.compiler().nameOf(x.TableName)
		if err != nil {
			return err
		}
		t, ok := r.object(o.db, o.schema, o.name).(*storage.Table)
		if !ok {
			return sqlerr.New(4701, o.text)
		}
		def := t.Def()
		if err := r.permit(o.db, &def.ObjectHeader, "ALTER"); err != nil {
			return err
		}
		if def.TrackedByCDC {
			return sqlerr.New(4711, o.name)
		}
		for _, ref := range r.references(o.db, t.ID()) {
			if ref.table.ID() != t.ID() {
				return sqlerr.New(4712, o.name)
			}
		}
		return r.stmt.tx.TruncateTable(r.ctx, t)
	})
	if err != nil {
		return err
	}
	return r.done(CmdOther, 0, false)
}
