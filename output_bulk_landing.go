package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cenkalti/backoff/v4"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/sqltype"
)

// staleAfter is how old the description of a table may be before a row is refused by it.
const staleAfter = 5 * time.Second

// bulkLanding is the way of one batch into its tables: tried again while what fails passes, halved when a row is to blame.
type bulkLanding struct {
	out     *bulkOutput
	batch   service.MessageBatch
	worker  *bulkWorker
	failed  map[int]error
	rows    map[int]catalog.Name // the tables of failed rows, for the metric
	pause   backoff.ExponentialBackOff
	retries int                         // left, for errors that a row can cause
	landed  []bool                      // by row
	records map[int][]arrow.RecordBatch // of Arrow messages
	window  rowWindow                   // of the message that is landed by itself
	shaped  bool                        // the tables were described anew because of an error
	whole   map[catalog.Name]bool       // tables whose rows are updated by one statement: exchange
	wider   []widening                  // messages that wait for columns of their tables
	widened map[int]bool                // messages whose tables were given the columns that they speak of
	told    bool                        // the first error of a row of tries is logged
	bulkSides

	// With exactly_once:
	places []bulkPlace
	lost   map[int]error // messages that have no place
	held   map[int]error // messages that are given back, though nothing is wrong with them
}

func newBulkLanding(o *bulkOutput, batch service.MessageBatch) *bulkLanding {
	l := &bulkLanding{out: o, batch: batch, failed: map[int]error{}, rows: map[int]catalog.Name{}, landed: make([]bool, len(batch)), records: map[int][]arrow.RecordBatch{}, lost: map[int]error{}, held: map[int]error{}, pause: *o.cfg.backoff, retries: o.cfg.maxRetries}
	l.pause.Reset()
	return l
}

func (l *bulkLanding) run(ctx context.Context) error {
	defer l.out.observer.batch(time.Now())
	defer func() {
		if l.worker != nil {
			l.out.giveBack(l.worker)
		}
	}()
	defer l.releaseRecords()
	all := make([]int, len(l.batch))
	for i := range all {
		all[i] = i
	}
	if l.out.fence != nil {
		l.locate(all)
	}
	err := l.landAll(ctx, all)
	if l.out.fence != nil {
		l.holdBack()
	}
	if l.out.cfg.mode.keyed || l.out.fence != nil {
		return err // what has landed may come again: its outcome is the same
	}
	if slices.Contains(l.landed, true) && errors.Is(err, service.ErrNotConnected) {
		// The whole batch would come again, and what has landed would be there twice.
		for _, i := range all {
			if !l.landed[i] {
				l.refuse(i, catalog.Name{}, err)
			}
		}
		return nil
	}
	return err
}

// refuse notes that a message does not land. The first reason stays.
func (l *bulkLanding) refuse(i int, table catalog.Name, err error) {
	if l.failed[i] != nil {
		return
	}
	if table == (catalog.Name{}) {
		err = fmt.Errorf("loading row %d of the batch: %w", i+1, err)
	} else {
		err = fmt.Errorf("loading row %d of the batch into %s: %w", i+1, table, err)
	}
	l.failed[i], l.rows[i] = err, table
}

// refused is the error of the rows that did not land, nil if all did.
func (l *bulkLanding) refused() error {
	for i, err := range l.held {
		l.refuse(i, catalog.Name{}, err)
	}
	if len(l.failed) == 0 {
		return nil
	}
	failed := make([]int, 0, len(l.failed))
	for i := range l.failed {
		failed = append(failed, i)
	}
	slices.Sort(failed)
	headline := l.failed[failed[0]]
	if len(failed) > 1 {
		headline = fmt.Errorf("%d of %d rows were refused, the first: %w", len(failed), len(l.batch), headline)
	}
	err := service.NewBatchError(l.batch, headline)
	for _, i := range failed {
		err = err.Failed(i, l.failed[i])
		table := ""
		if l.rows[i] != (catalog.Name{}) {
			table = l.rows[i].String()
		}
		l.out.observer.refused.Incr(1, table)
	}
	return err
}

// land brings rows into their tables. Its error is the end of ctx or wraps service.ErrNotConnected.
func (l *bulkLanding) land(ctx context.Context, all []int) error {
	for {
		rows, bad := l.open(all)
		if l.strict() && len(bad) > 0 {
			if err := l.standStill(ctx, bad); err != nil {
				return err
			}
			continue
		}
		if l.out.rejects == nil {
			bad = nil
		}
		if len(rows) == 0 && len(bad) == 0 {
			return nil
		}
		err := l.attempt(ctx, rows, bad)
		if err == nil {
			l.recovered()
			for _, i := range append(rows, bad...) {
				if l.failed[i] != nil {
					l.astray = append(l.astray, i)
				}
				if l.landed[i] = l.failed[i] == nil || l.out.rejects != nil; l.failed[i] != nil && l.landed[i] {
					l.rejected(i)
				}
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errBulkAgain) {
			continue
		}
		var at *bulkError
		if !errors.As(err, &at) {
			at = &bulkError{rows: rows, err: err}
		}
		if l.exchange(at) || l.turnAround(at, rows) {
			continue
		}
		cause := causeOf(err)
		if cause == causeForm && l.worker != nil && l.worker.conn.Broken() {
			cause = causeRow // most likely the network, whose errors the driver does not always pass on
		}
		switch {
		case cause == causePasses:
			if err := l.wait(ctx, err, at.committing); err != nil {
				return err
			}
		case (cause == causeShape || cause == causeTable) && !l.shaped:
			l.shaped = true
			l.forgetAll()
		case cause == causeTable:
			if l.out.cfg.static != nil {
				l.out.log.Errorf("%v; this batch waits until that is mended", err)
				return fmt.Errorf("%w: %w", service.ErrNotConnected, err)
			}
			for _, i := range at.rows {
				l.refuse(i, at.table, at.err)
			}
		case cause == causeForm:
			for _, i := range at.rows {
				l.refuse(i, at.table, at.err)
			}
		case l.retries > 0 || len(rows) == 0: // without rows it is the table of refused rows, or the fence
			l.retries = max(l.retries-1, 0)
			if err := l.wait(ctx, err, false); err != nil {
				return err
			}
		default:
			return l.halve(ctx, all, rows, at)
		}
	}
}

// halve finds the rows that are to blame, of those of all that are to be loaded.
func (l *bulkLanding) halve(ctx context.Context, all, rows []int, at *bulkError) error {
	if len(rows) == 1 {
		l.refuse(rows[0], at.table, explainRow(at.err, at.changes))
		return l.land(ctx, all)
	}
	l.out.observer.splits.Incr(1)
	half := slices.Index(all, rows[len(rows)/2])
	if err := l.land(ctx, all[:half]); err != nil {
		return err
	}
	return l.land(ctx, all[half:])
}

// errBulkAgain makes land try again at once, with what has been learned.
var errBulkAgain = errors.New("the rows are decoded anew")

// connect gives the worker of the landing, a new one if its connection has broken.
func (l *bulkLanding) connect(ctx context.Context) (*bulkWorker, error) {
	if l.worker != nil && l.worker.conn.Broken() {
		l.worker.close()
		l.worker = nil
	}
	if l.worker == nil {
		w, err := l.out.worker(ctx)
		if err != nil {
			if causeOf(err) != causePasses {
				l.out.log.Errorf("%v; this batch waits until that is mended", err)
				err = fmt.Errorf("%w: %w", service.ErrNotConnected, err)
			}
			return nil, err
		}
		l.worker = w
	}
	return l.worker, nil
}

// attempt loads rows in one transaction, and stores those that are refused. What it has not stored when it fails is not stored at all, except perhaps after a
// connection that was lost while committing.
func (l *bulkLanding) attempt(ctx context.Context, rows, bad []int) error {
	w, err := l.connect(ctx)
	if err != nil {
		return err
	}
	if rows, err = l.enter(ctx, w, rows); err != nil {
		return err
	}
	if bad, err = l.enter(ctx, w, bad); err != nil {
		return err
	}
	before := len(l.failed)
	jobs, err := l.decode(ctx, w, rows)
	if err != nil {
		return err
	}
	defer releaseJobs(jobs)
	if len(l.wider) > 0 {
		return l.widen(ctx, w)
	}
	if err := l.fill(ctx, w, jobs); err != nil {
		return err
	}
	if len(l.failed) > before {
		for _, j := range jobs {
			if l.stale(ctx, w, j) {
				l.reopen(rows)
				return errBulkAgain
			}
		}
		if l.strict() {
			return errBulkAgain
		}
	}
	if err := l.store(ctx, w, jobs, append(rows, bad...)); err != nil {
		return err
	}
	for _, j := range jobs {
		var n, size int64
		for _, p := range j.parts {
			n, size = n+p.record.NumRows()-p.bad, size+p.bytes
		}
		if n > 0 {
			l.out.observer.loaded(j.name, n, size)
		}
	}
	return nil
}

// fill plans every part, and sends the staged ones to their temporary tables, before there is a transaction.
func (l *bulkLanding) fill(ctx context.Context, w *bulkWorker, jobs []*bulkJob) error {
	for _, j := range jobs {
		if j.table.changes != nil {
			if err := l.fillStage(ctx, w, j); err != nil {
				return err
			}
			continue
		}
		kept := j.parts[:0]
		for n := range j.parts {
			p := j.parts[n]
			var unfit bulkPlanError
			var err error
			switch p.plan, err = w.plan(ctx, j.table, p.record.Schema(), p.bytes); {
			case errors.As(err, &unfit):
				for _, i := range p.rows {
					l.refuse(i, j.name, unfit.error)
				}
				p.record.Release()
				continue
			case err != nil:
				j.parts = append(kept, j.parts[n:]...)
				return &bulkError{table: j.name, rows: j.rows, err: err}
			}
			p.plan.filled = false
			kept = append(kept, p)
		}
		j.parts = kept
		for n := range j.parts {
			if p := &j.parts[n]; p.plan.move != "" {
				if err := l.send(ctx, w, j, p); err != nil {
					return err
				}
				crashpoint.Hit(crashpoint.BulkStaged)
			}
		}
	}
	return nil
}

// send sends a part, and refuses its rows that the server was not given.
func (l *bulkLanding) send(ctx context.Context, w *bulkWorker, j *bulkJob, p *bulkPart) error {
	bad, err := w.send(ctx, p.plan, p.record)
	if err != nil {
		return &bulkError{table: j.name, rows: j.rows, err: err}
	}
	if len(bad) > 0 && l.stale(ctx, w, j) {
		return errBulkAgain
	}
	p.bad = int64(len(bad))
	for _, b := range bad {
		err := fmt.Errorf("column %s: %w%s", b.Column, b.Err, wayOut(j.table.target, b.Column))
		if p.whole {
			err = fmt.Errorf("its row %d: %w", b.Row+1, err)
		}
		l.refuse(p.rows[b.Row], j.name, err)
	}
	if p.whole && len(bad) > 0 {
		return errBulkAgain // without the message
	}
	return nil
}

// wayOut says how a value that a column cannot hold can be stored all the same.
func wayOut(t *bulkload.Target, column string) string {
	i := t.Column(column)
	if i < 0 || t.Columns[i].Err != nil {
		return ""
	}
	switch t.Columns[i].Type.Kind() {
	case sqltype.Text:
		return "; make the column wider or nvarchar, or set on_lossy.text to truncate"
	case sqltype.Binary:
		return "; make the column wider, or set on_lossy.text to truncate"
	}
	return "; on_lossy says what may be lost"
}

// store loads what is planned, in one transaction, with the marks of the lanes and the refused ones of all the rows.
func (l *bulkLanding) store(ctx context.Context, w *bulkWorker, jobs []*bulkJob, rows []int) (err error) {
	moves := l.moves(rows)
	if len(jobs) == 0 && len(moves) == 0 && !l.anyRejects(rows) {
		return nil
	}
	if err := w.conn.Batch(ctx, sqlBulkBegin); err != nil {
		return &bulkError{table: firstTable(jobs), rows: rows, err: fmt.Errorf("beginning the transaction: %w", err)}
	}
	crashpoint.Hit(crashpoint.BulkBegun)
	defer func() {
		if err != nil {
			w.rollback(ctx)
		}
	}()
	if err := l.move(ctx, w, moves, rows); err != nil {
		return err
	}
	if l.backwards {
		slices.Reverse(jobs)
	}
	for _, j := range jobs {
		if err := l.storeJob(ctx, w, j); err != nil {
			return err
		}
	}
	if l.strict() && l.anyFailed(rows) {
		return errBulkAgain
	}
	if err := l.reject(ctx, w, rows); err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.BulkCommitting)
	if err := w.conn.Batch(ctx, sqlBulkCommit); err != nil {
		l.moved(moves, rows, false)
		return &bulkError{table: firstTable(jobs), committing: w.conn.Broken(), rows: rows, err: fmt.Errorf("committing: %w", err)}
	}
	crashpoint.Hit(crashpoint.BulkCommitted)
	l.moved(moves, rows, true)
	return nil
}

// firstTable is what an error of the whole transaction names.
func firstTable(jobs []*bulkJob) (name catalog.Name) {
	if len(jobs) > 0 {
		name = jobs[0].name
	}
	return name
}

// storeJob loads the rows of a table.
func (l *bulkLanding) storeJob(ctx context.Context, w *bulkWorker, j *bulkJob) (err error) {
	if j.table.changes != nil {
		return l.applyStage(ctx, w, j)
	}
	for n := range j.parts {
		switch p := &j.parts[n]; {
		case p.plan.move == "":
			if err = l.send(ctx, w, j, p); err == nil {
				crashpoint.Hit(crashpoint.BulkSent)
			}
		case p.plan.filled: // and not moved with an earlier part
			p.plan.filled = false
			if err = w.move(ctx, p.plan); err != nil {
				err = &bulkError{table: j.name, rows: j.rows, err: err}
			} else {
				crashpoint.Hit(crashpoint.BulkMoved)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
