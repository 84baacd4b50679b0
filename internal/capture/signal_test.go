package capture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// A signal has a table read while it streams: its rows come once each, between marks, and nothing of the signal table is given out.
func TestSignalReadsATable(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b")
			r.insert("a", 1, 75, 25)
			r.insert("b", 1, 5, 5)
			r.cfg.Start = StartFrom{Latest: true}
			r.signalTable()
			r.scan()
			c := r.follow(nil)
			defer c.stop(false)
			pass(time.Second)
			r.execute("s1", "a")
			r.until(time.Minute, "the end mark", func() bool { return strings.HasSuffix(c.marked(), IncrementEnd) })
			if !c.same("a") || c.count("a") != 75 || c.count("b") != 0 {
				t.Errorf("%d rows of a and %d of b were read", c.count("a"), c.count("b"))
			}
			if got, want := c.marked(), "a incremental_begin, a incremental_end"; got != want {
				t.Errorf("marks %s, want %s", got, want)
			}
			pass(3 * time.Second)
			if p := r.position("signals"); p.Signals != nil || p.IsZero() {
				t.Errorf("the stored position of signals is %s", p)
			}
			if n := r.query("SELECT COUNT(*) FROM dbo.signals WHERE type LIKE 'snapshot-window-%%'")[0][0]; n != "8" {
				t.Errorf("%s watermarks, want 8 of 4 windows", n)
			}
			if c.tables["signals"] != nil {
				t.Error("changes of the signal table were given out")
			}
		})
	})
}

// Rows are given out where the stream has reached the second watermark: not before, and before the changes behind it, although one
// look at the database has found both.
func TestRowsAreGivenOutAtTheSecondWatermark(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{CaptureStopped: true}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a")
			r.insert("a", 1, 20, 20)
			r.scan()
			r.cfg.Start = StartFrom{Latest: true}
			r.signalTable()
			r.scan()
			c := r.follow(nil)
			defer c.stop(false)
			pass(time.Second)
			r.execute("s1", "a")
			r.scan()
			r.until(10*time.Second, "the high watermark written", func() bool {
				return r.query("SELECT COUNT(*) FROM dbo.signals WHERE type = 'snapshot-window-close'")[0][0] == "1"
			})
			if c.count("a") != 0 {
				t.Error("rows were given out before the stream has reached the second watermark")
			}
			r.exec("UPDATE dbo.a SET v = 1000 WHERE id = 7")
			r.exec("DELETE dbo.a WHERE id = 8")
			r.scan()
			r.until(10*time.Second, "the end mark", func() bool { r.scan(); return strings.HasSuffix(c.marked(), IncrementEnd) })
			r.until(10*time.Second, "the changes", func() bool { return c.same("a") })
			if got := r.seen.windowed()[0]; got != "dbo.a given 20 dropped 0" {
				t.Errorf("window %s", got)
			}
		})
	})
}

// What changed after the chunk was read, and before its second watermark, is dropped from it.
func TestChunkLosesToTheStream(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a")
			r.insert("a", 1, 20, 20)
			r.cfg.Start = StartFrom{Latest: true}
			r.signalTable()
			c := r.follow(nil)
			defer c.stop(false)
			pass(time.Second)
			r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[signals]", App: "mssqlcdc", Skip: 1, Times: 1, Before: func(mssqltest.Event) {
				if err := r.srv.Exec("UPDATE dbo.a SET v = 1000 WHERE id IN (3, 4, 20); DELETE dbo.a WHERE id = 9; INSERT dbo.a VALUES (0, 1), (21, 1)"); err != nil {
					t.Error(err)
				}
			}})
			r.execute("s1", "a")
			r.until(time.Minute, "the end mark", func() bool { return strings.HasSuffix(c.marked(), IncrementEnd) })
			r.until(time.Minute, "equal", func() bool { return c.same("a") })
			if !slices.Contains(r.seen.windowed(), "dbo.a given 16 dropped 4") {
				t.Errorf("windows %q", r.seen.windowed())
			}
		})
	})
}

// Two keys that the collation takes for equal are two for the window: the row that was read under the old spelling is dropped.
func TestKeyChangesItsSpellingInAWindow(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.exec("EXEC sys.sp_cdc_enable_db")
		r.exec("CREATE TABLE dbo.a (k varchar(10) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL PRIMARY KEY, v int)")
		r.enable("a", "dbo_a")
		r.exec("INSERT dbo.a VALUES ('a', 1), ('b', 1), ('c ', 1), ('d', 1)")
		r.cfg.Start = StartFrom{Latest: true}
		r.signalTable()
		r.scan()
		r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[signals]", App: "mssqlcdc", Skip: 1, Times: 1, Before: func(mssqltest.Event) {
			if err := r.srv.Exec("UPDATE dbo.a SET k = 'A', v = 2 WHERE k = 'a'; UPDATE dbo.a SET k = 'c' WHERE k = 'c'; DELETE dbo.a WHERE k = 'D'; INSERT dbo.a VALUES ('D', 7)"); err != nil {
				t.Error(err)
			}
		}})
		c := r.follow(nil)
		defer c.stop(false)
		pass(time.Second)
		r.execute("s1", "a")
		r.until(time.Minute, "the window", func() bool { return len(r.seen.windowed()) > 0 })
		if got := r.seen.windowed()[0]; got != "dbo.a given 1 dropped 3" {
			t.Errorf("window %s: 'b' alone did not change", got)
		}
	})
}

// A signal says which rows, and names tables by name, with the database, and by pattern; the others are said to be unknown.
func TestSignalNamesAndConditions(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "ab", "c")
		for _, n := range []string{"a", "ab", "c"} {
			r.insert(n, 1, 30, 30)
		}
		r.cfg.Start = StartFrom{Latest: true}
		r.signalTable()
		r.scan()
		c := r.follow(nil)
		defer c.stop(false)
		pass(time.Second)
		db := r.query("SELECT DB_NAME()")[0][0]
		r.signal("s1", SignalExecute, fmt.Sprintf(`{"data-collections": ["%s.dbo.a", "dbo.c.*", "dbo.z"], "type": "INCREMENTAL",
			"additional-conditions": [{"data-collection": "dbo.a", "filter": "id %% 10 = 0"}]}`, db))
		r.until(time.Minute, "both", func() bool { return strings.Count(c.marked(), IncrementEnd) == 2 })
		if c.count("a") != 3 || c.count("c") != 30 || c.count("ab") != 0 {
			t.Errorf("%d of a, %d of c, %d of ab", c.count("a"), c.count("c"), c.count("ab"))
		}
		if !r.seen.signalled("obeyed: signal s1 (execute-snapshot): the rows of dbo.a, dbo.c are read; but dbo.z is no table that this input reads") {
			t.Errorf("signals %q", r.seen.signals)
		}
		for i, tt := range []struct{ kind, data, want string }{
			{"log", `{"message": "x"}`, "ignored: signal %s (log): this type is not known"},
			{SignalExecute, "", "names no table"},
			{SignalExecute, "{", "refused: signal %s (execute-snapshot): reading its data as JSON"},
			{SignalExecute, `{"data-collections": ["dbo.a"], "type": "blocking"}`, `"blocking", and only incremental is known`},
			{SignalExecute, `{"data-collections": ["dbo.a"], "additional-conditions": [{"data-collection": "dbo.a", "filter": "id = 1) OR (1 = 1"}]}`, "refused: signal %s: the snapshot of dbo.a is given up"},
			{SignalExecute, `{"data-collections": ["dbo.a"], "additional-condition": "nope = 1"}`, "refused: signal %s: the snapshot of dbo.a is given up"},
			{SignalStop, "", "ignored: signal %s (stop-snapshot): there is no snapshot to stop"},
		} {
			id := fmt.Sprintf("x%d", i)
			r.signal(id, tt.kind, tt.data)
			want := tt.want
			if strings.Contains(want, "%s") {
				want = fmt.Sprintf(want, id)
			}
			r.until(time.Minute, "told: "+want, func() bool { return r.seen.signalled(want) })
		}
		if c.count("a") != 3 {
			t.Errorf("%d rows of a after signals that are refused", c.count("a"))
		}
	})
}

// Snapshots rest, go on and are dropped by signal; that outlives a restart.
func TestSignalsPauseResumeAndStop(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed: %v", dead), func(t *testing.T) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.tables("a", "b", "c")
				for _, n := range []string{"a", "b", "c"} {
					r.insert(n, 1, 90, 30)
				}
				r.cfg.Start = StartFrom{Latest: true}
				r.signalTable()
				r.scan()
				c := r.follow(nil)
				pass(time.Second)
				r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[signals]", App: "mssqlcdc", Skip: 2, Times: 1, Before: func(mssqltest.Event) {
					if err := r.srv.Exec("INSERT dbo.signals VALUES ('p', 'pause-snapshot', NULL)"); err != nil {
						t.Error(err)
					}
				}})
				r.execute("s1", "a", "b", "c")
				r.until(time.Minute, "paused", func() bool { return r.seen.queued() == "3 waiting, paused true" })
				pass(5 * time.Second)
				n := c.count("a")
				if n == 0 || n > 60 || c.count("b") > 0 {
					t.Errorf("%d rows of a and %d of b before the pause", n, c.count("b"))
				}
				c.stop(dead)
				again := r.follow(c)
				pass(10 * time.Second)
				if again.count("a") > 0 {
					t.Errorf("%d rows of a are read in the pause, after a restart", again.count("a"))
				}
				r.signal("x", SignalStop, `{"data-collections": ["dbo.b"]}`)
				r.signal("r", SignalResume, "")
				r.until(time.Minute, "the end of c", func() bool { return strings.HasSuffix(again.marked(), "c "+IncrementEnd) })
				if got := n + again.count("a"); got != 90 || again.count("b") != 0 || again.count("c") != 90 {
					t.Errorf("%d rows of a in both flows, %d of b, %d of c", got, again.count("b"), again.count("c"))
				}
				again.stop(false)
				if p := r.position("signals"); p.Signals != nil {
					t.Errorf("stored: %s", p)
				}
			})
		})
	}
}

// What is finished does not run again, and signals from before the first start do not run at all.
func TestSignalRunsOnce(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		r.insert("a", 1, 10, 10)
		r.cfg.Start = StartFrom{Latest: true}
		r.signalTable()
		r.execute("early", "a")
		r.scan()
		c := r.follow(nil)
		pass(2 * time.Second)
		r.execute("s1", "a")
		r.until(time.Minute, "the end", func() bool { return strings.HasSuffix(c.marked(), IncrementEnd) })
		pass(2 * time.Second)
		c.stop(true)
		if c.count("a") != 10 {
			t.Errorf("%d rows, want 10", c.count("a"))
		}
		for range 3 {
			c = r.follow(c)
			pass(5 * time.Second)
			c.stop(true)
			if c.count("a") != 0 {
				t.Fatalf("%d rows came again", c.count("a"))
			}
		}
		// A signal that is written while nothing runs is obeyed afterwards.
		r.execute("s2", "a")
		c = r.follow(c)
		r.until(time.Minute, "the end", func() bool { return strings.HasSuffix(c.marked(), IncrementEnd) })
		c.stop(false)
	})
}

// A table under random changes, with random signals, restarts and kills: the copy is the table in the end, and no key ever has
// an older value after a newer one while a process lives.
func TestSignalsUnderRandomChanges(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("MSSQLCDC_LONG") != "" {
		seeds = 30
	}
	orderings(t, func(t *testing.T, global bool) {
		for seed := range seeds {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) { randomSignals(r, seed, global) })
			})
		}
	})
}

func randomSignals(r *rig, seed uint64, global bool) {
	rng := rand.New(rand.NewPCG(seed, 7))
	r.cfg.Global = global
	r.tables("a", "b")
	r.insert("a", 1, 100, 50)
	r.insert("b", 1, 60, 60)
	r.signalTable()
	r.cfg.Snapshots.ChunkRows = 1 + rng.IntN(40)
	r.cfg.Limit = 20 + rng.IntN(100)
	r.scan()
	c := r.follow(nil)
	version, windows := 10_000, atomic.Int64{}
	dml := rand.New(rand.NewPCG(seed, 8))
	change := func() string {
		rng := dml
		table := []string{"a", "b"}[rng.IntN(2)]
		id := rng.IntN(120)
		version++
		switch rng.IntN(5) {
		case 0:
			return fmt.Sprintf("DELETE dbo.%s WHERE id = %d", table, id)
		case 1:
			return fmt.Sprintf("IF NOT EXISTS (SELECT 1 FROM dbo.%s WHERE id = %d) INSERT dbo.%s VALUES (%d, %d)", table, id, table, id, version)
		case 2:
			return fmt.Sprintf("UPDATE dbo.%s SET id = %d, v = %d WHERE id = %d AND NOT EXISTS (SELECT 1 FROM dbo.%s AS o WHERE o.id = %d)", table, 200+version, version, id, table, 200+version)
		}
		return fmt.Sprintf("UPDATE dbo.%s SET v = %d WHERE id BETWEEN %d AND %d", table, version, id, id+rng.IntN(4))
	}
	turn := make(chan struct{}, 1) // versions are committed in their order
	commit := func(n int) {
		turn <- struct{}{}
		defer func() { <-turn }()
		for range n {
			if err := r.srv.Exec(change()); err != nil {
				r.t.Error(err)
			}
		}
	}
	// Changes fall between the statements of windows, too.
	r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "INSERT INTO [dbo].[signals]", App: "mssqlcdc", Before: func(mssqltest.Event) {
		windows.Add(1)
		commit(2)
	}})
	rounds := 50
	if os.Getenv("CI") == "true" || os.Getenv("MSSQLCDC_LONG") != "" {
		rounds = 150
	}
	for i := range rounds {
		pass(10 * time.Millisecond)
		commit(1)
		switch rng.IntN(20) {
		case 0:
			r.execute(fmt.Sprintf("e%d", i), []string{"a", "b"}[rng.IntN(2)])
		case 1:
			r.execute(fmt.Sprintf("e%d", i), "a", "b")
		case 2:
			r.signal(fmt.Sprintf("s%d", i), []string{SignalStop, SignalPause, SignalResume}[rng.IntN(3)], "")
		case 3:
			c.stop(rng.IntN(2) == 0)
			c = r.follow(c)
		}
		pass(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
	r.signal("resume", SignalResume, "")
	r.execute("last", "a", "b")
	r.until(5*time.Minute, "nothing waiting", func() bool { return r.seen.queued() == "0 waiting, paused false" })
	r.until(time.Minute, "equal", func() bool { return c.same("a") && c.same("b") })
	c.stop(false)
	if windows.Load() == 0 {
		r.t.Error("no window was opened")
	}
}
