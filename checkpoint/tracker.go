package checkpoint

import "sync"

// Tracker turns acknowledgements into the newest position that may be saved: one with nothing unacknowledged before it. Entries
// are added in the order in which they are given out and acknowledged in any order, more than once and from any goroutine.
type Tracker struct {
	limit int

	mu      sync.Mutex
	first   uint64 // ticket of entries[0]
	entries []tracked
	weight  int // of the entries that are not acknowledged
	newest  Position
	reached bool
}

type tracked struct {
	pos    Position
	weight int
	acked  bool
}

// Ticket names an entry of a Tracker.
type Ticket uint64

// NewTracker makes a tracker that holds entries of at most limit weight at a time, or a single heavier one; 0 is no limit.
func NewTracker(limit int) *Tracker { return &Tracker{limit: limit} }

// Add puts an entry behind all others. It reports false, and adds nothing, when there is no room until something is acknowledged.
func (t *Tracker) Add(pos Position, weight int) (Ticket, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limit > 0 && t.weight > 0 && t.weight+weight > t.limit {
		return 0, false
	}
	t.entries = append(t.entries, tracked{pos: pos, weight: weight})
	t.weight += weight
	return Ticket(t.first + uint64(len(t.entries)) - 1), true
}

// Ack acknowledges an entry. It reports the newest position that may be saved and whether this call moved it. A second
// acknowledgement, or one of a forgotten entry, changes nothing.
func (t *Tracker) Ack(k Ticket) (Position, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if uint64(k) < t.first || uint64(k)-t.first >= uint64(len(t.entries)) {
		return t.newest, false
	}
	e := &t.entries[uint64(k)-t.first]
	if e.acked {
		return t.newest, false
	}
	e.acked = true
	t.weight -= e.weight
	n := 0
	for n < len(t.entries) && t.entries[n].acked {
		t.newest, t.reached = t.entries[n].pos, true
		n++
	}
	if n == 0 {
		return t.newest, false
	}
	rest := copy(t.entries, t.entries[n:])
	clear(t.entries[rest:])
	t.entries = t.entries[:rest]
	t.first += uint64(n)
	return t.newest, true
}

// Forget drops every entry that is not covered by Newest, for going back to it: they are added anew, and late acknowledgements of
// the old ones change nothing.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first += uint64(len(t.entries))
	t.entries, t.weight = nil, 0
}

// Newest is the newest position that may be saved, false before there is one.
func (t *Tracker) Newest() (Position, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest, t.reached
}

// Pending is the number of entries that are not covered by Newest and their weight that is not acknowledged.
func (t *Tracker) Pending() (entries, weight int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries), t.weight
}
