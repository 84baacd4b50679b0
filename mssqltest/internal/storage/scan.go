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

// locked reads the current state under row locks. While nobody else has changes in the table, all of it is committed and
// short locks are not needed, as a server that finds a page without open changes does not take them.
func (s *scan) locked(index int) error {
	st, others, err := s.begin(index)
	if err != nil {
		return err
	}
	if s.plan.verify {
		if s.view, err = s.tx.view(s.core, s.tx.snapshotRoot(s.core.db), true); err != nil {
			return err
		}
	}
	row := s.plan.row
	if row == S && s.table.mode.covers(S) || s.table.mode.covers(X) {
		row = NoMode
	}
	s.plan.row = row
	short := row == S && !s.plan.rowEnd && !s.plan.rowStmt
	if (row == NoMode || short && others == 0) && !s.plan.verify {
		return s.walk(st, index)
	}
	if s.tree, err = st.tree(index); err != nil {
		return err
	}
	s.cur.start(st.trees[s.tree])
	for it, ok := s.cur.item(); ok; it, ok = s.cur.item() {
		if err := s.examine(); err != nil {
			return err
		}
		if err := s.visit(it); err != nil {
			return err
		}
	}
	return nil
}

// begin takes the state to read and, under SERIALIZABLE, locks the range.
func (s *scan) begin(index int) (*store, int, error) {
	if s.plan.lockRange {
		return s.lockRange(index)
	}
	st, others := s.current()
	return st, others, nil
}

// current takes the current state and the number of other transactions with changes in it.
func (s *scan) current() (*store, int) {
	c := s.core
	c.mu.Lock()
	defer c.mu.Unlock()
	others := c.writers
	if s.table.writer {
		others--
	}
	return c.current.clone(), others
}

// visit locks the row of an entry, yields what is there then, and moves on; over a newer state of the tree if it had to wait.
func (s *scan) visit(it item) error {
	key, moved := it.row.key, false
	for {
		waited, ok, err := s.lock(key)
		if err != nil {
			return err
		}
		if !ok { // READPAST
			s.cur.next()
			return nil
		}
		moved = moved || waited
		live, found := s.lookup(it.key)
		if found && live.key != key {
			s.unlock(key)
			key = live.key
			continue
		}
		if moved {
			st, _ := s.current()
			s.cur.after(st.trees[s.tree], it.key)
		} else {
			s.cur.next()
		}
		if !found || live.ghost {
			s.unlock(key)
			return nil
		}
		return s.give(live)
	}
}

func (s *scan) lookup(key string) (*Row, bool) {
	s.core.mu.Lock()
	defer s.core.mu.Unlock()
	return s.core.current.get(s.tree, key)
}

// lock takes the row lock; ok is false when READPAST passes the row over.
func (s *scan) lock(key string) (waited, ok bool, err error) {
	if s.plan.row == NoMode {
		return false, true, nil
	}
	res := s.core.rowResource(key)
	if s.plan.readPast {
		return false, s.tx.in.locks.try(s.tx.owner, res, s.plan.row), nil
	}
	timeout := s.tx.timeout()
	if s.plan.noWait {
		timeout = 0
	}
	waited, err = s.tx.in.locks.acquire(s.ctx, s.tx.owner, res, s.plan.row, timeout)
	return waited, err == nil, err
}

func (s *scan) unlock(key string) {
	if s.plan.row != NoMode {
		s.tx.in.locks.release(s.tx.owner, s.core.rowResource(key))
	}
}

// give settles how long the row's lock lasts and yields the row.
func (s *scan) give(row *Row) error {
	switch {
	case s.plan.row == NoMode:
	case s.plan.rowStmt:
		s.tx.rowUntilStatementEnd(s.core.rowResource(row.key))
		s.escalate()
	case s.plan.rowEnd:
		s.escalate()
	default:
		s.unlock(row.key)
	}
	if s.view != nil {
		if seen, ok := s.view.get(0, row.key); !ok || seen != row {
			return errConflict(s.core.live.Header().QualifiedName(), s.core.db.Name())
		}
	}
	if !s.yield(row, nil) {
		return errStop
	}
	return nil
}

func (s *scan) escalate() {
	mode := X
	if s.plan.row == S {
		mode = S
	}
	if s.tx.countRowLock(s.table, mode) {
		s.plan.row = NoMode
	}
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

// Get reads the current version of a row that the transaction has locked; nil when it is gone.
func (tx *Tx) Get(t *Table, row *Row) *Row {
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	if live, ok := t.core.current.get(0, row.key); ok && !live.ghost {
		return live
	}
	return nil
}

func errRowShape(d *TableDef, n int) error {
	return sqlerr.Newf(213, 16, "Column name or number of supplied values does not match table definition: %s has %d columns, the row %d.", d.QualifiedName(), len(d.Columns), n)
}
