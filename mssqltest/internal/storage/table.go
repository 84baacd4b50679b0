package storage

import (
	"sync"
	"sync/atomic"
)

// Table is a table of a database. The pointers that a Database gives out are stable for the table's life and Def follows
// ALTER; those of a Root are fixed to the Root's definition. Both name the same table for Scan and Apply.
type Table struct {
	core   *tableCore
	pinned *TableDef
}

// tableCore is the state that all Table values of one table share.
type tableCore struct {
	db   *Database
	id   int32
	live *Table
	def  atomic.Pointer[TableDef] // of current, readable without mu

	mu        sync.Mutex
	current   *store
	shared    *store   // copy of current for readers, nil when current has changed since
	committed *version // latest; nil until the creating transaction commits
	writers   int      // open transactions with changes in current
	rebuilt   bool     // an open transaction with Sch-M has replaced current: nobody needs ghosts
	dropped   bool
	ranges    map[*Tx][]*rangeLock
	rangeSeq  int

	rowID    atomic.Uint64
	identity identityCounter
}

// version is a table in a Root.
type version struct {
	table *Table // pinned to store.def
	store *store // never changed
}

func newTableCore(db *Database, d *TableDef) *tableCore {
	c := &tableCore{db: db, id: d.ID, current: newStore(d)}
	c.live = &Table{core: c}
	c.def.Store(d)
	db.note(d)
	if i := d.IdentityColumn(); i >= 0 {
		c.identity.reset(d.Columns[i].Identity)
	}
	return c
}

func (c *tableCore) newRowID() uint64 { return c.rowID.Add(1) }

func (c *tableCore) resource() resource { return resource{kind: resTable, db: c.db.ID, object: c.id} }

func (c *tableCore) rowResource(key string) resource {
	return resource{kind: resKey, db: c.db.ID, object: c.id, key: key}
}

func (c *tableCore) keyResource(tree int, key string) resource {
	return resource{kind: resKey, db: c.db.ID, object: c.id, index: tree, key: key}
}

// snapshot takes the current state for reading.
func (c *tableCore) snapshot() *store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.share()
}

// share is a copy of the current state that nobody changes; one serves all readers until the next change. The caller
// holds mu, and so does everyone who sets current or changes its trees, after a call of touched.
func (c *tableCore) share() *store {
	if c.shared == nil {
		c.shared = c.current.clone()
	}
	return c.shared
}

// touched says that the current state is about to change.
func (c *tableCore) touched() { c.shared = nil }

// ID is the object_id.
func (t *Table) ID() int32 { return t.core.id }

// Database is the table's database.
func (t *Table) Database() *Database { return t.core.db }

// Def is the table's definition, which must not be changed.
func (t *Table) Def() *TableDef {
	if t.pinned != nil {
		return t.pinned
	}
	return t.core.def.Load()
}

// Header implements Object.
func (t *Table) Header() *ObjectHeader { return &t.Def().ObjectHeader }

// Live is the table as its Database gives it out, whose Def follows ALTER.
func (t *Table) Live() *Table { return t.core.live }

// Same says whether t and u are the same table.
func (t *Table) Same(u *Table) bool { return t.core == u.core }

// RowCount is the number of rows, with uncommitted ones.
func (t *Table) RowCount() int64 {
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return int64(t.core.current.trees[0].Len())
}
