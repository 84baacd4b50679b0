package mssqltest

import (
	"net"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/server"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// Replica is a readable secondary: a listener of its own whose sessions read what was committed a while ago, and may
// not write (error 3906).
type Replica struct {
	s    *Server
	name string
	addr string

	mu      sync.Mutex
	primary bool
	lag     time.Duration
	frozen  map[*storage.Database]*frozen       // nil while the log arrives
	shown   map[*storage.Database]*storage.Root // what was shown last: a replica never goes back
	subs    map[*storage.Database]*storage.Subscription
}

// history is how far back a replica can lag.
const history = 24 * time.Hour

// AddReplica adds a secondary that listens in memory at addr ("127.0.0.1:1434") and shows everything at once until its
// lag is set. Name is what Event.Replica says.
func (s *Server) AddReplica(name, addr string) (*Replica, error) {
	l, err := s.memory.Listen(addr)
	if err != nil {
		return nil, err
	}
	return s.AddReplicaListener(name, l)
}

// AddReplicaListener adds a secondary that serves the clients of l.
func (s *Server) AddReplicaListener(name string, l net.Listener) (*Replica, error) {
	r := &Replica{s: s, name: name, addr: l.Addr().String()}
	for _, db := range s.storage.Databases() {
		r.follow(db)
	}
	if err := s.net.Listen(l, r.endpoint()); err != nil {
		r.unsubscribe()
		return nil, err
	}
	s.mu.Lock()
	s.replicas = append(s.replicas, r)
	s.mu.Unlock()
	return r, nil
}

// Name is the replica's name.
func (r *Replica) Name() string { return r.name }

// Addr is the replica's address.
func (r *Replica) Addr() string { return r.addr }

// ConnString is Server.ConnString for the replica.
func (r *Replica) ConnString(params ...string) string { return r.s.connString(r.addr, params) }

// SetLag makes the replica show what was committed d ago. It has the log all the same: nothing is lost if it is promoted.
func (r *Replica) SetLag(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag = d
}

// frozen is where the log of a database stopped arriving.
type frozen struct {
	root   *storage.Root
	backup *storage.Backup
}

// Freeze stops the log on its way to the replica: what is committed from now on does not show until Thaw, and is lost
// if the replica is promoted.
func (r *Replica) Freeze() {
	at := map[*storage.Database]*frozen{}
	for _, db := range r.s.storage.Databases() {
		if db.ID >= storage.FirstUserDatabase {
			at[db] = &frozen{root: db.Root(), backup: db.Backup()}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = at
}

// Thaw lets a frozen replica go on.
func (r *Replica) Thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = nil
}

// endpoint is what the network side asks when a client logs in.
func (r *Replica) endpoint() server.Endpoint {
	return server.Endpoint{Name: r.name, Replica: func() *exec.Replica {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.primary {
			return nil
		}
		return &exec.Replica{Root: r.root}
	}}
}

// switchRole makes the replica the primary or a secondary that starts from the present state.
func (r *Replica) switchRole(primary bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.primary, r.frozen = primary, nil
	clear(r.shown)
}

// root is what the replica shows of a database now.
func (r *Replica) root(db *storage.Database) *storage.Root {
	r.follow(db)
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.shown[db]
	now := db.RootAt(time.Now().Add(-r.lag))
	if f := r.frozen[db]; f != nil && now.LSN.Compare(f.root.LSN) > 0 {
		now = f.root
	}
	if last != nil && now.Time.Before(last.Time) {
		return last
	}
	r.shown[db] = now
	return now
}

// follow keeps the history of a database from now on.
func (r *Replica) follow(db *storage.Database) {
	r.mu.Lock()
	known := r.subs[db] != nil
	r.mu.Unlock()
	if known {
		return
	}
	sub := db.Subscribe(history)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.subs == nil {
		r.subs, r.shown = map[*storage.Database]*storage.Subscription{}, map[*storage.Database]*storage.Root{}
	}
	if r.subs[db] != nil {
		sub.Close()
		return
	}
	r.subs[db] = sub
}

func (r *Replica) unsubscribe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sub := range r.subs {
		sub.Close()
	}
	r.subs = nil
}
