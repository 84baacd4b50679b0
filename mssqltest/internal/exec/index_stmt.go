package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// createIndex is CREATE INDEX; DROP_EXISTING replaces an index of the same name.
func (r *run) createIndex(x *ast.CreateIndexStatement) error {
	t, o, err := r.tableToAlter(x.OnName)
	if err != nil {
		if e := r.asSQL(err); e != nil && e.Number == 4902 {
			return sqlerr.New(1088, o.text)
		}
		return err
	}
	b := &tableBuilder{c: r.compiler().at(o.db), o: o, def: t.Def().Clone()}
	d := &storage.IndexDef{Name: x.Name.Value, Unique: x.Unique, Clustered: x.Clustered != nil && *x.Clustered}
	for _, opt := range x.IndexOptions {
		if s, ok := opt.(*ast.IndexStateOption); ok && s.OptionKind == "DropExisting" && s.OptionState == "On" {
			for i, have := range b.def.Indexes {
				if sameIdent(o.db, have.Name, d.Name) {
					b.def.Indexes = append(b.def.Indexes[:i:i], b.def.Indexes[i+1:]...)
					break
				}
			}
		}
	}
	if err := b.keyColumns(d, x.Columns); err != nil {
		return err
	}
	if err := b.finishIndex(d, x.IncludeColumns, x.FilterPredicate); err != nil {
		return err
	}
	b.order()
	return r.stmt.tx.AlterTable(r.ctx, t, b.def, nil)
}

func (r *run) dropIndexes(x *ast.DropIndexStatement) error {
	for _, cl := range x.DropIndexClauses {
		table, name := cl.Object, ""
		if cl.LegacyIndex != nil {
			ids := cl.LegacyIndex.Identifiers
			if len(ids) < 2 {
				return sqlerr.New(159)
			}
			name = ids[len(ids)-1].Value
			n := &ast.SchemaObjectName{BaseIdentifier: ids[len(ids)-2]}
			if len(ids) > 2 {
				n.SchemaIdentifier = ids[len(ids)-3]
			}
			table = n
		} else {
			name = cl.Index.Value
		}
		t, o, err := r.tableToAlter(table)
		if err != nil {
			if e := r.asSQL(err); e != nil && e.Number == 4902 {
				if x.IsIfExists {
					continue
				}
				return sqlerr.New(1088, o.text)
			}
			return err
		}
		var hit *storage.IndexDef
		for _, d := range t.Def().Indexes {
			if sameIdent(o.db, d.Name, name) {
				hit = d
			}
		}
		switch {
		case hit == nil && x.IsIfExists:
			continue
		case hit == nil:
			return sqlerr.New(3701, "drop", "index", o.text+"."+name)
		case hit.PrimaryKey || hit.UniqueConstraint:
			return sqlerr.New(3723, o.text+"."+name, map[bool]string{true: "PRIMARY KEY", false: "UNIQUE KEY"}[hit.PrimaryKey])
		}
		if err := r.stmt.tx.DropIndex(r.ctx, t, hit.ID); err != nil {
			return err
		}
	}
	return nil
}

// alterIndex is ALTER INDEX … REBUILD, REORGANIZE, SET and DISABLE.
func (r *run) alterIndex(x *ast.AlterIndexStatement) error {
	t, o, err := r.tableToAlter(x.OnName)
	if err != nil {
		return err
	}
	def := t.Def().Clone()
	hit, changed := x.All, false
	for i, d := range def.Indexes {
		if !x.All && !sameIdent(o.db, d.Name, x.Name.Value) {
			continue
		}
		hit = true
		disable := strings.EqualFold(x.AlterIndexType, "Disable")
		if disable && d.Clustered {
			return notSupported("disabling a clustered index")
		}
		if (disable || strings.EqualFold(x.AlterIndexType, "Rebuild")) && d.Disabled != disable {
			cp := *d
			cp.Disabled = disable
			def.Indexes[i], changed = &cp, true
		}
	}
	if !hit {
		return sqlerr.New(2727, x.Name.Value)
	}
	if !changed {
		return nil
	}
	return r.alter(t, o, def, nil)
}
