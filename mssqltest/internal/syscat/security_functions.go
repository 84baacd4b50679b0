package syscat

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// securityFunctions registers the functions of users, roles and permissions (Microsoft Learn, "Security Functions").
func (r registrar) securityFunctions() {
	r.scalar("HAS_PERMS_BY_NAME", 3, 5, intType, hasPermission, nvarcharType, nvarcharType, nvarcharType, nvarcharType, nvarcharType)
	r.scalar("IS_MEMBER", 1, 1, intType, isMember, sysnameType)
	r.scalar("IS_ROLEMEMBER", 1, 2, intType, isRoleMember, sysnameType, sysnameType)
	r.scalar("IS_SRVROLEMEMBER", 1, 2, intType, isServerRoleMember, sysnameType, sysnameType)
	r.scalar("HAS_DBACCESS", 1, 1, intType, hasAccess, sysnameType)
	r.scalar("USER_NAME", 0, 1, sysnameType, userName, intType)
	r.scalar("USER_ID", 0, 1, intType, userID, sysnameType)
	r.scalar("DATABASE_PRINCIPAL_ID", 0, 1, intType, userID, sysnameType)
	r.scalar("SUSER_NAME", 0, 1, sysnameType, loginNameByID, intType)
	r.scalar("SUSER_SNAME", 0, 1, sysnameType, loginNameBySID, sysrow.TypeNamed("varbinary(85)"))
	r.scalar("SUSER_ID", 0, 1, intType, loginID, sysnameType)
	r.scalar("SUSER_SID", 0, 2, sysrow.TypeNamed("varbinary(85)"), loginSID, sysnameType, intType)
}

func text(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.Str()
}

// hasPermission is HAS_PERMS_BY_NAME(securable, class, permission [, sub-securable, sub-class]): NULL where the securable or
// the permission is unknown.
func hasPermission(s *source, a []value.Value) any {
	class, perm := strings.ToUpper(strings.TrimSpace(text(a[1]))), strings.ToUpper(strings.TrimSpace(text(a[2])))
	if perm == "" {
		return nil
	}
	switch class {
	case "", "SERVER":
		return s.serverPermission(perm)
	case "DATABASE":
		in := s
		if name := text(a[0]); name != "" {
			parts, err := exec.SplitName(name)
			if err != nil || len(parts) != 1 {
				return nil
			}
			db := s.c.Instance().Storage.Database(parts[0])
			if db == nil {
				return nil
			}
			in = sourceIn(s.c, db)
		}
		return in.permitted(storage.ClassDatabase, nil, 0, perm)
	case "SCHEMA":
		parts, err := exec.SplitName(text(a[0]))
		if err != nil || len(parts) == 0 {
			return nil
		}
		sc := s.cat.Schema(parts[len(parts)-1])
		if sc == nil {
			return nil
		}
		return s.permitted(storage.ClassSchema, &storage.ObjectHeader{SchemaID: sc.ID}, 0, perm)
	case "OBJECT":
		in, o := s.find(text(a[0]))
		if o == nil {
			return s.systemObjectPermission(text(a[0]))
		}
		column := 0
		if len(a) > 3 && text(a[3]) != "" {
			parts, err := exec.SplitName(text(a[3]))
			if err != nil || len(parts) != 1 {
				return nil
			}
			c := in.columnNamed(o.Header().ID, parts[0])
			if c == nil {
				return nil
			}
			column = c.ID
		}
		return in.permitted(storage.ClassObject, o.Header(), column, perm)
	}
	return nil
}

// systemObjectPermission answers for the server's own views and procedures, which public may use.
func (s *source) systemObjectPermission(name string) any {
	parts, err := exec.SplitName(name)
	if err != nil || len(parts) < 2 {
		return nil
	}
	if v, _ := s.systemView(parts[len(parts)-2], parts[len(parts)-1]); v != nil {
		return 1
	}
	return nil
}

func (s *source) serverPermission(perm string) any {
	l, ok := s.who.sec.Login(s.c.Session.Login())
	if s.c.Session.IsSysadmin() || perm == "CONNECT SQL" || perm == "VIEW ANY DATABASE" {
		return 1
	}
	if !ok {
		return 0
	}
	granted, denied := s.who.sec.Allowed(0, []int{l.ID}, 0, 0, 0, perm, "CONTROL SERVER")
	return granted && !denied
}

// permitted reports whether the session has a permission: through its roles, or on the thing or on what contains it; a
// denial anywhere wins. "ANY" asks for any permission at all.
func (s *source) permitted(class int, h *storage.ObjectHeader, column int, perm string) bool {
	w := s.who
	if s.c.Session.IsSysadmin() {
		return true
	}
	if !w.known {
		return false
	}
	if w.user.ID == storage.UserDBO || w.fixed("db_owner") {
		return true
	}
	if perm == "ANY" {
		return w.all || h != nil && (w.any[grantee{storage.ClassObject, h.ID}] || w.any[grantee{storage.ClassSchema, h.SchemaID}])
	}
	if perm == "CONNECT" && class == storage.ClassDatabase {
		return true
	}
	allowed := s.byRole(perm)
	names := []string{perm, "CONTROL"}
	if perm == "VIEW DATABASE STATE" {
		names = append(names, "VIEW DATABASE PERFORMANCE STATE")
	}
	check := func(class int, major int32, minor int) (denied bool) {
		granted, denied := w.sec.Allowed(s.db.ID, w.roles, class, major, minor, names...)
		allowed = allowed || granted
		return denied
	}
	if check(storage.ClassDatabase, 0, 0) {
		return false
	}
	if h != nil && check(storage.ClassSchema, h.SchemaID, 0) {
		return false
	}
	if class == storage.ClassObject {
		if check(storage.ClassObject, h.ID, 0) || column != 0 && check(storage.ClassObject, h.ID, column) {
			return false
		}
	}
	return allowed && !s.deniedByRole(perm)
}

// byRole reports what the fixed roles give.
func (s *source) byRole(perm string) bool {
	switch perm {
	case "SELECT":
		return s.who.fixed("db_datareader")
	case "INSERT", "UPDATE", "DELETE":
		return s.who.fixed("db_datawriter")
	case "ALTER", "CREATE TABLE", "CREATE VIEW", "CREATE PROCEDURE", "CREATE SCHEMA", "CREATE FUNCTION", "REFERENCES":
		return s.who.fixed("db_ddladmin")
	}
	return false
}

func (s *source) deniedByRole(perm string) bool {
	switch perm {
	case "SELECT":
		return s.who.fixed("db_denydatareader")
	case "INSERT", "UPDATE", "DELETE":
		return s.who.fixed("db_denydatawriter")
	}
	return false
}

// roleMember reports membership of a principal in a role: 1, 0 or NULL for an unknown role.
func (s *source) roleMember(role string, p storage.Principal) any {
	if strings.EqualFold(role, "public") {
		return 1
	}
	if x, ok := s.who.sec.Principal(s.db.ID, role); !ok || x.Type != "R" {
		return nil
	}
	return p.ID == storage.UserDBO && strings.EqualFold(role, "db_owner") || s.who.sec.IsMember(s.db.ID, p.ID, role)
}

func isMember(s *source, a []value.Value) any {
	if a[0].IsNull() || !s.who.known {
		return nil
	}
	return s.roleMember(a[0].Str(), s.who.user)
}

func isRoleMember(s *source, a []value.Value) any {
	if len(a) < 2 {
		return isMember(s, a)
	}
	if a[0].IsNull() || a[1].IsNull() {
		return nil
	}
	p, ok := s.who.sec.Principal(s.db.ID, a[1].Str())
	if !ok {
		return nil
	}
	return s.roleMember(a[0].Str(), p)
}

func isServerRoleMember(s *source, a []value.Value) any {
	if a[0].IsNull() {
		return nil
	}
	name := s.c.Session.Login()
	if len(a) > 1 {
		name = text(a[1])
	}
	l, ok := s.who.sec.Login(name)
	if own := strings.EqualFold(name, s.c.Session.Login()); own && s.c.Session.IsSysadmin() {
		l.Sysadmin, ok = true, true
	}
	if !ok {
		return nil
	}
	switch role := strings.ToLower(a[0].Str()); role {
	case "public":
		return 1
	case "sysadmin":
		return l.Sysadmin
	case "serveradmin", "securityadmin", "setupadmin", "processadmin", "diskadmin", "dbcreator", "bulkadmin":
		for _, r := range l.ServerRoles {
			if strings.EqualFold(r, role) {
				return 1
			}
		}
		return 0
	}
	return nil
}

func hasAccess(s *source, a []value.Value) any {
	db := s.c.Instance().Storage.Database(text(a[0]))
	if db == nil {
		return nil
	}
	return viewerOf(s.c, db).known
}

func userName(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.who.user.Name
	}
	if a[0].IsNull() {
		return nil
	}
	return s.principalName(int(a[0].Int()))
}

func userID(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.who.user.ID
	}
	if p, ok := s.who.sec.Principal(s.db.ID, text(a[0])); ok {
		return p.ID
	}
	return nil
}

func loginNameByID(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.c.Session.Login()
	}
	for _, l := range s.who.sec.Logins() {
		if !a[0].IsNull() && int64(l.ID) == a[0].Int() {
			return l.Name
		}
	}
	return nil
}

func loginNameBySID(s *source, a []value.Value) any {
	if len(a) == 0 {
		return s.c.Session.Login()
	}
	for _, l := range s.who.sec.Logins() {
		if !a[0].IsNull() && string(l.SID) == a[0].Raw() {
			return l.Name
		}
	}
	return nil
}

// login finds the login of an optional first argument.
func (s *source) login(a []value.Value) (storage.Login, bool) {
	if len(a) == 0 {
		return s.who.sec.Login(s.c.Session.Login())
	}
	return s.who.sec.Login(text(a[0]))
}

func loginID(s *source, a []value.Value) any {
	if l, ok := s.login(a); ok {
		return l.ID
	}
	return nil
}

func loginSID(s *source, a []value.Value) any {
	if l, ok := s.login(a); ok {
		return l.SID
	}
	return nil
}
