package storage

import "example.com/mssqlcdc/mssqltest/internal/sqlerr"

// breakDeadlocks looks for cycles through the new waiter w and ends the wait of one member of each: the one with the
// lowest priority, then the youngest. Every wait edge that can close a cycle begins or ends at a new waiter, so that
// looking here is enough.
func (m *lockManager) breakDeadlocks(w *waiter) {
	for !w.done {
		cycle := m.findCycle(w)
		if cycle == nil {
			return
		}
		victim := cycle[0]
		for _, c := range cycle[1:] {
			if c.owner.priority < victim.owner.priority ||
				c.owner.priority == victim.owner.priority && c.owner.seq > victim.owner.seq {
				victim = c
			}
		}
		spid := 0
		if victim.owner.session != nil {
			spid = victim.owner.session.SPID
		}
		m.fail(victim, sqlerr.New(1205, spid))
	}
}

// findCycle returns the waiters of a wait cycle that w is part of.
func (m *lockManager) findCycle(w *waiter) []*waiter {
	seen := map[any]bool{}
	var path []*waiter
	var walk func(x *waiter) bool
	walk = func(x *waiter) bool {
		path = append(path, x)
		for _, node := range x.blockers() {
			if node == w.owner.node() {
				return true
			}
			if seen[node] {
				continue
			}
			seen[node] = true
			for _, next := range m.waiting[node] {
				if walk(next) {
					return true
				}
			}
		}
		path = path[:len(path)-1]
		return false
	}
	if walk(w) {
		return path
	}
	return nil
}

// blockers are the nodes that must move before x can be granted: holders of conflicting locks and everyone ahead in the queue.
func (w *waiter) blockers() []any {
	var nodes []any
	self := w.owner.node()
	for _, g := range w.state.granted {
		if n := g.owner.node(); n != self && !compatible(g.mode, w.want) {
			nodes = append(nodes, n)
		}
	}
	for _, q := range w.state.queue {
		if q == w {
			break
		}
		if n := q.owner.node(); n != self {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
