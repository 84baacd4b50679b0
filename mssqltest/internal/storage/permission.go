package storage

import (
	"slices"
	"strings"
)

// The permission classes, numbered as sys.database_permissions.class.
const (
	ClassDatabase = 0
	ClassObject   = 1
	ClassSchema   = 3
)

// Permission is a permission that was granted or denied. Server permissions are those of database 0, whose grantees are
// login ids.
type Permission struct {
	Class   int
	Major   int32 // object_id or schema_id; 0 for the database
	Minor   int   // column_id; 0 for the whole
	Grantee int
	Name    string // SELECT, EXECUTE, VIEW DATABASE STATE …
	State   string // G granted, W with grant option, D denied
}

func (p Permission) same(q Permission) bool {
	return p.Class == q.Class && p.Major == q.Major && p.Minor == q.Minor && p.Grantee == q.Grantee && strings.EqualFold(p.Name, q.Name)
}

// SetPermission grants or denies; it replaces what was said of the same thing before.
func (s *Security) SetPermission(db int, p Permission) {
	p.Name = strings.ToUpper(p.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.in(db)
	d.perms = append(slices.DeleteFunc(d.perms, p.same), p)
}

// RevokePermission takes back a grant or a denial.
func (s *Security) RevokePermission(db int, p Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.in(db)
	d.perms = slices.DeleteFunc(d.perms, p.same)
}

// Permissions lists what was granted and denied in a database.
func (s *Security) Permissions(db int) []Permission {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.in(db).perms)
}

// Allowed says what the grants and denials of exactly one thing amount to for a set of principals (Roles): a denial of any
// of them wins. names are the permissions that would do, such as SELECT and CONTROL.
func (s *Security) Allowed(db int, who []int, class int, major int32, minor int, names ...string) (granted, denied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.in(db).perms {
		if p.Class != class || p.Major != major || p.Minor != minor || !slices.Contains(who, p.Grantee) || !slices.Contains(names, p.Name) {
			continue
		}
		if p.State == "D" {
			denied = true
		} else {
			granted = true
		}
	}
	return granted && !denied, denied
}
