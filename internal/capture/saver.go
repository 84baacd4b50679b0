package capture

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/crashpoint"
)

// saveInterval is the shortest time between two saves.
const saveInterval = time.Second

// flushAttempts is how often a save is tried at the end.
const flushAttempts = 3

// saver keeps what may be saved and saves it: acknowledged positions at most once a second, positions of tables that only
// advanced without changes at every heartbeat.
type saver struct {
	store     checkpoint.Store
	heartbeat time.Duration
	observer  Observer
	turn      chan struct{} // holds a token while nobody saves: a save must not overtake one that knows less

	mu    sync.Mutex
	news  chan struct{}                  // closed when a position moves
	done  map[string]checkpoint.Position // newest position with nothing unacknowledged before it
	dirty map[string]bool                // not saved; true when a change was acknowledged
}

func newSaver(store checkpoint.Store, heartbeat time.Duration, o Observer) *saver {
	s := &saver{store: store, heartbeat: heartbeat, observer: o, turn: make(chan struct{}, 1), news: make(chan struct{}), done: map[string]checkpoint.Position{}, dirty: map[string]bool{}}
	s.turn <- struct{}{}
	return s
}

// start takes the position that a table begins at. It counts as not saved only when the store does not have it.
func (s *saver) start(table string, p checkpoint.Position, stored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[table] = p
	if !stored {
		s.dirty[table] = true
	}
}

// positions is where the tables are that this flow has read.
func (s *saver) positions() map[string]checkpoint.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.done)
}

// acked takes positions whose changes are all acknowledged.
func (s *saver) acked(positions map[string]checkpoint.Position) { s.move(positions, true) }

// idle takes positions of tables that have no change before them.
func (s *saver) idle(positions map[string]checkpoint.Position) { s.move(positions, false) }

func (s *saver) move(positions map[string]checkpoint.Position, acked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for table, p := range positions {
		if old, ok := s.done[table]; ok && !replaces(p, old) {
			continue // a position never goes back
		}
		s.done[table] = p
		s.dirty[table] = s.dirty[table] || acked
	}
	close(s.news)
	s.news = make(chan struct{})
}

// set takes the position of the signal table, which is made anew from what is true now: nothing older can follow it.
func (s *saver) set(table string, p checkpoint.Position, acked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[table] = p
	s.dirty[table] = s.dirty[table] || acked
}

// replaces tells whether p comes after old, or is of a snapshot that was begun after that of old, at the same LSN or later.
func replaces(p, old checkpoint.Position) bool {
	anew := p.Snapshot != nil && old.Snapshot != nil && p.Snapshot.ID != old.Snapshot.ID && p.LSN.Compare(old.LSN) >= 0
	return anew || p.Compare(old) > 0
}

// keep waits until the store has the handover of a snapshot. allowed ends the wait with its error, gone with none.
func (s *saver) keep(ctx context.Context, table, id string, gone <-chan struct{}, allowed func() error) error {
	for {
		s.mu.Lock()
		p, news := s.done[table], s.news
		s.mu.Unlock()
		if p.Snapshot != nil && p.Snapshot.ID == id {
			switch err := s.save(ctx, false); {
			case err == nil:
				return nil
			case errors.Is(err, checkpoint.ErrLeaseLost):
				return err
			}
			news = nil // an acknowledgement does not mend the store
		}
		timer := time.NewTimer(saveInterval)
		select {
		case <-news:
		case <-timer.C:
		case <-gone:
		case <-ctx.Done():
		}
		timer.Stop()
		if err := errors.Join(ctx.Err(), allowed()); err != nil {
			return err
		}
	}
}

// run saves until the context ends. high gives the watermark, for the lag.
func (s *saver) run(ctx context.Context, high func() catalog.Transaction) error {
	beat := time.Now()
	for {
		pause(ctx, saveInterval, nil)
		if ctx.Err() != nil {
			return nil
		}
		all := time.Since(beat) >= s.heartbeat
		if all {
			beat = time.Now()
		}
		s.observe(high())
		if err := s.save(ctx, all); errors.Is(err, checkpoint.ErrLeaseLost) {
			return err
		}
	}
}

// flush saves everything, at the end.
func (s *saver) flush(ctx context.Context) (err error) {
	for range flushAttempts {
		if err = s.save(ctx, true); err == nil || errors.Is(err, checkpoint.ErrLeaseLost) || ctx.Err() != nil {
			break
		}
		pause(ctx, 100*time.Millisecond, nil) // a connection that was lost while nobody looked is opened anew
	}
	return err
}

// save saves what changed: with all, also the tables that only advanced. What could not be saved stays to be saved.
func (s *saver) save(ctx context.Context, all bool) error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	s.mu.Lock()
	changed := map[string]checkpoint.Position{}
	flags := map[string]bool{}
	for table, acked := range s.dirty {
		if acked || all {
			changed[table], flags[table] = s.done[table], acked
			delete(s.dirty, table)
		}
	}
	s.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	crashpoint.Hit(crashpoint.Saving)
	err := s.store.Save(ctx, changed)
	if err == nil {
		crashpoint.Hit(crashpoint.Saved)
	} else {
		s.mu.Lock()
		for table, acked := range flags {
			s.dirty[table] = s.dirty[table] || acked
		}
		s.mu.Unlock()
	}
	s.observer.Saved(len(changed), err)
	return err
}

// observe reports where every table is.
func (s *saver) observe(high catalog.Transaction) {
	for table, p := range s.positions() {
		var lag time.Duration
		if !p.Proof.IsZero() && p.LSN.Compare(high.LSN) < 0 {
			lag = max(0, high.End.Sub(p.Proof.EndTime))
		}
		s.observer.Position(table, p, lag)
	}
}
