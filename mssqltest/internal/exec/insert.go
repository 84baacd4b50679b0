package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// inserter turns source rows into rows of a table.
type inserter struct {
	r        *run
	t        *target
	rules    *rules
	cols     []int  // target column of each source column
	given    []bool // target columns with a source
	identity int    // ordinal of the identity column, -1 without one
	identIns bool   // IDENTITY_INSERT is on for the table
	out      *outputPlan
	changes  []storage.Change
	last     value.Value // last identity value
}

// insertStatement is INSERT.
func (r *run) insertStatement(x *ast.InsertStatement) error {
	n := int64(0)
	run := func() error {
		c, err := r.compiler().with(x.WithCtesAndXmlNamespaces)
		if err != nil {
			return err
		}
		n, err = r.insert(c, x.InsertSpecification)
		return err
	}
	var err error
	if _, mem := x.InsertSpecification.Target.(*ast.VariableTableReference); mem {
		err = r.atomic(run)
	} else {
		err = r.change(run)
	}
	if err != nil {
		return err
	}
	return r.done(CmdInsert, n, true)
}

func (r *run) insert(c *compiler, x *ast.InsertSpecification) (int64, error) {
	t, err := r.target(x.Target)
	if err != nil {
		return 0, err
	}
	if err := r.permitChange(t, "INSERT"); err != nil {
		return 0, err
	}
	in, err := r.newInserter(c, t, x.Columns)
	if err != nil {
		return 0, err
	}
	if in.out, err = r.outputPlan(c, t, x.OutputClause, x.OutputIntoClause, "inserted", nil); err != nil {
		return 0, err
	}
	switch src := x.InsertSource.(type) {
	case *ast.ValuesInsertSource:
		err = in.values(c, src)
	case *ast.SelectInsertSource:
		err = in.query(c, src.Select, x.TopRowFilter)
	case *ast.ExecuteInsertSource:
		err = in.exec(src.Execute)
	default:
		err = notSupported("this source of INSERT")
	}
	if err != nil {
		return 0, err
	}
	return in.finish()
}

// newInserter checks the column list.
func (r *run) newInserter(c *compiler, t *target, list []*ast.ColumnReferenceExpression) (*inserter, error) {
	in := &inserter{r: r, t: t, given: make([]bool, len(t.def.Columns)), identity: t.def.IdentityColumn()}
	in.identIns = t.t != nil && r.s.identIns[t.t.ID()]
	var err error
	if in.rules, err = r.rulesOf(t); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		for i, col := range t.def.Columns {
			if col.Computed != nil || col.Type.ID == value.RowVersion || col.Hidden || col.GeneratedAlways != 0 {
				continue
			}
			if i == in.identity {
				continue
			}
			in.cols = append(in.cols, i)
		}
	}
	for _, ref := range list {
		if ref.MultiPartIdentifier == nil {
			return nil, sqlerr.New(102, "")
		}
		ids := ref.MultiPartIdentifier.Identifiers
		i, err := t.column(ids[len(ids)-1].Value)
		if err != nil {
			return nil, err
		}
		in.cols = append(in.cols, i)
	}
	for _, i := range in.cols {
		col := t.def.Columns[i]
		switch {
		case in.given[i]:
			return nil, sqlerr.New(264, col.Name)
		case col.Computed != nil:
			return nil, sqlerr.New(271, col.Name)
		case col.Type.ID == value.RowVersion:
			return nil, sqlerr.New(273)
		case col.GeneratedAlways != 0:
			return nil, sqlerr.New(13536, t.db.Name()+"."+t.name())
		case i == in.identity && !in.identIns:
			return nil, sqlerr.New(544, t.def.Name)
		}
		in.given[i] = true
	}
	if in.identIns && in.identity >= 0 && !in.given[in.identity] {
		if len(list) == 0 {
			return nil, sqlerr.New(8101, t.name())
		}
		return nil, sqlerr.New(545, t.name())
	}
	return in, nil
}

// values inserts VALUES (…), (…) or DEFAULT VALUES.
func (in *inserter) values(c *compiler, x *ast.ValuesInsertSource) error {
	if x.IsDefaultValues {
		in.given = make([]bool, len(in.given))
		in.cols = nil
		return in.add(nil)
	}
	sc := &scope{c: c}
	f := sc.newFrame(in.r, nil)
	row := make([]value.Value, len(in.cols))
	for _, rv := range x.RowValues {
		if len(rv.ColumnValues) != len(in.cols) {
			return in.wrongCount(len(rv.ColumnValues), true)
		}
		for i, n := range rv.ColumnValues {
			col := in.t.def.Columns[in.cols[i]]
			if _, ok := n.(*ast.DefaultLiteral); ok {
				v, err := in.deflt(in.cols[i])
				if err != nil {
					return err
				}
				row[i] = v
				continue
			}
			e, err := sc.expr(n)
			if err != nil {
				return err
			}
			if row[i], err = c.assign(e, in.t.def, col)(f); err != nil {
				return err
			}
		}
		if err := in.add(row); err != nil {
			return err
		}
	}
	return nil
}

func (in *inserter) wrongCount(n int, values bool) error {
	if n > len(in.cols) {
		if values {
			return sqlerr.New(110)
		}
		return sqlerr.New(121)
	}
	if values {
		return sqlerr.New(109)
	}
	return sqlerr.New(120)
}

// query inserts the rows of a SELECT; its rows are all read before the first is written.
func (in *inserter) query(c *compiler, n ast.QueryExpression, top *ast.TopRowFilter) error {
	q, err := c.query(n, nil, insertQuery)
	if err != nil {
		return err
	}
	if len(q.cols) != len(in.cols) {
		return in.wrongCount(len(q.cols), false)
	}
	lim := limit{}
	if top != nil {
		tc, err := c.top(top, nil, nil, false)
		if err != nil {
			return err
		}
		if lim, err = tc.start(&frame{r: in.r}); err != nil || lim.none {
			return err
		}
	}
	var cell value.Value
	conv := make([]evalFunc, len(q.cols))
	for i, col := range q.cols {
		e := &expr{typ: col.Type, eval: func(*frame) (value.Value, error) { return cell, nil }}
		conv[i] = c.assign(e, in.t.def, in.t.def.Columns[in.cols[i]])
	}
	out := make([]value.Value, len(q.cols))
	count := int64(0)
	err = q.run(in.r, nil, func(row []rowValue) error {
		for i, v := range row {
			cell = v
			var err error
			if out[i], err = conv[i](nil); err != nil {
				return err
			}
		}
		if err := in.add(out); err != nil {
			return err
		}
		if count++; lim.has && count >= lim.count {
			return errStop
		}
		if count%1024 == 0 {
			return in.r.ctx.Err()
		}
		return nil
	})
	if err == errStop {
		return nil
	}
	return err
}

// exec inserts the result sets of a procedure or a text.
func (in *inserter) exec(x *ast.ExecuteSpecification) error {
	if in.r.inInsertExec() {
		return sqlerr.New(8164)
	}
	env := in.r.s.env
	sink := &capture{to: in.r.sink}
	sink.row = func(cols []Column, row []value.Value) error {
		if len(cols) != len(in.cols) {
			return sqlerr.New(213)
		}
		vals := make([]value.Value, len(row))
		for i, v := range row {
			if v.IsNull() {
				continue
			}
			col := in.t.def.Columns[in.cols[i]]
			env.Table, env.Column = in.t.db.Name()+"."+in.t.name(), col.Name
			var err error
			if vals[i], err = value.Assign(&env, v, cols[i].Type, col.Type); err != nil {
				return err
			}
		}
		return in.add(vals)
	}
	in.r.insertExec = true
	err := in.r.execute(x, sink)
	in.r.insertExec = false
	return err
}

func (r *run) inInsertExec() bool {
	for ; r != nil; r = r.parent {
		if r.insertExec {
			return true
		}
	}
	return false
}

// deflt is the default of a column, NULL without one.
func (in *inserter) deflt(i int) (value.Value, error) {
	if ev := in.rules.defaults[i]; ev != nil {
		return ev(in.rules.f)
	}
	return value.Value{}, nil
}

// add makes one row from the values of the source columns.
func (in *inserter) add(src []value.Value) error {
	row := make([]value.Value, len(in.t.def.Columns))
	for i, c := range in.cols {
		row[c] = src[i]
	}
	return in.fill(row, in.given)
}

// fill gives the columns without a source their values: identity, row version, default; the row is then checked.
func (in *inserter) fill(row []value.Value, given []bool) error {
	for i, col := range in.t.def.Columns {
		if given[i] {
			continue
		}
		var err error
		switch {
		case i == in.identity:
			if row[i], err = in.t.nextIdentity(col); err != nil {
				return err
			}
		case col.Type.ID == value.RowVersion:
			row[i] = in.t.rowVersion()
		case col.GeneratedAlways != 0:
			if row[i], err = in.r.periodValue(col); err != nil {
				return err
			}
		case col.Computed != nil:
		default:
			if row[i], err = in.deflt(i); err != nil {
				return err
			}
		}
	}
	if in.identity >= 0 {
		in.last = row[in.identity]
	}
	if err := in.rules.finish(in.t, row, "INSERT"); err != nil {
		return err
	}
	in.changes = append(in.changes, storage.Change{New: row})
	return nil
}

// noteIdentities tells the counter of explicit identity values.
func (in *inserter) noteIdentities() error {
	for _, ch := range in.changes {
		v, err := value.Convert(nil, ch.New[in.identity], in.t.def.Columns[in.identity].Type, typeBigInt, 0)
		if err != nil {
			return err
		}
		in.t.t.NoteIdentity(v.Int())
	}
	return nil
}

// periodValue is what GENERATED ALWAYS AS ROW START and ROW END put into a row: the time in UTC, and the end of time.
func (r *run) periodValue(col *storage.Column) (value.Value, error) {
	text := "9999-12-31 23:59:59.9999999"
	if col.GeneratedAlways == 1 {
		text = r.s.env.Time().UTC().Format("2006-01-02 15:04:05.0000000")
	}
	v, err := value.Convert(&r.s.env, value.NewVarChar(text), varcharType(len(text), r.s.db.Collation), value.Type{ID: value.DateTime2, Scale: 7}, 0)
	if err != nil || col.GeneratedAlways == 2 {
		return value.NewDateTime2(v.Days(), cutTicks(v.Ticks(), col.Type.Scale)), err
	}
	return value.Convert(&r.s.env, v, value.Type{ID: value.DateTime2, Scale: 7}, col.Type, 0)
}

// cutTicks drops the digits that a scale has no room for.
func cutTicks(ticks int64, scale uint8) int64 {
	unit := int64(1)
	for ; scale < 7; scale++ {
		unit *= 10
	}
	return ticks - ticks%unit
}

// finish writes the rows with all that follows from them.
func (in *inserter) finish() (int64, error) {
	return int64(len(in.changes)), in.r.changing(in.t, onInsert, in.changes, "INSERT", in.inserted)
}

// inserted notes the identity values of rows that are in the table, and gives the OUTPUT rows.
func (in *inserter) inserted() error {
	if in.identity >= 0 && len(in.changes) > 0 {
		if in.identIns && in.t.t != nil {
			if err := in.noteIdentities(); err != nil {
				return err
			}
		}
		in.r.noteIdentity(in.last, in.t.def.Columns[in.identity].Type)
	} else {
		in.r.scopeIdentity, in.r.s.lastIdentity = value.Value{}, value.Value{}
	}
	if in.out == nil {
		return nil
	}
	for _, ch := range in.changes {
		if err := in.out.row(in.r, ch.New, nil, nil, "INSERT"); err != nil {
			return err
		}
	}
	return in.out.finish(in.r)
}
