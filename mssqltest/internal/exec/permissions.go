package exec

import (
	"slices"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// IsSysadmin reports whether the session's login is a member of sysadmin.
func (s *Session) IsSysadmin() bool {
	if sameName(s.login, "sa") {
		return true
	}
	l, ok := s.in.Storage.Logins.Login(s.login)
	return ok && l.Sysadmin
}

// UserName is the user as whom the session works in a database.
func (s *Session) UserName(db *storage.Database) string {
	if s.IsSysadmin() {
		return "dbo"
	}
	u, _ := s.in.Storage.Logins.UserOf(db.ID, s.login)
	return u.Name
}

func (s *Session) mayUse(db *storage.Database) bool {
	if s.IsSysadmin() {
		return true
	}
	_, ok := s.in.Storage.Logins.UserOf(db.ID, s.login)
	return ok
}

// roles are the ids of the session's user and of all roles that it is in; owner says that nothing is forbidden to it.
func (s *Session) roles(db *storage.Database) (ids []int, owner bool) {
	if s.IsSysadmin() {
		return nil, true
	}
	sec := s.in.Storage.Logins
	u, ok := sec.UserOf(db.ID, s.login)
	if !ok {
		return nil, false
	}
	return sec.Roles(db.ID, u.ID), u.ID == storage.UserDBO || sec.IsMember(db.ID, u.ID, "db_owner")
}

// IsMember reports whether the session's user is in a role of a database; for sysadmin and db_owner every role says yes
// only if it is db_owner or the user is really in it.
func (s *Session) IsMember(db *storage.Database, role string) bool {
	sec := s.in.Storage.Logins
	if s.IsSysadmin() {
		return sameName(role, "db_owner") || sameName(role, "public") || sec.IsMember(db.ID, storage.UserDBO, role)
	}
	u, ok := sec.UserOf(db.ID, s.login)
	return ok && sec.IsMember(db.ID, u.ID, role)
}

// Permission classes of HasPermission.
const (
	ClassServer   = "SERVER"
	ClassDatabase = "DATABASE"
	ClassObject   = "OBJECT"
	ClassSchema   = "SCHEMA"
)

// HasPermission reports whether the session may do perm (SELECT, EXECUTE, VIEW DATABASE STATE …) in a database: to obj for
// class OBJECT, to the schema of obj for SCHEMA, to the database for DATABASE, to the server for SERVER.
func (s *Session) HasPermission(db *storage.Database, class string, obj *storage.ObjectHeader, perm string) bool {
	return s.hasPermission(db, class, obj, nil, perm)
}

// HasColumnPermission is HasPermission for one column of an object.
func (s *Session) HasColumnPermission(db *storage.Database, obj *storage.ObjectHeader, column int, perm string) bool {
	return s.hasPermission(db, ClassObject, obj, []int{column}, perm)
}

func (s *Session) hasPermission(db *storage.Database, class string, obj *storage.ObjectHeader, columns []int, perm string) bool {
	perm = strings.ToUpper(perm)
	sec := s.in.Storage.Logins
	if class == ClassServer {
		if s.IsSysadmin() {
			return true
		}
		l, ok := sec.Login(s.login)
		if !ok {
			return false
		}
		granted, _ := sec.Allowed(0, []int{l.ID}, storage.ClassDatabase, 0, 0, perm, "CONTROL SERVER")
		return granted
	}
	who, owner := s.roles(db)
	if owner {
		return true
	}
	names := []string{perm, "CONTROL"}
	switch perm {
	case "VIEW DATABASE STATE":
		names = append(names, "VIEW DATABASE PERFORMANCE STATE")
		if s.hasPermission(db, ClassServer, nil, nil, "VIEW SERVER STATE") {
			return true
		}
	case "VIEW DEFINITION":
		names = append(names, "ALTER", "SELECT", "EXECUTE", "INSERT", "UPDATE", "DELETE")
	}
	type place struct {
		class int
		major int32
		minor int
	}
	places := []place{{storage.ClassDatabase, 0, 0}}
	if obj != nil {
		places = append(places, place{storage.ClassSchema, obj.SchemaID, 0})
		if class == ClassObject {
			places = append(places, place{storage.ClassObject, obj.ID, 0})
			for _, c := range columns {
				places = append(places, place{storage.ClassObject, obj.ID, c})
			}
		}
	}
	granted := false
	for _, p := range places {
		g, d := sec.Allowed(db.ID, who, p.class, p.major, p.minor, names...)
		if d {
			return false
		}
		granted = granted || g
	}
	in := func(role string) bool {
		r, ok := sec.Principal(db.ID, role)
		return ok && slices.Contains(who, r.ID)
	}
	switch perm {
	case "SELECT":
		if in("db_denydatareader") {
			return false
		}
		granted = granted || in("db_datareader")
	case "INSERT", "UPDATE", "DELETE":
		if in("db_denydatawriter") {
			return false
		}
		granted = granted || in("db_datawriter")
	case "ALTER", "CREATE TABLE", "CREATE VIEW", "CREATE PROCEDURE", "CREATE FUNCTION", "CREATE SCHEMA", "CREATE TYPE", "CREATE SYNONYM", "CREATE SEQUENCE":
		granted = granted || in("db_ddladmin")
	}
	return granted
}

// permit is 229 unless the session may do perm to an object. A procedure's and a view's own accesses are checked against
// the caller only for what the caller named: ownership chains hold, as all objects belong to dbo.
func (r *run) permit(db *storage.Database, h *storage.ObjectHeader, perm string) error {
	if r.proc != "" || r.inFunc || r.s.IsSysadmin() || db.ID == storage.TempDBID {
		return nil
	}
	if r.s.HasPermission(db, ClassObject, h, perm) {
		return nil
	}
	return sqlerr.New(229, perm, h.Name, db.Name(), h.Schema)
}

// permitChange is permit for the target of a change; changes of a replica or a read-only database are 3906.
func (r *run) permitChange(t *target, perm string) error {
	if t.mem != nil {
		return nil
	}
	if t.db.ID >= storage.FirstUserDatabase && (r.s.replica != nil || t.db.Props().ReadOnly) {
		return sqlerr.New(3906, t.db.Name())
	}
	return r.permit(t.db, &t.def.ObjectHeader, perm)
}

// permitDatabase is 262 unless the session may do perm in a database.
func (r *run) permitDatabase(db *storage.Database, perm string) error {
	if r.proc != "" || db.ID == storage.TempDBID || r.s.HasPermission(db, ClassDatabase, nil, perm) {
		return nil
	}
	return sqlerr.New(262, perm, db.Name())
}

// permitAdmin is for statements that only sysadmin may run here.
func (r *run) permitAdmin() error {
	if r.s.IsSysadmin() {
		return nil
	}
	return sqlerr.New(15247)
}
