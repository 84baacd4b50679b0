package storage

// apply changes the current trees, or returns a range lock that is in the way.
func (tx *Tx) apply(t *txTable, plan []planned) (wait *rangeLock, err error) {
	c := t.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.inLockedRange(tx, plan); wait != nil {
		return wait, nil
	}
	if !t.writer {
		t.writer = true
		c.writers++
		tx.touch(c.db)
	}
	c.touched()
	done, err := tx.takeOut(c, plan)
	if err == nil {
		err = c.putIn(plan, tx.conflictBase(t))
	}
	if err != nil {
		for i := done - 1; i >= 0; i-- {
			c.undoRow(plan[i].old, plan[i].new)
		}
	}
	return nil, err
}

// takeOut removes the entries that change, after a look whether the old rows still are what the caller has read. done is
// how many changes it began.
func (tx *Tx) takeOut(c *tableCore, plan []planned) (done int, err error) {
	s := c.current
	for _, p := range plan {
		if p.old == nil {
			done++
			continue
		}
		if live, ok := s.get(0, p.old.key); !ok || live != p.old {
			if tx.isolation == Snapshot && c.db.ID != TempDBID {
				return done, errConflict(s.def.QualifiedName(), c.db.Name())
			}
			return done, errMoved()
		}
		done++
		for i := range s.trees {
			ko, ok := s.key(nil, i, p.old)
			if !ok {
				continue
			}
			if p.new != nil {
				if kn, ok := s.key(nil, i, p.new); ok && string(kn) == string(ko) {
					continue
				}
			}
			c.remove(i, string(ko))
		}
	}
	return done, nil
}

// conflictBase is the table in the transaction's snapshot, for SNAPSHOT only.
func (tx *Tx) conflictBase(t *txTable) *store {
	if tx.isolation != Snapshot || t.core.db.ID == TempDBID || t.rebuilt {
		return nil
	}
	if v := tx.snapshotRoot(t.core.db).version(t.core); v != nil {
		return v.store
	}
	return nil
}

// conflict says whether the snapshot has a row at a key of a unique tree that somebody has changed or deleted since. To
// insert there is an update conflict: the transaction would see two rows with one key.
func (c *tableCore) conflict(base *store, i int, key string) bool {
	seen, ok := base.get(i, key)
	if !ok {
		return false
	}
	now, ok := c.committed.store.get(i, key)
	return !ok || now != seen
}

// putIn adds the entries of the new rows and finds duplicates. base is the snapshot's state or nil.
func (c *tableCore) putIn(plan []planned, base *store) error {
	s := c.current
	var buf []byte
	for _, p := range plan {
		if p.new == nil {
			continue
		}
		for i, t := range s.trees {
			k, ok := s.key(buf[:0], i, p.new)
			if buf = k; !ok {
				continue
			}
			if base != nil && s.unique(i) && c.conflict(base, i, string(k)) {
				return errConflict(s.def.QualifiedName(), c.db.Name())
			}
			prev, replaced := t.Set(item{key: s.keyString(i, k, p.new), row: p.new})
			if replaced && !prev.row.ghost && prev.row != p.old {
				t.Set(prev)
				return errDuplicate(s.def, s.index[i], p.new.Vals)
			}
		}
	}
	return nil
}
