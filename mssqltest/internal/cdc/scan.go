package cdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// flushRows is how many rows of a transaction are kept before they are written to their change table.
const flushRows = 4096

// deadlockRetries is how often the capture of one transaction is tried when it loses to other sessions.
const deadlockRetries = 10

// Scan captures everything that the log holds, whether the job runs or not (sys.sp_cdc_scan).
func (j *Job) Scan(ctx context.Context) error {
	if err := j.acquire(ctx); err != nil {
		return err
	}
	defer j.release()
	s := newSession(time.Now())
	for {
		records := j.db.LogRecords(storage.LSN{}, scanTransaction)
		if len(records) == 0 {
			break
		}
		for i, r := range records {
			if err := j.captureRetrying(ctx, r, s); err != nil {
				if i > 0 {
					j.db.TruncateLog(records[i-1].Commit)
				}
				if ctx.Err() != nil {
					return ctx.Err() // stopped, which is no fault of the scan
				}
				j.failed(s, r, err)
				return fmt.Errorf("capturing transaction %s of database %s: %w", r.Commit, j.db.Name(), err)
			}
		}
		j.db.TruncateLog(records[len(records)-1].Commit)
	}
	j.finished(s)
	return nil
}

// captureRetrying captures one transaction; it starts again when it was a deadlock's victim.
func (j *Job) captureRetrying(ctx context.Context, r *storage.LogRecord, s *session) error {
	if err := j.takeInjection(); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := j.capture(ctx, r, s)
		if try == deadlockRetries || !isNumber(err, 1205, 208) {
			return err
		}
	}
}

// capture writes all rows of one transaction and its row of lsn_time_mapping, in one transaction.
func (j *Job) capture(ctx context.Context, r *storage.LogRecord, s *session) error {
	root := j.db.Root()
	if _, ok := root.Object(schemaName, timeMapping).(*storage.Table); !ok {
		return nil // disabled since; what the log holds goes nowhere
	}
	list, err := instances(committed(root))
	if err != nil {
		return err
	}
	w := &captureWriter{j: j, root: root, record: r, instances: list, rows: map[int32][]storage.Change{}, tables: map[int32]*target{}}
	_, err = j.m.atomic(ctx, func(tx *storage.Tx) error { return w.write(ctx, tx) })
	if err != nil {
		return err
	}
	for _, object := range w.handled {
		j.m.setHandled(j.db, object)
	}
	s.count(r, w)
	return nil
}

// captureWriter writes one transaction of the log.
type captureWriter struct {
	j         *Job
	root      *storage.Root // the metadata that the writer goes by
	record    *storage.LogRecord
	instances []*instance
	tables    map[int32]*target
	rows      map[int32][]storage.Change
	handled   []int32 // change tables whose marker was in the record
	commands  int64
	ddl       int64
}

func (w *captureWriter) write(ctx context.Context, tx *storage.Tx) error {
	db := w.j.db
	done, err := w.mapped(ctx, tx)
	if err != nil || done {
		return err
	}
	for _, d := range w.record.DDL {
		if m, ok := d.Marker.(enableMarker); ok {
			if err := w.begin(ctx, tx, m.object); err != nil {
				return err
			}
			continue
		}
		if err := w.alter(ctx, tx, d); err != nil {
			return err
		}
	}
	for i := range w.record.Changes {
		if err := w.add(ctx, tx, &w.record.Changes[i]); err != nil {
			return err
		}
	}
	for _, i := range w.instances {
		if err := w.flush(ctx, tx, i.object); err != nil {
			return err
		}
	}
	captured := w.commands > 0
	if !captured && len(w.record.DDL) == 0 {
		return nil
	}
	return w.j.mapTransaction(ctx, tx, db, w.record, captured)
}

// table finds a table of schema cdc in the committed metadata: one that another session is about to drop is still there,
// and its lock is waited for.
func (w *captureWriter) table(name string) (*storage.Table, error) {
	if t, ok := w.root.Object(schemaName, name).(*storage.Table); ok {
		return t.Live(), nil
	}
	return nil, sqlerr.New(208, schemaName+"."+name)
}

// mapped reports whether the transaction has been captured already: a backup can hold both the change rows and the log.
func (w *captureWriter) mapped(ctx context.Context, tx *storage.Tx) (bool, error) {
	t, err := w.table(timeMapping)
	if err != nil {
		return false, err
	}
	key := t.Def().Indexes[0].AppendKey(nil, t.Def(), lsnValue(w.record.Commit))
	for _, err := range tx.Scan(ctx, t, 0, storage.Prefix(key), storage.Access{}) {
		return err == nil, err
	}
	return false, nil
}

// begin handles the marker of a new instance: its low end is established.
func (w *captureWriter) begin(ctx context.Context, tx *storage.Tx, object int32) error {
	w.handled = append(w.handled, object)
	for _, i := range w.instances {
		if i.object != object || i.started {
			continue
		}
		i.start, i.started = w.record.Commit, true
		return change(ctx, tx, w.j.db, changeTables, objectKey(object), func(vals []value.Value) []value.Value {
			return setCell(vals, 4, lsnValue(i.start))
		})
	}
	return nil
}

// add makes the rows of one change for every instance of its table.
func (w *captureWriter) add(ctx context.Context, tx *storage.Tx, c *storage.LogChange) error {
	for _, i := range w.instances {
		if i.source != c.Table.ID() || !i.started || w.record.Commit.Compare(i.start) < 0 {
			continue
		}
		t, err := w.target(i)
		if err != nil {
			return err
		}
		row, keep, err := t.image(w.record.Commit, c)
		if err != nil {
			return err
		}
		if !keep {
			continue
		}
		w.rows[i.object] = append(w.rows[i.object], storage.Change{New: row})
		w.commands++
		if len(w.rows[i.object]) >= flushRows {
			if err := w.flush(ctx, tx, i.object); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the rows that were made for a change table.
func (w *captureWriter) flush(ctx context.Context, tx *storage.Tx, object int32) error {
	rows := w.rows[object]
	if len(rows) == 0 {
		return nil
	}
	w.rows[object] = nil
	_, err := tx.Apply(ctx, w.tables[object].table, rows)
	return err
}

// mapTransaction writes a row of cdc.lsn_time_mapping. Transactions without change rows have the tran_id of a dummy.
func (j *Job) mapTransaction(ctx context.Context, tx *storage.Tx, db *storage.Database, r *storage.LogRecord, captured bool) error {
	id := []byte{0}
	if captured {
		id = r.TranID[:]
	}
	return insert(ctx, tx, db, timeMapping, sysrow.Row{
		"start_lsn": r.Commit[:], "tran_begin_time": r.BeginTime, "tran_end_time": r.EndTime, "tran_id": id, "tran_begin_lsn": r.Begin[:],
	})
}

// Idle writes the dummy row of a quiet database, so that sys.fn_cdc_get_max_lsn moves on.
func (j *Job) Idle(ctx context.Context) error {
	if err := j.acquire(ctx); err != nil {
		return err
	}
	defer j.release()
	lsn, now := j.db.NextLSN(), time.Now()
	// An update of the properties waits for the commits that run: what has a smaller LSN is in the log after it.
	j.db.UpdateProps(func(*storage.Props) {})
	if len(j.db.LogRecords(storage.LSN{}, 1)) > 0 {
		return nil
	}
	_, err := j.m.atomic(ctx, func(tx *storage.Tx) error {
		r := &storage.LogRecord{Commit: lsn, Begin: lsn, BeginTime: now, EndTime: now}
		return j.mapTransaction(ctx, tx, j.db, r, false)
	})
	if isNumber(err, 208) {
		return nil
	}
	return err
}

func lsnValue(l storage.LSN) value.Value { return value.NewBinary(value.Binary, l[:]) }

// serverError finds the server's error in err, or makes one of it.
func serverError(err error) *sqlerr.Error {
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return se
	}
	return sqlerr.New(22859)
}
