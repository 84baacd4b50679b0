package exec

import (
	"slices"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// alterDrop is ALTER TABLE … DROP COLUMN and DROP CONSTRAINT.
func (r *run) alterDrop(x *ast.AlterTableDropTableElementStatement) error {
	t, o, err := r.tableToAlter(x.SchemaObjectName)
	if err != nil {
		return err
	}
	def := t.Def().Clone()
	var gone []int
	for _, el := range x.AlterTableDropTableElements {
		name := el.Name.Value
		if el.TableElementType == "Column" {
			i := slices.IndexFunc(def.Columns, func(c *storage.Column) bool { return sameIdent(o.db, c.Name, name) })
			if i < 0 {
				if el.IsIfExists {
					continue
				}
				return sqlerr.New(4924, "ALTER TABLE DROP COLUMN", name, o.name)
			}
			if err := droppable(def, i); err != nil {
				return err
			}
			gone = append(gone, i)
			continue
		}
		ok, err := r.dropConstraint(o, def, name)
		if err != nil {
			return err
		}
		if !ok && !el.IsIfExists {
			return sqlerr.New(3728, name)
		}
	}
	if len(gone) == 0 {
		return r.alter(t, o, def, nil)
	}
	if len(gone) == len(def.Columns) {
		return sqlerr.New(4923, def.Columns[gone[0]].Name, o.name)
	}
	slices.Sort(gone)
	if err := r.shiftReferences(t, o, gone); err != nil {
		return err
	}
	return r.alter(t, o, without(def, gone), func(old []value.Value) ([]value.Value, error) {
		row := make([]value.Value, 0, len(old)-len(gone))
		for i, v := range old {
			if !slices.Contains(gone, i) {
				row = append(row, v)
			}
		}
		return row, nil
	})
}

// shifted is the ordinal of a column when those before it that are gone no longer count.
func shifted(i int, gone []int) int {
	n := 0
	for _, g := range gone {
		if g < i {
			n++
		}
	}
	return i - n
}

// shiftReferences moves the ordinals by which foreign keys of other tables refer to a table that loses columns.
func (r *run) shiftReferences(t *storage.Table, o objectName, gone []int) error {
	done := map[int32]bool{t.ID(): true}
	for _, ref := range r.references(o.db, t.ID()) {
		if done[ref.table.ID()] {
			continue
		}
		done[ref.table.ID()] = true
		def := ref.table.Def().Clone()
		for k, fk := range def.ForeignKeys {
			if fk.RefTable != t.ID() {
				continue
			}
			cp := *fk
			cp.RefColumns = slices.Clone(fk.RefColumns)
			for i := range cp.RefColumns {
				cp.RefColumns[i] = shifted(cp.RefColumns[i], gone)
			}
			def.ForeignKeys[k] = &cp
		}
		if err := r.stmt.tx.AlterTable(r.ctx, ref.table, def, nil); err != nil {
			return err
		}
	}
	return nil
}

// without takes columns out of a definition and moves the ordinals of all others.
func without(def *storage.TableDef, gone []int) *storage.TableDef {
	shift := func(i int) int { return shifted(i, gone) }
	out := def.Clone()
	out.Columns = nil
	for i, c := range def.Columns {
		if !slices.Contains(gone, i) {
			out.Columns = append(out.Columns, c)
		}
	}
	for k, x := range def.Indexes {
		cp := *x
		cp.Columns = slices.Clone(x.Columns)
		for i := range cp.Columns {
			cp.Columns[i].Column = shift(cp.Columns[i].Column)
		}
		cp.Include = slices.Clone(x.Include)
		for i := range cp.Include {
			cp.Include[i] = shift(cp.Include[i])
		}
		out.Indexes[k] = &cp
	}
	for k, fk := range def.ForeignKeys {
		cp := *fk
		cp.Columns = slices.Clone(fk.Columns)
		for i := range cp.Columns {
			cp.Columns[i] = shift(cp.Columns[i])
		}
		if fk.RefTable == def.ID {
			cp.RefColumns = slices.Clone(fk.RefColumns)
			for i := range cp.RefColumns {
				cp.RefColumns[i] = shift(cp.RefColumns[i])
			}
		}
		out.ForeignKeys[k] = &cp
	}
	return out
}

// droppable is 5074 with 4922 when something needs the column.
func droppable(def *storage.TableDef, at int) error {
	name := def.Columns[at].Name
	const what = "ALTER TABLE DROP COLUMN"
	for _, x := range def.Indexes {
		hit := slices.Contains(x.Include, at)
		for _, c := range x.Columns {
			hit = hit || c.Column == at
		}
		if hit {
			kind := "index"
			if x.PrimaryKey || x.UniqueConstraint {
				kind = "object"
			}
			return dependent5074(kind, x.Name, what, name)
		}
	}
	for _, fk := range def.ForeignKeys {
		if slices.Contains(fk.Columns, at) {
			return dependent5074("object", fk.Name, what, name)
		}
	}
	for _, k := range def.Checks {
		if mentions(k.Expr, name) {
			return dependent5074("object", k.Name, what, name)
		}
	}
	if d := def.Columns[at].Default; d != nil {
		return dependent5074("object", d.Name, what, name)
	}
	for _, c := range def.Columns {
		if c.Computed != nil && mentions(c.Computed.Expr, name) {
			return dependent5074("column", c.Name, what, name)
		}
	}
	return nil
}

// dropConstraint takes a constraint out of a definition; a key that a foreign key refers to stays (3725).
func (r *run) dropConstraint(o objectName, def *storage.TableDef, name string) (bool, error) {
	for i, c := range def.Columns {
		if c.Default != nil && sameIdent(o.db, c.Default.Name, name) {
			cp := *c
			cp.Default = nil
			def.Columns[i] = &cp
			return true, nil
		}
	}
	if i := slices.IndexFunc(def.Checks, func(k *storage.Check) bool { return sameIdent(o.db, k.Name, name) }); i >= 0 {
		def.Checks = slices.Delete(def.Checks, i, i+1)
		return true, nil
	}
	if i := slices.IndexFunc(def.ForeignKeys, func(k *storage.ForeignKey) bool { return sameIdent(o.db, k.Name, name) }); i >= 0 {
		def.ForeignKeys = slices.Delete(def.ForeignKeys, i, i+1)
		return true, nil
	}
	i := slices.IndexFunc(def.Indexes, func(x *storage.IndexDef) bool {
		return (x.PrimaryKey || x.UniqueConstraint) && sameIdent(o.db, x.Name, name)
	})
	if i < 0 {
		return false, nil
	}
	for _, ref := range r.references(o.db, def.ID) {
		if sameSet(def.Indexes[i].Columns, ref.fk.RefColumns) {
			return false, sqlerr.New(3725, name, ref.table.Def().Name, ref.fk.Name)
		}
	}
	def.Indexes = slices.Delete(def.Indexes, i, i+1)
	return true, nil
}

// alterConstraint is ALTER TABLE … [WITH CHECK] CHECK CONSTRAINT and NOCHECK CONSTRAINT.
func (r *run) alterConstraint(x *ast.AlterTableConstraintModificationStatement) error {
	t, o, err := r.tableToAlter(x.SchemaObjectName)
	if err != nil {
		return err
	}
	off := x.ConstraintEnforcement == "NoCheck"
	trusted := x.ExistingRowsCheckEnforcement == "Check"
	def := t.Def().Clone()
	named := func(n string) bool {
		return x.All || slices.ContainsFunc(x.ConstraintNames, func(id *ast.Identifier) bool { return sameIdent(o.db, id.Value, n) })
	}
	hits := 0
	var checks []*storage.Check
	var fks []*storage.ForeignKey
	for i, k := range def.Checks {
		if named(k.Name) {
			cp := *k
			cp.Disabled, cp.Untrusted, cp.Loaded = off, off || !trusted && k.NotTrusted(), nil
			def.Checks[i] = &cp
			checks = append(checks, &cp)
			hits++
		}
	}
	for i, k := range def.ForeignKeys {
		if named(k.Name) {
			cp := *k
			cp.Disabled, cp.Untrusted, cp.Loaded = off, off || !trusted && k.NotTrusted(), nil
			def.ForeignKeys[i] = &cp
			fks = append(fks, &cp)
			hits++
		}
	}
	if !x.All && hits < len(x.ConstraintNames) {
		return sqlerr.New(4917, x.ConstraintNames[0].Value)
	}
	if err := r.alter(t, o, def, nil); err != nil {
		return err
	}
	if off || !trusted {
		return nil
	}
	only := t.Def().Clone()
	only.Checks, only.ForeignKeys = checks, fks
	return r.checkRows(t, o, only)
}
