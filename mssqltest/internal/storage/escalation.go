package storage

// A statement that holds this many row locks of one table asks for a table lock instead, and again each time it has
// taken escalationStep more. It does not wait for it.
const (
	escalationRows = 5000
	escalationStep = 1250
)

// countRowLock counts a row lock that the running statement has just taken and escalates to mode; true when the table lock now covers
// rows. A lock that the transaction has had before, also in another mode, is no further one.
func (tx *Tx) countRowLock(t *txTable, res resource, mode Mode) bool {
	if !tx.in.locks.once(tx.owner, res) {
		return false
	}
	if t.stmt != tx.stmtSeq {
		t.stmt, t.rows = tx.stmtSeq, 0
	}
	t.rows++
	if t.rows < escalationRows || (t.rows-escalationRows)%escalationStep != 0 {
		return false
	}
	return tx.escalate(t, mode)
}

// escalate takes a table lock, if nobody is in the way, and frees the row locks that it covers.
func (tx *Tx) escalate(t *txTable, mode Mode) bool {
	c := t.core
	if c.def.Load().NoEscalation || !tx.in.locks.try(tx.owner, c.resource(), mode) {
		return false
	}
	t.mode = join(t.mode, mode)
	if !t.mode.covers(X) {
		return true
	}
	tx.in.locks.releaseAll(tx.owner, func(r resource) bool {
		return r.kind != resKey || r.db != c.db.ID || r.object != c.id
	})
	return true
}
