package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// defaultSchema is where names without a schema are looked up and created.
const defaultSchema = "dbo"

// database finds a database by the name in a statement; "" is the one in whose context the statement is compiled.
func (c *compiler) database(name string) (*storage.Database, error) {
	if name == "" {
		return c.db, nil
	}
	return c.r.database(name)
}

// database finds a database by name: 911 if there is none, 942 if it is offline, 916 if the login may not use it.
func (r *run) database(name string) (*storage.Database, error) {
	if name == "" {
		return r.s.db, nil
	}
	db := r.s.in.Storage.Database(name)
	switch {
	case db == nil:
		return nil, sqlerr.New(911, name)
	case db.Props().Offline:
		return nil, sqlerr.New(942, name)
	case db != r.s.db && !r.s.mayUse(db):
		return nil, sqlerr.New(916, r.s.login, db.Name())
	}
	return db, nil
}

// catalog is where objects of a database are found: a replica's state, or the present one.
func (r *run) catalog(db *storage.Database) storage.Catalog {
	if rep := r.s.replica; rep != nil && db.ID >= storage.FirstUserDatabase {
		if root := rep.Root(db); root != nil {
			return root
		}
	}
	return db
}

// object finds an object; temporary tables are those of the session. nil if there is none.
func (r *run) object(db *storage.Database, schema, name string) storage.Object {
	if strings.HasPrefix(name, "#") {
		if t := r.s.temp.find(name); t != nil {
			return t
		}
		return nil
	}
	if schema == "" {
		schema = defaultSchema
	}
	return r.catalog(db).Object(schema, name)
}

// objectName is a resolved name of one to three parts.
type objectName struct {
	db           *storage.Database
	schema, name string
	text         string // as the statement wrote it
}

// nameOf resolves the parts of a name; 7202 for a linked server.
func (c *compiler) nameOf(n *ast.SchemaObjectName) (objectName, error) {
	if n == nil || n.BaseIdentifier == nil {
		return objectName{}, sqlerr.New(102, "")
	}
	o := objectName{name: n.BaseIdentifier.Value, schema: defaultSchema, db: c.db}
	text := o.name
	if n.SchemaIdentifier != nil {
		text = n.SchemaIdentifier.Value + "." + text
		if n.SchemaIdentifier.Value != "" {
			o.schema = n.SchemaIdentifier.Value
		}
	}
	if n.ServerIdentifier != nil && n.ServerIdentifier.Value != "" {
		return o, sqlerr.New(7202, n.ServerIdentifier.Value)
	}
	o.text = text
	if n.DatabaseIdentifier != nil && n.DatabaseIdentifier.Value != "" {
		o.text = n.DatabaseIdentifier.Value + "." + text
		db := c.r.s.in.Storage.Database(n.DatabaseIdentifier.Value)
		if db == nil {
			// A name in a database that does not exist is an invalid object name, as the server says.
			return o, sqlerr.New(208, o.text)
		}
		if _, err := c.r.database(n.DatabaseIdentifier.Value); err != nil {
			return o, err
		}
		o.db = db
	}
	if strings.HasPrefix(o.name, "#") {
		o.db = c.r.s.in.Storage.DatabaseByID(storage.TempDBID)
		o.schema = defaultSchema
	}
	return o, nil
}

// SplitName splits a name as OBJECT_ID and procedures take it ("db.schema.[na.me]") into its parts.
func SplitName(s string) ([]string, error) {
	var parts []string
	var b strings.Builder
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '.':
			parts = append(parts, b.String())
			b.Reset()
		case '[', '"':
			q := c
			if c == '[' {
				q = ']'
			}
			for i++; ; i++ {
				if i >= len(s) {
					return nil, sqlerr.New(15001, s)
				}
				if s[i] == q {
					if i+1 < len(s) && s[i+1] == q {
						i++
					} else {
						break
					}
				}
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	parts = append(parts, b.String())
	if len(parts) > 4 {
		return nil, sqlerr.New(117, "object", s, 3)
	}
	return parts, nil
}

// nameParts resolves split parts in the session's database.
func (r *run) nameParts(parts []string) (*storage.Database, string, string, error) {
	db, schema := r.s.db, defaultSchema
	if len(parts) > 2 && parts[len(parts)-3] != "" {
		var err error
		if db, err = r.database(parts[len(parts)-3]); err != nil {
			return nil, "", "", err
		}
	}
	if len(parts) > 1 && parts[len(parts)-2] != "" {
		schema = parts[len(parts)-2]
	}
	return db, schema, parts[len(parts)-1], nil
}
