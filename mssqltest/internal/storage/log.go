package storage

import (
	"sort"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// The operations of LogChange, numbered as __$operation.
const (
	OpDelete byte = 1
	OpInsert byte = 2
	OpBefore byte = 3
	OpAfter  byte = 4
)

// LogRecord is one committed transaction of a database as far as tracked tables are concerned.
type LogRecord struct {
	Commit, Begin      LSN
	TranID             [6]byte
	BeginTime, EndTime time.Time
	Changes            []LogChange // in the order in which they were made
	DDL                []LogDDL
}

// LogChange is one row image.
type LogChange struct {
	Table     *Table    // live
	Def       *TableDef // at the time of the change: Row has its columns
	CommandID int32
	Seq       LSN
	Op        byte
	Row       []value.Value
	Changed   ColumnSet // ordinals that an update changed, for OpBefore and OpAfter
}

// LogDDL is a DDL statement on a table, or a marker that the capture job acts on; Tx.LogDDL writes it.
type LogDDL struct {
	Table  *Table
	Before *TableDef // nil when the table's definition did not change
	After  *TableDef
	LSN    LSN
	Time   time.Time
	Text   string
	Marker any // what the writer of the record wants to tell the capture job
}

// ColumnSet is a set of column ordinals.
type ColumnSet []uint64

// Has says whether ordinal i is in s.
func (s ColumnSet) Has(i int) bool { return i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

// Empty says whether s has no element.
func (s ColumnSet) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

func (s ColumnSet) add(i int) { s[i>>6] |= 1 << (i & 63) }

// LogRecords returns up to max records whose commit LSN is above after, in commit order; max 0 means all.
func (db *Database) LogRecords(after LSN, max int) []*LogRecord {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := db.logIndex(after)
	recs := db.log[i:]
	if max > 0 && len(recs) > max {
		recs = recs[:max]
	}
	return append([]*LogRecord(nil), recs...)
}

// logIndex is the position of the first record above l.
func (db *Database) logIndex(l LSN) int {
	return sort.Search(len(db.log), func(i int) bool { return db.log[i].Commit.Compare(l) > 0 })
}

// TruncateLog forgets the records up to an LSN. Roots that are kept keep theirs.
func (db *Database) TruncateLog(upTo LSN) {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	db.mu.Lock()
	i := db.logIndex(upTo)
	if i > 0 {
		db.log = append([]*LogRecord(nil), db.log[i:]...)
	}
	r := *db.root.Load()
	db.mu.Unlock()
	if i > 0 {
		db.publish(&r, nil)
	}
}

// LogWatch returns a channel that is closed when the next record is added. Take it before looking at LogRecords.
func (db *Database) LogWatch() <-chan struct{} {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.logWatch
}

// NextLSN gives out an LSN above all that were given out before, in a block of its own. Every commit below it is in the
// log already, so that a dummy row may carry it.
func (db *Database) NextLSN() LSN {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	return db.clock.nextBlock()
}

// LastLSN is the newest LSN that was given out.
func (db *Database) LastLSN() LSN { return db.clock.position() }
