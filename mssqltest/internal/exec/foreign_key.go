package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// reference is a foreign key seen from the table that it refers to.
type reference struct {
	table *storage.Table
	fk    *storage.ForeignKey
}

// references lists the foreign keys that refer to a table.
func (r *run) references(db *storage.Database, id int32) []reference {
	if !db.HasForeignKeys() {
		return nil
	}
	var out []reference
	for _, o := range db.Objects() {
		t, ok := o.(*storage.Table)
		if !ok {
			continue
		}
		for _, fk := range t.Def().ForeignKeys {
			if fk.RefTable == id {
				out = append(out, reference{t, fk})
			}
		}
	}
	return out
}

// checkForeignKeys checks the changes of one statement, which are already made: new rows must find their parent, and the
// parents that are gone must have no children, or take them with them.
func (r *run) checkForeignKeys(t *target, changes []storage.Change, verb string) error {
	if t.mem != nil || len(changes) == 0 {
		return nil
	}
	for _, fk := range t.def.ForeignKeys {
		if !fk.Disabled {
			if err := r.checkParents(t, fk, changes, verb); err != nil {
				return err
			}
		}
	}
	gone := false
	for _, ch := range changes {
		gone = gone || ch.Old != nil
	}
	if !gone {
		return nil
	}
	for _, ref := range r.references(t.db, t.t.ID()) {
		if !ref.fk.Disabled {
			if err := r.checkChildren(t, ref, changes, verb); err != nil {
				return err
			}
		}
	}
	return nil
}

func pick(row []value.Value, cols []int) ([]value.Value, bool) {
	out := make([]value.Value, len(cols))
	for i, c := range cols {
		if row[c].IsNull() {
			return nil, false
		}
		out[i] = row[c]
	}
	return out, true
}

func sameCols(a, b []value.Value, cols []int, def *storage.TableDef) bool {
	for _, c := range cols {
		if a[c].IsNull() != b[c].IsNull() {
			return false
		}
		if !a[c].IsNull() && value.Compare(a[c], b[c], def.Columns[c].Type) != 0 {
			return false
		}
	}
	return true
}

func (r *run) checkParents(t *target, fk *storage.ForeignKey, changes []storage.Change, verb string) error {
	parent, _ := r.catalog(t.db).ObjectByID(fk.RefTable).(*storage.Table)
	if parent == nil {
		return nil
	}
	pdef := parent.Def()
	for _, ch := range changes {
		if ch.New == nil || ch.Old != nil && sameCols(ch.Old.Vals, ch.New, fk.Columns, t.def) {
			continue
		}
		key, ok := pick(ch.New, fk.Columns)
		if !ok {
			continue
		}
		found := false
		err := r.lookupRows(parent, fk.RefColumns, key, t.def, fk.Columns, func(*storage.Row) error {
			found = true
			return errStop
		})
		if err != nil {
			return err
		}
		if !found {
			kind := "FOREIGN KEY"
			if parent.ID() == t.t.ID() {
				kind = "FOREIGN KEY SAME TABLE"
			}
			return sqlerr.New(547, verb, kind, fk.Name, t.db.Name(), pdef.QualifiedName(), fkColumn(pdef, fk.RefColumns))
		}
	}
	return nil
}

func fkColumn(def *storage.TableDef, cols []int) string {
	if len(cols) != 1 {
		return ""
	}
	return ", column '" + def.Columns[cols[0]].Name + "'"
}

// lookupRows finds the rows whose columns have the values of a key: by an index if one begins with them.
func (r *run) lookupRows(t *storage.Table, cols []int, key []value.Value, from *storage.TableDef, fromCols []int, fn func(*storage.Row) error) error {
	def := t.Def()
	vals := make([]value.Value, len(key))
	for i, v := range key {
		ft, tt := from.Columns[fromCols[i]].Type, def.Columns[cols[i]].Type
		var err error
		if vals[i], err = value.Convert(&r.s.env, v, ft, tt, 0); err != nil {
			return err
		}
	}
	index, rg := -1, storage.Range{}
	for i, x := range def.Indexes {
		if x.Disabled || x.FilterText != "" || len(x.Columns) < len(cols) {
			continue
		}
		var prefix []byte
		for k := range cols {
			at := -1
			for j, c := range cols {
				if x.Columns[k].Column == c {
					at = j
				}
			}
			if at < 0 {
				prefix = nil
				break
			}
			prefix = x.AppendColumnKey(prefix, def, k, vals[at])
		}
		if prefix != nil {
			index, rg = i, storage.Prefix(prefix)
			if x.Clustered {
				index = -1
			}
			break
		}
	}
	b := &boundTable{t: t, access: storage.Access{Hint: storage.ReadCommittedLock, Integrity: true}}
	err := b.scan(r, index, rg, func(row *storage.Row) error {
		for i, c := range cols {
			if row.Vals[c].IsNull() || value.Compare(row.Vals[c], vals[i], def.Columns[c].Type) != 0 {
				return nil
			}
		}
		return fn(row)
	})
	if err == errStop {
		return nil
	}
	return err
}

// checkChildren deals with rows that refer to keys which the changes took away.
func (r *run) checkChildren(t *target, ref reference, changes []storage.Change, verb string) error {
	fk, cdef := ref.fk, ref.table.Def()
	for _, ch := range changes {
		if ch.Old == nil || ch.New != nil && sameCols(ch.Old.Vals, ch.New, fk.RefColumns, t.def) {
			continue
		}
		key, ok := pick(ch.Old.Vals, fk.RefColumns)
		if !ok {
			continue
		}
		still := false
		err := r.lookupRows(t.t, fk.RefColumns, key, t.def, fk.RefColumns, func(*storage.Row) error {
			still = true
			return errStop
		})
		if err != nil || still {
			if err != nil {
				return err
			}
			continue
		}
		var children []*storage.Row
		if err := r.lookupRows(ref.table, fk.Columns, key, t.def, fk.RefColumns, func(row *storage.Row) error {
			children = append(children, row)
			return nil
		}); err != nil {
			return err
		}
		if len(children) == 0 {
			continue
		}
		action := fk.OnDelete
		if ch.New != nil {
			action = fk.OnUpdate
		}
		if err := r.cascade(t, ref, cdef, children, ch, action, verb); err != nil {
			return err
		}
	}
	return nil
}

// cascade does to the children what ON DELETE or ON UPDATE says; without an action it is 547.
func (r *run) cascade(t *target, ref reference, cdef *storage.TableDef, children []*storage.Row, parent storage.Change, action, verb string) error {
	child := &target{t: ref.table, def: cdef, db: t.db, cols: columnsOf(cdef)}
	rs, err := r.rulesOf(child)
	if err != nil {
		return err
	}
	var changes []storage.Change
	childVerb := "UPDATE"
	for _, row := range children {
		// The row is read again with the lock that a change needs.
		vals := append([]value.Value(nil), row.Vals...)
		ch := storage.Change{Old: row, New: vals}
		switch kind := referential(action); {
		case kind == cascadeAction && parent.New == nil:
			ch.New, childVerb = nil, "DELETE"
		case kind == cascadeAction:
			for i, c := range ref.fk.Columns {
				v, err := value.Assign(&r.s.env, parent.New[ref.fk.RefColumns[i]], t.def.Columns[ref.fk.RefColumns[i]].Type, cdef.Columns[c].Type)
				if err != nil {
					return err
				}
				vals[c] = v
			}
		case kind == setNullAction:
			for _, c := range ref.fk.Columns {
				vals[c] = value.Value{}
			}
		case kind == setDefaultAction:
			for _, c := range ref.fk.Columns {
				vals[c] = value.Value{}
				if ev := rs.defaults[c]; ev != nil {
					if vals[c], err = ev(rs.f); err != nil {
						return err
					}
				}
			}
		default:
			kind := "REFERENCE"
			if ref.table.ID() == t.t.ID() {
				kind = "SAME TABLE REFERENCE"
			}
			return sqlerr.New(547, verb, kind, ref.fk.Name, t.db.Name(), cdef.QualifiedName(), fkColumn(cdef, ref.fk.Columns))
		}
		if ch.New != nil {
			if err := rs.finish(child, ch.New, "UPDATE"); err != nil {
				return err
			}
		}
		changes = append(changes, ch)
	}
	if err := r.lockForChange(ref.table, changes); err != nil {
		return err
	}
	if err := child.apply(r, changes); err != nil {
		return err
	}
	if childVerb == "UPDATE" {
		for _, c := range ref.fk.Columns {
			child.noteSet(c)
		}
	}
	r.stmt.cascaded = append(r.stmt.cascaded, &firing{t: child, event: eventOf[childVerb], changes: changes})
	return r.checkForeignKeys(child, changes, childVerb)
}

// lockForChange takes update locks on rows that were found by a plain read, by reading the table's range again.
func (r *run) lockForChange(t *storage.Table, changes []storage.Change) error {
	want := map[*storage.Row]bool{}
	for _, ch := range changes {
		want[ch.Old] = true
	}
	def := t.Def()
	b := &boundTable{t: t, access: storage.Access{ForUpdate: true}}
	for _, ch := range changes {
		rg := storage.Range{}
		if x := def.Clustered(); x != nil {
			var key []byte
			for i, c := range x.Columns {
				key = x.AppendColumnKey(key, def, i, ch.Old.Vals[c.Column])
			}
			rg = storage.Prefix(key)
		}
		err := b.scan(r, -1, rg, func(row *storage.Row) error {
			delete(want, row)
			if len(want) == 0 {
				return errStop
			}
			return nil
		})
		if err == errStop || len(want) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
