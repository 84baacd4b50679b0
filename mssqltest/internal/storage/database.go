package storage

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"github.com/tidwall/btree"
)

// Database is one database: its current catalog, its latest Root, its log.
type Database struct {
	foreignKeys atomic.Bool // see HasForeignKeys

	ID         int
	Collation  *collate.Collation
	CreateDate time.Time

	in       *Instance
	name     atomic.Pointer[string]
	root     atomic.Pointer[Root]
	clock    *lsnClock
	commitMu sync.Mutex // orders commits; see the package comment for what may be taken under it

	mu         sync.Mutex // the fields below
	props      Props
	catalog    *catalog // current, with uncommitted DDL
	nextObject int32
	nextSchema int32
	rowVersion uint64
	log        []*LogRecord
	logWatch   chan struct{}
	history    history
	touchedBy  map[uint64]struct{} // open transactions with changes
}

var _ Catalog = (*Database)(nil)

func newDatabase(in *Instance, id int, name string, c *collate.Collation) *Database {
	db := &Database{ID: id, Collation: c, CreateDate: time.Now(), in: in, clock: newLSNClock(), catalog: newCatalog(c),
		props:      Props{Recovery: "FULL", CompatLevel: 160, OwnerSID: []byte{1}},
		nextObject: 581577110, nextSchema: 5, rowVersion: 2000, logWatch: make(chan struct{}), touchedBy: map[uint64]struct{}{}}
	if id < FirstUserDatabase {
		db.props.Recovery = "SIMPLE"
		db.props.SnapshotIsolation = id == MasterID || id == MSDBID
	}
	db.name.Store(&name)
	db.root.Store(&Root{db: db, Time: db.CreateDate, props: db.props, catalog: db.catalog, tables: &btree.Map[int32, *version]{}})
	return db
}

// Instance is the server that the database belongs to.
func (db *Database) Instance() *Instance { return db.in }

// Name is the database's name.
func (db *Database) Name() string { return *db.name.Load() }

// Root is the latest committed state.
func (db *Database) Root() *Root { return db.root.Load() }

// Props are the database's present options.
func (db *Database) Props() Props {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.props
}

// SetProps changes the options at once, outside of transactions.
func (db *Database) SetProps(p Props) { db.UpdateProps(func(q *Props) { *q = p }) }

// UpdateProps changes some options; f must not call into the package.
func (db *Database) UpdateProps(f func(*Props)) {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	db.mu.Lock()
	f(&db.props)
	r := *db.root.Load()
	r.props = db.props
	db.mu.Unlock()
	db.publish(&r, nil)
}

// Object implements Catalog.
func (db *Database) Object(schema, name string) Object { return db.current().object(schema, name) }

// ObjectByID implements Catalog.
func (db *Database) ObjectByID(id int32) Object { return db.current().objects[id] }

// Objects implements Catalog.
func (db *Database) Objects() []Object { return db.current().list() }

// Children implements Catalog.
func (db *Database) Children(id int32) []*Module { return db.current().children[id] }

// Schema implements Catalog.
func (db *Database) Schema(name string) *Schema { return db.current().schemaNamed(name) }

// SchemaByID implements Catalog.
func (db *Database) SchemaByID(id int32) *Schema { return db.current().schemas[id] }

// Schemas implements Catalog.
func (db *Database) Schemas() []*Schema { return db.current().schemaList() }

// Table is Object for callers that want a table only.
func (db *Database) Table(schema, name string) *Table {
	t, _ := db.Object(schema, name).(*Table)
	return t
}

func (db *Database) current() *catalog {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.catalog
}

// NextObjectID gives out an object_id, for constraints and defaults too.
func (db *Database) NextObjectID() int32 {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.nextObject += 16
	return db.nextObject
}

// NextRowVersion gives out a rowversion value.
func (db *Database) NextRowVersion() [8]byte {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.rowVersion++
	return rowVersionBytes(db.rowVersion)
}

// LastRowVersion is @@DBTS: the last value that was given out.
func (db *Database) LastRowVersion() [8]byte {
	db.mu.Lock()
	defer db.mu.Unlock()
	return rowVersionBytes(db.rowVersion)
}

func rowVersionBytes(n uint64) (b [8]byte) {
	binary.BigEndian.PutUint64(b[:], n)
	return b
}

// inUse says whether an open transaction has changes or locks in the database.
func (db *Database) inUse() bool {
	if len(db.Locks()) > 0 {
		return true
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.touchedBy) > 0
}

// HasForeignKeys reports whether any table has ever had a foreign key, so that changes need not look for children.
func (db *Database) HasForeignKeys() bool { return db.foreignKeys.Load() }

// note remembers what a definition that is coming into use brings with it.
func (db *Database) note(d *TableDef) {
	if len(d.ForeignKeys) > 0 {
		db.foreignKeys.Store(true)
	}
}
