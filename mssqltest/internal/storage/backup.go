package storage

import (
	"maps"
	"slices"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"github.com/tidwall/btree"
)

// Backup is the committed state of a database at one moment, with its log. It shares everything with the database.
type Backup struct {
	Name string
	Time time.Time
	root *Root
	log  []*LogRecord
	lsn  LSN

	rowVersion             uint64
	nextObject, nextSchema int32
	identities             map[int32]identityState
	rowIDs                 map[int32]uint64
}

// Backup takes a backup of the latest committed state.
func (db *Database) Backup() *Backup {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	return db.backup(db.Root(), db.clock.position())
}

// Backup makes a backup of what a replica with this Root has, for a failover to that replica: Restore it, and everything
// that was committed later is lost.
func (r *Root) Backup() *Backup {
	r.db.commitMu.Lock()
	defer r.db.commitMu.Unlock()
	lsn := r.LSN
	if lsn.IsZero() {
		lsn = newLSNClock().position()
	}
	return r.db.backup(r, lsn)
}

// backup adds the counters to a Root. They may have gone on since, which harms nobody.
func (db *Database) backup(r *Root, lsn LSN) *Backup {
	b := &Backup{Name: db.Name(), Time: time.Now(), root: r, log: r.log, lsn: lsn,
		identities: map[int32]identityState{}, rowIDs: map[int32]uint64{}}
	r.tables.Scan(func(id int32, v *version) bool {
		b.identities[id] = v.table.core.identity.state()
		b.rowIDs[id] = v.table.core.rowID.Load()
		return true
	})
	db.mu.Lock()
	defer db.mu.Unlock()
	b.rowVersion, b.nextObject, b.nextSchema = db.rowVersion, db.nextObject, db.nextSchema
	return b
}

// Restore puts the backup's state in the place of the database's. LSNs go on from the backup's position, so that the
// log's history forks there. An open transaction with locks or changes in the database is error 3101. Tables that were
// looked up before no longer exist.
func (db *Database) Restore(b *Backup) error {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if db.inUse() {
		return sqlerr.Newf(3101, 16, "Exclusive access could not be obtained because the database is in use.")
	}
	for _, o := range db.Objects() {
		if t, ok := o.(*Table); ok {
			t.core.mu.Lock()
			t.core.dropped = true
			t.core.mu.Unlock()
		}
	}
	root := b.restoreRoot(db)
	db.clock.restore(b.lsn)
	db.mu.Lock()
	db.catalog, db.props = root.catalog, root.props
	db.log = b.restoreLog(root)
	db.rowVersion, db.nextObject, db.nextSchema = b.rowVersion, b.nextObject, b.nextSchema
	close(db.logWatch)
	db.logWatch = make(chan struct{})
	db.mu.Unlock()
	db.publish(root, nil)
	return nil
}

// restoreRoot makes new tables of the backup's versions.
func (b *Backup) restoreRoot(db *Database) *Root {
	cat := *b.root.catalog
	cat.objects = maps.Clone(cat.objects)
	root := &Root{db: db, LSN: b.root.LSN, props: b.root.props, catalog: &cat, tables: &btree.Map[int32, *version]{}}
	b.root.tables.Scan(func(id int32, v *version) bool {
		from := v.table.core
		from.mu.Lock()
		current, committed := v.store.clone(), v.store.clone()
		from.mu.Unlock()
		c := &tableCore{db: db, id: id, current: current}
		c.live = &Table{core: c}
		c.def.Store(v.store.def)
		db.note(v.store.def)
		c.identity.set(b.identities[id])
		c.rowID.Store(b.rowIDs[id])
		c.committed = &version{table: &Table{core: c, pinned: v.store.def}, store: committed}
		root.tables.Set(id, c.committed)
		cat.objects[id] = c.live
		return true
	})
	return root
}

// restoreLog points the backup's log records to the new tables.
func (b *Backup) restoreLog(root *Root) []*LogRecord {
	live := func(t *Table) *Table {
		if t == nil {
			return nil
		}
		if v, ok := root.tables.Get(t.core.id); ok {
			return v.table.core.live
		}
		return t
	}
	out := make([]*LogRecord, len(b.log))
	for i, r := range b.log {
		n := *r
		n.Changes, n.DDL = slices.Clone(r.Changes), slices.Clone(r.DDL)
		for j := range n.Changes {
			n.Changes[j].Table = live(n.Changes[j].Table)
		}
		for j := range n.DDL {
			n.DDL[j].Table = live(n.DDL[j].Table)
		}
		out[i] = &n
	}
	return out
}
