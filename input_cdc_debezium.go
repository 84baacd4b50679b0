package mssqlcdc

import (
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/capture"
)

// envelope writes the changes of a run in Debezium's form.
type envelope struct {
	run    capture.Run
	plan   *messagePlan
	rows   *body.Rows
	now    time.Time
	seen   int // rows up to this one are counted
	serial int
	commit changetable.Commit
}

// newEnvelope is for the format debezium; for others it is not used.
func newEnvelope(r capture.Run, plan *messagePlan, rows *body.Rows) envelope {
	e := envelope{run: r, plan: plan, rows: rows}
	if plan.debezium != nil {
		e.now = time.Now()
		e.seen = r.From - 1
		for e.seen >= 0 && e.sameChange(e.seen, r.From) { // the run may begin inside of a change
			e.seen--
		}
		if from := r.Page.From; e.seen < 0 && !from.Done && from.Operation != 0 && from.LSN == r.Page.LSN(0) && from.SeqVal == r.Page.SeqVal(0) {
			e.serial = 1 // a key was changed: its deletion is the end of the page before
		}
	}
	return e
}

func (e *envelope) append(dst []byte, row int, unchanged body.Set) ([]byte, error) {
	p := e.run.Page
	c := body.DebeziumChange{Before: -1, After: -1, Now: e.now, ChangeLSN: p.SeqVal(row), CommitLSN: p.LSN(row), Serial: e.number(row)}
	if e.commit.LSN != c.CommitLSN || row == e.run.From {
		e.commit = p.Commit(row)
	}
	c.Committed = e.commit.End
	switch p.Operation(row) {
	case changetable.Delete:
		c.Op, c.Before, c.NotInBefore = 'd', row, unchanged
	case changetable.Insert:
		c.Op, c.After = 'c', row
	default:
		c.Op, c.After, c.NotInAfter = 'u', row, unchanged
		if row > 0 && p.Operation(row-1) == changetable.Before {
			c.Before, c.NotInBefore = row-1, notLogged(e.run, row-1, nil)
		}
	}
	return e.plan.debezium.Append(dst, e.rows, c)
}

// number counts the rows of a change, which have the same LSN and place in the log: 1 for an insert, 2 for an update, and more
// where one place has several, as Debezium does.
func (e *envelope) number(row int) int {
	for e.seen < row {
		e.seen++
		if e.serial > 0 && (e.seen == 0 || e.sameChange(e.seen-1, e.seen)) {
			e.serial++
		} else {
			e.serial = 1
		}
	}
	return e.serial
}

func (e *envelope) sameChange(a, b int) bool {
	p := e.run.Page
	return p.SeqVal(a) == p.SeqVal(b) && p.LSN(a) == p.LSN(b)
}

// appendSnapshotEnvelope writes a row of a snapshot in Debezium's form.
func appendSnapshotEnvelope(dst []byte, r capture.Run, plan *messagePlan, rows *body.Rows, row int) ([]byte, error) {
	s := r.Snapshot
	return plan.debezium.Append(dst, rows, body.DebeziumChange{
		Op: 'r', Before: -1, After: row, Snapshot: true, Incremental: s.Incremental, CommitLSN: s.Handover.LSN, Committed: s.Page.ReadAt, Now: time.Now(),
	})
}
