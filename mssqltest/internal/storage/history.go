package storage

import (
	"sort"
	"time"
)

// maxHistory bounds the Roots that are kept for lagging replicas, whatever their age; a replica that lags behind more
// commits than this sees the oldest one.
const maxHistory = 1 << 17

// history is the Roots of the last while, kept only while somebody has subscribed.
type history struct {
	roots  []*Root
	wanted map[*Subscription]time.Duration
}

// Subscription keeps the history of a database for one replica.
type Subscription struct{ db *Database }

// Subscribe keeps the Roots of at least the last maxLag, so that RootAt can answer. Close ends it.
func (db *Database) Subscribe(maxLag time.Duration) *Subscription {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &Subscription{db: db}
	if db.history.wanted == nil {
		db.history.wanted = map[*Subscription]time.Duration{}
		first := db.root.Load()
		if now := time.Now(); first.Time.After(now) { // made before a synctest bubble, whose clock stands in the past
			r := *first
			r.Time = now
			first = &r
		}
		db.history.roots = []*Root{first}
	}
	db.history.wanted[s] = maxLag
	return s
}

// Close gives the history free.
func (s *Subscription) Close() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	delete(s.db.history.wanted, s)
	if len(s.db.history.wanted) == 0 {
		s.db.history = history{}
	}
}

// RootAt is the state that was committed at a time: the newest Root that is not younger, the oldest one that is kept, or
// the latest one without a history.
func (db *Database) RootAt(t time.Time) *Root {
	db.mu.Lock()
	defer db.mu.Unlock()
	roots := db.history.roots
	if len(roots) == 0 {
		return db.root.Load()
	}
	i := sort.Search(len(roots), func(i int) bool { return roots[i].Time.After(t) })
	return roots[max(i-1, 0)]
}

// note adds a Root and forgets those that no subscriber can ask for.
func (h *history) note(r *Root) {
	if len(h.wanted) == 0 {
		return
	}
	h.roots = append(h.roots, r)
	var lag time.Duration
	for _, d := range h.wanted {
		lag = max(lag, d)
	}
	oldest := r.Time.Add(-lag)
	drop := sort.Search(len(h.roots), func(i int) bool { return h.roots[i].Time.After(oldest) }) - 1
	drop = max(drop, len(h.roots)-maxHistory, 0)
	if drop > len(h.roots)/2 {
		h.roots = append([]*Root(nil), h.roots[drop:]...)
	}
}

// publish makes r the database's latest Root and adds rec, if there is one, to the log. The caller holds commitMu.
func (db *Database) publish(r *Root, rec *LogRecord) {
	r.Time = time.Now()
	db.mu.Lock()
	defer db.mu.Unlock()
	if rec != nil {
		db.log = append(db.log, rec)
		close(db.logWatch)
		db.logWatch = make(chan struct{})
	}
	r.log = db.log
	db.root.Store(r)
	db.history.note(r)
}
