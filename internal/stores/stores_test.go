package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
)

var source = session.Config{ConnectionString: "sqlserver://u:p@source?database=d"}

func TestOpenChooses(t *testing.T) {
	cache := NewCache("c", "k", func(context.Context, func(Client)) error { return nil }, errors.New("missing"))
	tests := []struct {
		name     string
		cfg      Config
		want     string // type of the store
		describe string
	}{
		{"cache", Config{Key: "k", Cache: cache}, "*checkpoint.CacheStore", "cache c, key k"},
		{"file", Config{Key: "k", File: "f"}, "*checkpoint.FileStore", "file f, key k"},
		{"table", Config{Key: "k", Table: "dbo.t", Source: source}, "*checkpoint.SQLStore", "table dbo.t, key k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%T", s); got != tt.want || tt.cfg.Describe() != tt.describe {
				t.Errorf("a %s, %q; want a %s, %q", got, tt.cfg.Describe(), tt.want, tt.describe)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"exclude each other":                 {Key: "k", Cache: &Cache{}, File: "f"},
		"checkpoint_cache_table_name":        {Key: "k", Table: "a.b.c"},
		"checkpoint_cache_connection_string": {Key: "k", Table: "dbo.t", Connection: "sqlserver://u:p@"},
	} {
		if _, err := Open(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", cfg, err, want)
		}
	}
}

func TestTheTableMayBeOnAnotherServer(t *testing.T) {
	c := Config{Source: source}
	if got := c.Session().ConnectionString; got != source.ConnectionString {
		t.Errorf("without a connection of its own it is at %q", got)
	}
	c.Connection = "sqlserver://u:p@other"
	if got := c.Session(); got.ConnectionString != c.Connection || got.TLSConfig != nil || got.AppName != "mssqlcdc checkpoint" {
		t.Errorf("with one it is at %q as %q", got.ConnectionString, got.AppName)
	}
}

// mapClient is a cache in a map.
type mapClient map[string][]byte

var errMissing = errors.New("no such key")

func (m mapClient) Get(_ context.Context, key string) ([]byte, error) {
	v, ok := m[key]
	if !ok {
		return nil, errMissing
	}
	return v, nil
}

func (m mapClient) Set(_ context.Context, key string, value []byte, _ *time.Duration) error {
	m[key] = value
	return nil
}

func TestPositionsInACache(t *testing.T) {
	m := mapClient{}
	cache := NewCache("c", "pipeline", func(_ context.Context, fn func(Client)) error { fn(m); return nil }, errMissing)
	open := func() Store {
		s, err := Open(Config{Key: "pipeline", Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if p, err := s.Load(t.Context()); err != nil || len(p) != 0 {
		t.Fatalf("an empty cache gives %v, %v", p, err)
	}
	want := checkpoint.Position{Instance: "dbo_t", LSN: checkpoint.LSN{9: 1}, Done: true}
	if err := s.Save(t.Context(), map[string]checkpoint.Position{"dbo.t": want}); err != nil {
		t.Fatal(err)
	}
	p, err := open().Load(t.Context())
	if err != nil || !p["dbo.t"].Equal(want) || m["pipeline"] == nil {
		t.Fatalf("read back %v, %v from %v", p, err, m)
	}
	m["pipeline"] = []byte("somebody else's")
	if _, err := open().Load(t.Context()); err == nil {
		t.Fatal("a foreign value is taken for positions")
	}
}

func TestACacheThatFailsIsNamed(t *testing.T) {
	broken := errors.New("broken")
	cache := NewCache("c", "k", func(context.Context, func(Client)) error { return broken }, errMissing)
	if _, _, err := cache.Get(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "cache c") {
		t.Errorf("Get = %v", err)
	}
}
