package exec

import (
	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// foreignKeys resolves the tables that foreign keys refer to.
func (b *tableBuilder) foreignKeys() error {
	for _, x := range b.fks {
		fk := &storage.ForeignKey{ID: b.o.db.NextObjectID(), Name: b.named(x.ConstraintIdentifier, "FK", ""), OnDelete: x.DeleteAction, OnUpdate: x.UpdateAction}
		names := identifierNames(x.Columns)
		if len(names) == 0 {
			names = []string{b.fkCols[x]}
		}
		for _, n := range names {
			i, err := b.find(n)
			if err != nil {
				return sqlerr.New(1769, fk.Name, n, b.o.name)
			}
			fk.Columns = append(fk.Columns, i)
		}
		if err := b.refer(fk, x); err != nil {
			return err
		}
		if err := b.actions(fk); err != nil {
			return err
		}
		b.def.ForeignKeys = append(b.def.ForeignKeys, fk)
	}
	return nil
}

// refer finds the referenced key: the named columns must be a primary key or unique (1776).
func (b *tableBuilder) refer(fk *storage.ForeignKey, x *ast.ForeignKeyConstraintDefinition) error {
	o, err := b.c.nameOf(x.ReferenceTableName)
	if err != nil {
		return err
	}
	if o.db != b.o.db {
		return sqlerr.New(1763, o.text)
	}
	rdef := b.def
	if !sameIdent(o.db, o.name, b.o.name) || !sameIdent(o.db, o.schema, b.o.schema) {
		t, ok := b.c.r.object(o.db, o.schema, o.name).(*storage.Table)
		if !ok {
			return sqlerr.New(1767, fk.Name, o.text)
		}
		rdef = t.Def()
		fk.RefTable = t.ID()
	} else if fk.RefTable = b.def.ID; fk.RefTable == 0 {
		b.def.ID = b.o.db.NextObjectID()
		fk.RefTable = b.def.ID
	}
	names := identifierNames(x.ReferencedColumns)
	if len(names) == 0 {
		pk := rdef.PrimaryKey()
		if pk == nil {
			return sqlerr.New(1773, fk.Name, o.text)
		}
		for _, c := range pk.Columns {
			fk.RefColumns = append(fk.RefColumns, c.Column)
		}
	}
	for _, n := range names {
		at := -1
		for i, c := range rdef.Columns {
			if sameIdent(b.o.db, c.Name, n) {
				at = i
			}
		}
		if at < 0 {
			return sqlerr.New(1770, fk.Name, n, o.text)
		}
		fk.RefColumns = append(fk.RefColumns, at)
	}
	if len(fk.RefColumns) != len(fk.Columns) {
		return sqlerr.New(8139, o.text)
	}
	for i := range fk.Columns {
		a, z := b.def.Columns[fk.Columns[i]], rdef.Columns[fk.RefColumns[i]]
		if a.Type.ID != z.Type.ID && !(isExact(a.Type) && isExact(z.Type) && a.Type.Scale == z.Type.Scale && (a.Type.ID == value.Decimal || a.Type.ID == value.Numeric)) {
			return sqlerr.New(1778, rdef.Name, z.Name, b.def.Name, a.Name, fk.Name)
		}
	}
	for _, k := range rdef.Indexes {
		if k.Unique && sameSet(k.Columns, fk.RefColumns) {
			return nil
		}
	}
	return sqlerr.New(1776, o.text, fk.Name)
}

func sameSet(a []storage.IndexColumn, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for _, c := range a {
		hit := false
		for _, n := range b {
			hit = hit || n == c.Column
		}
		if !hit {
			return false
		}
	}
	return true
}
