package mssqlcdc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// storeBound is how long a test of stores waits for what has to come.
const storeBound = 30 * time.Second

// storeRun is a pipeline of the real component, with the ids of the rows that have come.
type storeRun struct {
	t      *testing.T
	stream *service.Stream
	cancel context.CancelFunc
	ended  chan error
	log    *lockedText

	mu   sync.Mutex
	ids  []int
	come chan struct{}
}

type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startStoreRun runs a pipeline with more fields of the input, and resources beside it.
func startStoreRun(t *testing.T, dsn, fields, resources string) *storeRun {
	t.Helper()
	r := &storeRun{t: t, ended: make(chan error, 1), log: &lockedText{}, come: make(chan struct{}, 1)}
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(fmt.Sprintf("input:\n  mssql_cdc:\n    connection_string: %q\n    poll_interval: 5ms\n%s\noutput:\n  drop: {}\n%s", dsn, fields, resources)); err != nil {
		t.Fatal(err)
	}
	err := b.AddConsumerFunc(func(_ context.Context, m *service.Message) error {
		body, err := m.AsBytes()
		if err != nil {
			return err
		}
		var row struct{ ID int }
		if err := json.Unmarshal(body, &row); err != nil {
			return err
		}
		r.mu.Lock()
		r.ids = append(r.ids, row.ID)
		r.mu.Unlock()
		select {
		case r.come <- struct{}{}:
		default:
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.stream, err = b.Build(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- r.stream.Run(ctx) }()
	return r
}

func (r *storeRun) all() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// wait waits for a row, or with 0 for a text in the log.
func (r *storeRun) wait(id int, text string) {
	r.t.Helper()
	bound := time.NewTimer(storeBound)
	defer bound.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if id != 0 && slices.Contains(r.all(), id) || text != "" && strings.Contains(r.log.String(), text) {
			return
		}
		select {
		case <-r.come:
		case <-look.C:
		case <-bound.C:
			r.t.Fatalf("row %d %s has not come; rows %v, log:\n%s", id, text, r.all(), r.log)
		}
	}
}

// stop ends it in order.
func (r *storeRun) stop() []int {
	r.t.Helper()
	if err := r.stream.StopWithin(10 * time.Second); err != nil {
		r.t.Errorf("stopping: %v", err)
	}
	r.cancel()
	<-r.ended
	return r.all()
}

// storeSource is a database with one table under CDC.
func storeSource(t *testing.T) (*mssqltest.Server, string) {
	t.Helper()
	srv := mssqltest.Start(t, mssqltest.Config{Database: "shop"})
	storeExec(t, srv, `CREATE TABLE dbo.t (ID int NOT NULL PRIMARY KEY); EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;`)
	return srv, inProcess(t, srv, srv.Addr(), srv.ConnString())
}

func storeExec(t *testing.T, srv *mssqltest.Server, script string) {
	t.Helper()
	if err := srv.Exec(script); err != nil {
		t.Fatal(err)
	}
}

func storeInsert(t *testing.T, srv *mssqltest.Server, ids ...int) {
	t.Helper()
	for _, id := range ids {
		storeExec(t, srv, fmt.Sprintf("INSERT dbo.t VALUES (%d)", id))
	}
}

// cacheIn is a cache resource that keeps files in a folder.
func cacheIn(dir string) string {
	return fmt.Sprintf("cache_resources:\n  - label: kept\n    file:\n      directory: %s\n", dir)
}

// Positions in a cache outlive an orderly stop, with nothing repeated, and a kill, with what was not saved repeated.
func TestPositionsInACache(t *testing.T) {
	srv, dsn := storeSource(t)
	dir := t.TempDir()
	value := filepath.Join(dir, "mssql_cdc")
	storeInsert(t, srv, 1, 2)
	first := startStoreRun(t, dsn, "    checkpoint_cache: kept", cacheIn(dir))
	first.wait(2, "")
	first.stop()
	saved, err := os.ReadFile(value)
	if err != nil {
		t.Fatal(err)
	}
	storeInsert(t, srv, 3)
	second := startStoreRun(t, dsn, "    checkpoint_cache: kept", cacheIn(dir))
	second.wait(3, "")
	if got := second.stop(); !slices.Equal(got, []int{3}) {
		t.Errorf("after an orderly stop came %v, want 3 alone", got)
	}
	// Killed before it had saved 3: the value is the one from before.
	if err := os.WriteFile(value, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	storeInsert(t, srv, 4)
	third := startStoreRun(t, dsn, "    checkpoint_cache: kept", cacheIn(dir))
	third.wait(4, "")
	if got := third.stop(); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("after a kill came %v, want 3 and 4", got)
	}
}

// A value that is not ours is not started from, and not written over.
func TestForeignValueInACache(t *testing.T) {
	srv, dsn := storeSource(t)
	storeInsert(t, srv, 1)
	for _, foreign := range []string{"something else", "\x00\x00\x00\x25\x00\x00\x01\xf8\x00\x01"} {
		dir := t.TempDir()
		value := filepath.Join(dir, "mssql_cdc")
		if err := os.WriteFile(value, []byte(foreign), 0o600); err != nil {
			t.Fatal(err)
		}
		r := startStoreRun(t, dsn, "    checkpoint_cache: kept", cacheIn(dir))
		r.wait(0, "positions from the cache")
		if got := r.stop(); len(got) != 0 {
			t.Errorf("%q: rows came: %v", foreign, got)
		}
		if after, err := os.ReadFile(value); err != nil || string(after) != foreign {
			t.Errorf("%q is now %q, %v", foreign, after, err)
		}
	}
}

// The table of Redpanda Connect's input is recognised, named, and left as it is.
func TestConnectTableIsNotOurs(t *testing.T) {
	srv, dsn := storeSource(t)
	storeInsert(t, srv, 1)
	storeExec(t, srv, "CREATE SCHEMA rpcn;\nGO\nCREATE TABLE rpcn.CdcCheckpointCache (cache_key varchar(7) NOT NULL PRIMARY KEY, cache_val varbinary(10) NOT NULL);\nINSERT rpcn.CdcCheckpointCache VALUES ('max_lsn', 0x00000025000001F80001);")
	r := startStoreRun(t, dsn, "    checkpoint_cache_table_name: rpcn.CdcCheckpointCache", "")
	r.wait(0, "mssqlcdc positions import")
	if got := r.stop(); len(got) != 0 {
		t.Errorf("rows came: %v", got)
	}
	rows, err := srv.Query("SELECT cache_key, CONVERT(varchar(30), cache_val, 1) FROM rpcn.CdcCheckpointCache")
	if err != nil || fmt.Sprint(rows) != "[[max_lsn 0x00000025000001F80001]]" {
		t.Errorf("the table is now %v, %v", rows, err)
	}
}

// The table of positions can be on another server; the source then gets none.
func TestPositionsOnAnotherServer(t *testing.T) {
	srv, dsn := storeSource(t)
	other := mssqltest.Start(t, mssqltest.Config{Database: "state"})
	fields := fmt.Sprintf("    checkpoint_cache_connection_string: %q", inProcess(t, other, other.Addr(), other.ConnString()))
	storeInsert(t, srv, 1)
	first := startStoreRun(t, dsn, fields, "")
	first.wait(1, "")
	first.stop()
	storeInsert(t, srv, 2)
	second := startStoreRun(t, dsn, fields, "")
	second.wait(2, "")
	if got := second.stop(); !slices.Equal(got, []int{2}) {
		t.Errorf("after the restart came %v, want 2 alone", got)
	}
	const count = "SELECT COUNT(*) FROM sys.tables WHERE name = N'mssql_cdc_checkpoint'"
	for s, want := range map[*mssqltest.Server]string{srv: "0", other: "1"} {
		if rows, err := s.Query(count); err != nil || rows[0][0] != want {
			t.Errorf("tables of positions: %v, %v, want %s", rows, err, want)
		}
	}
}

// Pipelines with different keys share a store and do not wait for each other, nor see each other's positions.
func TestPipelinesShareAStore(t *testing.T) {
	for _, store := range []string{"table", "cache"} {
		t.Run(store, func(t *testing.T) {
			srv, dsn := storeSource(t)
			fields, resources := "", ""
			if store == "cache" {
				fields, resources = "    checkpoint_cache: kept\n", cacheIn(t.TempDir())
			}
			storeInsert(t, srv, 1)
			a := startStoreRun(t, dsn, fields+"    checkpoint_cache_key: a", resources)
			a.wait(1, "")
			b := startStoreRun(t, dsn, fields+"    checkpoint_cache_key: b", resources)
			b.wait(1, "") // it has no position, so it begins at the start, while a runs
			a.stop()
			storeInsert(t, srv, 2)
			b.wait(2, "")
			b.stop()
			again := startStoreRun(t, dsn, fields+"    checkpoint_cache_key: a", resources)
			again.wait(2, "")
			if got := again.stop(); !slices.Equal(got, []int{2}) {
				t.Errorf("a went on with %v, want 2 alone", got)
			}
		})
	}
}
