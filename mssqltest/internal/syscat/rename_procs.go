package syscat

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// renameProcs registers sp_rename and sp_renamedb.
func (r registrar) renameProcs() {
	r.proc("sp_rename", `@objname nvarchar(1035), @newname sysname, @objtype varchar(13) = NULL`, spRename)
	r.proc("sp_renamedb", `@dbname sysname, @newname sysname`, func(c *exec.Context, a sysrow.Args) (int32, error) {
		if err := mayAdministerServer(c); err != nil {
			return 1, err
		}
		if err := c.Instance().Storage.RenameDatabase(a.Str(0), a.Str(1)); err != nil {
			return 1, err
		}
		return 0, nil
	})
}

// spRename renames an object, a column or an index. A column of a tracked table keeps its name (4928); the capture
// instances of a table that is renamed go on under their own names.
func spRename(c *exec.Context, a sysrow.Args) (int32, error) {
	s := sourceOf(c)
	kind := strings.ToUpper(strings.TrimSpace(a.Str(2)))
	if a.Str(1) == "" {
		return 1, sqlerr.Newf(15223, 11, "Error: The input parameter '%s' is not allowed to be null.", "newname")
	}
	var err error
	switch kind {
	case "COLUMN", "INDEX":
		err = s.renamePart(kind, a.Str(0), a.Str(1))
	case "DATABASE":
		err = c.Instance().Storage.RenameDatabase(a.Str(0), a.Str(1))
	case "", "OBJECT":
		err = s.renameObject(a.Str(0), a.Str(1))
	default:
		err = sqlerr.New(15249, a.Str(2))
	}
	if err != nil {
		return 1, err
	}
	return 0, c.Sink.Message(sqlerr.Newf(15477, 0, "Caution: Changing any part of an object name could break scripts and stored procedures."))
}

func (s *source) renameObject(name, to string) error {
	in, o := s.find(name)
	if o == nil {
		return s.renameConstraint(name, to)
	}
	if !in.permitted(storage.ClassObject, o.Header(), 0, "ALTER") {
		return sqlerr.New(15225, name, s.db.Name(), "(null)")
	}
	return s.c.Atomic(func(tx *storage.Tx) error { return tx.RenameObject(s.c.Context(), in.db, o, to) })
}

// part splits schema.table.part and finds the table.
func (s *source) part(kind, name string) (*storage.Table, string, error) {
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) < 2 {
		return nil, "", sqlerr.New(15248, "@objname", "@objtype", kind)
	}
	var o storage.Object
	if len(parts) > 2 {
		o = s.cat.Object(parts[len(parts)-3], parts[len(parts)-2])
	} else if o = s.cat.Object(s.who.schema, parts[0]); o == nil {
		o = s.cat.Object("dbo", parts[0])
	}
	t, ok := o.(*storage.Table)
	if !ok || !s.permitted(storage.ClassObject, o.Header(), 0, "ALTER") {
		return nil, "", sqlerr.New(15248, "@objname", "@objtype", kind)
	}
	return t, parts[len(parts)-1], nil
}

func (s *source) renamePart(kind, name, to string) error {
	t, part, err := s.part(kind, name)
	if err != nil {
		return err
	}
	return s.c.Atomic(func(tx *storage.Tx) error {
		def := t.Def().Clone()
		done := false
		if kind == "COLUMN" {
			for i, col := range def.Columns {
				if s.db.Collation.Compare(col.Name, to, true) == 0 && s.db.Collation.Compare(part, to, true) != 0 {
					return sqlerr.Newf(15335, 11, "Error: The new name '%s' is already in use as a %s name and would cause a duplicate that is not permitted.", to, kind)
				}
				if s.db.Collation.Compare(col.Name, part, true) != 0 {
					continue
				}
				if def.TrackedByCDC {
					return sqlerr.New(4928, col.Name, "REPLICATED")
				}
				renamed := *col
				renamed.Name = to
				def.Columns[i], done = &renamed, true
			}
		} else {
			for i, x := range def.Indexes {
				if s.db.Collation.Compare(x.Name, part, true) == 0 {
					renamed := *x
					renamed.Name = to
					def.Indexes[i], done = &renamed, true
				}
			}
		}
		if !done {
			return sqlerr.New(15248, "@objname", "@objtype", kind)
		}
		return tx.AlterTable(s.c.Context(), t, def, nil)
	})
}

// renameConstraint gives a key, check, default or foreign key of a table another name.
func (s *source) renameConstraint(name, to string) error {
	notFound := sqlerr.New(15225, name, s.db.Name(), "(null)")
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) == 0 {
		return notFound
	}
	base := parts[len(parts)-1]
	for d := range s.eachTable {
		def := d.Clone()
		if !renameIn(def, to, func(n string) bool { return s.db.Collation.Compare(n, base, true) == 0 }) {
			continue
		}
		t, ok := s.cat.ObjectByID(d.ID).(*storage.Table)
		if !ok {
			return notFound
		}
		return s.c.Atomic(func(tx *storage.Tx) error { return tx.AlterTable(s.c.Context(), t, def, nil) })
	}
	return notFound
}

// renameIn renames the constraint of a definition that is meant, and reports whether there was one.
func renameIn(def *storage.TableDef, to string, meant func(string) bool) bool {
	for i, x := range def.Indexes {
		if (x.PrimaryKey || x.UniqueConstraint) && meant(x.Name) {
			renamed := *x
			renamed.Name = to
			def.Indexes[i] = &renamed
			return true
		}
	}
	for i, c := range def.Columns {
		if c.Default != nil && meant(c.Default.Name) {
			renamed, col := *c.Default, *c
			renamed.Name = to
			col.Default = &renamed
			def.Columns[i] = &col
			return true
		}
	}
	for i, c := range def.Checks {
		if meant(c.Name) {
			renamed := *c
			renamed.Name = to
			def.Checks[i] = &renamed
			return true
		}
	}
	for i, f := range def.ForeignKeys {
		if meant(f.Name) {
			renamed := *f
			renamed.Name = to
			def.ForeignKeys[i] = &renamed
			return true
		}
	}
	return false
}
