package cdc

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// CleanupStep is a point of a cleanup at which a hook is called.
type CleanupStep int

// The steps of a cleanup, each after the commit of its transaction.
const (
	CleanupMarked  CleanupStep = iota // start_lsn of the instances is raised, their rows are still there
	CleanupDeleted                    // one chunk of rows is deleted
	CleanupTrimmed                    // cdc.lsn_time_mapping is trimmed
)

// CleanupHook is called between the transactions of a cleanup, on its goroutine; an error ends the cleanup there.
type CleanupHook func(step CleanupStep, instance string) error

// defaultThreshold is how many rows one statement of a cleanup deletes.
const defaultThreshold = 5000

// CleanupInstance is sys.sp_cdc_cleanup_change_table: it raises the low end of one instance to mark and then deletes the
// rows below it in chunks of threshold rows. A nil mark keeps the present low end. hook may be nil.
func (m *Manager) CleanupInstance(ctx context.Context, db *storage.Database, name string, mark *storage.LSN, threshold int64, hook CleanupHook) error {
	if !db.Props().CDCEnabled {
		return sqlerr.New(22910, db.Name())
	}
	if threshold <= 0 {
		return sqlerr.New(22850)
	}
	list, err := instances(committed(db.Root()))
	if err != nil {
		return err
	}
	i := named(db, list, name)
	if i == nil {
		return sqlerr.New(22920, name)
	}
	low := i.start
	if mark != nil {
		if low, err = m.checkMark(ctx, db, i, *mark); err != nil {
			return err
		}
		if _, err := m.atomic(ctx, func(tx *storage.Tx) error { return raise(ctx, tx, db, i.object, low) }); err != nil {
			return err
		}
	}
	if err := call(hook, CleanupMarked, i.name); err != nil {
		return err
	}
	return m.deleteBelow(ctx, db, i, low, threshold, hook)
}

// checkMark finds the low end that a mark stands for: it must be in cdc.lsn_time_mapping and in the range of the instance;
// the smallest LSN with the same commit time is taken.
func (m *Manager) checkMark(ctx context.Context, db *storage.Database, i *instance, mark storage.LSN) (storage.LSN, error) {
	text := func(l storage.LSN) string { return fmt.Sprintf("0x%X", l[:]) }
	root := db.Root()
	t, ok := root.Object(schemaName, timeMapping).(*storage.Table)
	if !ok {
		return mark, sqlerr.New(22910, db.Name())
	}
	var low, newest storage.LSN
	var at value.Value
	found := false
	first := map[value.Value]storage.LSN{}
	for row := range root.Rows(t) {
		newest = lsnOf(row.Vals[0].Bytes())
		if _, ok := first[row.Vals[2]]; !ok {
			first[row.Vals[2]] = newest
		}
		if newest == mark {
			found, at = true, row.Vals[2]
		}
	}
	if !found {
		return mark, sqlerr.New(22964, text(mark))
	}
	if low = first[at]; low.Compare(i.start) < 0 && i.started {
		low = i.start
	}
	if mark.Compare(i.start) < 0 || mark.Compare(newest) > 0 {
		return mark, sqlerr.New(22957, text(mark), i.name, text(i.start), text(newest))
	}
	return low, nil
}

// raise sets the low end of an instance.
func raise(ctx context.Context, tx *storage.Tx, db *storage.Database, object int32, low storage.LSN) error {
	return change(ctx, tx, db, changeTables, objectKey(object), func(vals []value.Value) []value.Value {
		return setCell(vals, 4, lsnValue(low))
	})
}

// deleteBelow deletes the rows of a change table whose start_lsn is below low, one transaction for each chunk.
func (m *Manager) deleteBelow(ctx context.Context, db *storage.Database, i *instance, low storage.LSN, threshold int64, hook CleanupHook) error {
	for {
		n, err := m.deleteChunk(ctx, db, i.changeTable(), low, threshold)
		if err != nil || n == 0 {
			return err
		}
		if err := call(hook, CleanupDeleted, i.name); err != nil {
			return err
		}
		if n < threshold {
			return nil
		}
	}
}

// deleteChunk deletes up to limit rows, whose first key column is below low, of a table of schema cdc.
func (m *Manager) deleteChunk(ctx context.Context, db *storage.Database, table string, low storage.LSN, limit int64) (n int64, err error) {
	_, err = m.atomic(ctx, func(tx *storage.Tx) error {
		t, err := metaTable(tx, db, table)
		if err != nil {
			return err
		}
		r := storage.Range{To: t.Def().Indexes[0].AppendKey(nil, t.Def(), lsnValue(low))}
		var changes []storage.Change
		for row, err := range tx.Scan(ctx, t, 0, r, storage.Access{ForUpdate: true}) {
			if err != nil {
				return err
			}
			if int64(len(changes)) == limit {
				break
			}
			changes = append(changes, storage.Change{Old: row})
		}
		n = int64(len(changes))
		if n == 0 {
			return nil
		}
		_, err = tx.Apply(ctx, t, changes)
		return err
	})
	return n, err
}

// CleanupAll is the cleanup job: one mark is computed of the retention, instances below it are raised in one transaction,
// their rows are deleted, and cdc.lsn_time_mapping is trimmed to the smallest low end that is left.
func (m *Manager) CleanupAll(ctx context.Context, db *storage.Database, retention time.Duration, threshold int64, hook CleanupHook) error {
	mark, ok := m.retentionMark(db, time.Now().Add(-retention))
	if !ok {
		return nil
	}
	var raised []*instance
	_, err := m.atomic(ctx, func(tx *storage.Tx) error {
		list, err := instances(inTx(ctx, tx, db))
		if err != nil {
			return err
		}
		for _, i := range list {
			if i.started && i.start.Compare(mark) < 0 {
				if err := raise(ctx, tx, db, i.object, mark); err != nil {
					return err
				}
				raised = append(raised, i)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := call(hook, CleanupMarked, ""); err != nil {
		return err
	}
	for _, i := range raised {
		if err := m.deleteBelow(ctx, db, i, mark, threshold, hook); err != nil {
			return err
		}
	}
	return m.trimMapping(ctx, db, threshold, hook)
}

// retentionMark is the newest LSN of a transaction that ended at or before a time.
func (m *Manager) retentionMark(db *storage.Database, at time.Time) (mark storage.LSN, ok bool) {
	root := db.Root()
	t, isTable := root.Object(schemaName, timeMapping).(*storage.Table)
	if !isTable {
		return mark, false
	}
	for row := range root.Rows(t) {
		if row.Vals[2].GoTime(m.st.Location()).After(at) {
			break
		}
		mark, ok = lsnOf(row.Vals[0].Bytes()), true
	}
	return mark, ok
}

// trimMapping deletes the rows of cdc.lsn_time_mapping that no instance needs.
func (m *Manager) trimMapping(ctx context.Context, db *storage.Database, threshold int64, hook CleanupHook) error {
	list, err := instances(committed(db.Root()))
	if err != nil {
		return err
	}
	var low storage.LSN
	for _, i := range list {
		if i.started && (low.IsZero() || bytes.Compare(i.start[:], low[:]) < 0) {
			low = i.start
		}
	}
	if low.IsZero() {
		return nil
	}
	for {
		n, err := m.deleteChunk(ctx, db, timeMapping, low, threshold)
		if err != nil {
			return err
		}
		if n < threshold {
			return call(hook, CleanupTrimmed, "")
		}
	}
}

func call(hook CleanupHook, step CleanupStep, instance string) error {
	if hook == nil {
		return nil
	}
	return hook(step, instance)
}
