package storage

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// txLog is what a transaction will add to the log of one database.
type txLog struct {
	db      *Database
	begin   LSN
	changes []LogChange
	ddl     []LogDDL
}

type logMark struct{ changes, ddl int }

func (l *txLog) mark() logMark { return logMark{len(l.changes), len(l.ddl)} }

func (l *txLog) truncate(m logMark) {
	clear(l.changes[m.changes:])
	l.changes, l.ddl = l.changes[:m.changes], l.ddl[:m.ddl]
}

func (l *txLog) empty() bool { return len(l.changes) == 0 && len(l.ddl) == 0 }

func (l *txLog) record(tx *Tx, commit LSN, now time.Time) *LogRecord {
	return &LogRecord{Commit: commit, Begin: l.begin, TranID: tx.tranID(), BeginTime: tx.began, EndTime: now,
		Changes: l.changes, DDL: l.ddl}
}

func (tx *Tx) log(db *Database) *txLog {
	l := tx.logs[db]
	if l == nil {
		l = &txLog{db: db, begin: db.clock.next()}
		tx.logs[db] = l
		tx.touch(db)
	}
	return l
}

// LogDDL adds a record for the capture job, which comes with the transaction's commit; LSN and Time are filled in.
func (tx *Tx) LogDDL(db *Database, d LogDDL) error {
	if err := tx.writable(db); err != nil {
		return err
	}
	l := tx.log(db)
	d.LSN, d.Time = db.clock.next(), time.Now()
	l.ddl = append(l.ddl, d)
	return nil
}

// logChanges logs one set of changes. A change of the clustered or a unique key is a delete and an insert: of a single row
// under one sequence value with two command ids, of many rows all deletes under one command id and all inserts, with
// sequence values of their own, under the next.
func (tx *Tx) logChanges(c *tableCore, d *TableDef, plan []planned) {
	w := logWriter{log: tx.log(c.db), table: c.live, def: d}
	moves := false
	for _, p := range plan {
		moves = moves || p.moved
	}
	w.command = tx.nextCommand(moves)
	for _, p := range plan {
		if p.old != nil && (p.new == nil || p.moved) {
			w.seq = w.log.db.clock.next()
			w.add(OpDelete, p.old, nil)
		}
	}
	for _, p := range plan {
		if p.old != nil && p.new != nil && !p.moved {
			if set := changedColumns(d, p.old.Vals, p.new.Vals); !set.Empty() {
				w.seq = w.log.db.clock.next()
				w.add(OpBefore, p.old, set)
				w.add(OpAfter, p.new, set)
			}
		}
	}
	for _, p := range plan {
		if p.old == nil {
			w.seq = w.log.db.clock.next()
			w.add(OpInsert, p.new, nil)
		}
	}
	w.command++
	for _, p := range plan {
		if p.moved {
			if len(plan) > 1 {
				w.seq = w.log.db.clock.next()
			}
			w.add(OpInsert, p.new, nil)
		}
	}
}

// nextCommand is the command id of a set of changes: the statement's own, however many sets it has. A set with moved keys
// uses the following one, too.
func (tx *Tx) nextCommand(moves bool) int32 {
	s := tx.statement()
	if s == nil || s.command == 0 || s.command != tx.command {
		tx.command++
	}
	id := tx.command
	if moves {
		tx.command++
	}
	if s != nil {
		s.command = tx.command
	}
	return id
}

type logWriter struct {
	log     *txLog
	table   *Table
	def     *TableDef
	command int32
	seq     LSN
}

func (w *logWriter) add(op byte, row *Row, changed ColumnSet) {
	w.log.changes = append(w.log.changes, LogChange{Table: w.table, Def: w.def, CommandID: w.command, Seq: w.seq, Op: op,
		Row: row.Vals, Changed: changed})
}

// changedColumns are the columns whose stored values differ, to the byte: a text that differs in case only has changed.
func changedColumns(d *TableDef, a, b []value.Value) ColumnSet {
	s := make(ColumnSet, (len(d.Columns)+63)/64)
	for i := range d.Columns {
		if a[i] != b[i] {
			s.add(i)
		}
	}
	return s
}
