package storage

import (
	"slices"
	"time"
)

// Commit makes the transaction's changes visible to everyone and ends it. It returns the commit LSN of the last
// database with changes, zero without changes. Each database publishes its new Root at once.
func (tx *Tx) Commit() (LSN, error) {
	var lsn LSN
	if tx.ended {
		return lsn, nil
	}
	for _, db := range tx.dbs {
		if tx.changed(db) {
			lsn = db.commit(tx)
		}
	}
	for c, t := range tx.tables {
		if t.writer {
			c.mu.Lock()
			c.writers--
			c.mu.Unlock()
		}
	}
	tx.end()
	return lsn, nil
}

// changed says whether there is something to commit in db. What was undone no longer counts.
func (tx *Tx) changed(db *Database) bool {
	for i := len(tx.changes) - 1; i >= 0; i-- {
		if tx.changes[i].core.db == db {
			return true
		}
	}
	return tx.logs[db] != nil && !tx.logs[db].empty() || slices.ContainsFunc(tx.catalog, func(d catalogDo) bool { return d.db == db })
}

func (db *Database) commit(tx *Tx) LSN {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	lsn := db.clock.nextBlock()
	last := db.Root()
	next := &Root{db: db, LSN: lsn, props: db.Props(), catalog: last.catalog, tables: last.tables}
	for _, d := range tx.catalog {
		if d.db == db {
			next.catalog = next.catalog.with(d.op)
		}
	}
	versions := db.commitTables(tx)
	if len(versions) > 0 {
		next.tables = last.tables.Copy()
		for c, v := range versions {
			if v == nil {
				next.tables.Delete(c.id)
			} else {
				next.tables.Set(c.id, v)
			}
		}
	}
	var rec *LogRecord
	if l := tx.logs[db]; l != nil && !l.empty() {
		rec = l.record(tx, lsn, time.Now())
	}
	db.publish(next, rec)
	return lsn
}

// commitTables makes the committed versions of the tables that tx has changed; nil for a dropped table.
func (db *Database) commitTables(tx *Tx) map[*tableCore]*version {
	versions := map[*tableCore]*version{}
	for c, t := range tx.tables {
		if c.db == db && (t.writer || t.rebuilt) {
			versions[c] = nil
		}
	}
	for i := 0; i < len(tx.changes) && len(versions) > 0; {
		c := tx.changes[i].core
		if _, ok := versions[c]; !ok {
			i++
			continue
		}
		c.mu.Lock()
		for ; i < len(tx.changes) && tx.changes[i].core == c; i++ {
			c.settle(tx.changes[i])
		}
		c.mu.Unlock()
	}
	for c := range versions {
		versions[c] = c.commit(tx)
	}
	return versions
}

// settle removes the ghosts that a change has left. The caller holds mu and its transaction the row's lock.
func (c *tableCore) settle(ch change) {
	if ch.old == nil || c.rebuilt {
		return
	}
	c.touched()
	var buf []byte
	for i, t := range c.current.trees {
		if k, ok := c.current.key(buf[:0], i, ch.old); ok {
			if it, found := t.Get(item{key: string(k)}); found && it.row.ghost {
				t.Delete(it)
			}
			buf = k
		}
	}
}

// commit makes the table's next committed version. When nobody else has changes in the table it is the current state
// itself; else the transaction's changes are replayed over the last version.
func (c *tableCore) commit(tx *Tx) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	alone := c.writers <= 1 || c.rebuilt
	c.rebuilt = false
	if c.dropped {
		c.committed = nil
		return nil
	}
	var s *store
	if alone || c.committed == nil {
		s = c.share()
	} else {
		s = c.committed.store.clone()
		for _, ch := range tx.changes {
			if ch.core == c && ch.state == nil {
				s.replay(ch.old, ch.new)
			}
		}
	}
	table := &Table{core: c, pinned: s.def}
	if c.committed != nil && c.committed.store.def == s.def {
		table = c.committed.table
	}
	c.committed = &version{table: table, store: s}
	return c.committed
}
