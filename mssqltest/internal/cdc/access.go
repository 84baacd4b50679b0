package cdc

import (
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// isOwner reports whether the session may do everything in a database: sysadmin, dbo or db_owner.
func isOwner(c *exec.Context, db *storage.Database) bool {
	return c.Session.IsSysadmin() || inRole(c, db, "db_owner")
}

// inRole reports whether the session's user is a member of a database role; dbo is one of every role.
func inRole(c *exec.Context, db *storage.Database, role string) bool {
	sec := c.Instance().Storage.Logins
	u, ok := sec.UserOf(db.ID, c.Session.Login())
	return ok && (u.ID == storage.UserDBO || sec.IsMember(db.ID, u.ID, role))
}

// mayRead reports whether the session may read an instance's changes: db_owner, or SELECT on all captured columns of the
// source and, where the instance is gated, membership in its role (Microsoft Learn, "cdc.fn_cdc_get_all_changes_…", Permissions).
func mayRead(c *exec.Context, cat storage.Catalog, i *instance) bool {
	if isOwner(c, c.DB) {
		return true
	}
	if i.role != "" && !inRole(c, c.DB, i.role) {
		return false
	}
	o := cat.ObjectByID(i.source)
	if o == nil {
		return false
	}
	t, ok := o.(*storage.Table)
	if !ok {
		return false
	}
	if maySelect(c, o, 0) {
		return true
	}
	for _, col := range i.columns {
		if columnByID(t.Def(), col.id) >= 0 && !maySelect(c, o, col.id) {
			return false
		}
	}
	return true
}

// maySelect reports whether the session has SELECT on an object, or on one column of it.
func maySelect(c *exec.Context, o storage.Object, column int) bool {
	sec := c.Instance().Storage.Logins
	u, ok := sec.UserOf(c.DB.ID, c.Session.Login())
	if !ok {
		return false
	}
	who := sec.Roles(c.DB.ID, u.ID)
	if sec.IsMember(c.DB.ID, u.ID, "db_denydatareader") {
		return false
	}
	h := o.Header()
	if column != 0 {
		granted, denied := sec.Allowed(c.DB.ID, who, storage.ClassObject, h.ID, column, "SELECT")
		return granted && !denied
	}
	allowed := sec.IsMember(c.DB.ID, u.ID, "db_datareader")
	for _, scope := range []struct {
		class int
		major int32
	}{{storage.ClassObject, h.ID}, {storage.ClassSchema, h.SchemaID}, {storage.ClassDatabase, 0}} {
		granted, denied := sec.Allowed(c.DB.ID, who, scope.class, scope.major, 0, "SELECT", "CONTROL")
		if denied {
			return false
		}
		allowed = allowed || granted
	}
	return allowed
}

// mayViewState reports whether the session may read the dynamic management views of a database.
func mayViewState(c *exec.Context, db *storage.Database) bool {
	if isOwner(c, db) {
		return true
	}
	sec := c.Instance().Storage.Logins
	u, ok := sec.UserOf(db.ID, c.Session.Login())
	if !ok {
		return false
	}
	granted, denied := sec.Allowed(db.ID, sec.Roles(db.ID, u.ID), storage.ClassDatabase, 0, 0, "VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE", "CONTROL")
	return granted && !denied
}

func hasUser(st *storage.Instance, db *storage.Database, name string) bool {
	_, ok := st.Logins.Principal(db.ID, name)
	return ok
}

func addUser(st *storage.Instance, db *storage.Database, name string) error {
	_, err := st.Logins.CreatePrincipal(db.ID, storage.Principal{Name: name, Type: "S", DefaultSchema: name})
	return err
}

// addRole makes the gating role if there is none.
func addRole(st *storage.Instance, db *storage.Database, name string) error {
	if hasUser(st, db, name) {
		return nil
	}
	_, err := st.Logins.CreatePrincipal(db.ID, storage.Principal{Name: name, Type: "R"})
	return err
}
