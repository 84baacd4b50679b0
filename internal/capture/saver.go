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

// saver keeps what may be saved and saves it: acknowledged positions at most once a second, positions of tables that only
// advanced without changes at every heartbeat.
type saver struct {
	store     checkpoint.Store
	heartbeat time.Duration
	observer  Observer

	mu    sync.Mutex
	done  map[string]checkpoint.Position // newest position with nothing unacknowledged before it
	dirty map[string]bool                // not saved; true when a change was acknowledged
}

func newSaver(store checkpoint.Store, heartbeat time.Duration, o Observer) *saver {
	return &saver{store: store, heartbeat: heartbeat, observer: o, done: map[string]checkpoint.Position{}, dirty: map[string]bool{}}
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
		if old, ok := s.done[table]; ok && p.Compare(old) <= 0 {
			continue // a position never goes back
		}
		s.done[table] = p
		s.dirty[table] = s.dirty[table] || acked
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
func (s *saver) flush(ctx context.Context) error { return s.save(ctx, true) }

// save saves what changed: with all, also the tables that only advanced. What could not be saved stays to be saved.
func (s *saver) save(ctx context.Context, all bool) error {
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
