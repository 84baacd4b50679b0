package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const testTable = "[dbo].[mssql_cdc_checkpoint]"

func (f *fakeServer) store(t *testing.T, owner string, change ...func(*SQLConfig)) *SQLStore {
	t.Helper()
	cfg := SQLConfig{Open: f.open(owner), Table: testTable, Key: "k", Owner: owner}
	for _, c := range change {
		c(&cfg)
	}
	s, err := NewSQLStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t *testing.T, s *SQLStore) map[string]Position {
	t.Helper()
	p, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustSave(t *testing.T, s *SQLStore, p map[string]Position) {
	t.Helper()
	if err := s.Save(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t *testing.T, s *SQLStore) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func isLost(s *SQLStore) bool {
	select {
	case <-s.Lost():
		return true
	default:
		return false
	}
}

func TestSQLStoreKeepsPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		s := f.store(t, "a")
		if err := s.Save(t.Context(), map[string]Position{"t": at(1)}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Save before Load: %v, want ErrLeaseLost", err)
		}
		if got := mustLoad(t, s); len(got) != 0 {
			t.Fatalf("Load of an empty table = %v", got)
		}
		want := map[string]Position{"dbo.T": at(1), "dbo.t": at(2)}
		mustSave(t, s, want)
		mustSave(t, s, map[string]Position{"dbo.t": at(3)})
		want["dbo.t"] = at(3)
		mustSave(t, s, nil)
		mustClose(t, s)
		mustClose(t, s)
		if err := s.Save(t.Context(), want); !errors.Is(err, ErrClosed) {
			t.Errorf("Save after Close: %v, want ErrClosed", err)
		}
		other := f.store(t, "b")
		if got := mustLoad(t, other); !equalPositions(got, want) {
			t.Errorf("Load = %v, want %v", got, want)
		}
		mustClose(t, other)
		if f.opened != f.closed {
			t.Errorf("%d sessions opened, %d closed", f.opened, f.closed)
		}
	})
}

func TestSQLStoreManyTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		s := f.store(t, "a")
		defer mustClose(t, s)
		mustLoad(t, s)
		want := map[string]Position{}
		for i := range 300 {
			want[fmt.Sprintf("dbo.t%d", i)] = at(i + 1)
		}
		mustSave(t, s, want)
		if fmt.Sprint(f.saves) != "[256 64]" {
			t.Errorf("saves of %v positions, want [256 64]", f.saves)
		}
		if got := mustLoad(t, s); !equalPositions(got, want) {
			t.Errorf("%d positions, want %d equal ones", len(got), len(want))
		}
	})
}

// While its process lives, the lease is renewed; the standby waits as long as that.
func TestStandbyWaitsForARunningProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		mustLoad(t, a)
		mustSave(t, a, map[string]Position{"t": at(1)})
		var told []string
		b := f.store(t, "b", func(c *SQLConfig) {
			c.OnStandby = func(owner string, _ time.Duration) { told = append(told, owner) }
		})
		loaded := make(chan map[string]Position)
		go func() {
			p, err := b.Load(context.Background())
			if err != nil {
				t.Error(err)
			}
			loaded <- p
		}()
		timer := time.NewTimer(time.Hour)
		select {
		case <-loaded:
			t.Fatal("the standby took the lease of a running process")
		case <-timer.C:
		}
		closed := time.Now()
		mustClose(t, a)
		got := <-loaded
		if waited := time.Since(closed); waited > longestWait {
			t.Errorf("the standby waited %v after the lease was released", waited)
		}
		if !equalPositions(got, map[string]Position{"t": at(1)}) || len(told) != 1 || told[0] != "a" {
			t.Errorf("Load = %v, told %v", got, told)
		}
		mustClose(t, b)
	})
}

// A process that stood still while another took the lease can save nothing, and is told.
func TestPausedProcessCannotSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a, b := f.store(t, "a"), f.store(t, "b")
		mustLoad(t, a)
		mustSave(t, a, map[string]Position{"t": at(1)})
		resume := make(chan struct{})
		f.mu.Lock()
		f.fail = func(owner, _ string) error {
			if owner == "a" {
				<-resume // whatever its context says: the process does not run
			}
			return nil
		}
		f.mu.Unlock()
		began := time.Now()
		mustLoad(t, b)
		if waited := time.Since(began); waited < defaultLease || waited > defaultLease+longestWait {
			t.Errorf("the standby waited %v, want the lease of %v", waited, defaultLease)
		}
		mustSave(t, b, map[string]Position{"t": at(2)})
		close(resume)
		if err := a.Save(t.Context(), map[string]Position{"t": at(9)}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Save of the paused process: %v, want ErrLeaseLost", err)
		}
		if !isLost(a) || isLost(b) {
			t.Errorf("lost: a %v, b %v, want true, false", isLost(a), isLost(b))
		}
		mustClose(t, a)
		if got := mustLoad(t, b); !equalPositions(got, map[string]Position{"t": at(2)}) {
			t.Errorf("positions are %v", got)
		}
		mustClose(t, b)
	})
}

// The same owner that loads again is another term: what an older term has on its way is refused.
func TestLoadAgainAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		mustLoad(t, a)
		f.mu.Lock()
		f.leases["k"].epoch++
		f.mu.Unlock()
		if err := a.Save(t.Context(), map[string]Position{"t": at(1)}); !errors.Is(err, ErrLeaseLost) {
			t.Fatalf("Save with an old epoch: %v", err)
		}
		if err := a.Save(t.Context(), map[string]Position{"t": at(1)}); !errors.Is(err, ErrLeaseLost) || len(f.saves) != 1 {
			t.Errorf("the second Save: %v, %d statements", err, len(f.saves))
		}
		mustLoad(t, a)
		if isLost(a) {
			t.Error("lost after Load")
		}
		mustSave(t, a, map[string]Position{"t": at(1)})
		mustClose(t, a)
	})
}

// A server that is away for less than the lease costs nothing; for longer, the lease counts as lost.
func TestServerAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		mustLoad(t, a)
		away := func(d time.Duration) {
			until := time.Now().Add(d)
			f.mu.Lock()
			f.fail = func(string, string) error {
				if time.Now().Before(until) {
					return errors.New("no connection")
				}
				return nil
			}
			f.mu.Unlock()
		}
		away(defaultLease / 2)
		if err := a.Save(t.Context(), map[string]Position{"t": at(1)}); err == nil || errors.Is(err, ErrLeaseLost) {
			t.Errorf("Save without a server: %v", err)
		}
		<-time.After(defaultLease)
		if isLost(a) {
			t.Fatal("lost although the server came back in time")
		}
		mustSave(t, a, map[string]Position{"t": at(1)})
		away(2 * defaultLease)
		<-time.After(2 * defaultLease)
		if !isLost(a) {
			t.Error("not lost after two terms without a server")
		}
		if err := a.Save(t.Context(), map[string]Position{"t": at(2)}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Save: %v, want ErrLeaseLost", err)
		}
		mustClose(t, a)
		if f.opened != f.closed {
			t.Errorf("%d sessions opened, %d closed", f.opened, f.closed)
		}
	})
}

func TestStandbyIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		mustLoad(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := f.store(t, "b")
		if _, err := b.Load(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "which a holds") {
			t.Errorf("Load = %v, want the deadline and the holder", err)
		}
		ended := make(chan error)
		go func() {
			_, err := b.Load(context.Background())
			ended <- err
		}()
		synctest.Wait()
		mustClose(t, b)
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Errorf("Load of a store that is closed = %v, want ErrClosed", err)
		}
		mustClose(t, a)
	})
}

func TestMissingTableIsMadeOrExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		f.fail = func(_, text string) error {
			if strings.HasPrefix(text, "CREATE TABLE") {
				return serverError(262)
			}
			return nil
		}
		a := f.store(t, "a")
		_, err := a.Load(t.Context())
		if !hasNumber(err, 262) || !strings.Contains(err.Error(), "CREATE TABLE "+testTable+" (pipeline") {
			t.Errorf("Load without the right to create = %v", err)
		}
		mustClose(t, a)

		f = newFakeServer()
		f.fail = func(owner, text string) error {
			if strings.HasPrefix(text, "CREATE TABLE") {
				f.mu.Lock()
				f.exists = true // another process was faster
				f.mu.Unlock()
			}
			return nil
		}
		b := f.store(t, "b")
		mustLoad(t, b)
		mustClose(t, b)
	})
}

func TestSQLStoreRefusesDamagedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		f.exists = true
		f.positions["k"] = map[string]string{"dbo.t": `{"v":7}`}
		a := f.store(t, "a")
		if p, err := a.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "dbo.t") || !strings.Contains(err.Error(), "version 7") {
			t.Errorf("Load = %v, %v, want an error with the table", p, err)
		}
		mustClose(t, a)
	})
}

func TestSQLStoreRefusesWhatDoesNotFit(t *testing.T) {
	open := newFakeServer().open("a")
	for name, cfg := range map[string]SQLConfig{
		"no connection": {Table: testTable, Key: "k"},
		"no table":      {Open: open, Key: "k"},
		"no key":        {Open: open, Table: testTable},
		"long key":      {Open: open, Table: testTable, Key: strings.Repeat("é", 129)},
		"long owner":    {Open: open, Table: testTable, Key: "k", Owner: strings.Repeat("x", 201)},
		"lease":         {Open: open, Table: testTable, Key: "k", Lease: -1},
	} {
		if _, err := NewSQLStore(cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		defer mustClose(t, a)
		mustLoad(t, a)
		for name, p := range map[string]map[string]Position{
			"no name":       {"": at(1)},
			"long name":     {strings.Repeat("x", 521): at(1)},
			"long position": {"t": {Instance: strings.Repeat("x", 4000), LSN: MaxLSN, Done: true}},
		} {
			if err := a.Save(t.Context(), p); err == nil {
				t.Errorf("%s is saved", name)
			}
		}
	})
	if a, b := NewOwner(), NewOwner(); a == b || a == "" {
		t.Errorf("two owners are both called %q", a)
	}
}

// The statement of a save has few forms, and each stays below the server's 2,100 parameters.
func TestSaveText(t *testing.T) {
	seen := map[string]bool{}
	for n := 1; n <= mostPositions; n *= 2 {
		text, declaration := saveText(n)
		if got, want := strings.Count(declaration, "@"), 4+2*n; got != want || got+2 > 2100 {
			t.Errorf("%d parameters for %d positions, want %d", got, n, want)
		}
		if got := strings.Count(text, "UPDATE {table} SET position"); got != n {
			t.Errorf("%d updates for %d positions", got, n)
		}
		seen[text] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d statements, want 9", len(seen))
	}
}

func TestSQLStoreDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		if err := a.Delete(t.Context(), "t"); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Delete before Load: %v, want ErrLeaseLost", err)
		}
		mustLoad(t, a)
		mustSave(t, a, map[string]Position{"t": at(1), "u": at(2), "v": at(3)})
		if err := a.Delete(t.Context(), "t", "v", "never there"); err != nil {
			t.Fatal(err)
		}
		if got := mustLoad(t, a); !equalPositions(got, map[string]Position{"u": at(2)}) {
			t.Errorf("positions are %v", got)
		}
		f.mu.Lock()
		f.leases["k"].epoch++
		f.mu.Unlock()
		if err := a.Delete(t.Context(), "u"); !errors.Is(err, ErrLeaseLost) || !isLost(a) {
			t.Errorf("Delete with an old epoch: %v, want ErrLeaseLost", err)
		}
		mustClose(t, a)
		if len(f.positions["k"]) != 1 {
			t.Errorf("positions are %v", f.positions)
		}
	})
}

// Looking takes no lease and makes no table.
func TestSQLStorePeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		looker := f.store(t, "looker")
		if got, holder, err := looker.Peek(t.Context()); err != nil || holder != "" || len(got) != 0 || f.exists {
			t.Errorf("Peek without a table = %v, %q, %v; table made: %v", got, holder, err, f.exists)
		}
		a := f.store(t, "a")
		mustLoad(t, a)
		mustSave(t, a, map[string]Position{"t": at(1)})
		if got, holder, err := looker.Peek(t.Context()); err != nil || holder != "a" || !equalPositions(got, map[string]Position{"t": at(1)}) {
			t.Errorf("Peek = %v, %q, %v", got, holder, err)
		}
		mustSave(t, a, map[string]Position{"t": at(2)})
		mustClose(t, a)
		if _, holder, err := looker.Peek(t.Context()); err != nil || holder != "" {
			t.Errorf("Peek after Close: holder %q, %v", holder, err)
		}
		mustClose(t, looker)
	})
}

// Takeover takes the lease at once; the process that had it cannot save and takes it back afterwards, with what was saved.
func TestTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeServer()
		a := f.store(t, "a")
		mustLoad(t, a)
		mustSave(t, a, map[string]Position{"t": at(5)})
		b := f.store(t, "b", func(c *SQLConfig) { c.Takeover = true })
		began := time.Now()
		if got := mustLoad(t, b); len(got) != 1 || time.Since(began) > time.Second {
			t.Errorf("Load = %v after %v", got, time.Since(began))
		}
		mustSave(t, b, map[string]Position{"t": at(1)})
		if err := a.Save(t.Context(), map[string]Position{"t": at(6)}); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("Save of the other process: %v, want ErrLeaseLost", err)
		}
		mustClose(t, b)
		if got := mustLoad(t, a); !equalPositions(got, map[string]Position{"t": at(1)}) {
			t.Errorf("the other process goes on from %v", got)
		}
		mustClose(t, a)
	})
}

// A table of another shape is somebody else's: Redpanda Connect's is named, and the way out.
func TestForeignTable(t *testing.T) {
	for _, tt := range []struct {
		columns []string
		want    string
	}{
		{[]string{"cache_key", "cache_val"}, "mssqlcdc positions import --from connect-table --source-table " + testTable},
		{[]string{"Cache_Key", "CACHE_VAL", "added"}, "mssqlcdc positions import"},
		{[]string{"id"}, "no column pipeline"},
		{ourColumns[:6], "no column expires_at"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeServer()
			f.exists, f.columns = true, tt.columns
			f.fail = func(_, text string) error {
				if text != sqlColumns {
					return fmt.Errorf("the table is touched: %s", text)
				}
				return nil
			}
			a := f.store(t, "a")
			if _, err := a.Load(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("columns %q: Load: %v, want %q in it", tt.columns, err, tt.want)
			}
			if _, _, err := a.Peek(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("columns %q: Peek: %v, want %q in it", tt.columns, err, tt.want)
			}
			mustClose(t, a)
		})
	}
}
