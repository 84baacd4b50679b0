package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// mergeArm is one WHEN clause.
type mergeArm struct {
	cond   []*pred
	action ast.MergeAction
	set    []setter
	insert *inserter
	values []evalFunc
}

// merge is a compiled MERGE statement.
type merge struct {
	r       *run
	t       *target
	bound   *boundTable
	sc      *scope
	slot    int
	matched []*mergeArm // WHEN MATCHED
	missing []*mergeArm // WHEN NOT MATCHED [BY TARGET]
	extra   []*mergeArm // WHEN NOT MATCHED BY SOURCE
	out     *outputPlan
	changes []storage.Change
	froms   [][][]value.Value
	actions []string
	hit     map[*storage.Row]bool // changed already
	seen    map[*storage.Row]bool // matched by the source
	newID   value.Value
}

// mergeStatement is MERGE.
func (r *run) mergeStatement(x *ast.MergeStatement) error {
	n := int64(0)
	err := r.changeOf(x.MergeSpecification.Target, func() error {
		c, err := r.compiler().with(x.WithCtesAndXmlNamespaces)
		if err != nil {
			return err
		}
		var m *mend
		if r.b != nil {
			m = r.b.mendOf(fragment(x))
		}
		n, err = r.merge(c, x.MergeSpecification, m)
		return err
	})
	if err != nil {
		return err
	}
	return r.done(CmdMerge, n, true)
}

func (r *run) merge(c *compiler, x *ast.MergeSpecification, cut *mend) (int64, error) {
	m := &merge{r: r, sc: &scope{c: c}, hit: map[*storage.Row]bool{}, seen: map[*storage.Row]bool{}}
	src, err := m.sc.tableRef(x.TableReference, false)
	if err != nil {
		return 0, err
	}
	ref := x.Target
	if n, ok := ref.(*ast.NamedTableReference); ok {
		cp := *n
		if x.TableAlias != nil && cp.Alias == nil {
			cp.Alias = x.TableAlias
		}
		if cut != nil {
			cp.TableHints = append(cp.TableHints[:len(cp.TableHints):len(cp.TableHints)], cut.hints...)
		}
		ref = &cp
	}
	to, err := m.sc.tableRef(ref, false)
	if err != nil {
		return 0, err
	}
	m.slot = len(m.sc.tables) - 1
	if m.bound = m.sc.tables[m.slot].source; m.bound == nil {
		return 0, notSupported("MERGE into a view or a common table expression")
	}
	if m.bound.logical {
		return 0, sqlerr.New(286)
	}
	m.bound.track()
	m.bound.access.ForUpdate = true
	m.t = m.bound.target(r)
	if _, err := r.rulesOf(m.t); err != nil {
		return 0, err
	}
	on, err := m.sc.conjuncts(nil, x.SearchCondition)
	if err != nil {
		return 0, err
	}
	for _, a := range x.ActionClauses {
		if err := m.arm(c, a); err != nil {
			return 0, err
		}
	}
	var into *ast.OutputIntoClause
	outClause := x.OutputClause
	if cut != nil && cut.into != nil && outClause != nil {
		into = &ast.OutputIntoClause{SelectColumns: outClause.SelectColumns, IntoTable: cut.into.Target, IntoTableColumns: cut.into.Columns}
		outClause = nil
	}
	m.sc.action = func(*frame) (value.Value, error) { return value.Value{}, nil }
	if m.out, err = r.outputPlan(c, m.t, outClause, into, "both", m.sc); err != nil {
		return 0, err
	}
	plan, err := m.sc.planFrom(&joinNode{kind: leftJoin, left: src, right: to, on: on}, nil, nil)
	if err != nil {
		return 0, err
	}
	if err := m.collect(plan, to); err != nil {
		return 0, err
	}
	if x.TopRowFilter != nil {
		tc, err := c.top(x.TopRowFilter, nil, nil, false)
		if err != nil {
			return 0, err
		}
		lim, err := tc.start(&frame{r: r})
		if err != nil {
			return 0, err
		}
		if n := int(lim.count); lim.has && n < len(m.changes) {
			m.changes, m.froms, m.actions = m.changes[:n], m.froms[:n], m.actions[:n]
		}
	}
	if !m.newID.IsNull() {
		r.noteIdentity(m.newID, m.t.def.Columns[m.t.def.IdentityColumn()].Type)
	}
	return r.finishChanges(m.t, m.changes, "MERGE", m.out, m.froms, m.actions)
}

// arm compiles a WHEN clause.
func (m *merge) arm(c *compiler, x *ast.MergeActionClause) error {
	a := &mergeArm{action: x.Action}
	var err error
	if x.SearchCondition != nil {
		if a.cond, err = m.sc.conjuncts(nil, x.SearchCondition); err != nil {
			return err
		}
	}
	verb := "DELETE"
	switch act := x.Action.(type) {
	case *ast.UpdateMergeAction:
		verb = "UPDATE"
		if a.set, err = m.sc.setters(m.t, nil, act.SetClauses); err != nil {
			return err
		}
	case *ast.InsertMergeAction:
		verb = "INSERT"
		if err := m.insertArm(c, a, act); err != nil {
			return err
		}
	case *ast.DeleteMergeAction:
	default:
		return notSupported("this action of MERGE")
	}
	if err := m.r.permitChange(m.t, verb); err != nil {
		return err
	}
	m.t.events |= eventOf[verb]
	switch x.Condition {
	case "Matched":
		if verb == "INSERT" {
			return sqlerr.New(10711, "INSERT", "WHEN MATCHED")
		}
		m.matched = append(m.matched, a)
	case "NotMatchedBySource":
		if verb == "INSERT" {
			return sqlerr.New(10711, "INSERT", "WHEN NOT MATCHED BY SOURCE")
		}
		m.extra = append(m.extra, a)
	default:
		if verb != "INSERT" {
			return sqlerr.New(10711, verb, "WHEN NOT MATCHED")
		}
		m.missing = append(m.missing, a)
	}
	return nil
}

func (m *merge) insertArm(c *compiler, a *mergeArm, act *ast.InsertMergeAction) error {
	in, err := m.r.newInserter(c, m.t, act.Columns)
	if err != nil {
		return err
	}
	a.insert = in
	src, ok := act.Source.(*ast.ValuesInsertSource)
	if !ok {
		return notSupported("this source of INSERT in MERGE")
	}
	if src.IsDefaultValues {
		in.cols, in.given = nil, make([]bool, len(in.given))
		return nil
	}
	if len(src.RowValues) != 1 {
		return sqlerr.New(102, "VALUES")
	}
	row := src.RowValues[0].ColumnValues
	if len(row) != len(in.cols) {
		return in.wrongCount(len(row), true)
	}
	for i, n := range row {
		if _, ok := n.(*ast.DefaultLiteral); ok {
			at := in.cols[i]
			a.values = append(a.values, func(*frame) (value.Value, error) { return in.deflt(at) })
			continue
		}
		e, err := m.sc.expr(n)
		if err != nil {
			return err
		}
		a.values = append(a.values, c.at(m.t.db).assign(e, m.t.def, m.t.def.Columns[in.cols[i]]))
	}
	return nil
}

// collect decides for every row of source and target what happens to it.
func (m *merge) collect(plan source, to fromNode) error {
	f := m.sc.newFrame(m.r, nil)
	err := plan.each(f, func() error {
		row := m.bound.rowOf(f.rows[m.slot])
		if row == nil {
			return m.act(f, m.missing, nil)
		}
		m.seen[row] = true
		return m.act(f, m.matched, row)
	})
	if err != nil || len(m.extra) == 0 {
		return err
	}
	p := &planner{sc: m.sc}
	scan, err := p.node(to, nil, 0)
	if err != nil {
		return err
	}
	slots, nulls := m.sc.nullRows(^uint64(0) &^ (1 << uint(m.slot)))
	f = m.sc.newFrame(m.r, nil)
	for i, slot := range slots {
		f.rows[slot] = nulls[i]
	}
	return scan.each(f, func() error {
		row := m.bound.rowOf(f.rows[m.slot])
		if m.seen[row] {
			return nil
		}
		return m.act(f, m.extra, row)
	})
}

// act runs the first arm whose condition holds; 8672 if a row is changed twice.
func (m *merge) act(f *frame, arms []*mergeArm, row *storage.Row) error {
	for _, a := range arms {
		ok, err := allHold(a.cond, f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if row != nil {
			if m.hit[row] {
				return sqlerr.New(8672)
			}
			m.hit[row] = true
		}
		return m.do(f, a, row)
	}
	return nil
}

func (m *merge) do(f *frame, a *mergeArm, row *storage.Row) error {
	ch, action := storage.Change{Old: row}, "DELETE"
	switch {
	case a.insert != nil:
		vals := make([]value.Value, len(a.values))
		for i, ev := range a.values {
			v, err := ev(f)
			if err != nil {
				return err
			}
			vals[i] = v
		}
		a.insert.changes = nil
		if err := a.insert.add(vals); err != nil {
			return err
		}
		ch, action = a.insert.changes[0], "INSERT"
		if a.insert.identity >= 0 {
			m.newID = a.insert.last
		}
	case a.set != nil:
		vals, err := applySetters(m.r, m.t, a.set, f, row.Vals)
		if err != nil {
			return err
		}
		ch.New, action = vals, "UPDATE"
	}
	m.changes = append(m.changes, ch)
	m.actions = append(m.actions, action)
	if m.out != nil {
		m.froms = append(m.froms, f.snapshot().rows)
	} else {
		m.froms = append(m.froms, nil)
	}
	return nil
}
