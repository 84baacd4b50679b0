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
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/snapshot"
)

// replicaWait is how long a server may be behind a position before that is said to be wrong: a replica catches up, a
// database that was restored to an earlier state does not.
const replicaWait = 2 * time.Minute

// A window holds at most windowTransactions transactions of the database; a position that is less than windowNear behind the
// watermark is taken to be within one.
const (
	windowTransactions = 10_000
	windowNear         = 5 * time.Second
)

// maxVerified bounds the connections that a worker remembers to have verified its position on.
const maxVerified = 64

// worker reads one table, from its position to a target that the coordinator moves.
type worker struct {
	flow  *Flow
	table *Table // its instances are replaced under flow.mu
	lane  *lane
	pages chan handed // ordering global: to the merge; without a page at the end of a window

	wake  chan struct{} // the target moved, or the instances changed
	gone  chan struct{} // closed when the table has no capture instance any more
	ended chan struct{} // closed when its goroutine has ended

	// Under flow.mu.
	pos       checkpoint.Position // everything up to here was read; zero before the table's start is known
	target    checkpoint.LSN
	state     State
	kind      string     // of the error that parks it
	asked     bool       // a target was set that is not reached yet
	stale     bool       // the instance has to be described anew: a column's type has changed
	checked   bool       // the server's history has been found to hold the position
	increment *increment // a snapshot that a signal has asked for
	wanted    bool       // the rows of the table have to be read anew
	taken     bool       // the rows of the table were read
	until     int        // of a table that is gone: its last batch is among so many of the lane

	// The worker's goroutine alone.
	reader   *changetable.Reader
	layout   *Layout
	verified map[*session.Conn]bool
	cut      checkpoint.LSN // the end of the window that is read
	fresh    bool           // no page was read since the position came from "earliest": cleanup may move it
	renewed  bool           // the instance was described anew because of an error, and nothing was read since
	retry    backoff
	parked   backoff
	kept     string    // the snapshot whose handover is stored
	behind   time.Time // since when the server has not reached the position
	trouble  trouble
}

func newWorker(f *Flow, t *Table, l *lane) *worker {
	w := &worker{
		flow: f, table: t, lane: l, wake: make(chan struct{}, 1), gone: make(chan struct{}), ended: make(chan struct{}), verified: map[*session.Conn]bool{},
		retry: backoff{min: 100 * time.Millisecond, max: 10 * time.Second}, parked: backoff{min: 2 * time.Second, max: 5 * time.Minute},
	}
	if f.cfg.Global {
		w.pages = make(chan handed)
	}
	return w
}

// aim sets the LSN to read up to. flow.mu is held.
func (w *worker) aim(target checkpoint.LSN) {
	w.target, w.asked = target, true
	w.nudge()
}

// nudge makes the worker look at what there is to do.
func (w *worker) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// level says that everything up to an LSN was read. flow.mu is held.
func (w *worker) level(lsn checkpoint.LSN) bool {
	return !w.asked && w.pos.Done && w.pos.LSN.Compare(lsn) >= 0
}

// run reads until the context ends or the table is gone.
func (w *worker) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer w.forget()
	for {
		select {
		case <-w.wake:
		case <-w.gone:
			return nil
		case <-ctx.Done():
			return nil
		}
		for {
			more, err := w.advance(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				w.setState(Streaming, nil)
				w.retry.reset()
				w.parked.reset()
				if w.trouble.over() {
					w.flow.cfg.Observer.Note(w.table.key(), "reading works again")
				}
				if more {
					continue
				}
				break
			}
			if err := w.failed(ctx, err); err != nil {
				return err
			}
			if w.isGone() {
				return nil
			}
		}
	}
}

func (w *worker) isGone() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// advance reads one page on the way to the target. more is false when the target is reached.
func (w *worker) advance(ctx context.Context) (more bool, err error) {
	w.flow.mu.Lock()
	if w.snapshotting() && !w.lane.stop {
		inWindow := w.asked && w.pages != nil
		w.asked = w.asked && !inWindow
		w.flow.mu.Unlock()
		if inWindow {
			return false, w.hand(ctx, handed{})
		}
		if w.pages != nil && w.flow.merge.busy() {
			return false, nil // changes of the table that were read before would come behind its rows; the next turn wakes
		}
		if err := w.takeSnapshot(ctx); !errors.Is(err, errStopped) {
			return true, err
		}
		return false, nil
	}
	if inc := w.increment; inc != nil && !w.lane.stop {
		w.flow.mu.Unlock()
		if w.advanceIncrement(ctx, inc) {
			return true, nil
		}
		w.flow.mu.Lock()
	}
	if w.flow.cfg.Snapshots.Only && w.taken {
		w.asked = false
	}
	if w.pos.IsZero() && !w.wanted {
		w.pos, _ = w.table.earliest()
		w.fresh = !w.pos.IsZero()
		if w.fresh {
			w.flow.saver.start(w.table.key(), w.pos, false)
		}
	}
	if w.stale {
		w.stale, w.reader = false, nil
	}
	pos, target, asked, stopped, checked := w.pos, w.target, w.asked, w.lane.stop, w.checked
	next, started := w.table.stretch(pos, target)
	w.flow.mu.Unlock()
	if !asked || stopped {
		return false, nil
	}
	if pos.IsZero() || !started {
		return false, changetable.ErrNotStarted
	}
	if !checked {
		clear(w.verified) // a connection that was good may be dead
		if _, err := w.onConn(ctx, func(conn *session.Conn) (*changetable.Page, error) { return nil, w.verify(ctx, conn, pos, next) }); err != nil {
			return false, err
		}
		w.flow.mu.Lock()
		w.checked = true
		w.flow.mu.Unlock()
		w.behind = time.Time{}
	}
	if pos.LSN.Compare(target) > 0 || pos.LSN == target && pos.Done {
		return false, w.arrived(ctx, pos)
	}
	page, err := w.read(ctx, pos, next)
	if err != nil {
		return false, err
	}
	w.behind = time.Time{}
	w.fresh, w.renewed = false, false
	if page.AtHigh && next.switches && page.Next.LSN == next.high {
		w.flow.cfg.Observer.Note(w.table.key(), fmt.Sprintf("capture instance %s ends at LSN %s; reading goes on from the newer one", next.instance.Capture, next.high))
	}
	if err := w.give(ctx, page); err != nil {
		return false, err
	}
	if w.flow.cfg.Period > 0 && page.AtHigh && page.Rows > 0 {
		pause(ctx, w.flow.cfg.Period, w.gone) // let the next changes gather
	}
	return true, nil
}

// arrived notes that the target is reached.
func (w *worker) arrived(ctx context.Context, pos checkpoint.Position) error {
	w.flow.mu.Lock()
	reached := w.target.Compare(pos.LSN) <= 0
	if reached {
		w.asked = false
	}
	w.flow.mu.Unlock()
	if w.pages != nil && reached {
		return w.hand(ctx, handed{})
	}
	return nil
}

// read reads the next page of a stretch.
func (w *worker) read(ctx context.Context, pos checkpoint.Position, s stretch) (*changetable.Page, error) {
	return w.onConn(ctx, func(conn *session.Conn) (*changetable.Page, error) {
		if err := w.verify(ctx, conn, pos, s); err != nil {
			return nil, err
		}
		high, err := w.window(ctx, conn, pos, s.high)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		page, err := w.reader.Read(ctx, pos, high, w.limits())
		if err == nil {
			crashpoint.Hit(crashpoint.PageRead)
			w.flow.cfg.Observer.Read(w.table.key(), page.Rows, int64(page.Bytes), time.Since(began))
		}
		return page, err
	})
}

// window cuts what is read at once to windowTransactions of the database, because the commit times of all of them come with a
// page. Near the watermark there are not so many, and nothing is asked.
func (w *worker) window(ctx context.Context, conn *session.Conn, pos checkpoint.Position, high checkpoint.LSN) (checkpoint.LSN, error) {
	if w.cut.Compare(pos.LSN) > 0 {
		return minLSN(w.cut, high), nil
	}
	if !pos.Proof.IsZero() && w.flow.watermark().End.Sub(pos.Proof.EndTime) < windowNear {
		return high, nil
	}
	cut, _, err := catalog.Window(ctx, conn, pos.LSN, high, windowTransactions)
	if err != nil {
		return high, err
	}
	w.cut = cut
	return cut, nil
}

func minLSN(a, b checkpoint.LSN) checkpoint.LSN {
	if a.Compare(b) < 0 {
		return a
	}
	return b
}

func maxLSN(a, b checkpoint.LSN) checkpoint.LSN {
	if a.Compare(b) > 0 {
		return a
	}
	return b
}

// onConn runs fn on a connection of the pool.
func (w *worker) onConn(ctx context.Context, fn func(*session.Conn) (*changetable.Page, error)) (page *changetable.Page, err error) {
	err = w.borrow(ctx, func(conn *session.Conn) (err error) {
		if page, err = fn(conn); err != nil {
			delete(w.verified, conn)
		}
		return err
	})
	return page, err
}

// verify makes the reader of the stretch's instance ready on a connection. On each new one it proves the position first: the
// connection may be to another server.
func (w *worker) verify(ctx context.Context, conn *session.Conn, pos checkpoint.Position, s stretch) error {
	f := w.flow
	if w.reader == nil || w.reader.Capture() != s.instance.Capture {
		r, err := changetable.Open(ctx, conn, s.instance.Capture, changetable.Options{
			Isolation: f.isolation(), Location: f.loc, ReplaceInvalidText: f.cfg.ReplaceInvalidText,
		})
		if err != nil {
			return err
		}
		w.reader, w.layout = r, newLayout(r)
		clear(w.verified)
	}
	w.reader.Use(conn)
	if w.verified[conn] {
		return nil
	}
	if err := w.reader.Verify(ctx, pos); err != nil {
		return err
	}
	if len(w.verified) >= maxVerified {
		clear(w.verified)
	}
	w.verified[conn] = true
	return nil
}

// limits are those of a batch. The pages that a merge holds at the same time are smaller.
func (w *worker) limits() changetable.Limits {
	l := changetable.Limits{Rows: w.flow.cfg.MaxRows, Bytes: w.flow.cfg.MaxBytes}
	if w.pages != nil {
		w.flow.mu.Lock()
		n := max(1, len(w.flow.workers))
		w.flow.mu.Unlock()
		l.Bytes = max(min(l.Bytes, mergeBytes/(2*n)), 64<<10)
	}
	return l
}

// give hands a page on and moves the position behind it.
func (w *worker) give(ctx context.Context, page *changetable.Page) error {
	f := w.flow
	next := page.Next
	w.changed(page)
	switch {
	case page.Rows == 0:
		page.Release()
		if w.pages == nil {
			f.reached(w.lane, map[string]checkpoint.Position{w.table.key(): next})
		}
	case w.pages != nil:
		if err := w.hand(ctx, handed{page, w.layout}); err != nil {
			page.Release()
			return err
		}
	default:
		if err := f.budget.acquire(ctx, page.Rows, int64(page.Bytes)); err != nil {
			page.Release()
			return err
		}
		f.enqueue(w.lane, &Batch{
			Runs: []Run{{Table: w.table, Page: page, From: 0, To: page.Rows, Layout: w.layout}},
			Rows: page.Rows, bytes: int64(page.Bytes),
			positions: map[string]checkpoint.Position{w.table.key(): next},
		})
	}
	f.mu.Lock()
	w.pos = next
	f.mu.Unlock()
	return nil
}

// handed is a page on its way to the merge, with the layout of its records.
type handed struct {
	page   *changetable.Page
	layout *Layout
}

// hand gives a page to the merge.
func (w *worker) hand(ctx context.Context, h handed) error {
	select {
	case w.pages <- h:
		return nil
	case <-w.gone:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errGone = errors.New("the table has no capture instance any more")

// failed decides what an error means, and waits before the next attempt. What it returns ends the flow.
func (w *worker) failed(ctx context.Context, err error) error {
	f := w.flow
	if w.isGone() || errors.Is(err, errGone) || ctx.Err() != nil {
		return nil
	}
	var (
		behind    *changetable.BehindError
		gap       *changetable.GapError
		missing   *snapshot.BehindError
		rekeyed   *snapshot.KeyError
		overtaken *overtakenError
	)
	switch {
	case errors.As(err, &behind), errors.As(err, &missing):
		if w.behind.IsZero() {
			w.behind = time.Now()
		}
		if time.Since(w.behind) < replicaWait {
			w.setState(Waiting, err)
			pause(ctx, f.cfg.PollInterval, w.gone)
			return nil
		}
		err = fmt.Errorf("%w (waited %s for it)", err, replicaWait)
	case (errors.As(err, &gap) || errors.As(err, &overtaken)) && f.cfg.Snapshots.OnGap && !w.fresh:
		w.anew(err, "on_retention_gap is snapshot")
		return nil
	case errors.As(err, &rekeyed):
		w.anew(err, "the table has another key than when its snapshot began")
		return nil
	case errors.As(err, &gap) && w.fresh:
		// Nothing was read yet and the user asked for what is retained: begin where that begins now.
		w.voidWindow()
		f.mu.Lock()
		w.pos = checkpoint.Position{Instance: gap.Instance, LSN: request.Before(gap.Start), Done: true}
		f.mu.Unlock()
		return nil
	case errors.Is(err, checkpoint.ErrLeaseLost):
		return err // not the table's fault: the flow ends, and waits as a standby
	case errors.Is(err, changetable.ErrNotStarted), errors.Is(err, snapshot.ErrNotStarted):
		w.setState(Waiting, err)
		pause(ctx, f.cfg.PollInterval, w.gone)
		return nil
	case f.snapshotOff(err):
		w.reader = nil // it was made for the other isolation level
		w.setState(Retrying, err)
		w.retry.wait(ctx, w.gone)
		return nil
	case session.IsTransient(err):
		w.setState(Retrying, err)
		if w.trouble.tell() {
			f.cfg.Observer.Note(w.table.key(), fmt.Sprintf("reading does not work, and is tried again until it does: %v", diagnose.Wrap(err)))
		}
		w.retry.wait(ctx, w.gone)
		return nil
	}
	if kind := errorKind(err); w.reader != nil && !w.renewed && (kind == "other" || kind == valueKind) {
		// A column's type may have changed since the instance was described.
		w.reader, w.renewed = nil, true
		return nil
	}
	if f.cfg.StopOnTableError {
		return fmt.Errorf("%w: %w", ErrTable, err)
	}
	w.setState(Parked, err)
	w.reader = nil // its description of the instance may be what is wrong
	w.parked.wait(ctx, w.gone)
	return nil
}

// anew makes the worker read the rows of its table from the first on.
func (w *worker) anew(cause error, why string) {
	w.flow.cfg.Observer.Note(w.table.key(), fmt.Sprintf("%v; its rows are read anew (%s)", cause, why))
	w.flow.mu.Lock()
	w.wanted = true
	w.flow.mu.Unlock()
}
