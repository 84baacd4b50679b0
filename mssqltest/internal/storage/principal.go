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

// UserOf is the user as whom a login works in a database: dbo for a sysadmin, its own user, or guest where that has
// access; false when the login may not enter.
func (s *Security) UserOf(db int, login string) (Principal, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	if l := s.logins[foldName(login)]; l == nil || l.Sysadmin {
		return *p.byID[UserDBO], l != nil
	}
	if x := p.ofLogin(login); x != nil {
		return *x, !x.NoAccess
	}
	guest := p.byID[UserGuest]
	return *guest, !guest.NoAccess
}

// AddMember puts a user or role into a role.
func (s *Security) AddMember(db int, role, member string) error {
	return s.member(db, role, member, func(m map[int]bool, id int) { m[id] = true })
}

// DropMember takes it out again.
func (s *Security) DropMember(db int, role, member string) error {
	return s.member(db, role, member, func(m map[int]bool, id int) { delete(m, id) })
}

func (s *Security) member(db int, role, member string, f func(map[int]bool, int)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	r, m := p.find(role), p.find(member)
	if r == nil || r.Type != "R" || r.ID == PublicRole {
		return errNoPrincipal(role)
	}
	if m == nil {
		return errNoPrincipal(member)
	}
	if p.members[r.ID] == nil {
		p.members[r.ID] = map[int]bool{}
	}
	f(p.members[r.ID], m.ID)
	return nil
}

// Members lists (role, member) pairs of ids, in order.
func (s *Security) Members(db int) [][2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	var out [][2]int
	for _, r := range slices.Sorted(maps.Keys(p.members)) {
		for _, m := range slices.Sorted(maps.Keys(p.members[r])) {
			out = append(out, [2]int{r, m})
		}
	}
	return out
}

// Roles lists the ids of a principal itself, of all roles that it is in, directly or not, and of public.
func (s *Security) Roles(db, id int) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.in(db)
	set := map[int]bool{PublicRole: true}
	var add func(int)
	add = func(id int) {
		if set[id] {
			return
		}
		set[id] = true
		for r, m := range p.members {
			if m[id] {
				add(r)
			}
		}
	}
	add(id)
	return slices.Sorted(maps.Keys(set))
}

// IsMember says whether a principal is in a role, directly or not.
func (s *Security) IsMember(db, id int, role string) bool {
	s.mu.Lock()
	r := s.in(db).find(role)
	s.mu.Unlock()
	return r != nil && slices.Contains(s.Roles(db, id), r.ID)
}
