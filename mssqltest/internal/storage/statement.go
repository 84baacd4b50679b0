package storage

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// statement is one running statement; a trigger's or procedure's statements nest.
type statement struct {
	at       mark
	began    time.Time
	short    []resource          // table locks to be freed at its end
	tables   map[*tableCore]Mode // the same by table
	rows     map[resource]int    // update locks of target rows, likewise
	roots    map[*Database]*Root
	command  int32 // the last command id that it has used
	examined int64 // tx.Examined at its begin
}

// mark is a point in a transaction to which it can be rolled back.
type mark struct {
	changes, catalog int
	logs             map[*Database]logMark
	command          int32
}

type savepoint struct {
	name string
	at   mark
}

func (tx *Tx) mark() mark {
	m := mark{changes: len(tx.changes), catalog: len(tx.catalog), command: tx.command}
	if len(tx.logs) > 0 {
		m.logs = make(map[*Database]logMark, len(tx.logs))
		for db, l := range tx.logs {
			m.logs[db] = l.mark()
		}
	}
	return m
}

// BeginStatement starts a statement: the point to which a failed statement goes back, the view of
// READ_COMMITTED_SNAPSHOT, the scope of short locks. Each one needs its EndStatement.
func (tx *Tx) BeginStatement() {
	tx.stmtSeq++
	tx.stmts = append(tx.stmts, &statement{at: tx.mark(), began: time.Now(), examined: tx.Examined})
}

// EndStatement ends the innermost statement and frees its short locks; when it was not ok, its changes are undone.
func (tx *Tx) EndStatement(ok bool) {
	if len(tx.stmts) == 0 {
		return
	}
	s := tx.stmts[len(tx.stmts)-1]
	tx.stmts = tx.stmts[:len(tx.stmts)-1]
	if !ok {
		tx.undo(s.at)
	}
	for _, res := range s.short {
		tx.in.locks.release(tx.owner, res)
	}
	for res, n := range s.rows {
		for range n {
			tx.in.locks.release(tx.owner, res)
		}
	}
}

// StatementExamined counts the rows that scans have touched since the innermost statement began.
func (tx *Tx) StatementExamined() int64 {
	if s := tx.statement(); s != nil {
		return tx.Examined - s.examined
	}
	return tx.Examined
}

func (tx *Tx) statement() *statement {
	if len(tx.stmts) == 0 {
		return nil
	}
	return tx.stmts[len(tx.stmts)-1]
}

// untilStatementEnd has a table lock freed with the innermost statement; without one it stays to the transaction's end.
func (tx *Tx) untilStatementEnd(c *tableCore, mode Mode) {
	if s := tx.statement(); s != nil {
		s.short = append(s.short, c.resource())
		if s.tables == nil {
			s.tables = map[*tableCore]Mode{}
		}
		s.tables[c] = join(s.tables[c], mode)
	}
}

// statementCovers says whether a running statement holds a table lock that does for mode.
func (tx *Tx) statementCovers(c *tableCore, mode Mode) bool {
	for _, s := range tx.stmts {
		if s.tables[c].covers(mode) {
			return true
		}
	}
	return false
}

// statementRoot is the committed state as of the statement's first read of db.
func (tx *Tx) statementRoot(db *Database) *Root {
	s := tx.statement()
	if s == nil {
		return db.Root()
	}
	if s.roots == nil {
		s.roots = map[*Database]*Root{}
	}
	r := s.roots[db]
	if r == nil {
		r = db.Root()
		s.roots[db] = r
	}
	return r
}

// Savepoint marks the present point under a name, which may be used more than once.
func (tx *Tx) Savepoint(name string) {
	tx.saves = append(tx.saves, savepoint{name, tx.mark()})
}

// RollbackTo undoes everything since the newest savepoint of that name, which stays; locks stay too. An unknown name is
// error 6401.
func (tx *Tx) RollbackTo(name string) error {
	for i := len(tx.saves) - 1; i >= 0; i-- {
		if tx.saves[i].name == name {
			tx.undo(tx.saves[i].at)
			tx.saves = tx.saves[:i+1]
			return nil
		}
	}
	return sqlerr.Newf(6401, 16, "Cannot roll back %s. No transaction or savepoint of that name was found.", name)
}
