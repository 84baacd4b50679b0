package capture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// Marks of a snapshot that a signal has asked for. They differ from those of a first snapshot: rows that changed meanwhile come
// as changes, so its rows alone are not all that the table has.
const (
	IncrementBegin = "incremental_begin"
	IncrementEnd   = "incremental_end"
)

// increment is a snapshot that a signal has asked for, while it runs beside its table's stream. The table's worker reads it.
type increment struct {
	worker    *worker
	cancelled bool // under flow.mu

	window *chunkWindow // set by the worker, under flow.mu; its pages are the worker's own

	// The worker's alone.
	request checkpoint.Request // its ID is fixed; After and Rows are what was given out
	begun   bool
	layout  *Layout
	total   int64
	pause   backoff
	again   time.Time
}

// Errors that refuse a request.
var (
	errKeyless = errors.New("the table has no key that is captured, by which rows could be told apart from changes that come meanwhile; " +
		"read it anew with its position: mssqlcdc positions reset, under stream_snapshot, or give it a primary key")
	errLongKey = errors.New("its key is too long to be stored beside what waits; signal it again alone, or use a first snapshot")
)

// advanceIncrement does what is next of the snapshot that a signal has asked for: it opens a window, or gives out what is left of
// one whose second watermark the stream has reached. It tells whether it did anything. Its errors never park the table.
func (w *worker) advanceIncrement(ctx context.Context, inc *increment) bool {
	f := w.flow
	f.mu.Lock()
	win, pos := inc.window, w.pos
	free := !w.asked && w.checked && pos.Done && !pos.IsZero() && !w.snapshotting()
	rest := f.signals.paused
	reached := win != nil && !win.high.LSN.IsZero() && pos.Done && pos.LSN.Compare(win.high.LSN) >= 0
	void := win != nil && win.void
	cancelled := inc.cancelled
	f.mu.Unlock()
	var err error
	switch {
	case cancelled:
		inc.drop()
		inc.leave()
		return true
	case void:
		inc.drop()
		return true
	case reached && (f.merge == nil || !f.merge.busy()):
		err = inc.give(ctx)
	case win == nil && free && !rest && !time.Now().Before(inc.again):
		err = inc.read(ctx, pos)
	default:
		return false
	}
	if err == nil || ctx.Err() != nil {
		inc.pause.reset()
		return err == nil
	}
	inc.drop()
	inc.failed(err)
	return false
}

// failed waits, or refuses the request when the error will not pass.
func (inc *increment) failed(err error) {
	f := inc.worker.flow
	var behind *snapshot.BehindError
	if errors.Is(err, errGone) || errors.Is(err, errStopped) {
		return
	}
	if errors.As(err, &behind) || session.IsTransient(err) || session.HasNumber(err, 3952) || errors.Is(err, snapshot.ErrNotStarted) {
		inc.again = time.Now().Add(inc.pause.step())
		return
	}
	f.mu.Lock()
	f.signals.drop(inc.request.ID)
	f.mu.Unlock()
	f.cfg.Observer.Signal(Refused, fmt.Sprintf("signal %s: the snapshot of %s is given up: %v", inc.request.Signal, inc.request.Table, err))
}

// drop forgets the window, whose chunk is read again.
func (inc *increment) drop() {
	f := inc.worker.flow
	f.mu.Lock()
	win := inc.window
	inc.window = nil
	f.mu.Unlock()
	if win != nil {
		win.release()
	}
}

// voidWindow gives up an open window, because changes are left out that could have been of its rows.
func (w *worker) voidWindow() {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	if w.increment != nil && w.increment.window != nil {
		w.increment.window.void = true
	}
}

// leave makes room for the next request.
func (inc *increment) leave() {
	f := inc.worker.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	inc.worker.increment = nil
	if f.signals.running == inc {
		f.signals.running = nil
	}
}

// read opens a window: the first watermark, a chunk, the second watermark. Changes from pos on, where the stream stands, win over
// the chunk's rows. That is before the first watermark, and safer: what was captured by then is visible to every reader, while a
// transaction may be in the log before it is.
func (inc *increment) read(ctx context.Context, pos checkpoint.Position) error {
	w, f := inc.worker, inc.worker.flow
	after, err := snapshot.ParseKey(inc.request.After)
	if err != nil {
		return err
	}
	f.mu.Lock()
	next, ok := w.table.stretch(pos, pos.LSN)
	if !ok {
		f.mu.Unlock()
		return snapshot.ErrNotStarted
	}
	capture := next.instance.Capture
	win := newWindow()
	inc.window = win // known before it is in the table, so that the second watermark is not overlooked
	f.mu.Unlock()
	err = w.borrow(ctx, func(conn *session.Conn) error {
		reader, err := snapshot.Open(ctx, conn, capture, snapshot.Options{Filter: inc.request.Filter, ReplaceInvalidText: f.cfg.ReplaceInvalidText})
		if err != nil {
			return err
		}
		if reader.Keyless() || len(reader.Key()) == 0 {
			return errKeyless
		}
		inc.describe(reader, capture)
		if err := f.signals.insert(ctx, conn, win.id+openSuffix, signalOpen, inc.request.Table); err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.WindowOpened)
		if err := win.fill(ctx, reader, after, pos.LSN, f.cfg); err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.WindowRead)
		if err := f.signals.insert(ctx, conn, win.id+closeSuffix, signalClose, inc.request.Table); err != nil {
			return err
		}
		crashpoint.Hit(crashpoint.WindowClosed)
		return nil
	})
	if err != nil {
		return err
	}
	if !f.signals.fits(inc.request.ID, win.last.String()) {
		return errLongKey
	}
	win.index(inc.layout)
	f.mu.Lock()
	win.closed = time.Now()
	f.mu.Unlock()
	if !inc.begun {
		inc.begun = true
		inc.mark(IncrementBegin, pos, nil)
		f.cfg.Observer.Snapshot(inc.request.Table, inc.request.Rows, inc.total, false)
	}
	return nil
}

// describe notes the shape of the rows. One that is as before keeps its plan.
func (inc *increment) describe(r *snapshot.Reader, capture string) {
	inc.total = max(inc.total, r.Rows())
	if schema := r.Schema(); inc.layout == nil || inc.layout.Capture != capture || !inc.layout.Schema.Equal(schema) {
		inc.layout = &Layout{Capture: capture, Schema: schema, Captured: schema.NumFields(), Key: r.Key()}
	}
}

// give puts what is left of the chunk into the lane, at the place of the second watermark.
func (inc *increment) give(ctx context.Context) error {
	w, f := inc.worker, inc.worker.flow
	win := inc.window
	handover := w.position() // the second watermark, or behind it
	req := inc.request
	given, dropped := 0, 0
	for i, p := range win.pages {
		runs, rows := win.left(i)
		dropped += p.Rows - rows
		req.After = p.Next.String()
		if rows == 0 {
			continue
		}
		if err := f.budget.acquire(ctx, rows, int64(p.Bytes)); err != nil {
			return err
		}
		b := &Batch{Rows: rows, bytes: int64(p.Bytes), positions: map[string]checkpoint.Position{}}
		for _, r := range runs {
			p.Retain()
			b.Runs = append(b.Runs, Run{Table: w.table, Layout: inc.layout, From: r.from, To: r.to, Snapshot: &SnapshotRun{
				Page: p, ID: req.ID, Handover: handover, Before: req.Rows, Incremental: true,
			}})
		}
		req.Rows += int64(rows)
		given += rows
		b.progress = []*progress{{id: req.ID, after: req.After, rows: req.Rows}}
		f.enqueue(w.lane, b)
	}
	req.After = win.last.String()
	inc.request = req
	f.cfg.Observer.Window(req.Table, given, dropped)
	end := win.ends
	if end {
		f.mu.Lock()
		for _, q := range f.signals.queue {
			q.given = q.given || q.ID == req.ID
		}
		f.mu.Unlock()
		inc.mark(IncrementEnd, handover, []*progress{{id: req.ID, after: req.After, rows: req.Rows, ended: true}})
		crashpoint.Hit(crashpoint.IncrementRead)
	} else {
		f.arrived(w.lane, &progress{id: req.ID, after: req.After, rows: req.Rows})
	}
	inc.drop()
	f.cfg.Observer.Snapshot(req.Table, req.Rows, inc.total, end)
	if end {
		inc.leave()
	}
	return nil
}

// mark puts a mark into the lane.
func (inc *increment) mark(mark string, at checkpoint.Position, done []*progress) {
	w := inc.worker
	w.flow.enqueue(w.lane, &Batch{
		Runs: []Run{{Table: w.table, Layout: inc.layout, Snapshot: &SnapshotRun{
			Mark: mark, At: time.Now(), ID: inc.request.ID, Handover: at, Incremental: true,
		}}},
		positions: map[string]checkpoint.Position{}, progress: done,
	})
}

// arrived notes progress that no batch of its own carries: it counts with the acknowledgement of the lane's last batch.
func (f *Flow) arrived(l *lane, p *progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if n := len(l.queue); n > 0 {
		l.queue[n-1].progress = append(l.queue[n-1].progress, p)
		return
	}
	f.signals.progressed(p)
}

// position is where the table is.
func (w *worker) position() checkpoint.Position {
	w.flow.mu.Lock()
	defer w.flow.mu.Unlock()
	return w.pos
}

// changed notes the keys of a page of changes: they win over the rows of an open window.
func (w *worker) changed(page *changetable.Page) {
	w.flow.mu.Lock()
	var win *chunkWindow
	if w.increment != nil {
		win = w.increment.window
	}
	w.flow.mu.Unlock()
	if win != nil && page.Rows > 0 {
		win.drop(page.Record, w.layout.Key, page.Rows)
	}
}

// insert writes a watermark into the signal table.
func (s *signals) insert(ctx context.Context, conn *session.Conn, id, kind, table string) error {
	s.flow.mu.Lock()
	quoted := s.quoted
	s.flow.mu.Unlock()
	st := request.Statement{Text: "INSERT INTO " + quoted + " ([id], [type], [data]) VALUES (@id, @type, @data)"}
	st.Param("@id", "varchar(42)", id)
	st.Param("@type", "varchar(32)", kind)
	st.Param("@data", "nvarchar(600)", table)
	_, err := conn.Exec(ctx, st.Text, st.Decl, st.Args...)
	switch {
	case session.IsDenied(err):
		return fmt.Errorf("writing a watermark into %s: %w; GRANT INSERT ON %s to the login", s.key, err, quoted)
	case session.HasNumber(err, 3906):
		return fmt.Errorf("writing a watermark into %s: the connection is to a read-only replica, and snapshots by signal need the primary: %w", s.key, err)
	case err != nil:
		return fmt.Errorf("writing a watermark into %s: %w", s.key, err)
	}
	return nil
}

// limit is how far a worker, or under ordering global every worker, may read. mu is held.
func (f *Flow) limit(w *worker, high catalog.Transaction) catalog.Transaction {
	if f.signals == nil {
		return high
	}
	return f.signals.limit(w, high)
}

// forget gives up the snapshot that a signal has asked for, because the worker ends.
func (w *worker) forget() {
	w.flow.mu.Lock()
	inc := w.increment
	w.flow.mu.Unlock()
	if inc != nil {
		inc.drop()
		inc.leave()
	}
}
