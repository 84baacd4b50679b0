package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Scan reads a range of an index, given by its position in Def().Indexes (-1: the rows in clustered or heap order), as the
// isolation level and the hints say. Every entry that it touches counts in Examined. Row locks of READ COMMITTED are
// free again when a row is yielded; table locks last until the statement's end. The last pair may be an error.
func (tx *Tx) Scan(ctx context.Context, t *Table, index int, r Range, a Access) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		s := scan{tx: tx, ctx: ctx, core: t.core, cur: newCursor(r), yield: yield}
		if err := s.run(index, a); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// errStop says that the caller has had enough.
var errStop = errors.New("stop")

// scan is one run of Scan.
type scan struct {
	tx    *Tx
	ctx   context.Context
	core  *tableCore
	table *txTable
	plan  readPlan
	tree  int
	cur   *cursor
	yield func(*Row, error) bool
	view  *store // what a locked row is verified against
}

func (s *scan) run(index int, a Access) error {
	if root := s.tx.replicaRoot(s.core.db); root != nil {
		st, err := replicaView(s.core, root)
		if err != nil {
			return err
		}
		return s.walk(st, index)
	}
	s.plan = s.tx.planRead(s.core.db, a)
	timeout := s.tx.timeout()
	if s.plan.noWait {
		timeout = 0
	}
	var err error
	if s.table, err = s.tx.lockTable(s.ctx, s.core, s.plan.table, s.plan.tableEnd, timeout); err != nil {
		return err
	}
	switch s.plan.how {
	case readDirty:
		return s.walk(s.core.snapshot(), index)
	case readStatement, readSnapshot:
		st, err := s.rootView()
		if err != nil {
			return err
		}
		return s.walk(st, index)
	}
	return s.locked(index)
}

func (s *scan) rootView() (*store, error) {
	if s.plan.how == readStatement {
		return s.tx.view(s.core, s.tx.statementRoot(s.core.db), false)
	}
	return s.tx.view(s.core, s.tx.snapshotRoot(s.core.db), true)
}

// walk yields the live rows of a state that nobody changes.
func (s *scan) walk(st *store, index int) error {
	i, err := st.tree(index)
	if err != nil {
		return err
	}
	s.cur.start(st.trees[i])
	for it, ok := s.cur.item(); ok; it, ok = s.cur.item() {
		if err := s.examine(); err != nil {
			return err
		}
		if !it.row.ghost && !s.yield(it.row, nil) {
			return errStop
		}
		s.cur.next()
	}
	return nil
}

// examine counts an entry, and looks for cancellation now and then.
func (s *scan) examine() error {
	if s.tx.Examined++; s.tx.Examined&0x3ff == 0 && s.ctx.Err() != nil {
		return fmt.Errorf("scanning: %w", context.Cause(s.ctx))
	}
	return nil
}

// rowUntilStatementEnd keeps a target row's update lock for the statement.
func (tx *Tx) rowUntilStatementEnd(res resource) {
	s := tx.statement()
	if s == nil {
		return
	}
	if s.rows == nil {
		s.rows = map[resource]int{}
	}
	s.rows[res]++
}

// Unlock gives the update lock of a target row back, which the statement turns out not to change.
func (tx *Tx) Unlock(t *Table, row *Row) {
	s := tx.statement()
	if s == nil || tx.ended {
		return
	}
	res := t.core.rowResource(row.key)
	if s.rows[res] == 0 {
		return
	}
	if s.rows[res]--; s.rows[res] == 0 {
		delete(s.rows, res)
	}
	tx.in.locks.release(tx.owner, res)
	tx.table(t.core).rows--
}

func errRowShape(d *TableDef, n int) error {
	return sqlerr.Newf(213, 16, "Column name or number of supplied values does not match table definition: %s has %d columns, the row %d.", d.QualifiedName(), len(d.Columns), n)
}
