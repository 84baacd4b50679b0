package storage

import (
	"maps"
	"slices"
)

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
