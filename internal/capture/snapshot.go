package capture

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// ErrSnapshotsDone ends a flow that only takes snapshots, when all of them are acknowledged.
var ErrSnapshotsDone = errors.New("all snapshots are delivered")

// Snapshots says whether and how the rows that are there are read before the changes. The zero value is not at all.
type Snapshots struct {
	// On reads the rows of every table that has no stored position, also of tables that appear later.
	On bool
	// Only ends the flow after that.
	Only bool
	// OnGap reads a table anew when cleanup has taken changes before they were read.
	OnGap bool
	// ChunkRows is the most rows of one chunk, Tables how many tables are read at the same time.
	ChunkRows, Tables int
	// Filters are conditions in T-SQL by schema.table.
	Filters map[string]string
}

// Marks of a snapshot: batches without rows before its first and after its last.
const (
	SnapshotBegin = "snapshot_begin"
	SnapshotEnd   = "snapshot_end"
)

// SnapshotRun is what the rows of a snapshot have in common. It has either a page or a mark.
type SnapshotRun struct {
	Page     *snapshot.Page
	Mark     string    // SnapshotBegin, SnapshotEnd, IncrementBegin, IncrementEnd, or ""
	At       time.Time // of a mark
	ID       string
	Handover checkpoint.Position // the stream goes on after it
	Before   int64               // rows of the snapshot before the page
	// Incremental says that a signal has asked for it while the table streams. Handover is then where the rows stand among the changes.
	Incremental bool
}

// snapshotting says that the table has rows to be read before its changes. flow.mu is held.
func (w *worker) snapshotting() bool { return w.wanted || w.pos.Snapshot != nil }

// takeSnapshot reads the rows of the table, chunk by chunk, into its lane. Chunks are read on several connections and given out in
// the order of the key, so that one key says how far it has come; a finished chunk is not read again.
func (w *worker) takeSnapshot(ctx context.Context) error {
	w.voidWindow()
	t := &tableSnapshot{worker: w}
	err := t.read(ctx)
	if err == nil || t.moved {
		w.behind = time.Time{}
	}
	if err != nil {
		return err
	}
	if t.reader.Keyless() {
		if err := t.resolve(ctx); err != nil {
			return err
		}
	}
	return t.end(ctx)
}

// tableSnapshot is one attempt at a table's snapshot.
type tableSnapshot struct {
	worker *worker
	reader *snapshot.Reader
	layout *Layout
	pos    checkpoint.Position // its Snapshot is what was given out
	moved  bool                // something was given out
	passed snapshot.Mark       // where a pass over a keyless table was
	left   *chunk              // whose delivery failed
	total  int64
	warned bool // that half of the retention has passed
}

// read reads the rows, while few enough other tables do.
func (t *tableSnapshot) read(ctx context.Context) error {
	w := t.worker
	select {
	case w.flow.snapshots <- struct{}{}:
		defer func() { <-w.flow.snapshots }()
	case <-w.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	if t.reader.Keyless() {
		return t.onePass(ctx)
	}
	if err := t.keep(ctx); err != nil {
		return err
	}
	return t.chunks(ctx)
}

// begin opens the table and fixes the handover before the first row is read. A snapshot that was begun goes on.
func (t *tableSnapshot) begin(ctx context.Context) error {
	w, f := t.worker, t.worker.flow
	f.mu.Lock()
	t.pos = w.pos
	capture, filter := w.table.newest(), f.cfg.Snapshots.Filters[w.table.key()]
	start, _ := w.table.start(capture)
	again := w.wanted
	f.mu.Unlock()
	if capture == "" {
		return snapshot.ErrNotStarted
	}
	retained := request.Before(start)
	return w.borrow(ctx, func(conn *session.Conn) (err error) {
		t.reader, err = snapshot.Open(ctx, conn, capture, snapshot.Options{Filter: filter, ReplaceInvalidText: f.cfg.ReplaceInvalidText})
		if err != nil {
			return err
		}
		schema := t.reader.Schema()
		t.layout = &Layout{Capture: capture, Schema: schema, Captured: schema.NumFields(), Key: t.reader.Key()}
		t.total = t.reader.Rows()
		if t.pos.Snapshot == nil || again || t.reader.Keyless() {
			handover, err := t.reader.Handover(ctx)
			if err != nil {
				return err
			}
			handover.Snapshot = &checkpoint.Snapshot{ID: newSnapshotID()}
			// A server that lags may not have what the table has come to, or what cleanup has left of it.
			if handover.LSN.Compare(retained) < 0 || !replaces(handover, t.pos) {
				return &snapshot.BehindError{Table: w.table.key(), Want: maxLSN(t.pos.LSN, retained), Server: handover.LSN}
			}
			t.pos = handover
			f.mu.Lock()
			w.pos, w.wanted = t.pos, false
			f.mu.Unlock()
			t.mark(SnapshotBegin, t.pos.Snapshot.ID)
			crashpoint.Hit(crashpoint.SnapshotBegun)
		}
		f.cfg.Observer.Snapshot(w.table.key(), t.pos.Snapshot.Rows, t.total, false)
		return nil
	})
}

// keep makes sure that the handover is stored before the first row is given out. With another one after a crash, the deletion of a
// row that was given out could be before it, and never come.
func (t *tableSnapshot) keep(ctx context.Context) error {
	w := t.worker
	if w.kept == t.pos.Snapshot.ID {
		return nil
	}
	if err := w.flow.saver.keep(ctx, w.table.key(), t.pos.Snapshot.ID, w.gone, t.allowed); err != nil {
		return err
	}
	w.kept = t.pos.Snapshot.ID
	crashpoint.Hit(crashpoint.HandoverKept)
	return nil
}

// mark puts a mark into the lane; with its acknowledgement the table is at t.pos.
func (t *tableSnapshot) mark(mark string, id string) {
	w, f := t.worker, t.worker.flow
	handover := t.pos
	handover.Snapshot = nil
	f.enqueue(w.lane, &Batch{
		Runs:      []Run{{Table: w.table, Layout: t.layout, Snapshot: &SnapshotRun{Mark: mark, At: time.Now(), ID: id, Handover: handover}}},
		positions: map[string]checkpoint.Position{w.table.key(): t.pos},
	})
}

func newSnapshotID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// give puts a page into the lane. With its acknowledgement the snapshot has come as far as its last key.
func (t *tableSnapshot) give(ctx context.Context, page *snapshot.Page) error {
	w, f := t.worker, t.worker.flow
	if page.Rows == 0 {
		page.Release()
		return nil
	}
	if err := errors.Join(t.allowed(), t.retained()); err != nil {
		page.Release()
		return err
	}
	if err := f.budget.acquire(ctx, page.Rows, int64(page.Bytes)); err != nil {
		page.Release()
		return err
	}
	handover := t.pos
	handover.Snapshot = nil
	before := t.pos.Snapshot.Rows
	t.pos.Snapshot = &checkpoint.Snapshot{ID: t.pos.Snapshot.ID, After: page.Next.String(), Rows: before + int64(page.Rows)}
	f.enqueue(w.lane, &Batch{
		Runs: []Run{{Table: w.table, Layout: t.layout, To: page.Rows, Snapshot: &SnapshotRun{Page: page, ID: t.pos.Snapshot.ID, Handover: handover, Before: before}}},
		Rows: page.Rows, bytes: int64(page.Bytes),
		positions: map[string]checkpoint.Position{w.table.key(): t.pos},
	})
	t.moved = true
	f.mu.Lock()
	w.pos = t.pos
	f.mu.Unlock()
	f.cfg.Observer.Snapshot(w.table.key(), t.pos.Snapshot.Rows, t.total, false)
	return nil
}

// allowed stops the snapshot of a table that is gone or stands still.
func (t *tableSnapshot) allowed() error {
	w := t.worker
	if w.isGone() {
		return errGone
	}
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	if w.lane.stop {
		return errStopped
	}
	return nil
}

// errStopped says that nothing more of the table is given out.
var errStopped = errors.New("a batch of the table was refused, or cannot be given out")

// overtakenError says that cleanup has removed changes which the stream needs after a snapshot.
type overtakenError struct {
	table    string
	handover checkpoint.LSN
}

func (e *overtakenError) Error() string {
	return fmt.Sprintf("taking the snapshot of %s: cleanup has removed changes from LSN %s on, which the stream needs after the snapshot; give it more time with: EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = <minutes>", e.table, e.handover)
}

// retained stops a snapshot whose handover cleanup has overtaken: the changes made meanwhile could not be read any more.
func (t *tableSnapshot) retained() error {
	w, f := t.worker, t.worker.flow
	f.mu.Lock()
	start, ok := w.table.start(t.layout.Capture)
	passed := f.high.End.Sub(t.pos.Proof.EndTime)
	f.mu.Unlock()
	if !t.warned && !t.pos.Proof.IsZero() && f.retention > 0 && passed > f.retention/2 {
		t.warned = true
		f.cfg.Observer.Note(w.table.key(), fmt.Sprintf("its snapshot has taken %s, and changes are kept for %s only: give it more time with EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = %d", passed.Round(time.Minute), f.retention, int64(2*f.retention/time.Minute)))
	}
	if ok && request.Before(start).Compare(t.pos.LSN) > 0 {
		return &overtakenError{w.table.key(), t.pos.LSN}
	}
	return nil
}

// end leaves the table where its stream begins.
func (t *tableSnapshot) end(ctx context.Context) error {
	w, f := t.worker, t.worker.flow
	rows, id := t.pos.Snapshot.Rows, t.pos.Snapshot.ID
	t.pos.Snapshot = nil
	t.mark(SnapshotEnd, id)
	crashpoint.Hit(crashpoint.SnapshotRead)
	f.mu.Lock()
	w.pos, w.checked, w.taken = t.pos, false, true // the stream proves the position before it begins
	f.mu.Unlock()
	f.cfg.Observer.Snapshot(w.table.key(), rows, t.total, true)
	f.snapshotsDone()
	return ctx.Err()
}

// borrow runs fn on a connection of the pool.
func (w *worker) borrow(ctx context.Context, fn func(*session.Conn) error) error {
	f := w.flow
	conn, err := f.conns.get(ctx)
	if err != nil {
		return err
	}
	f.cfg.Observer.Connections(w.table.key(), 1)
	err = fn(conn)
	f.conns.put(conn, err != nil)
	f.cfg.Observer.Connections(w.table.key(), -1)
	return err
}

// snapshotsDone ends a flow that only takes snapshots, once nothing of any is left. Tables that have gone are not waited for.
func (f *Flow) snapshotsDone() {
	if !f.cfg.Snapshots.Only {
		return
	}
	f.mu.Lock()
	done := f.found
	for _, w := range f.workers {
		done = done && w.taken
	}
	for l := range f.lanes {
		done = done && l.empty()
	}
	f.mu.Unlock()
	if done {
		f.fail(ErrSnapshotsDone)
	}
}
