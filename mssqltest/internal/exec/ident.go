package exec

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// sameIdent compares two names of a database's objects (columns, constraints, indexes, aliases): by its collation, in which
// case may count.
func sameIdent(db *storage.Database, a, b string) bool {
	return a == b || db.Collation.CaseInsensitive && strings.EqualFold(a, b)
}

// foldIdent is the form of a name by which equal names are equal.
func foldIdent(db *storage.Database, name string) string {
	if db.Collation.CaseInsensitive {
		return strings.ToLower(name)
	}
	return name
}

func (c *compiler) same(a, b string) bool   { return sameIdent(c.db, a, b) }
func (c *compiler) fold(name string) string { return foldIdent(c.db, name) }
