package storage

import (
	"maps"
	"slices"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Principal is a user or a role of a database.
type Principal struct {
	ID            int
	Name          string
	Type          string // S user, R role
	Login         string // of a user; "" without one
	DefaultSchema string
	Fixed         bool // fixed role
	NoAccess      bool // a user without CONNECT: guest, until it is enabled
	Created       time.Time
}

// The principals that every database has.
const (
	PublicRole = 0
	UserDBO    = 1
	UserGuest  = 2
)

var fixedRoles = map[int]string{16384: "db_owner", 16385: "db_accessadmin", 16386: "db_securityadmin", 16387: "db_ddladmin",
	16389: "db_backupoperator", 16390: "db_datareader", 16391: "db_datawriter", 16392: "db_denydatareader", 16393: "db_denydatawriter"}

// principals are the users, roles, memberships and permissions of one database.
type principals struct {
	byID    map[int]*Principal
	byName  map[string]int
	members map[int]map[int]bool // role → member
	perms   []Permission
	next    int
}

func newPrincipals() *principals {
	p := &principals{byID: map[int]*Principal{}, byName: map[string]int{}, members: map[int]map[int]bool{}, next: 5}
	now := time.Now()
	for id, name := range fixedRoles {
		p.put(&Principal{ID: id, Name: name, Type: "R", Fixed: true, Created: now})
	}
	p.put(&Principal{ID: PublicRole, Name: "public", Type: "R", Created: now})
	p.put(&Principal{ID: UserDBO, Name: "dbo", Type: "S", Login: "sa", DefaultSchema: "dbo", Created: now})
	p.put(&Principal{ID: UserGuest, Name: "guest", Type: "S", DefaultSchema: "guest", NoAccess: true, Created: now})
	p.put(&Principal{ID: 3, Name: "INFORMATION_SCHEMA", Type: "S", NoAccess: true, Created: now})
	p.put(&Principal{ID: 4, Name: "sys", Type: "S", NoAccess: true, Created: now})
	p.members[16384] = map[int]bool{UserDBO: true}
	return p
}

func (p *principals) put(x *Principal) {
	p.byID[x.ID] = x
	p.byName[foldName(x.Name)] = x.ID
}

func (p *principals) find(name string) *Principal {
	if id, ok := p.byName[foldName(name)]; ok {
		return p.byID[id]
	}
	return nil
}

// in is the database's principals. The caller holds mu.
func (s *Security) in(db int) *principals {
	p := s.dbs[db]
	if p == nil {
		p = newPrincipals()
		if db == MasterID || db == TempDBID || db == MSDBID {
			p.byID[UserGuest].NoAccess = false
		}
		s.dbs[db] = p
	}
	return p
}

func errNoPrincipal(name string) error {
	return sqlerr.Newf(15151, 16, "Cannot find the user or role '%s', because it does not exist or you do not have permission.", name)
}

// CreatePrincipal adds a user or a role and returns it with its id; a taken name is error 15023, a login that has a user
// already 15063.
func (s *Security) CreatePrincipal(db int, x Principal) (Principal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	if p.find(x.Name) != nil {
		return x, sqlerr.Newf(15023, 16, "User, group, or role '%s' already exists in the current database.", x.Name)
	}
	if x.Login != "" {
		if s.logins[foldName(x.Login)] == nil {
			return x, sqlerr.Newf(15007, 16, "'%s' is not a valid login or you do not have permission.", x.Login)
		}
		if u := p.ofLogin(x.Login); u != nil {
			return x, sqlerr.Newf(15063, 16, "The login already has an account under a different user name.")
		}
	}
	if x.Type == "S" && x.DefaultSchema == "" {
		x.DefaultSchema = "dbo"
	}
	if x.Created.IsZero() {
		x.Created = time.Now()
	}
	x.ID = p.next
	p.next++
	p.put(&x)
	return x, nil
}

func (p *principals) ofLogin(login string) *Principal {
	for _, x := range p.byID {
		if x.Login != "" && foldName(x.Login) == foldName(login) {
			return x
		}
	}
	return nil
}

// AlterPrincipal changes a user or role; f must not call into the package.
func (s *Security) AlterPrincipal(db int, name string, f func(*Principal)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	x := p.find(name)
	if x == nil {
		return errNoPrincipal(name)
	}
	delete(p.byName, foldName(name))
	n := *x
	f(&n)
	p.put(&n)
	return nil
}

// DropPrincipal removes a user or role with its memberships and permissions.
func (s *Security) DropPrincipal(db int, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	x := p.find(name)
	if x == nil {
		return errNoPrincipal(name)
	}
	if x.Fixed || x.ID < 5 {
		return sqlerr.Newf(15150, 16, "Cannot drop the user or role '%s'.", name)
	}
	delete(p.byID, x.ID)
	delete(p.byName, foldName(name))
	delete(p.members, x.ID)
	for _, m := range p.members {
		delete(m, x.ID)
	}
	p.perms = slices.DeleteFunc(p.perms, func(q Permission) bool { return q.Grantee == x.ID })
	return nil
}

// Principal finds a user or role by name.
func (s *Security) Principal(db int, name string) (Principal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.in(db).find(name); x != nil {
		return *x, true
	}
	return Principal{}, false
}

// Principals lists users and roles by id.
func (s *Security) Principals(db int) []Principal {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	out := make([]Principal, 0, len(p.byID))
	for _, id := range slices.Sorted(maps.Keys(p.byID)) {
		out = append(out, *p.byID[id])
	}
	return out
}
