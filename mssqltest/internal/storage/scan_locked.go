package storage

// locked reads the current state under row locks. While nobody else has changes in the table, all of it is committed and
// short locks are not needed, as a server that finds a page without open changes does not take them.
func (s *scan) locked(index int) error {
	st, others, err := s.begin(index)
	if err != nil {
		return err
	}
	if s.plan.verify {
		if s.view, err = s.tx.view(s.core, s.tx.snapshotRoot(s.core.db), true); err != nil {
			return err
		}
	}
	row := s.plan.row
	if row == S && s.table.mode.covers(S) || s.table.mode.covers(X) {
		row = NoMode
	}
	s.plan.row = row
	short := row == S && !s.plan.rowEnd && !s.plan.rowStmt
	if (row == NoMode || short && others == 0) && !s.plan.verify {
		return s.walk(st, index)
	}
	if s.tree, err = st.tree(index); err != nil {
		return err
	}
	s.cur.start(st.trees[s.tree])
	for it, ok := s.cur.item(); ok; it, ok = s.cur.item() {
		if err := s.examine(); err != nil {
			return err
		}
		if err := s.visit(it); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the state to read and, under SERIALIZABLE, locks the range.
func (s *scan) begin(index int) (*store, int, error) {
	if s.plan.lockRange {
		return s.lockRange(index)
	}
	st, others := s.current()
	return st, others, nil
}

// current takes the current state and the number of other transactions with changes in it.
func (s *scan) current() (*store, int) {
	c := s.core
	c.mu.Lock()
	defer c.mu.Unlock()
	others := c.writers
	if s.table.writer {
		others--
	}
	return c.share(), others
}

// visit locks the row of an entry, yields what is there then, and moves on; over a newer state of the tree if it had to wait.
func (s *scan) visit(it item) error {
	key, moved := it.row.key, false
	for {
		waited, ok, err := s.lock(key)
		if err != nil {
			return err
		}
		if !ok { // READPAST
			s.cur.next()
			return nil
		}
		moved = moved || waited
		live, found := s.lookup(it.key)
		if found && live.key != key {
			s.unlock(key)
			key = live.key
			continue
		}
		if moved {
			st, _ := s.current()
			s.cur.after(st.trees[s.tree], it.key)
		} else {
			s.cur.next()
		}
		if !found || live.ghost {
			s.unlock(key)
			return nil
		}
		return s.give(live)
	}
}

func (s *scan) lookup(key string) (*Row, bool) {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	return s.core.current.get(s.tree, key)
}

// lock takes the row lock; ok is false when READPAST passes the row over.
func (s *scan) lock(key string) (waited, ok bool, err error) {
	if s.plan.row == NoMode {
		return false, true, nil
	}
	res := s.core.rowResource(key)
	if s.plan.readPast {
		return false, s.tx.in.locks.try(s.tx.owner, res, s.plan.row), nil
	}
	timeout := s.tx.timeout()
	if s.plan.noWait {
		timeout = 0
	}
	waited, err = s.tx.in.locks.acquire(s.ctx, s.tx.owner, res, s.plan.row, timeout)
	return waited, err == nil, err
}

func (s *scan) unlock(key string) {
	if s.plan.row != NoMode {
		s.tx.in.locks.release(s.tx.owner, s.core.rowResource(key))
	}
}

// give settles how long the row's lock lasts and yields the row.
func (s *scan) give(row *Row) error {
	switch {
	case s.plan.row == NoMode:
	case s.plan.rowStmt:
		s.tx.rowUntilStatementEnd(s.core.rowResource(row.key))
		s.escalate(row.key)
	case s.plan.rowEnd:
		s.escalate(row.key)
	default:
		s.unlock(row.key)
	}
	if s.view != nil {
		if seen, ok := s.view.get(0, row.key); !ok || seen != row {
			return errConflict(s.core.live.Header().QualifiedName(), s.core.db.Name())
		}
	}
	if !s.yield(row, nil) {
		return errStop
	}
	return nil
}

func (s *scan) escalate(key string) {
	mode := X
	if s.plan.row == S {
		mode = S
	}
	if s.tx.countRowLock(s.table, s.core.rowResource(key), mode) {
		s.plan.row = NoMode
	}
}
