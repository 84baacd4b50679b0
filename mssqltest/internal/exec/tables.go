package exec

import (
	"iter"
	"slices"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// boundTable is a stored table or a table variable as one statement uses it.
type boundTable struct {
	t      *storage.Table
	mem    *memTable
	access storage.Access
	forced int // index hint: position in Indexes, -1 without one
	// rows finds the stored row of values that a scan gave out, for a table that the statement changes. A row's values
	// are immutable and never shared, so the address of the first one names the row.
	rows    map[*value.Value]*storage.Row
	logical bool // INSERTED or DELETED of a trigger
}

// track makes the table remember its rows.
func (b *boundTable) track() { b.rows = map[*value.Value]*storage.Row{} }

func (b *boundTable) note(row *storage.Row) {
	if b.rows != nil {
		b.rows[&row.Vals[0]] = row
	}
}

func (b *boundTable) rowOf(vals []value.Value) *storage.Row {
	if len(vals) == 0 {
		return nil
	}
	return b.rows[&vals[0]]
}

// scan reads the rows of a range of an index.
func (b *boundTable) scan(r *run, index int, rg storage.Range, fn func(*storage.Row) error) error {
	for row, err := range r.stmt.tx.Scan(r.ctx, b.t, index, rg, b.access) {
		if err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}

// columnsOf describes the columns of a stored table.
func columnsOf(def *storage.TableDef) []Column {
	key := map[int]bool{}
	if pk := def.PrimaryKey(); pk != nil {
		for _, c := range pk.Columns {
			key[c.Column] = true
		}
	}
	out := make([]Column, len(def.Columns))
	for i, c := range def.Columns {
		out[i] = Column{
			Name: c.Name, Type: c.Type, Nullable: c.Nullable, Identity: c.Identity != nil, Computed: c.Computed != nil,
			Hidden: c.Hidden, Key: key[i],
			Updatable: c.Computed == nil && c.Identity == nil && c.Type.ID != value.RowVersion && c.GeneratedAlways == 0,
		}
	}
	return out
}

// namedTable compiles a name in FROM: a common table expression, a table, a view, a view of the server, a synonym.
func (sc *scope) namedTable(x *ast.NamedTableReference) (fromNode, error) {
	n := x.SchemaObject
	if n == nil || n.BaseIdentifier == nil {
		return nil, sqlerr.New(102, "")
	}
	if n.SchemaIdentifier == nil {
		if cte := sc.c.ctes.find(n.BaseIdentifier.Value); cte != nil {
			return sc.cteTable(cte, x.Alias)
		}
		if m := sc.logicalTable(n); m != nil {
			return sc.memory(&boundTable{mem: m, forced: -1, logical: true}, n.BaseIdentifier.Value, x.Alias)
		}
	}
	if x.TemporalClause != nil {
		return nil, notSupported("FOR SYSTEM_TIME")
	}
	o, err := sc.c.nameOf(n)
	if err != nil {
		return nil, err
	}
	return sc.objectTable(o, x.Alias, x.TableHints)
}

func (sc *scope) objectTable(o objectName, alias *ast.Identifier, hints []ast.TableHintType) (fromNode, error) {
	r := sc.c.r
	t := &tableSlot{alias: o.name, db: o.db.Name(), schema: o.schema, name: o.name}
	if alias != nil {
		t.alias, t.aliased = alias.Value, true
	}
	switch obj := r.object(o.db, o.schema, o.name).(type) {
	case *storage.Table:
		def, err := r.bind(obj)
		if err != nil {
			return nil, err
		}
		if err := r.permit(o.db, &def.ObjectHeader, "SELECT"); err != nil {
			return nil, err
		}
		b := &boundTable{t: obj, forced: -1}
		if err := b.hint(r, def, hints); err != nil {
			return nil, err
		}
		t.cols, t.source = columnsOf(def), b
		slot, err := sc.add(t)
		return &leafNode{slot: slot, table: b}, err
	case *storage.Module:
		switch m := obj.Parsed.(type) {
		case *view:
			if err := r.permit(o.db, obj.Header(), "SELECT"); err != nil {
				return nil, err
			}
			return sc.viewTable(o.db, t, m)
		case *synonym:
			target, err := sc.c.at(o.db).nameOf(m.target)
			if err != nil {
				return nil, err
			}
			target.text = o.text
			if alias == nil {
				alias = &ast.Identifier{Value: o.name}
			}
			return sc.objectTable(target, alias, hints)
		}
		return nil, sqlerr.New(208, o.text)
	}
	if v := r.systemView(o); v != nil {
		t.cols = collated(v.Columns, o.db)
		slot, err := sc.add(t)
		db := o.db
		return &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
			return pull(v.Rows(f.r.context(db)), yield)
		}}, err
	}
	return nil, sqlerr.New(208, o.text)
}

// systemView finds a view of the server: in any database, or in master alone.
func (r *run) systemView(o objectName) *View {
	reg := r.s.in.Registry
	if v := reg.view(o.schema, o.name); v != nil && (!v.InMaster || o.db.ID == storage.MasterID) {
		return v
	}
	if reg.FindView != nil {
		return reg.FindView(r.context(o.db), o.db, o.schema, o.name)
	}
	return nil
}

// collated gives the text columns of a system view, which have no collation of their own, that of the database.
func collated(cols []Column, db *storage.Database) []Column {
	out := slices.Clone(cols)
	for i := range out {
		if out[i].Type.IsChar() && out[i].Type.Coll == nil {
			out[i].Type.Coll = db.Collation
		}
	}
	return out
}

// pull feeds the rows of an iterator to yield.
func pull(rows iter.Seq2[[]value.Value, error], yield func([]rowValue) error) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

// at is the compiler with another database in sight, for the body of a view or function.
func (c *compiler) at(db *storage.Database) *compiler {
	out := *c
	out.db, out.ctes = db, nil
	out.views++
	return &out
}

// viewTable expands a view: its query runs in the view's database.
func (sc *scope) viewTable(db *storage.Database, t *tableSlot, v *view) (fromNode, error) {
	c := sc.c.at(db)
	if c.views > maxViews {
		return nil, sqlerr.New(217, maxViews)
	}
	q, err := c.selectQuery(v.query, nil, subQuery)
	if err != nil {
		return nil, err
	}
	return sc.queryTable(q, t, v.columns, nil)
}

// queryTable adds the result of a query as a table; outer tells what frame the query's is nested in.
func (sc *scope) queryTable(q *query, t *tableSlot, names []string, outer func(*frame) *frame) (fromNode, error) {
	cols := make([]Column, len(q.cols))
	copy(cols, q.cols)
	if len(names) > 0 {
		if len(names) > len(cols) {
			return nil, sqlerr.New(8158, t.alias)
		}
		if len(names) < len(cols) {
			return nil, sqlerr.New(8159, t.alias)
		}
		for i := range names {
			cols[i].Name = names[i]
		}
	}
	for i := range cols {
		if cols[i].Name == "" {
			return nil, sqlerr.New(8155, i+1, t.alias)
		}
		for j := range i {
			if sc.c.same(cols[i].Name, cols[j].Name) {
				return nil, sqlerr.New(8156, cols[i].Name, t.alias)
			}
		}
		if cols[i].Type.ID == value.Null {
			cols[i].Type = typeInt
		}
	}
	t.cols = cols
	slot, err := sc.add(t)
	if err != nil {
		return nil, err
	}
	leaf := &leafNode{slot: slot}
	if outer == nil {
		leaf.inner = q.level
	}
	leaf.open = func(f *frame, yield func([]rowValue) error) error {
		of := f.outer
		if outer != nil {
			of = outer(f)
		}
		return q.run(f.r, of, yield)
	}
	return leaf, nil
}

// derived compiles a subquery in FROM. Unless it is lateral it does not see its siblings.
func (sc *scope) derived(n ast.QueryExpression, alias *ast.Identifier, columns []*ast.Identifier, lateral bool) (fromNode, error) {
	t := &tableSlot{aliased: true}
	if alias != nil {
		t.alias = alias.Value
	}
	names := identifierNames(columns)
	if !lateral {
		q, err := sc.c.query(n, sc.outer, subQuery)
		if err != nil {
			return nil, err
		}
		return sc.queryTable(q, t, names, nil)
	}
	reads := sc.reads
	sc.reads = 0
	q, err := sc.c.query(n, sc, subQuery)
	needs := sc.reads
	sc.reads = reads
	if err != nil {
		return nil, err
	}
	node, err := sc.queryTable(q, t, names, func(f *frame) *frame { return f })
	if leaf, ok := node.(*leafNode); ok {
		leaf.needs = needs
	}
	return node, err
}

func identifierNames(ids []*ast.Identifier) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.Value
	}
	return out
}

// valuesTable compiles (VALUES (…), (…)) AS t(a, b).
func (sc *scope) valuesTable(x *ast.InlineDerivedTable, lateral bool) (fromNode, error) {
	in := &scope{c: sc.c, outer: sc.outer}
	if lateral {
		in.outer = sc
	}
	reads := sc.reads
	sc.reads = 0
	q, err := in.valuesQuery(x.RowValues)
	needs := sc.reads
	sc.reads = reads
	if err != nil {
		return nil, err
	}
	t := &tableSlot{alias: x.Alias.Value, aliased: true}
	outer := func(f *frame) *frame { return f.outer }
	if lateral {
		outer = func(f *frame) *frame { return f }
	}
	node, err := sc.queryTable(q, t, identifierNames(x.Columns), outer)
	if leaf, ok := node.(*leafNode); ok && lateral {
		leaf.needs = needs
	}
	return node, err
}

// valuesQuery is a table value constructor as a query.
func (sc *scope) valuesQuery(rows []*ast.RowValue) (*query, error) {
	width := len(rows[0].ColumnValues)
	cells := make([][]*expr, width)
	for _, row := range rows {
		if len(row.ColumnValues) != width {
			return nil, sqlerr.New(10709)
		}
		for i, n := range row.ColumnValues {
			e, err := sc.scalar(n)
			if err != nil {
				return nil, err
			}
			cells[i] = append(cells[i], e)
		}
	}
	q := &query{}
	for i := range cells {
		nullable := false
		for _, e := range cells[i] {
			nullable = nullable || e.nullable
		}
		t, err := sc.c.unify(cells[i])
		if err != nil {
			return nil, err
		}
		q.cols = append(q.cols, Column{Type: t, Nullable: nullable})
	}
	q.run = func(r *run, outer *frame, emit func([]rowValue) error) error {
		f := sc.newFrame(r, outer)
		for n := range rows {
			out := make([]rowValue, width)
			for i := range out {
				v, err := cells[i][n].eval(f)
				if err != nil {
					return err
				}
				out[i] = v
			}
			if err := emit(out); err != nil {
				return err
			}
		}
		return nil
	}
	return q, nil
}

// tableVariable compiles @t in FROM.
func (sc *scope) tableVariable(x *ast.VariableTableReference) (fromNode, error) {
	v := sc.c.r.lookup(x.Variable.Name)
	if v == nil || v.table == nil {
		return nil, sqlerr.New(1087, x.Variable.Name)
	}
	return sc.memory(&boundTable{mem: v.table, forced: -1}, x.Variable.Name, x.Alias)
}

// memory adds a table that lives in memory.
func (sc *scope) memory(b *boundTable, name string, alias *ast.Identifier) (fromNode, error) {
	t := &tableSlot{alias: name, cols: columnsOf(b.mem.def), aliased: true, source: b}
	if alias != nil {
		t.alias = alias.Value
	}
	slot, err := sc.add(t)
	return &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
		for _, row := range b.mem.rows {
			b.note(row)
			if err := yield(row.Vals); err != nil {
				return err
			}
		}
		return nil
	}}, err
}
