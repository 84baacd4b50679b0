package storage

import "context"

// maxRanges is how many ranges of a table a transaction locks before it asks for the whole table.
const maxRanges = 1000

// rangeLock keeps rows out of a range of an index that a SERIALIZABLE statement has read, until its transaction ends. A
// server locks the keys at both ends for that; this one locks exactly what was read.
type rangeLock struct {
	tree   int
	lo, hi string
	open   bool
	update bool     // read with update locks: excludes other such reads of overlapping ranges
	res    resource // its holder has it exclusively: who has to wait for the holder waits for it
}

func (l *rangeLock) has(key string) bool { return key >= l.lo && (l.open || key < l.hi) }

func (l *rangeLock) overlaps(m *rangeLock) bool {
	return l.tree == m.tree && (l.open || m.lo < l.hi) && (m.open || l.lo < m.hi)
}

// awaitRange waits until the holder of a range lock has ended.
func (tx *Tx) awaitRange(ctx context.Context, l *rangeLock) error {
	if _, err := tx.in.locks.acquire(ctx, tx.owner, l.res, S, tx.timeout()); err != nil {
		return err
	}
	tx.in.locks.release(tx.owner, l.res)
	return nil
}

// lockRange registers the scan's range and takes the state as of that moment.
func (s *scan) lockRange(index int) (st *store, others int, err error) {
	for {
		var wait *rangeLock
		if st, others, wait, err = s.tryRange(index); err != nil || wait == nil {
			return st, others, err
		}
		if err := s.tx.awaitRange(s.ctx, wait); err != nil {
			return nil, 0, err
		}
	}
}

func (s *scan) tryRange(index int) (st *store, others int, wait *rangeLock, err error) {
	c := s.core
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.current.tree(index)
	if err != nil {
		return nil, 0, nil, err
	}
	l := &rangeLock{tree: i, lo: s.cur.lo, hi: s.cur.hi, open: s.cur.open, update: s.plan.row != S}
	for tx, held := range c.ranges {
		for _, m := range held {
			if tx != s.tx && l.update && m.update && l.overlaps(m) {
				return nil, 0, m, nil
			}
		}
	}
	if !s.cur.empty && !s.rangeCovered() {
		c.rangeSeq++
		l.res = resource{kind: resRange, db: c.db.ID, object: c.id, index: c.rangeSeq, key: l.lo}
		s.tx.in.locks.try(s.tx.owner, l.res, X)
		if c.ranges == nil {
			c.ranges = map[*Tx][]*rangeLock{}
		}
		c.ranges[s.tx] = append(c.ranges[s.tx], l)
	}
	others = c.writers
	if s.table.writer {
		others--
	}
	return c.share(), others, nil, nil
}

// rangeCovered says whether a table lock does for the range, if need be by escalation. The caller holds the table's mutex.
func (s *scan) rangeCovered() bool {
	mode := S
	if s.plan.row != S {
		mode = SIX
	}
	if s.table.mode.covers(mode) {
		return true
	}
	if n := len(s.core.ranges[s.tx]); n < maxRanges || n%maxRanges != 0 {
		return false
	}
	return s.tx.escalate(s.table, mode)
}

// inLockedRange returns a range lock of another transaction that a change would put a row into. The caller holds mu.
func (c *tableCore) inLockedRange(tx *Tx, plan []planned) *rangeLock {
	for other, held := range c.ranges {
		if other == tx {
			continue
		}
		for _, l := range held {
			for _, p := range plan {
				if p.new != nil && c.enters(l, p) {
					return l
				}
			}
		}
	}
	return nil
}

func (c *tableCore) enters(l *rangeLock, p planned) bool {
	if l.tree >= len(c.current.trees) {
		return false
	}
	k, ok := c.current.key(nil, l.tree, p.new)
	if !ok || !l.has(string(k)) {
		return false
	}
	if p.old == nil {
		return true
	}
	was, ok := c.current.key(nil, l.tree, p.old)
	return !ok || string(was) != string(k)
}

// freeRanges ends the transaction's range locks.
func (c *tableCore) freeRanges(tx *Tx) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ranges, tx)
}
