package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/session"
)

const (
	// signalRows bounds a page of the signal table.
	signalRows = 500
	// signalPause is how long an error of the signal table keeps it unread, which the other tables do not wait for.
	signalPause = 10 * time.Second
	// maxStored is the length of a position in the SQL store, and maxWaiting how much of it what waits may take: the rest is for the
	// key of the snapshot that runs.
	maxStored, maxWaiting = 4000, 3400
	// windowBound is how long the second watermark of a window may take to be captured while the capture job works.
	windowBound = 15 * time.Minute
)

// signals reads the signal table, and keeps what it has asked for. The coordinator reads it before it lets any table read up to
// a watermark: a table never passes the second watermark of its window unseen.
//
// What is asked for and not done is stored with the position of the signal table, in one record: a signal is neither lost nor
// run twice.
type signals struct {
	flow *Flow
	name catalog.Name // as it is configured
	key  string       // under which the position is stored

	// The coordinator's alone.
	table    *Table // nil while it has no capture instance
	reader   *changetable.Reader
	verified int       // number of the connection that the position was proved on
	again    time.Time // not read before
	told     string    // the last error that was told

	// Under flow.mu.
	quoted  string              // the table, for T-SQL
	pos     checkpoint.Position // read up to here; without Signals
	paused  bool
	queue   []*asked // what is not acknowledged to its end
	running *increment
}

// asked is a snapshot that was asked for. What it has of After and Rows is acknowledged.
type asked struct {
	checkpoint.Request
	given bool // to its end
}

// progress is how far a batch brings a request once it is acknowledged.
type progress struct {
	id    string
	after string
	rows  int64
	ended bool
}

func newSignals(f *Flow, name catalog.Name) *signals {
	return &signals{flow: f, name: name, key: name.String()}
}

// take finds the signal table among the tables, and leaves the others: what changes in it is never given out.
func (s *signals) take(tables []*Table) []*Table {
	return slices.DeleteFunc(tables, func(t *Table) bool { return s.is(t.Name) })
}

// is tells whether a table is the signal table. Its name is configuration: case does not matter.
func (s *signals) is(n catalog.Name) bool {
	return strings.EqualFold(n.Schema, s.name.Schema) && strings.EqualFold(n.Object, s.name.Object)
}

// find looks for the capture instances of the signal table.
func (s *signals) find(instances []catalog.Instance) {
	var own []catalog.Instance
	for _, in := range instances {
		if s.is(in.Source) {
			own = append(own, in)
		}
	}
	s.table = nil
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	s.quoted = s.name.Quoted()
	if every, err := catalog.NewMatcher(nil, nil); err == nil && len(own) > 0 {
		tables, _ := group(own, every)
		s.table = tables[0]
		s.quoted = s.table.Name.Quoted()
	}
}

// begin takes the stored position, or the watermark: signals from before the first start of a pipeline are not run.
func (s *signals) begin(stored map[string]checkpoint.Position, high catalog.Transaction) {
	f := s.flow
	pos, found := stored[s.key]
	f.mu.Lock()
	defer f.mu.Unlock()
	if found {
		if pos.Signals != nil {
			s.paused = pos.Signals.Paused
			for _, r := range pos.Signals.Queue {
				s.queue = append(s.queue, &asked{Request: r})
			}
		}
		f.saver.start(s.key, pos, true)
		pos.Signals = nil
		s.pos = pos
		return
	}
	if s.table == nil {
		return
	}
	s.latest(high)
	if !s.pos.IsZero() {
		f.saver.start(s.key, s.pos, false)
	}
}

// latest goes to the watermark, or to the beginning of an instance that begins above it. flow.mu is held.
func (s *signals) latest(high catalog.Transaction) {
	e, ok := s.table.earliest()
	if !ok {
		return
	}
	s.pos = checkpoint.Position{LSN: high.LSN, Done: true, Proof: high.Proof()}
	if s.pos.Compare(e) < 0 {
		s.pos = e
	}
}

// stored is the record of the position and what is not done. flow.mu is held.
func (s *signals) stored() checkpoint.Position {
	pos := s.pos
	pos.Signals = nil
	if s.paused || len(s.queue) > 0 {
		pos.Signals = &checkpoint.Signals{Paused: s.paused}
		for _, r := range s.queue {
			pos.Signals.Queue = append(pos.Signals.Queue, r.Request)
		}
	}
	return pos
}

// keep gives the record to the saver; news says that more than the position has changed. flow.mu is held.
func (s *signals) keep(news bool) {
	if !s.pos.IsZero() {
		s.flow.saver.set(s.key, s.stored(), news)
	}
}

// turn reads the signals up to the watermark, and starts what is next. An error ends the coordinator's turn only when it is of
// the connection; else the tables go on without signals, and open windows are given up.
func (s *signals) turn(ctx context.Context, c *coordinator, state *catalog.State) error {
	if time.Now().Before(s.again) {
		return nil
	}
	err := s.read(ctx, c, state)
	switch {
	case err == nil:
		if s.told != "" {
			s.told = ""
			s.flow.cfg.Observer.Note(s.key, "signals are read again")
		}
		s.overdue(state.Age)
		s.next()
		return nil
	case ctx.Err() != nil, s.flow.snapshotOff(err), session.IsTransient(err):
		s.reader = nil
		return err
	}
	s.reader, s.again = nil, time.Now().Add(signalPause)
	s.giveUp()
	if text := err.Error(); text != s.told {
		s.told = text
		s.flow.cfg.Observer.Note(s.key, "no signal is read until this passes: "+text)
	}
	return nil
}

// errNoSignals says that the signal table is not captured.
var errNoSignals = errors.New("the signal table has no capture instance; enable one with sys.sp_cdc_enable_table")

// read reads up to the watermark.
func (s *signals) read(ctx context.Context, c *coordinator, state *catalog.State) error {
	f := s.flow
	if s.table == nil {
		return errNoSignals
	}
	if s.pos.IsZero() {
		f.mu.Lock()
		s.pos, _ = s.table.earliest()
		s.keep(true)
		f.mu.Unlock()
	}
	for !s.pos.IsZero() && s.pos.Compare(checkpoint.Position{LSN: state.High.LSN, Done: true}) < 0 {
		next, ok := s.table.stretch(s.pos, state.High.LSN)
		if !ok {
			return nil
		}
		if s.reader != nil && s.reader.Capture() != next.instance.Capture {
			s.reader = nil
		}
		var page *changetable.Page
		err := f.meta.on(c.number, func(conn *session.Conn) (err error) {
			page, err = s.page(ctx, conn, c.number, next)
			return err
		})
		var gap *changetable.GapError
		var fork *changetable.ForkError
		if errors.As(err, &gap) || errors.As(err, &fork) {
			f.cfg.Observer.Note(s.key, fmt.Sprintf("%v; reading of signals goes on with the newest, and those in between are lost", err))
			f.mu.Lock()
			s.latest(state.High)
			s.keep(true)
			f.mu.Unlock()
			s.giveUp()
			return nil
		}
		if err != nil {
			return err
		}
		err = s.handle(page)
		page.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// page reads a page of the signal table.
func (s *signals) page(ctx context.Context, conn *session.Conn, number int, next stretch) (_ *changetable.Page, err error) {
	if s.reader == nil {
		s.verified = 0
		s.reader, err = changetable.Open(ctx, conn, next.instance.Capture, changetable.Options{Isolation: s.flow.isolation(), Location: s.flow.loc, ReplaceInvalidText: true})
		if err != nil {
			return nil, err
		}
	}
	s.reader.Use(conn)
	if s.verified != number {
		if err := s.reader.Verify(ctx, s.pos); err != nil {
			return nil, err
		}
		s.verified = number
	}
	return s.reader.Read(ctx, s.pos, next.high, changetable.Limits{Rows: signalRows})
}

// handle does what the signals of a page ask for, and moves the position behind them.
func (s *signals) handle(page *changetable.Page) error {
	f := s.flow
	news := false
	if page.Rows > 0 {
		columns, err := signalColumns(s.reader.Schema())
		if err != nil {
			return err
		}
		for row := range page.Rows {
			if page.Operation(row) != changetable.Insert {
				continue
			}
			sig := columns.signal(page, row)
			if s.watermark(sig, page.Commit(row)) {
				continue
			}
			news = s.obey(sig) || news
		}
	}
	f.mu.Lock()
	s.pos = page.Next
	s.keep(news)
	f.mu.Unlock()
	if news {
		crashpoint.Hit(crashpoint.SignalTaken)
	}
	return nil
}

// watermark takes the rows of windows. Those of other processes, and of windows that were given up, mean nothing.
func (s *signals) watermark(sig signal, commit changetable.Commit) bool {
	if sig.kind != signalOpen && sig.kind != signalClose {
		return false
	}
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	if inc := s.running; inc != nil && inc.window != nil && sig.id == inc.window.id+closeSuffix {
		inc.window.high = catalog.Transaction{LSN: commit.LSN, End: commit.Proof().EndTime, ID: commit.TranID}
	}
	return true
}

// giveUp drops the window that is open: its second watermark may never be seen. The chunk is read again.
func (s *signals) giveUp() {
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	if s.running != nil && s.running.window != nil {
		s.running.window.void = true
	}
}

// overdue gives up a window whose second watermark has not come although the capture job works.
func (s *signals) overdue(age time.Duration) {
	s.flow.mu.Lock()
	defer s.flow.mu.Unlock()
	if inc := s.running; inc != nil && inc.window != nil && !inc.window.closed.IsZero() && inc.window.high.LSN.IsZero() &&
		age < time.Minute && time.Since(inc.window.closed) > windowBound {
		inc.window.void = true
	}
}

// next starts the first request whose table can be read, unless one is running.
func (s *signals) next() {
	f := s.flow
	var lost []*asked
	f.mu.Lock()
	for _, r := range s.queue {
		w := f.byName(r.Table)
		switch {
		case r.given || s.paused || s.running != nil && s.running.request.ID == r.ID:
		case w == nil:
			lost = append(lost, r)
		case s.running == nil && !w.lane.stop && !w.snapshotting() && w.state != Parked:
			s.running = &increment{request: r.Request, worker: w, pause: backoff{min: 200 * time.Millisecond, max: 10 * time.Second}}
			w.increment = s.running
			w.nudge()
		}
	}
	for _, r := range lost {
		s.drop(r.ID)
	}
	f.mu.Unlock()
	for _, r := range lost {
		f.cfg.Observer.Signal(Refused, fmt.Sprintf("signal %s: table %s is not read any more, and its snapshot is dropped", r.Signal, r.Table))
	}
}

// byName finds the worker of a table. mu is held.
func (f *Flow) byName(table string) *worker {
	for _, w := range f.workers {
		if w.table.key() == table {
			return w
		}
	}
	return nil
}

// drop removes a request from the queue, and stops it if it runs. flow.mu is held.
func (s *signals) drop(id string) {
	s.queue = slices.DeleteFunc(s.queue, func(r *asked) bool { return r.ID == id })
	if s.running != nil && s.running.request.ID == id {
		s.running.cancelled = true
		s.running.worker.nudge()
	}
	s.keep(true)
	s.flow.cfg.Observer.Queue(len(s.queue), s.paused)
}

// progressed notes what is acknowledged of a request. flow.mu is held.
func (s *signals) progressed(p *progress) {
	for _, r := range s.queue {
		if r.ID == p.id {
			r.After, r.Rows = p.after, p.rows
		}
	}
	if p.ended {
		s.queue = slices.DeleteFunc(s.queue, func(r *asked) bool { return r.ID == p.id })
		s.flow.cfg.Observer.Queue(len(s.queue), s.paused)
	}
	s.keep(true)
}

// limit is how far a table may read: the second watermark of its window, until what is left of the chunk was given out. Under
// ordering global that holds for all. flow.mu is held.
func (s *signals) limit(w *worker, high catalog.Transaction) catalog.Transaction {
	inc := s.running
	if inc == nil || inc.window == nil || inc.window.void || inc.window.high.LSN.IsZero() || w != nil && inc.worker != w {
		return high
	}
	if inc.window.high.LSN.Compare(high.LSN) < 0 {
		return inc.window.high
	}
	return high
}
