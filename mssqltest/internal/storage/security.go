package storage

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Security is the logins of a server and the users, roles and permissions of its databases. It is not transactional.
// Names compare without case. What a permission allows is the executor's.
type Security struct {
	mu     sync.Mutex
	logins map[string]*login
	nextID int
	dbs    map[int]*principals
}

// Login is a SQL login.
type Login struct {
	ID              int
	Name            string
	SID             []byte
	Sysadmin        bool
	Disabled        bool
	DefaultDatabase string
	DefaultLanguage string
	ServerRoles     []string // besides sysadmin
	Created         time.Time
}

type login struct {
	Login
	hash [sha256.Size]byte
}

// NewSecurity makes a store without logins.
func NewSecurity() *Security {
	return &Security{logins: map[string]*login{}, nextID: 256, dbs: map[int]*principals{}}
}

func foldName(s string) string { return strings.ToLower(s) }

func (l *login) setPassword(p string) { l.hash = l.digest(p) }

func (l *login) digest(p string) [sha256.Size]byte { return sha256.Sum256(append([]byte(p), l.SID...)) }

// CreateLogin adds a login; sa gets id 1. A taken name is error 15025.
func (s *Security) CreateLogin(l Login, password string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := foldName(l.Name)
	if s.logins[key] != nil {
		return sqlerr.Newf(15025, 16, "The server principal '%s' already exists.", l.Name)
	}
	s.nextID++
	if l.ID = s.nextID; key == "sa" {
		l.ID, l.Sysadmin = 1, true
	}
	if l.SID == nil {
		l.SID = sid(l.ID)
	}
	if l.DefaultDatabase == "" {
		l.DefaultDatabase = "master"
	}
	if l.DefaultLanguage == "" {
		l.DefaultLanguage = "us_english"
	}
	if l.Created.IsZero() {
		l.Created = time.Now()
	}
	n := &login{Login: l}
	n.setPassword(password)
	s.logins[key] = n
	return nil
}

func sid(id int) []byte {
	if id == 1 {
		return []byte{1}
	}
	b := make([]byte, 16)
	binary.LittleEndian.PutUint64(b, uint64(id)*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(b[8:], uint64(id))
	return b
}

func errNoLogin(name string) error {
	return sqlerr.Newf(15151, 16, "Cannot find the login '%s', because it does not exist or you do not have permission.", name)
}

// AlterLogin changes a login; f must not call into the package. An unknown name is error 15151.
func (s *Security) AlterLogin(name string, f func(*Login)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logins[foldName(name)]
	if l == nil {
		return errNoLogin(name)
	}
	f(&l.Login)
	if key := foldName(l.Name); key != foldName(name) {
		delete(s.logins, foldName(name))
		s.logins[key] = l
	}
	return nil
}

// SetPassword changes a login's password.
func (s *Security) SetPassword(name, password string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logins[foldName(name)]
	if l == nil {
		return errNoLogin(name)
	}
	l.setPassword(password)
	return nil
}

// DropLogin removes a login.
func (s *Security) DropLogin(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logins[foldName(name)] == nil {
		return errNoLogin(name)
	}
	delete(s.logins, foldName(name))
	return nil
}

// CheckPassword says whether a login exists and has that password. Disabled is the caller's to look at.
func (s *Security) CheckPassword(name, password string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logins[foldName(name)]
	if l == nil {
		return false
	}
	d := l.digest(password)
	return subtle.ConstantTimeCompare(d[:], l.hash[:]) == 1
}

// Login finds a login by name.
func (s *Security) Login(name string) (Login, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logins[foldName(name)]; l != nil {
		return l.Login, true
	}
	return Login{}, false
}

// Logins lists the logins by id.
func (s *Security) Logins() []Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Login
	for l := range maps.Values(s.logins) {
		out = append(out, l.Login)
	}
	slices.SortFunc(out, func(a, b Login) int { return a.ID - b.ID })
	return out
}

func (s *Security) dropDatabase(db int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dbs, db)
}
