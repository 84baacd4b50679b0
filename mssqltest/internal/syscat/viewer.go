package syscat

import (
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// viewer is who looks at a database: metadata is shown of what the session has any permission on (Microsoft Learn,
// "Metadata visibility configuration").
type viewer struct {
	sec    *storage.Security
	db     int
	known  bool // the login may enter the database
	all    bool // sees everything
	user   storage.Principal
	schema string
	roles  []int
	any    map[grantee]bool // things that the session has a permission on
}

type grantee struct {
	class int
	major int32
}

func viewerOf(c *exec.Context, db *storage.Database) *viewer {
	v := &viewer{sec: c.Instance().Storage.Logins, db: db.ID, schema: "dbo"}
	v.user, v.known = v.sec.UserOf(db.ID, c.Session.Login())
	if v.known {
		v.roles = v.sec.Roles(db.ID, v.user.ID)
		if v.user.DefaultSchema != "" {
			v.schema = v.user.DefaultSchema
		}
	}
	v.all = c.Session.IsSysadmin() || v.known && (v.user.ID == storage.UserDBO || v.fixed("db_owner") || v.fixed("db_datareader") ||
		v.fixed("db_datawriter") || v.fixed("db_ddladmin") || v.fixed("db_securityadmin"))
	if v.all || !v.known {
		return v
	}
	v.any = map[grantee]bool{}
	for _, p := range v.sec.Permissions(db.ID) {
		if p.State != "D" && slices.Contains(v.roles, p.Grantee) {
			v.any[grantee{p.Class, p.Major}] = true
			if p.Class == storage.ClassDatabase && p.Name != "CONNECT" && p.Name != "VIEW DATABASE STATE" {
				v.all = true
			}
		}
	}
	return v
}

func (v *viewer) fixed(role string) bool { return v.sec.IsMember(v.db, v.user.ID, role) }

// visible reports whether the session sees an object in the catalog.
func (s *source) visible(o storage.Object) bool {
	if o == nil {
		return false
	}
	if s.who.all {
		return true
	}
	h := o.Header()
	return s.who.any[grantee{storage.ClassObject, h.ID}] || s.who.any[grantee{storage.ClassSchema, h.SchemaID}]
}

// schemaOwner is the principal that owns a schema: dbo, or the user of the same name.
func (s *source) schemaOwner(sc *storage.Schema) int {
	switch sc.ID {
	case storage.SchemaGuest:
		return 2
	case storage.SchemaInformationSchema:
		return 3
	case storage.SchemaSys:
		return 4
	}
	if p, ok := s.who.sec.Principal(s.db.ID, sc.Name); ok && p.Type == "S" {
		return p.ID
	}
	return storage.UserDBO
}

// principalName is the name of a database principal, nil for an unknown one.
func (s *source) principalName(id int) any {
	switch id {
	case 3:
		return "INFORMATION_SCHEMA"
	case 4:
		return "sys"
	}
	for _, p := range s.who.sec.Principals(s.db.ID) {
		if p.ID == id {
			return p.Name
		}
	}
	return nil
}
