package capture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/internal/session"
)

// ErrTable ends a flow whose table cannot go on, when it is told to stop rather than to park the table.
var ErrTable = errors.New("a table cannot go on")

// Flow reads the change tables of one database. Start it, call Next from one goroutine, Ack what it gave, and Close it.
type Flow struct {
	cfg    Config
	db     *catalog.Database
	loc    *time.Location
	meta   *metadata
	conns  *conns
	budget *budget
	saver  *saver

	cancel context.CancelFunc
	group  *errgroup.Group
	merge  *merge // ordering global only

	wake chan struct{} // Next has something to look at

	signals *signals // nil without a signal table

	snapshots chan struct{} // a slot for each table whose snapshot is being taken
	retention time.Duration // of change tables, 0 when it is not known

	noSnapshot atomic.Bool // SNAPSHOT isolation was turned off after the start

	mu      sync.Mutex
	workers map[int32]*worker // by source object
	found   bool              // there was a table
	lanes   map[*lane]bool    // also of tables that are gone
	ready   []*lane           // lanes to look at, in turn
	queued  map[*lane]bool
	high    catalog.Transaction
	err     error
	closed  bool
}

// Start connects, takes the positions, finds the tables and begins to read. ctx bounds the start alone.
//
// It waits while another process holds the lease of the positions. The caller keeps cfg.Store when Start fails, and the
// Flow closes it otherwise.
func Start(ctx context.Context, cfg Config) (*Flow, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Flow{
		cfg: cfg, budget: newBudget(cfg.Limit), wake: make(chan struct{}, 1),
		workers: map[int32]*worker{}, lanes: map[*lane]bool{}, queued: map[*lane]bool{},
		snapshots: make(chan struct{}, max(1, cfg.Snapshots.Tables)),
	}
	open := func(ctx context.Context) (*session.Conn, error) { return session.Open(ctx, cfg.Session) }
	f.conns = newConns(cfg.MaxConnections, open)
	f.meta = &metadata{open: open}
	if cfg.Signals.Object != "" {
		f.signals = newSignals(f, cfg.Signals)
	}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.meta.close(), f.conns.close())
	}
	return f, nil
}

func (f *Flow) start(ctx context.Context) error {
	var err error
	if f.db, err = f.meta.database(ctx); err != nil {
		return err
	}
	f.loc = f.db.Location(f.cfg.Session.Location())
	positions, err := f.cfg.Store.Load(ctx)
	if err != nil {
		return fmt.Errorf("loading the positions: %w", err)
	}
	state, err := f.meta.state(ctx)
	if err != nil {
		return err
	}
	number := f.meta.opened
	if err := f.checkPatterns(state); err != nil {
		return err
	}
	if f.cfg.Snapshots.On || f.cfg.Snapshots.OnGap {
		f.retention = f.meta.retention(ctx)
	}
	run, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.group, run = errgroup.WithContext(run)
	f.saver = newSaver(f.cfg.Store, f.cfg.Heartbeat, f.cfg.Observer)
	if f.cfg.Global {
		f.merge = newMerge(f)
		f.group.Go(func() error { return f.ended(f.merge.run(run)) })
	}
	c := &coordinator{flow: f, run: run, stored: positions, number: number, health: health{flow: f}}
	if err := c.discover(ctx, state); err != nil {
		cancel()
		_ = f.group.Wait() // the first error is the one to tell
		return err
	}
	if f.signals != nil {
		f.signals.begin(positions, state.High)
	}
	f.group.Go(func() error { return f.ended(c.poll(run, state)) })
	f.group.Go(func() error { return f.ended(f.saver.run(run, f.watermark)) })
	if s, ok := f.cfg.Store.(interface{ Lost() <-chan struct{} }); ok {
		lost := s.Lost()
		f.group.Go(func() error {
			select {
			case <-lost:
				f.fail(checkpoint.ErrLeaseLost)
			case <-run.Done():
			}
			return nil
		})
	}
	return nil
}

// checkPatterns refuses a start with a pattern that matches nothing: it is a typing error more often than not.
func (f *Flow) checkPatterns(state *catalog.State) error {
	var names []catalog.Name
	for _, in := range state.Instances {
		names = append(names, in.Source)
	}
	if lost := f.cfg.Tables.Unmatched(names); len(lost) > 0 {
		return fmt.Errorf("choosing tables: include has %q, which matches no table with a capture instance in database %s (it has %d); enable one with sys.sp_cdc_enable_table, or correct the pattern", lost, f.db.Name, len(state.Instances))
	}
	return nil
}

// ended keeps the first error of a goroutine for Next. The end of the run itself is none.
func (f *Flow) ended(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	f.fail(err)
	return nil
}

// fail ends the flow: Next gives err from now on.
func (f *Flow) fail(err error) {
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
	f.signal()
}

func (f *Flow) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Next gives the next batch. It waits for one, for the end of ctx, or for an error that ends the flow.
func (f *Flow) Next(ctx context.Context) (*Batch, error) {
	for {
		b, err := f.take()
		if b != nil {
			crashpoint.Hit(b.given())
		}
		if b != nil || err != nil {
			return b, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *Flow) take() (*Batch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	for len(f.ready) > 0 {
		l := f.ready[0]
		f.ready = f.ready[1:]
		delete(f.queued, l)
		if b := l.take(); b != nil {
			f.offer(l)
			b.out = true
			b.ack = delivery(b, f.resolve)
			b.fail = func(err error) { f.standstill(b, err) }
			return b, nil
		}
	}
	return nil, nil
}

// offer puts a lane behind the others that have something to give. f.mu is held.
func (f *Flow) offer(l *lane) {
	if !f.queued[l] {
		f.queued[l] = true
		f.ready = append(f.ready, l)
	}
}

// enqueue takes a batch that was read into its lane. The budget for it has been acquired.
func (f *Flow) enqueue(l *lane, b *Batch) {
	f.mu.Lock()
	if f.closed || l.stop {
		f.mu.Unlock()
		f.free(b)
		return
	}
	l.push(b)
	f.offer(l)
	f.mu.Unlock()
	f.signal()
}

// refusalGrace is how long a lane that was turned back waits for what is out, before it gives out again without the answers.
const refusalGrace = 10 * time.Second

// resolve is the acknowledgement or refusal of one delivery of a batch.
func (f *Flow) resolve(b *Batch, attempt int, cause error) {
	f.mu.Lock()
	l := b.lane
	if attempt <= b.superseded {
		f.mu.Unlock()
		return // the batch is given out anew, and that delivery's answer counts
	}
	b.out = false
	if f.closed {
		f.mu.Unlock()
		f.free(b) // Close has left it to its receiver
		return
	}
	var done []*Batch
	if cause == nil {
		done = l.deliver(b)
	} else {
		l.refuse(b)
		if f.cfg.StopOnRefusal {
			l.stop = true
		}
		turn := l.turns
		if l.out > 0 {
			time.AfterFunc(refusalGrace, func() { f.overdue(l, turn) })
		}
		if d := time.Until(l.rest); d > 0 {
			time.AfterFunc(d, func() { f.look(l) })
		}
	}
	for _, d := range done {
		f.saver.acked(d.positions)
		for _, p := range d.progress {
			f.signals.progressed(p)
		}
	}
	left := l.abandon() // the tables that go on need the room
	f.offer(l)
	f.mu.Unlock()
	f.signal()
	for _, b := range left {
		f.free(b)
	}
	for _, d := range done {
		crashpoint.Hit(d.acknowledged())
		f.free(d)
	}
	if cause != nil {
		f.refused(b, cause)
	}
	f.snapshotsDone()
}

// overdue ends a lane's wait for what is out.
func (f *Flow) overdue(l *lane, turn int) {
	f.mu.Lock()
	waited := !f.closed && l.overdue(turn)
	f.mu.Unlock()
	if waited {
		f.look(l)
	}
}

// look makes Next look at a lane whose wait has ended.
func (f *Flow) look(l *lane) {
	f.mu.Lock()
	f.offer(l)
	f.mu.Unlock()
	f.signal()
}

// standstill stops the lane of a batch that can never be given out.
func (f *Flow) standstill(b *Batch, err error) {
	f.mu.Lock()
	if b.lane != nil {
		b.lane.stop = true
	}
	f.mu.Unlock()
	b.ack(err)
	if f.cfg.StopOnTableError {
		f.fail(fmt.Errorf("%w: %w", ErrTable, err))
		return
	}
	f.cfg.Observer.State(b.Runs[0].Table.key(), Stopped, err)
}

// refused tells of a refusal, outside the lock.
func (f *Flow) refused(b *Batch, cause error) {
	rows := map[*Table]int{}
	for _, r := range b.Runs {
		rows[r.Table] += r.To - r.From
	}
	for t, n := range rows {
		f.cfg.Observer.Redelivered(t.key(), n, cause)
		if f.cfg.StopOnRefusal {
			f.cfg.Observer.State(t.key(), Stopped, fmt.Errorf("a batch was refused and auto_replay_nacks is false: %w", cause))
		}
	}
}

// free gives back what a batch held.
func (f *Flow) free(b *Batch) {
	f.budget.release(b.Rows, b.bytes)
	b.release()
}

// reached notes that a lane's table has been read up to pos without a change after what was enqueued: pos may be saved once
// the lane's last batch is acknowledged, or at once when there is none.
func (f *Flow) reached(l *lane, positions map[string]checkpoint.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if n := len(l.queue); n > 0 {
		last := l.queue[n-1]
		for k, p := range positions {
			last.positions[k] = p
		}
		return
	}
	f.saver.idle(positions)
}

// watermark is the highest that was read.
func (f *Flow) watermark() catalog.Transaction {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.high
}

// Close stops reading, waits for every goroutine, saves what is acknowledged and gives the positions free. Acks that come
// later only give their batches back: what they acknowledge is read again.
func (f *Flow) Close(ctx context.Context) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	if f.err == nil {
		f.err = session.ErrClosed
	}
	var left []*Batch
	for l := range f.lanes {
		for _, b := range l.drop() {
			if !b.out && !b.abandoned {
				left = append(left, b)
			}
		}
	}
	f.mu.Unlock()
	f.cancel()
	f.signal()
	_ = f.group.Wait() // every goroutine's error went through ended
	for _, b := range left {
		f.free(b)
	}
	return errors.Join(f.saver.flush(ctx), f.cfg.Store.Close(ctx), f.meta.close(), f.conns.close())
}

// snapshotOff tells whether an error says that SNAPSHOT isolation was turned off while the flow runs. The flow goes on without
// it; sessions that met the error are given up, since they may keep the level.
func (f *Flow) snapshotOff(err error) bool {
	if !session.HasNumber(err, 3952) {
		return false
	}
	if !f.noSnapshot.Swap(true) {
		f.cfg.Observer.Note("", "ALLOW_SNAPSHOT_ISOLATION was turned off; change tables are read without it from now on")
	}
	return true
}

// isolation is how the database lets change tables be read without waiting.
func (f *Flow) isolation() changetable.Isolation {
	switch {
	case f.db.Snapshot && !f.noSnapshot.Load():
		return changetable.Snapshot
	case f.db.ReadCommittedSnapshot:
		return changetable.Versioned
	}
	return changetable.NoLock
}
