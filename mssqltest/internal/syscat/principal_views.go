package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// principalViews registers the views of logins, users, roles and permissions.
func (r registrar) principalViews() {
	r.view("sys", "server_principals", serverPrincipalColumns, (*source).logins)
	r.view("sys", "sql_logins", serverPrincipalColumns, (*source).logins)
	r.view("sys", "server_role_members", serverRoleMemberColumns, (*source).serverMembers)
	r.view("sys", "database_principals", databasePrincipalColumns, (*source).principals)
	r.view("sys", "database_role_members", roleMemberColumns, (*source).members)
	r.view("sys", "database_permissions", databasePermissionColumns, (*source).permissions)
}

// sysadminID is the principal id of server role sysadmin.
const sysadminID = 3

func (s *source) logins() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, l := range s.who.sec.Logins() {
			if !yield(sysrow.Row{
				"name": l.Name, "principal_id": l.ID, "sid": l.SID, "type": "S", "type_desc": "SQL_LOGIN", "is_disabled": l.Disabled,
				"create_date": l.Created, "modify_date": l.Created, "default_database_name": l.DefaultDatabase,
				"default_language_name": l.DefaultLanguage,
			}) {
				return
			}
		}
		for id, name := range map[int]string{2: "public", sysadminID: "sysadmin"} {
			if !yield(sysrow.Row{
				"name": name, "principal_id": id, "type": "R", "type_desc": "SERVER_ROLE", "is_disabled": false, "owning_principal_id": 1,
				"create_date": s.db.CreateDate, "modify_date": s.db.CreateDate, "is_fixed_role": id == sysadminID,
			}) {
				return
			}
		}
	}
}

func (s *source) serverMembers() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, l := range s.who.sec.Logins() {
			if l.Sysadmin && !yield(sysrow.Row{"role_principal_id": sysadminID, "member_principal_id": l.ID}) {
				return
			}
		}
	}
}

func (s *source) principals() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, p := range s.who.sec.Principals(s.db.ID) {
			row := sysrow.Row{
				"name": p.Name, "principal_id": p.ID, "type": p.Type, "type_desc": "DATABASE_ROLE", "create_date": p.Created,
				"modify_date": p.Created, "is_fixed_role": p.Fixed, "authentication_type_desc": "NONE",
			}
			if p.Type == "S" {
				row["type_desc"], row["default_schema_name"] = "SQL_USER", p.DefaultSchema
				if l, ok := s.who.sec.Login(p.Login); ok {
					row["sid"], row["authentication_type"], row["authentication_type_desc"] = l.SID, 1, "INSTANCE"
				}
			} else {
				row["owning_principal_id"] = storage.UserDBO
			}
			if !yield(row) {
				return
			}
		}
	}
}

func (s *source) members() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, m := range s.who.sec.Members(s.db.ID) {
			if !yield(sysrow.Row{"role_principal_id": m[0], "member_principal_id": m[1]}) {
				return
			}
		}
	}
}

var permissionClasses = map[int]string{0: "DATABASE", 1: "OBJECT_OR_COLUMN", 3: "SCHEMA"}

// permissionTypes is sys.database_permissions.type of the permissions that are used here.
var permissionTypes = map[string]string{
	"SELECT": "SL", "INSERT": "IN", "UPDATE": "UP", "DELETE": "DL", "EXECUTE": "EX", "CONTROL": "CL", "ALTER": "AL", "REFERENCES": "RF",
	"CONNECT": "CO", "VIEW DEFINITION": "VW", "VIEW DATABASE STATE": "VWDS", "UNMASK": "UMSK", "TAKE OWNERSHIP": "TO",
}

func (s *source) permissions() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, p := range s.who.sec.Permissions(s.db.ID) {
			state := map[string]string{"G": "GRANT", "W": "GRANT_WITH_GRANT_OPTION", "D": "DENY"}[p.State]
			if !yield(sysrow.Row{
				"class": p.Class, "class_desc": permissionClasses[p.Class], "major_id": p.Major, "minor_id": p.Minor, "grantee_principal_id": p.Grantee,
				"grantor_principal_id": storage.UserDBO, "type": permissionTypes[p.Name], "permission_name": p.Name, "state": p.State,
				"state_desc": state,
			}) {
				return
			}
		}
	}
}
