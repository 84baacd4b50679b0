package storage

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Options are the settings of an Instance. The zero value is a server in UTC with the default collation.
type Options struct {
	// Location is the server's time zone, nil for UTC.
	Location *time.Location
	// Collation is the server's collation, nil for the default one.
	Collation *collate.Collation
}

// Instance is a server: its databases, its logins and its lock manager.
type Instance struct {
	Logins *Security

	location  *time.Location
	collation *collate.Collation
	locks     *lockManager
	started   time.Time
	txID      atomic.Uint64
	noAgent   atomic.Bool

	mu   sync.Mutex
	dbs  map[int]*Database
	open map[uint64]*Tx
}

// The system databases, which exist from the start; user databases follow from FirstUserDatabase on.
const (
	MasterID          = 1
	TempDBID          = 2
	ModelID           = 3
	MSDBID            = 4
	FirstUserDatabase = 5
)

// NewInstance makes a server with its system databases.
func NewInstance(o Options) *Instance {
	in := &Instance{Logins: NewSecurity(), location: o.Location, collation: o.Collation, locks: newLockManager(),
		started: time.Now(), dbs: map[int]*Database{}, open: map[uint64]*Tx{}}
	if in.location == nil {
		in.location = time.UTC
	}
	if in.collation == nil {
		in.collation = collate.Default()
	}
	for id, name := range []string{MasterID: "master", TempDBID: "tempdb", ModelID: "model", MSDBID: "msdb"} {
		if name != "" {
			in.dbs[id] = newDatabase(in, id, name, in.collation)
		}
	}
	return in
}

// Location is the server's time zone.
func (in *Instance) Location() *time.Location { return in.location }

// Collation is the server's collation.
func (in *Instance) Collation() *collate.Collation { return in.collation }

// Started is the time at which the instance was made.
func (in *Instance) Started() time.Time { return in.started }

// Agent tells whether the SQL Server Agent is said to run.
func (in *Instance) Agent() bool { return !in.noAgent.Load() }

// SetAgent says whether the SQL Server Agent runs.
func (in *Instance) SetAgent(runs bool) { in.noAgent.Store(!runs) }

// CreateDatabase makes an empty database; a nil collation means the server's. The name being taken is error 1801.
func (in *Instance) CreateDatabase(name string, c *collate.Collation) (*Database, error) {
	if c == nil {
		c = in.collation
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.named(name) != nil {
		return nil, sqlerr.Newf(1801, 16, "Database '%s' already exists. Choose a different database name.", name)
	}
	id := FirstUserDatabase
	for in.dbs[id] != nil {
		id++
	}
	db := newDatabase(in, id, name, c)
	in.dbs[id] = db
	return db, nil
}

func (in *Instance) named(name string) *Database {
	for _, db := range in.dbs {
		if in.collation.Compare(db.Name(), name, true) == 0 {
			return db
		}
	}
	return nil
}

// Database finds a database by name, compared by the server's collation; nil if there is none.
func (in *Instance) Database(name string) *Database {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.named(name)
}

// DatabaseByID finds a database by its id; nil if there is none.
func (in *Instance) DatabaseByID(id int) *Database {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.dbs[id]
}

// Databases lists the databases by id.
func (in *Instance) Databases() []*Database {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.SortedFunc(maps.Values(in.dbs), func(a, b *Database) int { return cmp.Compare(a.ID, b.ID) })
}

// DropDatabase removes a database that no open transaction has changed or locked (3702).
func (in *Instance) DropDatabase(name string) error {
	db := in.Database(name)
	switch {
	case db == nil:
		return sqlerr.Newf(3701, 11, "Cannot drop the database '%s', because it does not exist or you do not have permission.", name)
	case db.ID < FirstUserDatabase:
		return sqlerr.Newf(3708, 16, "Cannot drop the database '%s' because it is a system database.", name)
	case db.inUse():
		return sqlerr.Newf(3702, 16, "Cannot drop database \"%s\" because it is currently in use.", db.Name())
	}
	in.mu.Lock()
	delete(in.dbs, db.ID)
	in.mu.Unlock()
	in.Logins.dropDatabase(db.ID)
	return nil
}

// RenameDatabase gives a database another name.
func (in *Instance) RenameDatabase(name, to string) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	db := in.named(name)
	if db == nil {
		return sqlerr.Newf(911, 16, "Database '%s' does not exist. Make sure that the name is entered correctly.", name)
	}
	if other := in.named(to); other != nil && other != db {
		return sqlerr.Newf(1801, 16, "Database '%s' already exists. Choose a different database name.", to)
	}
	db.name.Store(&to)
	return nil
}
