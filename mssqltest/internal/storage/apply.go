package storage

import (
	"context"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Change is one row's change: Old nil is an insert, New nil a delete.
type Change struct {
	Old *Row
	New []value.Value
}

// planned is a Change with its new row version; moved says that it changes the clustered or a unique key.
type planned struct {
	old, new *Row
	moved    bool
}

// Apply makes the changes of one statement to one table, all or none. It takes the locks, and judges uniqueness (2627,
// 2601) when all changes are in, so that id = id + 1 works. Values become the table's and must not be changed any more.
// It returns the new rows in the order of the changes, nil for deletes.
//
// Old rows must come from a Scan with ForUpdate or lock hints, or from any scan under SNAPSHOT; one that has changed since
// is error 3960 under SNAPSHOT, else 601.
func (tx *Tx) Apply(ctx context.Context, t *Table, changes []Change) ([]*Row, error) {
	c := t.core
	if err := tx.writable(c.db); err != nil {
		return nil, err
	}
	mode := IX
	if t := tx.tables[c]; t != nil && t.mode == BU && onlyInserts(changes) {
		mode = BU
	}
	tt, err := tx.lockTable(ctx, c, mode, true, tx.timeout())
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	c.mu.Lock()
	st := c.current
	c.mu.Unlock()
	if err := tx.checkSnapshotDef(tt, st); err != nil {
		return nil, err
	}
	plan, err := st.planChanges(changes, c.newRowID)
	if err != nil {
		return nil, err
	}
	if err := tx.lockChanges(ctx, tt, st, plan); err != nil {
		return nil, err
	}
	for {
		wait, err := tx.apply(tt, plan)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			break
		}
		if err := tx.awaitRange(ctx, wait); err != nil {
			return nil, err
		}
	}
	rows := make([]*Row, len(plan))
	for i, p := range plan {
		rows[i] = p.new
		tx.changes = append(tx.changes, change{core: c, old: p.old, new: p.new})
	}
	if st.def.TrackedByCDC {
		tx.logChanges(c, st.def, plan)
	}
	return rows, nil
}

// onlyInserts says whether changes are such that a bulk update lock does for them.
func onlyInserts(changes []Change) bool {
	for _, ch := range changes {
		if ch.Old != nil {
			return false
		}
	}
	return true
}

// checkSnapshotDef refuses to change a table that was altered after the snapshot was taken.
func (tx *Tx) checkSnapshotDef(t *txTable, st *store) error {
	db := t.core.db
	if tx.isolation != Snapshot || db.ID == TempDBID || t.rebuilt {
		return nil
	}
	if v := tx.snapshotRoot(db).version(t.core); v != nil && v.store.def != st.def {
		return errSchemaChanged(db.Name())
	}
	return nil
}

// planChanges makes the new row versions and their keys.
func (s *store) planChanges(changes []Change, newID func() uint64) ([]planned, error) {
	plan := make([]planned, len(changes))
	var buf []byte
	for i, ch := range changes {
		p := &plan[i]
		p.old = ch.Old
		if ch.New == nil {
			continue
		}
		if len(ch.New) != len(s.def.Columns) {
			return nil, errRowShape(s.def, len(ch.New))
		}
		p.new = &Row{Vals: ch.New}
		buf = s.rowKey(buf[:0], p.new, p.old, newID)
		if p.old != nil && string(buf) == p.old.key {
			p.new.key = p.old.key
		} else {
			p.new.key = string(buf)
		}
		p.moved = p.old != nil && s.moved(p.old, p.new)
	}
	return plan, nil
}

// moved says whether an update changes the clustered key or the key of a unique index.
func (s *store) moved(old, new *Row) bool {
	if old.key != new.key {
		return true
	}
	for i := 1; i < len(s.trees); i++ {
		if !s.index[i].Unique {
			continue
		}
		a, aok := s.key(nil, i, old)
		b, bok := s.key(nil, i, new)
		if aok != bok || aok && string(a) != string(b) {
			return true
		}
	}
	return false
}

// lockChanges takes exclusive locks on all rows that leave or enter and on their keys in unique indexes.
func (tx *Tx) lockChanges(ctx context.Context, t *txTable, st *store, plan []planned) error {
	if t.mode == BU {
		return nil // a heap without indexes, in which nobody reads
	}
	if len(plan) >= escalationRows && !t.mode.covers(X) {
		tx.escalate(t, X)
	}
	for _, p := range plan {
		if t.mode.covers(X) {
			return nil
		}
		if p.old != nil {
			if err := tx.lockRow(ctx, t, t.core.rowResource(p.old.key)); err != nil {
				return err
			}
		}
		if p.new != nil && (p.old == nil || p.new.key != p.old.key) {
			if err := tx.lockRow(ctx, t, t.core.rowResource(p.new.key)); err != nil {
				return err
			}
		}
		if p.old != nil && p.new != nil && !p.moved {
			continue
		}
		if err := tx.lockKeys(ctx, t, st, p); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) lockKeys(ctx context.Context, t *txTable, st *store, p planned) error {
	for i := 1; i < len(st.index); i++ {
		if !st.index[i].Unique {
			continue
		}
		for _, row := range []*Row{p.old, p.new} {
			if row == nil {
				continue
			}
			k, ok := st.key(nil, i, row)
			if !ok {
				continue
			}
			if err := tx.lockRow(ctx, t, t.core.keyResource(st.index[i].ID, string(k))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Tx) lockRow(ctx context.Context, t *txTable, res resource) error {
	if t.mode.covers(X) {
		return nil
	}
	if _, err := tx.in.locks.acquire(ctx, tx.owner, res, X, tx.timeout()); err != nil {
		return err
	}
	tx.countRowLock(t, res, X)
	return nil
}
