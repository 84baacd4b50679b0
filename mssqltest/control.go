package mssqltest

import (
	"fmt"
	"sync"

	"example.com/mssqlcdc/mssqltest/internal/server"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// Control injects faults into a server and turns the knobs that an administrator or an accident would. Its methods may
// be called at any time and from any goroutine, rules' callbacks among them.
type Control struct{ s *Server }

// Add puts a rule in force until the returned function is called.
func (c *Control) Add(r Rule) (remove func()) { return c.s.rules.add(r) }

// Between calls f once, when a connection is about to run a statement that contains after, having run one that contains
// before. The two may be in one batch or in different ones; f runs before the second and may call anything.
func (c *Control) Between(before, after string, f func(Event)) (remove func()) {
	var mu sync.Mutex
	seen := map[int]bool{}
	mark := func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		seen[e.Conn] = true
	}
	passed := func(e Event) bool {
		mu.Lock()
		defer mu.Unlock()
		return seen[e.Conn]
	}
	first := c.Add(Rule{Kind: server.KindStatement, Text: before, After: mark})
	second := c.Add(Rule{Kind: server.KindStatement, Text: after, Match: passed, Times: 1, Before: f})
	return func() { first(); second() }
}

// Throttle limits what the server sends on each connection from now on, in bytes a second; 0 takes the limit away.
func (c *Control) Throttle(bytesPerSecond int64) { c.s.rate.Store(bytesPerSecond) }

// Cut closes the connections that match, without a word, and returns how many they were; nil matches all.
func (c *Control) Cut(match func(Event) bool) int {
	return c.s.net.Cut(func(e server.Event) bool { return match == nil || match(Event(e)) })
}

// Kill ends a session as KILL does and reports whether there was one.
func (c *Control) Kill(spid int) bool { return c.s.net.Kill(spid) }

// Connections describes the connections that are open.
func (c *Control) Connections() []Event {
	var out []Event
	for _, e := range c.s.net.Connections() {
		out = append(out, Event(e))
	}
	return out
}

// OpenRequests counts the connections whose request has not been answered to its end.
func (c *Control) OpenRequests() int { return c.s.net.OpenRequests() }

// OpenTransactions counts the transactions that have neither committed nor rolled back.
func (c *Control) OpenTransactions() int { return len(c.s.storage.OpenTransactions()) }

// Locks lists the locks that are held or waited for, as "mode status resource of session".
func (c *Control) Locks() []string {
	var out []string
	for _, l := range c.s.storage.Locks() {
		out = append(out, fmt.Sprintf("%s %s %s %d:%d%s of session %d", l.Mode, l.Status, l.Type, l.DatabaseID, l.ObjectID, l.Resource, l.SPID))
	}
	return out
}

// ReadOnly makes a database refuse writes (error 3906), or take them again.
func (c *Control) ReadOnly(database string, on bool) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	db.UpdateProps(func(p *storage.Props) { p.ReadOnly = on })
	return nil
}

// Promote makes a replica the primary, as a forced failover does. What was committed since Replica.Freeze is lost and
// the history forks there; without Freeze nothing is lost. All connections are cut; the former primary's listener serves
// a secondary from then on.
func (c *Control) Promote(r *Replica) error {
	if r.s != c.s {
		return fmt.Errorf("promoting %s: a replica of another server", r.name)
	}
	c.Cut(nil)
	r.mu.Lock()
	lost := r.frozen
	r.mu.Unlock()
	for db, f := range lost {
		if err := c.restore(db, f.backup); err != nil {
			return fmt.Errorf("promoting %s: %w", r.name, err)
		}
	}
	c.s.mu.Lock()
	all := append([]*Replica{c.s.primary}, c.s.replicas...)
	c.s.mu.Unlock()
	for _, x := range all {
		x.switchRole(x == r)
	}
	c.Cut(nil)
	return nil
}

// Backup is the committed state of a database at one time.
type Backup struct{ b *storage.Backup }

// Backup takes a backup of a database.
func (c *Control) Backup(database string) (*Backup, error) {
	db, err := c.database(database)
	if err != nil {
		return nil, err
	}
	return &Backup{b: db.Backup()}, nil
}

// Restore puts a database back to a backup. Its connections are cut, change data capture stays on, and LSNs go on from
// the restored point: history forks.
func (c *Control) Restore(database string, b *Backup) error {
	db, err := c.database(database)
	if err != nil {
		return err
	}
	c.s.net.Cut(func(e server.Event) bool { return true })
	return c.restore(db, b.b)
}

// restore does it with the capture job out of the way.
func (c *Control) restore(db *storage.Database, b *storage.Backup) error {
	if job := c.s.cdc.Job(db); job != nil && job.Running() {
		job.Stop()
		defer job.Start()
	}
	return db.Restore(b)
}

// database finds a user database; "" is that of the configuration.
func (c *Control) database(name string) (*storage.Database, error) {
	if name == "" {
		name = c.s.cfg.Database
	}
	db := c.s.storage.Database(name)
	if db == nil {
		return nil, fmt.Errorf("finding database %q: there is none", name)
	}
	return db, nil
}
