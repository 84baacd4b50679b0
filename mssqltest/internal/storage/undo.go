package storage

// change is one thing that a transaction did to a table: a row that left (old), entered (new) or both; or, with state set, the
// whole table's state before it was replaced under Sch-M.
type change struct {
	core     *tableCore
	old, new *Row
	state    *tableState
}

// tableState is a table before a DDL statement.
type tableState struct {
	store    *store
	rebuilt  bool
	dropped  bool
	identity identityState
}

// catalogDo is a change of a database's catalog.
type catalogDo struct {
	db *Database
	op catalogOp
}

// Rollback undoes everything and ends the transaction. It may be called after the end.
func (tx *Tx) Rollback() {
	if tx.ended {
		return
	}
	tx.undo(mark{})
	for c, t := range tx.tables {
		c.mu.Lock()
		if t.writer {
			c.writers--
		}
		c.mu.Unlock()
	}
	tx.end()
}

// undo goes back to a mark: rows in reverse order, then the catalog, then the log. Ghosts that rows had before the mark
// come back, because they follow from the committed state.
func (tx *Tx) undo(to mark) {
	for i := len(tx.changes) - 1; i >= to.changes; {
		c := tx.changes[i].core
		c.mu.Lock()
		for ; i >= to.changes && tx.changes[i].core == c; i-- {
			c.undo(tx.changes[i])
		}
		t := tx.tables[c]
		t.overlay, t.rebuilt = nil, c.rebuilt
		c.mu.Unlock()
	}
	clear(tx.changes[to.changes:])
	tx.changes = tx.changes[:to.changes]
	for i := len(tx.catalog) - 1; i >= to.catalog; i-- {
		d := tx.catalog[i]
		d.db.mu.Lock()
		d.db.catalog = d.db.catalog.with(d.op.inverse())
		d.db.mu.Unlock()
	}
	tx.catalog = tx.catalog[:to.catalog]
	for _, l := range tx.logs {
		l.truncate(to.logs[l.db])
	}
	tx.command = to.command
}

// undo takes one change back. The caller holds mu.
func (c *tableCore) undo(ch change) {
	c.touched()
	if s := ch.state; s != nil {
		c.current, c.rebuilt, c.dropped = s.store, s.rebuilt, s.dropped
		c.def.Store(s.store.def)
		c.identity.set(s.identity)
		return
	}
	c.undoRow(ch.old, ch.new)
}

func (c *tableCore) undoRow(old, new *Row) {
	var buf []byte
	for i, t := range c.current.trees {
		if new != nil {
			if k, ok := c.current.key(buf[:0], i, new); ok {
				if it, found := t.Get(item{key: string(k)}); found && it.row == new {
					c.remove(i, it.key)
				}
				buf = k
			}
		}
		if old != nil {
			if k, ok := c.current.key(buf[:0], i, old); ok {
				t.Set(item{key: c.current.keyString(i, k, old), row: old})
				buf = k
			}
		}
	}
}

// remove takes an entry out of a tree of current. A ghost stays where the committed state has an entry, so that readers
// under locks wait there.
func (c *tableCore) remove(i int, key string) {
	if c.committed != nil && !c.rebuilt {
		if row, ok := c.committed.store.get(i, key); ok {
			c.current.trees[i].Set(item{key: key, row: &Row{key: row.key, ghost: true}})
			return
		}
	}
	c.current.trees[i].Delete(item{key: key})
}
