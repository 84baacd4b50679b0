package syscat

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// source is where the rows of views and procedures come from: one database as a statement sees it.
type source struct {
	c    *exec.Context
	db   *storage.Database
	cat  storage.Catalog
	root *storage.Root // on a replica
	who  *viewer
}

// sourceOf makes the source of a statement: the database itself on the primary, its root on a replica.
func sourceOf(c *exec.Context) *source { return sourceIn(c, c.DB) }

func sourceIn(c *exec.Context, db *storage.Database) *source {
	s := &source{c: c, db: db, cat: db}
	if r := c.Session.Replica(); r != nil {
		if root := r.Root(db); root != nil {
			s.cat, s.root = root, root
		}
	}
	s.who = viewerOf(c, db)
	return s
}

// rowCount is the number of rows of a table.
func (s *source) rowCount(id int32) int64 {
	o := s.cat.ObjectByID(id)
	t, ok := o.(*storage.Table)
	switch {
	case !ok:
		return 0
	case s.root != nil:
		return s.root.RowCount(t)
	}
	return t.RowCount()
}

// lastIdentity is the last value that a table's identity column was given, nil if there was none.
func (s *source) lastIdentity(id int32) any {
	t, ok := s.cat.ObjectByID(id).(*storage.Table)
	if !ok {
		return nil
	}
	if last, used := t.IdentityCurrent(); used {
		return last
	}
	return nil
}

// find resolves a name of one to three parts to an object of this database, or of the one that the name says; nil if there
// is none. Without a schema it is the user's default schema or else dbo.
func (s *source) find(name string) (*source, storage.Object) {
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) == 0 || len(parts) > 3 {
		return s, nil
	}
	in := s
	if len(parts) == 3 && parts[0] != "" {
		db := s.c.Instance().Storage.Database(parts[0])
		if db == nil {
			return s, nil
		}
		in = sourceIn(s.c, db)
	}
	base := parts[len(parts)-1]
	if len(parts) > 1 && parts[len(parts)-2] != "" {
		return in, in.cat.Object(parts[len(parts)-2], base)
	}
	if o := in.cat.Object(in.who.schema, base); o != nil {
		return in, o
	}
	return in, in.cat.Object("dbo", base)
}

// tableNamed finds the definition of a table by its name, nil if there is none or the session may not see it.
func (s *source) tableNamed(name string) *storage.TableDef {
	in, o := s.find(name)
	if t, ok := o.(*storage.Table); ok && in.visible(o) {
		return t.Def()
	}
	return nil
}

// moduleColumns are the columns of a view.
func (s *source) moduleColumns(o storage.Object) []*storage.Column {
	m, ok := o.(*storage.Module)
	if !ok || m.Type != "V" {
		return nil
	}
	cols, err := describe(s.c, "SELECT * FROM "+quoteName(m.Schema)+"."+quoteName(m.Name), nil)
	if err != nil {
		return nil
	}
	out := make([]*storage.Column, len(cols))
	for i, c := range cols {
		out[i] = viewColumn(i, c)
	}
	return out
}

// systemView finds a registered view by schema and name with its object id.
func (s *source) systemView(schema, name string) (*exec.View, int32) {
	for i, v := range s.c.Instance().Registry.Views() {
		if strings.EqualFold(v.Name, name) && strings.EqualFold(v.Schema, schema) {
			return v, systemViewID(i)
		}
	}
	return nil, 0
}
