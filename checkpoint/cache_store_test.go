package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeCache is one value of a cache.
type fakeCache struct {
	mu     sync.Mutex
	value  []byte
	inUse  int
	shared bool // two calls were running at the same time
	fail   error
}

func (c *fakeCache) use(ctx context.Context, fn func()) error {
	c.mu.Lock()
	c.inUse++
	c.shared = c.shared || c.inUse > 1
	err := c.fail
	c.mu.Unlock()
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inUse--
	if err == nil {
		fn()
	}
	return err
}

func (c *fakeCache) store(t *testing.T, key string) *CacheStore {
	t.Helper()
	s, err := NewCacheStore(CacheConfig{
		Key: key,
		Get: func(ctx context.Context) (value []byte, found bool, err error) {
			err = c.use(ctx, func() { value, found = c.value, c.value != nil })
			return value, found, err
		},
		Set: func(ctx context.Context, value []byte) error { return c.use(ctx, func() { c.value = value }) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCacheStoreKeepsPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, c := t.Context(), &fakeCache{}
		s := c.store(t, "k")
		if err := s.Save(ctx, map[string]Position{"t": at(1)}); err == nil {
			t.Error("a store that was not loaded saves")
		}
		if got, err := s.Load(ctx); err != nil || len(got) != 0 {
			t.Fatalf("Load without a value = %v, %v", got, err)
		}
		want := map[string]Position{"a": at(1), "b": at(2), "c": at(3)}
		if err := s.Save(ctx, want); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Save(ctx, map[string]Position{"b": at(5)}), s.Delete(ctx, "c", "never there")); err != nil {
			t.Fatal(err)
		}
		want = map[string]Position{"a": at(1), "b": at(5)}
		if got, holder, err := c.store(t, "k").Peek(ctx); err != nil || holder != "" || !equalPositions(got, want) {
			t.Errorf("Peek = %v, %q, %v", got, holder, err)
		}
		c.value = nil // the cache has forgotten it: what is known is written again, whole
		if err := s.Save(ctx, map[string]Position{"a": at(2)}); err != nil {
			t.Fatal(err)
		}
		want["a"] = at(2)
		if got, err := c.store(t, "k").Load(ctx); err != nil || !equalPositions(got, want) {
			t.Errorf("Load = %v, %v, want %v", got, err, want)
		}
		c.fail = errors.New("no connection")
		if err := s.Save(ctx, map[string]Position{"a": at(3)}); !errors.Is(err, c.fail) {
			t.Errorf("Save without the cache: %v", err)
		}
		c.fail = nil
		if err := s.Save(ctx, map[string]Position{"": at(3)}); err == nil {
			t.Error("a table without a name is saved")
		}
		if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
			t.Error(err)
		}
		if err := s.Save(ctx, want); !errors.Is(err, ErrClosed) {
			t.Errorf("Save after Close: %v", err)
		}
	})
}

// What is not positions of this key is an error and stays as it is, whenever it comes.
func TestCacheStoreRefusesForeignValues(t *testing.T) {
	other, err := encodeSet("other", map[string]Position{"t": at(1)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"Redpanda Connect's LSN", "\x00\x00\x00\x25\x00\x00\x01\xf8\x00\x01", "mssqlcdc positions import --from connect-cache"},
		{"empty", "", "damaged or not positions"},
		{"null", "null", "not positions of mssql_cdc"},
		{"empty object", "{}", "not positions of mssql_cdc"},
		{"text", "hello", "damaged or not positions"},
		{"other key", string(other), `belongs to the key "other", not to "k"`},
		{"cut", string(other[:len(other)-5]), "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fakeCache{value: []byte(tt.value)}
				s := c.store(t, "k")
				if got, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Load = %v, %v, want an error with %q", got, err, tt.want)
				}
				if err := s.Save(t.Context(), map[string]Position{"t": at(1)}); err == nil {
					t.Error("it is written over after Load")
				}
				c.value = nil
				if _, err := s.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.value = []byte(tt.value) // somebody else has written it meanwhile
				if err := s.Save(t.Context(), map[string]Position{"t": at(1)}); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Save = %v, want an error with %q", err, tt.want)
				}
				if string(c.value) != tt.value {
					t.Errorf("the value is now %q", c.value)
				}
			})
		})
	}
}

func TestCacheStoreConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeCache{}
		s := c.store(t, "k")
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				if err := s.Save(t.Context(), map[string]Position{fmt.Sprintf("t%d", i): at(i + 1)}); err != nil {
					t.Error(err)
				}
			})
			wait.Go(func() {
				if _, _, err := s.Peek(t.Context()); err != nil {
					t.Error(err)
				}
			})
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond/2)
				defer cancel()
				if err := s.Delete(ctx, "t0"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if err := s.Save(t.Context(), map[string]Position{"t0": at(1)}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.Peek(t.Context()); err != nil || len(got) != 20 {
			t.Errorf("%d positions, %v, want 20", len(got), err)
		}
		if c.shared {
			t.Error("the cache was used by two calls at the same time")
		}
		closed := make(chan error)
		go func() { closed <- s.Close(t.Context()) }()
		for err := s.Save(t.Context(), map[string]Position{"x": at(2)}); !errors.Is(err, ErrClosed); {
			err = s.Save(t.Context(), map[string]Position{"x": at(2)})
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}
