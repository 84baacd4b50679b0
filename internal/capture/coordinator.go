package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/session"
)

// reapInterval is how often connections without work are looked for.
const reapInterval = 10 * time.Second

// coordinator watches the database: it moves the watermark, asks which level tables have changes, and starts and ends the
// workers of tables that come and go. It runs on one goroutine.
type coordinator struct {
	flow    *Flow
	run     context.Context // of the workers
	stored  map[string]checkpoint.Position
	seen    bool      // the tables of the start are known
	leaving []*worker // of tables that have gone, until everything of them is acknowledged
	hidden  map[string]bool
	asked   checkpoint.LSN // the watermark that level tables were last asked for
	health  health
	number  int // of the connection that the present state was read on
	proved  int // of the connection whose server has the highest watermark
	doubted int // of the connection whose server was found not to have it
}

// poll looks at the database until the context ends.
func (c *coordinator) poll(ctx context.Context, state *catalog.State) error {
	f := c.flow
	failing := backoff{min: 200 * time.Millisecond, max: 10 * time.Second}
	reaped := time.Now()
	var failure trouble
	for ctx.Err() == nil {
		var err error
		if state == nil {
			state, err = f.meta.state(ctx)
			c.number = f.meta.opened
		}
		if err == nil {
			err = c.turn(ctx, state)
		}
		state = nil
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failing.reset()
			if failure.over() {
				f.cfg.Observer.Note("", "watching the database works again")
			}
			pause(ctx, f.cfg.PollInterval, nil)
		case f.snapshotOff(err):
			failing.wait(ctx, nil)
		case session.IsTransient(err) || !f.cfg.StopOnTableError:
			if !session.IsTransient(err) && failure.now() || failure.tell() {
				f.cfg.Observer.Note("", fmt.Sprintf("watching the database does not work, and is tried again until it does: %v", diagnose.Wrap(err)))
			}
			failing.wait(ctx, nil)
		default:
			return fmt.Errorf("watching the database: %w", err)
		}
		if time.Since(reaped) >= reapInterval {
			reaped = time.Now()
			f.conns.reap()
		}
	}
	return nil
}

// turn is one look at the database.
func (c *coordinator) turn(ctx context.Context, state *catalog.State) error {
	f := c.flow
	proved, err := c.prove(ctx, state)
	if err != nil {
		return err
	}
	if err := c.discover(ctx, state); err != nil {
		return err
	}
	if f.signals != nil {
		if err := f.signals.turn(ctx, c, state); err != nil {
			return err
		}
	}
	f.mu.Lock()
	if state.High.LSN.Compare(f.high.LSN) >= 0 {
		f.high = state.High
	}
	window := state.High
	if f.merge != nil {
		window = f.limit(nil, window)
	}
	high := window.LSN
	var level, behind, taking []*worker
	for _, w := range f.workers {
		if w.increment != nil {
			w.nudge()
		}
		switch limit := f.limit(w, window).LSN; {
		case w.lane.stop:
		case w.snapshotting():
			taking = append(taking, w)
		case f.cfg.Snapshots.Only && w.taken:
		case !w.checked:
			behind = append(behind, w)
		case w.level(limit):
		case limit != high:
			w.aim(limit)
		case proved && !w.asked && w.pos.Done && w.pos.LSN == c.asked:
			level = append(level, w)
		default:
			behind = append(behind, w)
		}
	}
	for _, w := range taking {
		w.nudge()
	}
	tables := len(f.workers)
	f.mu.Unlock()
	f.snapshotsDone()
	f.cfg.Observer.Polled(high, state.Age, tables, len(behind))
	c.health.look(ctx, state, high.Compare(c.asked) > 0)
	if f.merge != nil && (f.merge.busy() || len(taking) > 0) {
		return nil // under ordering global, changes wait until every snapshot is there
	}
	if len(level) > 0 {
		found, err := c.probe(ctx, window, level)
		var lagging *changetable.BehindError
		if errors.As(err, &lagging) {
			return nil // it proves nothing; the next turn asks again
		}
		if err != nil {
			return err
		}
		behind = append(behind, found...)
	}
	c.asked = maxLSN(c.asked, high)
	if f.merge != nil {
		f.merge.window(ctx, window, behind)
		return nil
	}
	f.mu.Lock()
	for _, w := range behind {
		w.aim(high)
	}
	f.mu.Unlock()
	return nil
}

// prove tells whether the server of the present connection has the transaction of the highest watermark. If so, every table
// that was read up to there is on its history, and may be asked for changes here. If not, because it is a replica that lags,
// the database was restored, or a failover lost data, each worker has to find out for itself before its table moves on.
func (c *coordinator) prove(ctx context.Context, state *catalog.State) (bool, error) {
	f := c.flow
	known := f.watermark()
	if c.proved == c.number || known.LSN.IsZero() {
		c.proved = c.number
		return true, nil
	}
	same := false
	if state.High.LSN.Compare(known.LSN) >= 0 {
		err := f.meta.on(c.number, func(conn *session.Conn) error {
			there, found, err := catalog.AtOrBelow(ctx, conn, known.LSN)
			same = found && there.Proof().Equal(known.Proof())
			return err
		})
		if err != nil {
			return false, err
		}
		c.proved = c.number // its watermark is the highest from now on, whatever the answer is
	}
	if !same && c.doubted != c.number {
		c.doubted = c.number
		f.mu.Lock()
		for _, w := range f.workers {
			w.checked = false
		}
		f.mu.Unlock()
	}
	return same, nil
}

// probe asks tables that are level with the last watermark whether they have changes up to the new one, and moves those that
// have none. It returns the others.
func (c *coordinator) probe(ctx context.Context, high catalog.Transaction, level []*worker) ([]*worker, error) {
	f := c.flow
	targets := make([]changetable.Target, 0, len(level))
	var have []*worker
	f.mu.Lock()
	level = slices.DeleteFunc(level, func(w *worker) bool {
		target := changetable.Target{Table: w.table.key(), After: w.pos}
		if s, ok := w.table.stretch(w.pos, high.LSN); ok {
			if s.switches {
				// The older instance knows nothing of an update of a column that only the newer one captures.
				have = append(have, w)
				return true
			}
			target.Capture, target.ChangeTable = s.instance.Capture, s.instance.ChangeTable.Object
		}
		targets = append(targets, target)
		return false
	})
	f.mu.Unlock()
	if len(level) == 0 {
		return have, nil
	}
	var found []changetable.Found
	err := f.meta.on(c.number, func(conn *session.Conn) (err error) {
		found, err = changetable.Probe(ctx, conn, high.LSN, targets, f.isolation())
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, w := range level {
		if found[i].Rows || found[i].Err != nil {
			have = append(have, w) // the worker meets the error itself, and knows what to do
			continue
		}
		f.mu.Lock()
		w.pos = checkpoint.Position{Instance: targets[i].Capture, LSN: high.LSN, Done: true, Proof: high.Proof()}
		pos := w.pos
		f.mu.Unlock()
		f.reached(w.lane, map[string]checkpoint.Position{w.table.key(): pos})
	}
	return have, nil
}

// discover starts workers of new tables, gives the others their present instances, and ends those whose table has none.
func (c *coordinator) discover(ctx context.Context, state *catalog.State) error {
	f := c.flow
	tables, hidden := group(state.Instances, f.cfg.Tables)
	c.tellHidden(hidden)
	owners := map[string]int32{}
	for _, in := range state.Instances {
		owners[in.Capture] = in.SourceID
	}
	if f.signals != nil {
		f.signals.find(state.Instances)
		tables = f.signals.take(tables)
	}
	c.settle()
	present, names := map[int32]bool{}, map[string]int32{}
	for _, t := range tables {
		present[t.id] = true
		names[t.key()] = t.id
	}
	f.mu.Lock()
	var gone []*worker
	for id, w := range f.workers {
		// A table that was renamed is read on under its old name, unless another table has taken that.
		if other, taken := names[w.table.key()]; !present[id] || taken && other != id && f.workers[other] == nil {
			gone = append(gone, w)
			delete(f.workers, id)
		}
	}
	f.mu.Unlock()
	for _, w := range gone {
		close(w.gone)
		c.leaving = append(c.leaving, w)
		f.cfg.Observer.State(w.table.key(), Gone, errGone)
	}
	for _, t := range tables {
		f.mu.Lock()
		w := f.workers[t.id]
		if w != nil {
			w.table.instances = t.instances
		}
		f.mu.Unlock()
		if w != nil || c.occupied(t) {
			continue
		}
		if err := c.add(ctx, t, state, owners); err != nil {
			return err
		}
	}
	c.seen = true
	return nil
}

// settle forgets the tables that have gone when everything of them is acknowledged.
func (c *coordinator) settle() {
	f := c.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.merge != nil && f.merge.busy() {
		return // a window may hold changes of them that are not in the lane yet
	}
	c.leaving = slices.DeleteFunc(c.leaving, func(w *worker) bool {
		select {
		case <-w.ended:
		default:
			return false
		}
		if w.until == 0 {
			w.until = w.lane.pushed // under ordering global the lane goes on with other tables, and may never be empty
		}
		if !w.lane.past(w.until) {
			return false
		}
		if f.merge == nil {
			delete(f.lanes, w.lane)
		}
		return true
	})
}

// occupied tells whether a table has to wait until an earlier reading of it, or of another one under its name, is acknowledged:
// their changes and positions must not mix.
func (c *coordinator) occupied(t *Table) bool {
	f := c.flow
	f.mu.Lock()
	defer f.mu.Unlock()
	same := func(w *worker) bool { return w.table.id == t.id || w.table.key() == t.key() }
	if slices.ContainsFunc(c.leaving, same) {
		return true
	}
	for _, w := range f.workers {
		if same(w) {
			return true
		}
	}
	return false
}

// tellHidden says once of each instance whose source table the login cannot see.
func (c *coordinator) tellHidden(hidden []string) {
	for _, capture := range hidden {
		if c.hidden == nil {
			c.hidden = map[string]bool{}
		}
		if !c.hidden[capture] {
			c.hidden[capture] = true
			c.flow.cfg.Observer.Note("", fmt.Sprintf("capture instance %s is left out: the login may not see its source table; GRANT VIEW DEFINITION or SELECT on it", capture))
		}
	}
}

// add starts the worker of a table, at its stored position or where start_from says. A table that appears while the flow runs
// begins with its first change.
func (c *coordinator) add(ctx context.Context, t *Table, state *catalog.State, owners map[string]int32) error {
	f := c.flow
	l := newLane(f.cfg.MaxInFlight)
	if f.merge != nil {
		l = f.merge.lane
	}
	w := newWorker(f, t, l)
	pos, stored := c.storedPosition(t, owners)
	w.wanted = !stored && f.cfg.Snapshots.On
	w.taken = stored && pos.Snapshot == nil
	if !stored && !w.wanted {
		var err error
		if pos, err = c.startPosition(ctx, t, state); err != nil {
			return err
		}
	}
	w.pos = pos
	if pos.Snapshot != nil {
		w.kept = pos.Snapshot.ID
	}
	// A position that the server's history has not given is looked up in it before anything is read.
	w.checked = !stored && (c.seen || f.cfg.Start.LSN.IsZero())
	if !pos.IsZero() {
		f.saver.start(t.key(), pos, stored)
	}
	f.mu.Lock()
	f.workers[t.id], f.found = w, true
	f.lanes[l] = true
	f.mu.Unlock()
	f.cfg.Observer.State(t.key(), Streaming, nil)
	f.group.Go(func() error {
		defer close(w.ended)
		return f.ended(w.run(c.run))
	})
	return nil
}

// storedPosition finds the position of a table, which outlives a rename: it is the newest one of any of its capture instances.
// Only without one the name counts, and not when the position's instance is another table's now. A table that was gone for a
// while goes on where it was.
func (c *coordinator) storedPosition(t *Table, owners map[string]int32) (pos checkpoint.Position, found bool) {
	known := []map[string]checkpoint.Position{c.flow.saver.positions(), c.stored}
	for _, positions := range known {
		for _, p := range positions {
			if owners[p.Instance] == t.id && (!found || p.Compare(pos) > 0) {
				pos, found = p, true
			}
		}
	}
	if found {
		return pos, true
	}
	for _, positions := range known {
		if p, ok := positions[t.key()]; ok {
			if _, taken := owners[p.Instance]; taken {
				break
			}
			return p, true
		}
	}
	return checkpoint.Position{}, false
}

// startPosition is where a table without a position begins. Zero means its first change, once the capture job has said where
// that is.
func (c *coordinator) startPosition(ctx context.Context, t *Table, state *catalog.State) (checkpoint.Position, error) {
	f := c.flow
	start := f.cfg.Start
	if c.seen {
		start = StartFrom{}
	}
	latest := checkpoint.Position{LSN: state.High.LSN, Done: true, Proof: state.High.Proof()}
	switch {
	case start.Latest:
		if e, ok := t.earliest(); !ok || latest.Compare(e) < 0 {
			return checkpoint.Position{}, nil // the instance begins above the watermark
		}
		return latest, nil
	case !start.LSN.IsZero():
		return checkpoint.Position{LSN: start.LSN, Done: true}, nil
	case !start.Time.IsZero():
		var first catalog.Transaction
		var found bool
		err := f.meta.use(ctx, func(conn *session.Conn) (err error) {
			first, found, err = catalog.FirstAt(ctx, conn, start.Time, f.loc)
			return err
		})
		if err != nil {
			return checkpoint.Position{}, fmt.Errorf("looking for the first transaction since %s: %w", start.Time.Format(time.RFC3339), err)
		}
		if !found {
			return latest, nil
		}
		p := checkpoint.Position{LSN: request.Before(first.LSN), Done: true}
		if e, ok := t.earliest(); ok && p.Compare(e) < 0 {
			return checkpoint.Position{}, nil // the whole of what is retained is younger
		}
		return p, nil
	}
	return checkpoint.Position{}, nil
}
