package capture

import (
	"context"
	"maps"
	"sync"
	"time"

	"example.com/mssqlcdc/checkpoint"
)

// memoryStore keeps positions over the flows of a test, and notes every save.
type memoryStore struct {
	mu        sync.Mutex
	positions map[string]checkpoint.Position
	saves     []save
}

type save struct {
	at      time.Time
	changed map[string]checkpoint.Position
}

func newMemoryStore() *memoryStore { return &memoryStore{positions: map[string]checkpoint.Position{}} }

func (s *memoryStore) Load(context.Context) (map[string]checkpoint.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.positions), nil
}

func (s *memoryStore) Save(_ context.Context, changed map[string]checkpoint.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.positions, changed)
	s.saves = append(s.saves, save{time.Now(), maps.Clone(changed)})
	return nil
}

func (s *memoryStore) Close(context.Context) error { return nil }

func (s *memoryStore) get(table string) checkpoint.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.positions[table]
}

func (s *memoryStore) all() []save {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]save(nil), s.saves...)
}

// mortalStore is a store of a process that can be killed: from then on nothing reaches what is below.
type mortalStore struct {
	checkpoint.Store
	mu   sync.Mutex
	dead bool
}

func (s *mortalStore) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
}

func (s *mortalStore) killed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

func (s *mortalStore) Save(ctx context.Context, changed map[string]checkpoint.Position) error {
	if s.killed() {
		return nil
	}
	return s.Store.Save(ctx, changed)
}

// Lost is that of the store below, or never.
func (s *mortalStore) Lost() <-chan struct{} {
	if l, ok := s.Store.(interface{ Lost() <-chan struct{} }); ok {
		return l.Lost()
	}
	return nil
}
