package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"example.com/mssqlcdc/internal/crashpoint"
)

// CacheConfig says which value of a cache holds the positions. Get and Set are required.
type CacheConfig struct {
	// Get gives the value, or false when there is none.
	Get func(ctx context.Context) (value []byte, found bool, _ error)
	Set func(ctx context.Context, value []byte) error
	Key string // of the pipeline
}

// CacheStore keeps positions as one value of a cache. It has no lease, because a cache cannot give one: two processes with the
// same key overwrite each other's positions. What it does not write over is a value that is not positions of this key.
type CacheStore struct {
	cfg  CacheConfig
	turn // of the cache and the field below

	positions map[string]Position // nil before a Load that worked
}

var _ Store = (*CacheStore)(nil)

// NewCacheStore checks the configuration. Nothing is read before Load.
func NewCacheStore(cfg CacheConfig) (*CacheStore, error) {
	if cfg.Get == nil || cfg.Set == nil || cfg.Key == "" {
		return nil, errors.New("configuring positions in a cache: there is no cache or no key")
	}
	return &CacheStore{cfg: cfg, turn: newTurn()}, nil
}

// Load reads the value; there are no positions when there is none. A foreign value is an error, and nothing is saved after it.
func (s *CacheStore) Load(ctx context.Context) (map[string]Position, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	s.positions = nil
	positions, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	s.positions = positions
	return maps.Clone(positions), nil
}

// Peek gives the positions as Load does, and changes nothing. Who uses them cannot be known.
func (s *CacheStore) Peek(ctx context.Context) (positions map[string]Position, holder string, _ error) {
	if err := s.take(ctx); err != nil {
		return nil, "", err
	}
	defer s.give()
	positions, err := s.read(ctx)
	return positions, "", err
}

func (s *CacheStore) read(ctx context.Context) (map[string]Position, error) {
	value, found, err := s.cfg.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading positions from the cache: %w", err)
	}
	if !found {
		return map[string]Position{}, nil
	}
	if lsn, err := LSNFromBytes(value); err == nil {
		return nil, fmt.Errorf("reading positions from the cache: the value of key %q is an LSN, %s, as Redpanda Connect's input keeps it; "+
			"choose another checkpoint_cache_key and take it over with: mssqlcdc positions import --from connect-cache", s.cfg.Key, lsn)
	}
	positions, err := decodeSet(value, s.cfg.Key)
	if err != nil {
		return nil, fmt.Errorf("reading positions from the cache: the value of key %q: %w", s.cfg.Key, err)
	}
	return positions, nil
}

// Save writes all positions, those of changed in place of the ones they had.
func (s *CacheStore) Save(ctx context.Context, changed map[string]Position) error {
	return s.change(ctx, func(next map[string]Position) error { return merge(next, changed) })
}

// Delete forgets the positions of tables. One that has none is no error.
func (s *CacheStore) Delete(ctx context.Context, tables ...string) error {
	return s.change(ctx, func(next map[string]Position) error {
		for _, t := range tables {
			delete(next, t)
		}
		return nil
	})
}

func (s *CacheStore) change(ctx context.Context, edit func(map[string]Position) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if s.positions == nil {
		return errors.New("saving positions in the cache: they were not loaded")
	}
	next := maps.Clone(s.positions)
	if err := edit(next); err != nil {
		return err
	}
	if maps.EqualFunc(next, s.positions, Position.Equal) {
		return nil
	}
	if _, err := s.read(ctx); err != nil {
		return fmt.Errorf("saving positions in the cache: %w", err)
	}
	value, err := encodeSet(s.cfg.Key, next)
	if err != nil {
		return fmt.Errorf("saving positions in the cache: %w", err)
	}
	if err := s.cfg.Set(ctx, value); err != nil {
		return fmt.Errorf("saving positions in the cache: %w", err)
	}
	crashpoint.Hit(crashpoint.CacheSaved)
	s.positions = next
	return nil
}

// Close ends the use of the cache, within ctx.
func (s *CacheStore) Close(ctx context.Context) error {
	if err := s.takeToClose(ctx); err != nil {
		return fmt.Errorf("closing the positions in the cache: %w", err)
	}
	s.closed = true
	s.give()
	return nil
}
