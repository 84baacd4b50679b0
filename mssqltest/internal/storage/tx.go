package storage

import (
	"context"
	"encoding/binary"
	"slices"
	"time"
)

// Isolation is a transaction isolation level.
type Isolation uint8

// The isolation levels, numbered as sys.dm_exec_sessions.transaction_isolation_level.
const (
	ReadUncommitted Isolation = 1
	ReadCommitted   Isolation = 2
	RepeatableRead  Isolation = 3
	Serializable    Isolation = 4
	Snapshot        Isolation = 5
)

// TxOptions are the settings of a transaction. The zero value is READ COMMITTED that waits for ever.
type TxOptions struct {
	Isolation Isolation
	// LockTimeout is asked before each wait: 0 does not wait, below 0 waits for ever. nil waits for ever.
	LockTimeout func() time.Duration
	// Session is the session that runs the transaction; nil for an internal one.
	Session *Owner
	// DeadlockPriority is -10 to 10, as SET DEADLOCK_PRIORITY.
	DeadlockPriority int
	// Roots gives the state that a read-only replica shows; it is asked once for each database that the transaction
	// uses. A nil result means the database's live state (tempdb).
	Roots func(*Database) *Root
	// ReadOnlyReplica refuses changes of every database except tempdb.
	ReadOnlyReplica bool
}

// Tx is a transaction over any databases of an instance. One goroutine uses it at a time. It ends with Commit or Rollback.
type Tx struct {
	// ID is the transaction id, unique in the instance.
	ID uint64
	// Examined counts the rows that scans have touched.
	Examined int64

	in        *Instance
	o         TxOptions
	isolation Isolation
	owner     *lockOwner
	began     time.Time
	ended     bool

	changes []change    // undo and redo, oldest first
	catalog []catalogDo // DDL of schema objects, oldest first
	tables  map[*tableCore]*txTable
	logs    map[*Database]*txLog
	dbs     []*Database // changed ones
	command int32
	saves   []savepoint
	stmts   []*statement
	stmtSeq int // statements begun

	snapshot map[*Database]*Root // of SNAPSHOT, taken at the first access
	replica  map[*Database]*Root // results of TxOptions.Roots
}

// txTable is what a transaction knows of a table that it has used.
type txTable struct {
	core    *tableCore
	mode    Mode // strongest table lock that is held to the end
	rows    int  // row locks that statement has taken
	stmt    int  // number of the statement that rows counts for
	writer  bool // counted in core.writers
	rebuilt bool // has replaced core.current under Sch-M
	overlay *overlay
}

// Begin starts a transaction.
func (in *Instance) Begin(o TxOptions) *Tx {
	if o.Isolation == 0 {
		o.Isolation = ReadCommitted
	}
	tx := &Tx{ID: in.txID.Add(1), in: in, o: o, isolation: o.Isolation, began: time.Now(),
		tables: map[*tableCore]*txTable{}, logs: map[*Database]*txLog{}}
	tx.owner = in.locks.newOwner(o.Session, tx, o.DeadlockPriority)
	in.mu.Lock()
	in.open[tx.ID] = tx
	in.mu.Unlock()
	return tx
}

// BeginAt starts a read-only transaction on fixed states, as a replica that lags behind has.
func (in *Instance) BeginAt(o TxOptions, roots ...*Root) *Tx {
	o.ReadOnlyReplica = true
	o.Roots = func(db *Database) *Root {
		for _, r := range roots {
			if r.db == db {
				return r
			}
		}
		return nil
	}
	return in.Begin(o)
}

// Isolation is the level of the next statement.
func (tx *Tx) Isolation() Isolation { return tx.isolation }

// SetIsolation changes the level of later statements.
func (tx *Tx) SetIsolation(i Isolation) { tx.isolation = i }

// SetDeadlockPriority changes the priority, -10 to 10.
func (tx *Tx) SetDeadlockPriority(p int) {
	tx.in.locks.mu.Lock()
	defer tx.in.locks.mu.Unlock()
	tx.owner.priority = p
}

// Began is the time at which the transaction started.
func (tx *Tx) Began() time.Time { return tx.began }

// Ended says whether the transaction has been committed or rolled back.
func (tx *Tx) Ended() bool { return tx.ended }

// Changed says whether the transaction has anything to commit.
func (tx *Tx) Changed() bool { return len(tx.changes) > 0 || len(tx.catalog) > 0 || len(tx.logs) > 0 }

// writable refuses changes of read-only databases (3906).
func (tx *Tx) writable(db *Database) error {
	if db.ID != TempDBID && (tx.o.ReadOnlyReplica || db.Props().ReadOnly) {
		return errReadOnly(db.Name())
	}
	return nil
}

func (tx *Tx) timeout() time.Duration {
	if tx.o.LockTimeout == nil {
		return -1
	}
	return tx.o.LockTimeout()
}

func (tx *Tx) table(c *tableCore) *txTable {
	t := tx.tables[c]
	if t == nil {
		t = &txTable{core: c}
		tx.tables[c] = t
	}
	return t
}

// lockTable takes a table lock: to the transaction's end, or to the statement's.
func (tx *Tx) lockTable(ctx context.Context, c *tableCore, mode Mode, toEnd bool, timeout time.Duration) (*txTable, error) {
	if tx.ended {
		return nil, errEnded
	}
	t := tx.table(c)
	if !t.mode.covers(mode) && (toEnd || !tx.statementCovers(c, mode)) {
		if _, err := tx.in.locks.acquire(ctx, tx.owner, c.resource(), mode, timeout); err != nil {
			return nil, err
		}
		if toEnd {
			t.mode = join(t.mode, mode)
		} else {
			tx.untilStatementEnd(c, mode)
		}
	}
	c.mu.Lock()
	dropped := c.dropped
	c.mu.Unlock()
	if dropped {
		return nil, errInvalidObject(c.live.Header().QualifiedName())
	}
	return t, nil
}

// Bind protects the table's definition against ALTER and DROP until the statement ends and returns it as the
// transaction sees it. Plans are made on what it returns.
func (tx *Tx) Bind(ctx context.Context, t *Table) (*TableDef, error) {
	if r := tx.replicaRoot(t.core.db); r != nil {
		if v := r.version(t.core); v != nil {
			return v.store.def, nil
		}
		return nil, errInvalidObject(t.Header().QualifiedName())
	}
	if _, err := tx.lockTable(ctx, t.core, SchS, false, tx.timeout()); err != nil {
		return nil, err
	}
	return t.core.def.Load(), nil
}

// LockTable takes a table lock to the transaction's end, beyond what reads and changes take by themselves.
func (tx *Tx) LockTable(ctx context.Context, t *Table, mode Mode) error {
	_, err := tx.lockTable(ctx, t.core, mode, true, tx.timeout())
	return err
}

// touch notes that the transaction changes a database.
func (tx *Tx) touch(db *Database) {
	if slices.Contains(tx.dbs, db) {
		return
	}
	tx.dbs = append(tx.dbs, db)
	db.mu.Lock()
	db.touchedBy[tx.ID] = struct{}{}
	db.mu.Unlock()
}

// tranID is the transaction id as log records show it.
func (tx *Tx) tranID() (b [6]byte) {
	binary.BigEndian.PutUint32(b[2:], uint32(tx.ID))
	binary.BigEndian.PutUint16(b[0:], uint16(tx.ID>>32))
	return b
}

// end frees everything that the transaction holds.
func (tx *Tx) end() {
	tx.ended = true
	for _, db := range tx.dbs {
		db.mu.Lock()
		delete(db.touchedBy, tx.ID)
		db.mu.Unlock()
	}
	tx.in.mu.Lock()
	delete(tx.in.open, tx.ID)
	tx.in.mu.Unlock()
	for c := range tx.tables {
		c.freeRanges(tx)
	}
	tx.in.locks.releaseAll(tx.owner, nil)
	tx.changes, tx.catalog, tx.logs, tx.tables, tx.snapshot, tx.stmts = nil, nil, nil, nil, nil, nil
}
