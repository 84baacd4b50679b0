package storage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// resource names one thing that can be locked.
type resource struct {
	kind   resourceKind
	db     int
	object int32
	index  int    // a key of another unique index, 0 is the row itself; number of a range lock
	key    string // row key, index key, applock name
}

type resourceKind uint8

const (
	resTable resourceKind = iota
	resKey
	resRange
	resApp
)

// lockOwner holds locks until it is closed: a transaction, or a session for its applocks. The manager's mutex guards it.
type lockOwner struct {
	session  *Owner
	tx       *Tx
	seq      uint64 // younger owners have greater numbers
	priority int
	held     map[resource]*lockState
}

// node is what waits and is waited for: locks of one session never conflict with each other.
func (o *lockOwner) node() any {
	if o.session != nil {
		return o.session
	}
	return o
}

type grant struct {
	owner *lockOwner
	mode  Mode
	count int
}

// waiter is a request in a queue; ready is closed when it is granted or has failed.
type waiter struct {
	owner   *lockOwner
	state   *lockState
	want    Mode // after conversion
	convert bool
	done    bool
	err     error
	ready   chan struct{}
}

// lockState is one resource that somebody holds or waits for.
type lockState struct {
	res     resource
	granted []grant
	first   [1]grant  // room for the usual case
	queue   []*waiter // conversions first, each group in order of arrival
}

func (s *lockState) grantOf(o *lockOwner) *grant {
	for i := range s.granted {
		if s.granted[i].owner == o {
			return &s.granted[i]
		}
	}
	return nil
}

// grantable says whether nobody else's lock conflicts with mode.
func (s *lockState) grantable(o *lockOwner, mode Mode) bool {
	for _, g := range s.granted {
		if g.owner.node() != o.node() && !compatible(g.mode, mode) {
			return false
		}
	}
	return true
}

// lockManager grants locks first come, first served; conversions go before new requests.
type lockManager struct {
	mu      sync.Mutex
	locks   map[resource]*lockState
	waiting map[any][]*waiter // by node
	seq     uint64
}

func newLockManager() *lockManager {
	return &lockManager{locks: map[resource]*lockState{}, waiting: map[any][]*waiter{}}
}

func (m *lockManager) newOwner(session *Owner, tx *Tx, priority int) *lockOwner {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq++
	return &lockOwner{session: session, tx: tx, seq: m.seq, priority: priority, held: map[resource]*lockState{}}
}

// acquire takes a lock or waits for it: timeout 0 does not wait, below 0 waits for ever. waited says that others may
// have changed things meanwhile. Each successful acquire needs one release, or the owner's end.
func (m *lockManager) acquire(ctx context.Context, o *lockOwner, res resource, mode Mode, timeout time.Duration) (waited bool, err error) {
	m.mu.Lock()
	w := m.request(o, res, mode, timeout == 0)
	failed := w != nil && w.done
	m.mu.Unlock()
	if w == nil {
		return false, nil
	}
	if failed {
		return false, w.err
	}
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-w.ready:
	case <-expired:
		m.cancel(w, sqlerr.New(1222))
	case <-ctx.Done():
		m.cancel(w, fmt.Errorf("waiting for a lock: %w", context.Cause(ctx)))
	}
	return true, w.err
}

// once tells whether an owner has been granted a lock on a resource once, and no more than that.
func (m *lockManager) once(o *lockOwner, res resource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.locks[res]
	if s == nil {
		return false
	}
	g := s.grantOf(o)
	return g != nil && g.count == 1
}

// try takes a lock only if that needs no wait.
func (m *lockManager) try(o *lockOwner, res resource, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.request(o, res, mode, true) == nil
}

// request grants and returns nil, or queues, or fails at once (the waiter is done then).
func (m *lockManager) request(o *lockOwner, res resource, mode Mode, nowait bool) *waiter {
	s := m.locks[res]
	if s == nil {
		s = &lockState{res: res}
		s.granted = s.first[:0]
		m.locks[res] = s
	}
	g := s.grantOf(o)
	if g != nil && g.mode.covers(mode) {
		g.count++
		return nil
	}
	want := mode
	if g != nil {
		want = join(g.mode, mode)
	}
	if s.grantable(o, want) && (g != nil || len(s.queue) == 0 || want == SchS && !s.awaits(SchM)) {
		s.grant(o, want)
		return nil
	}
	w := &waiter{owner: o, state: s, want: want, convert: g != nil, ready: make(chan struct{})}
	if nowait {
		w.done, w.err = true, sqlerr.New(1222)
		return w
	}
	s.enqueue(w)
	m.waiting[o.node()] = append(m.waiting[o.node()], w)
	m.breakDeadlocks(w)
	return w
}

// awaits tells whether anybody waits for a mode. A schema lock goes past all who do not wait for the schema: what reads row
// versions, or dirty, does not wait behind a writer that waits.
func (s *lockState) awaits(mode Mode) bool {
	return slices.ContainsFunc(s.queue, func(w *waiter) bool { return w.want == mode })
}

func (s *lockState) grant(o *lockOwner, mode Mode) {
	if g := s.grantOf(o); g != nil {
		g.mode = mode
		g.count++
		return
	}
	s.granted = append(s.granted, grant{owner: o, mode: mode, count: 1})
	o.held[s.res] = s
}

func (s *lockState) enqueue(w *waiter) {
	at := len(s.queue)
	if w.convert {
		at = 0
		for at < len(s.queue) && s.queue[at].convert {
			at++
		}
	}
	s.queue = append(s.queue, nil)
	copy(s.queue[at+1:], s.queue[at:])
	s.queue[at] = w
}

// cancel ends a wait from the waiting side; a grant that came first stands.
func (m *lockManager) cancel(w *waiter, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !w.done {
		m.fail(w, err)
	}
}

// fail takes w out of its queue with an error, which may let those behind it through.
func (m *lockManager) fail(w *waiter, err error) {
	s := w.state
	for i, q := range s.queue {
		if q == w {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			break
		}
	}
	m.finish(w, err)
	m.wake(s)
}

func (m *lockManager) finish(w *waiter, err error) {
	w.done, w.err = true, err
	close(w.ready)
	n := w.owner.node()
	rest := m.waiting[n][:0]
	for _, x := range m.waiting[n] {
		if x != w {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		delete(m.waiting, n)
	} else {
		m.waiting[n] = rest
	}
}

// wake grants what the head of the queue now can have.
func (m *lockManager) wake(s *lockState) {
	for len(s.queue) > 0 && s.grantable(s.queue[0].owner, s.queue[0].want) {
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.grant(w.owner, w.want)
		m.finish(w, nil)
	}
	if len(s.granted) == 0 && len(s.queue) == 0 {
		delete(m.locks, s.res)
	}
}
