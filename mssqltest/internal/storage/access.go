package storage

// Hint is a set of table hints.
type Hint uint16

// The table hints that change how a scan reads or locks.
const (
	NoLock             Hint = 1 << iota // also READUNCOMMITTED
	ReadCommittedHint                   // READCOMMITTED: as the level, with row versions where the database has them
	ReadCommittedLock                   // READCOMMITTEDLOCK
	RepeatableReadHint                  // REPEATABLEREAD
	HoldLock                            // also SERIALIZABLE
	UpdLock
	XLock
	TabLock
	TabLockX
	ReadPast
	NoWait
	RowLock // no effect: locks are row locks until escalation
)

// Access says how a scan treats the rows that it reads.
type Access struct {
	Hint Hint
	// ForUpdate is set for the target of UPDATE, DELETE and MERGE: rows get update locks that last for the statement, or
	// as long as Apply makes them exclusive. Rows that turn out not to be meant can be given to Unlock.
	ForUpdate bool
	// Integrity is set for the check of a foreign key, which needs the present rows under locks whatever the level; a row
	// that is not the snapshot's is an update conflict.
	Integrity bool
}

// readPlan is what an Access means for one table under the transaction's isolation level.
type readPlan struct {
	how       readHow
	row       Mode // of each row; NoMode when the table lock is enough
	rowEnd    bool // rows stay locked to the transaction's end
	rowStmt   bool // rows stay locked to the statement's end
	table     Mode
	tableEnd  bool
	lockRange bool // SERIALIZABLE
	readPast  bool
	noWait    bool
	verify    bool // SNAPSHOT with lock hints: the locked row must be the snapshot's
}

type readHow uint8

const (
	readLocked readHow = iota
	readDirty
	readStatement // READ_COMMITTED_SNAPSHOT
	readSnapshot
)

func (tx *Tx) planRead(db *Database, a Access) readPlan {
	h := a.Hint
	p := readPlan{readPast: h&ReadPast != 0, noWait: h&NoWait != 0, table: IS}
	level := tx.isolation
	if level == Snapshot && db.ID == TempDBID {
		level = ReadCommitted
	}
	hard := h&(UpdLock|XLock) != 0
	locks := hard || a.Integrity || a.ForUpdate || h&(ReadCommittedLock|TabLock|TabLockX|HoldLock|RepeatableReadHint) != 0
	if level == Snapshot {
		if !hard && !a.Integrity && h&(TabLock|TabLockX|HoldLock|RepeatableReadHint) == 0 {
			p.how, p.table = readSnapshot, SchS
			return p
		}
		p.verify, level = true, ReadCommitted
	}
	switch {
	case h&HoldLock != 0:
		level = Serializable
	case h&RepeatableReadHint != 0:
		level = RepeatableRead
	case h&(ReadCommittedHint|ReadCommittedLock) != 0:
		level = ReadCommitted
	case h&NoLock != 0 && !locks, level == ReadUncommitted && !locks:
		p.how, p.table = readDirty, SchS
		return p
	}
	if level <= ReadCommitted && !locks && db.Props().ReadCommittedSnapshot {
		p.how, p.table = readStatement, SchS
		return p
	}
	tx.planLocks(&p, a, level)
	return p
}

func (tx *Tx) planLocks(p *readPlan, a Access, level Isolation) {
	h := a.Hint
	long := level >= RepeatableRead
	p.row, p.rowEnd, p.tableEnd = S, long, long
	switch {
	case h&XLock != 0:
		p.row, p.rowEnd = X, true
	case h&UpdLock != 0:
		p.row, p.rowEnd = U, true
	case a.ForUpdate:
		p.row, p.rowStmt = U, !long
	}
	write := p.row != S
	if write {
		p.table, p.tableEnd = IX, true
	}
	switch {
	case h&TabLockX != 0, h&TabLock != 0 && write:
		p.table, p.tableEnd, p.row = X, true, NoMode
	case h&TabLock != 0:
		p.table, p.row = S, NoMode
	case level == Serializable:
		p.lockRange = true
	}
}
