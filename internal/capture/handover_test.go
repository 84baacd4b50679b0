package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// A second instance is enabled after a column was added, and the first one disabled when it has been read. Every change comes
// once, with the columns of the newest instance that has it, also over a restart or a crash at the worst places.
func TestHandover(t *testing.T) {
	for _, stop := range []string{"", "close before", "close between", "crash between", "crash after"} {
		orderings(t, func(t *testing.T, global bool) {
			t.Run("stop: "+stop, func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) {
					r.cfg.Global = global
					r.tables("a", "b")
					f := r.start()
					var earlier []string
					again := func(step string) {
						how, when, _ := strings.Cut(stop, " ")
						if when != step {
							return
						}
						pass(1500 * time.Millisecond) // everything is saved
						if how == "crash" {
							f.crash()
						} else {
							f.close()
						}
						earlier = append(earlier, f.of("a")...)
						pass(time.Second)
					}
					resume := func() {
						if f.closed {
							f = r.start()
						}
					}
					r.insert("a", 1, 30, 5)
					r.note("a")
					again("before")
					r.exec("ALTER TABLE dbo.a ADD w int NULL")
					r.insert("a", 31, 60, 5)
					r.note("a")
					r.enable("a", "dbo_a2")
					resume()
					r.exec("INSERT dbo.a (id, v, w) SELECT id + 1000, v, 7 FROM dbo.a WHERE id BETWEEN 1 AND 25")
					r.note("a")
					again("between")
					r.exec("INSERT dbo.a (id, v, w) SELECT id + 2000, v, 7 FROM dbo.a WHERE id BETWEEN 1 AND 25")
					r.note("a")
					resume()
					total := func() []string { return append(slices.Clone(earlier), f.of("a")...) }
					r.until(time.Minute, "everything of a", func() bool { return len(total()) >= len(r.truth["a"]) })
					again("after")
					resume()
					r.disable("a", "dbo_a")
					r.exec("INSERT dbo.a (id, v, w) VALUES (5000, 5, 5)")
					r.scan()
					last := r.changes("dbo_a2", false)
					want := append(slices.Clone(r.truth["a"]), last[len(last)-1])
					r.until(time.Minute, "the last change", func() bool { return len(total()) >= len(want) })
					if d := difference(total(), want); d != "" {
						t.Fatal(d)
					}
					if s, err := r.seen.is("a"); s != Streaming {
						t.Errorf("a is %s: %v", s, err)
					}
				})
			})
		})
	}
}

// The columns change exactly at the start of the new instance.
func TestHandoverChangesTheColumnsAtOnce(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		r.insert("a", 1, 30, 5)
		r.exec("ALTER TABLE dbo.a ADD w int NULL")
		r.insert("a", 31, 60, 5)
		r.enable("a", "dbo_a2")
		r.insert("a", 61, 90, 5)
		r.note("a")
		f := r.start()
		seen := map[string][]int{}
		f.set(func() {
			f.look = func(run Run) {
				seen[run.Layout.Capture] = append(seen[run.Layout.Capture], run.Layout.Captured)
			}
		})
		f.arrive("a")
		f.set(func() {
			if !slices.Equal(slices.Compact(seen["dbo_a"]), []int{2}) || !slices.Equal(slices.Compact(seen["dbo_a2"]), []int{3}) {
				t.Errorf("captured columns by instance: %v", seen)
			}
		})
		if !r.seen.noted("reading goes on from the newer one") {
			t.Errorf("nothing is said of the handover:\n%s", r.seen)
		}
		first := r.changes("dbo_a2", false)
		if len(first) != 30 {
			t.Fatalf("the new instance has %d changes", len(first))
		}
	})
}

// Cleanup of the older instance alone raises its start above that of the newer one. Reading stays with the newer one, and its
// columns.
func TestCleanupOfTheOlderInstance(t *testing.T) {
	for _, restart := range []bool{false, true} {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.tables("a")
			r.exec("ALTER TABLE dbo.a ADD w int NULL")
			r.insert("a", 1, 10, 5)
			r.enable("a", "dbo_a2")
			f := r.start()
			r.insert("a", 11, 30, 5)
			r.note("a")
			f.arrive("a")
			pass(2 * time.Second)
			if restart {
				f.close()
			}
			lsns := r.lsns("dbo_a")
			r.cleanup("dbo_a", lsns[len(lsns)-1])
			if restart {
				f = r.start()
				r.truth["a"] = nil
			}
			captures := map[string]bool{}
			f.set(func() { f.look = func(run Run) { captures[run.Layout.Capture] = true } })
			before := len(f.of("a"))
			r.insert("a", 31, 40, 5)
			r.until(time.Minute, "the last rows", func() bool { return len(f.of("a")) == before+10 })
			f.set(func() {
				if len(captures) != 1 || !captures["dbo_a2"] {
					t.Errorf("read from %v", captures)
				}
			})
		})
	}
}

// A new instance that the capture job has not handled yet has no start; the old one is read on, and the first changes of a
// table that is enabled so are not missed.
func TestInstanceWithoutStart(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a")
			r.insert("a", 1, 10, 5)
			r.note("a")
			f := r.start()
			f.arriveAll("a")
			if err := r.ctl.CaptureStop(""); err != nil {
				t.Fatal(err)
			}
			r.exec("ALTER TABLE dbo.a ADD w int NULL")
			r.enable("a", "dbo_a2")
			r.exec("CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY, v int NULL)")
			r.enable("late", "dbo_late")
			if got := r.query("SELECT COUNT(*) FROM cdc.change_tables WHERE start_lsn IS NULL"); got[0][0] != "2" {
				t.Fatalf("%s instances without a start", got[0][0])
			}
			r.insert("late", 1, 10, 5)
			r.insert("a", 11, 20, 5)
			pass(20 * time.Second)
			if s, _ := r.seen.is("late"); s == Parked {
				t.Errorf("late is %s", s)
			}
			if err := r.ctl.CaptureStart(""); err != nil {
				t.Fatal(err)
			}
			r.note("a", "late")
			f.arriveAll("a", "late")
		})
	})
}

// Tables come and go while others stream: enabled, disabled, renamed, dropped, enabled anew.
func TestTablesThatComeAndGo(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "gone")
			f := r.start()
			r.insert("a", 1, 20, 5)
			r.insert("gone", 1, 20, 5)
			r.note("a", "gone")
			f.arriveAll("a", "gone")
			r.tables("new")
			r.insert("new", 1, 40, 8)
			r.disable("gone", "dbo_gone")
			r.insert("a", 21, 40, 5)
			r.note("a", "new")
			f.arriveAll("a", "gone", "new")
			if s, _ := r.seen.is("gone"); s != Gone {
				t.Errorf("a table without an instance is %s", s)
			}
			r.exec("DROP TABLE dbo.gone")
			r.exec("EXEC sp_rename N'dbo.a', N'a2'")
			r.exec("INSERT dbo.a2 (id, v) VALUES (100, 1), (101, 2)")
			r.note("a")
			f.arriveAll("a", "gone", "new")
		})
	})
}

// A table is renamed and another one takes its name, while changes stream. Both are read, and their positions do not mix: after
// a crash each goes on where it was.
func TestNameTakenByAnotherTable(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a")
			f := r.start()
			r.insert("a", 1, 20, 5)
			r.note("a")
			f.arriveAll("a")
			release := f.block()
			defer release()
			r.insert("a", 21, 40, 5)
			pass(time.Second)
			r.exec("EXEC sp_rename N'dbo.a', N'old'")
			r.table("a", "dbo_new")
			r.exec("INSERT dbo.old (id, v) VALUES (100, 1), (101, 2)")
			r.exec("INSERT dbo.a (id, v) VALUES (1, 1), (2, 2), (3, 3)")
			pass(5 * time.Second)
			release()
			r.scan()
			old, fresh := r.changes("dbo_a", false), r.changes("dbo_new", false)
			want := append(slices.Clone(old[:40]), fresh...)
			r.until(time.Minute, "all", func() bool { return len(f.of("a")) >= len(want) && len(f.of("old")) >= 2 })
			if d := difference(f.of("old"), old[40:]); d != "" && !global {
				t.Error(d)
			}
			if d := difference(f.of("a"), want); d != "" && !global {
				t.Error(d)
			}
			pass(15 * time.Second)
			f.crash()
			r.exec("INSERT dbo.old (id, v) VALUES (200, 1)")
			r.exec("INSERT dbo.a (id, v) VALUES (200, 1)")
			g := r.start()
			r.until(time.Minute, "both rows", func() bool { return len(g.of("a")) > 0 && len(g.of("old")) > 0 })
			pass(time.Second)
			if a, o := g.of("a"), g.of("old"); len(a) != 1 || len(o) != 1 || !strings.HasSuffix(a[0], "id=200 v=1") || !strings.HasSuffix(o[0], "id=200 v=1") {
				t.Errorf("a: %q, old: %q", a, o)
			}
		})
	})
}

// Two tables swap their names while the process is down.
func TestSwappedNames(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "b")
		f := r.start()
		r.insert("b", 1, 20, 5)
		r.note("b")
		f.arrive("b")
		f.set(func() { f.decide = func(*Batch) error { pass(time.Second); return errors.New("not now") } })
		r.insert("b", 21, 30, 5) // read, and never acknowledged
		r.insert("a", 1, 1, 1)
		pass(15 * time.Second)
		f.crash()
		r.exec("EXEC sp_rename N'dbo.a', N'c'; EXEC sp_rename N'dbo.b', N'a'; EXEC sp_rename N'dbo.c', N'b'")
		g := r.start()
		r.until(time.Minute, "what was not acknowledged", func() bool { return len(g.of("a")) >= 10 && len(g.of("b")) >= 1 })
		pass(time.Second)
		r.scan()
		if d := difference(g.of("a"), r.changes("dbo_b", false)[20:]); d != "" {
			t.Error(d)
		}
	})
}

// A renamed table keeps its position over a restart.
func TestRenamedTableOverARestart(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		f := r.start()
		r.insert("a", 1, 20, 5)
		r.note("a")
		f.arrive("a")
		f.close()
		r.exec("EXEC sp_rename N'dbo.a', N'a2'")
		r.exec("INSERT dbo.a2 (id, v) VALUES (100, 1)")
		r.scan()
		want := r.changes("dbo_a", false)[20:]
		g := r.start()
		r.until(time.Minute, "the new row", func() bool { return len(g.of("a2")) > 0 })
		pass(time.Second)
		if d := difference(g.of("a2"), want); d != "" {
			t.Error(d)
		}
		g.close()
		// A new table of the old name is another table.
		r.table("a", "dbo_a_new")
		r.exec("INSERT dbo.a (id, v) VALUES (1, 1)")
		r.exec("INSERT dbo.a2 (id, v) VALUES (101, 1)")
		h := r.start()
		r.until(time.Minute, "both", func() bool { return len(h.of("a")) == 1 && len(h.of("a2")) == 1 })
	})
}

// A table is disabled and enabled again, or dropped and made anew. What happened in between was not captured: that is a gap,
// whether the coordinator has seen the table gone or not.
func TestTableEnabledAgain(t *testing.T) {
	for _, how := range []string{"disabled", "dropped"} {
		for _, slow := range []bool{false, true} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/seen=%t/restart=%t", how, slow, restart), func(t *testing.T) {
					bubble(t, mssqltest.Config{}, func(r *rig) {
						r.tables("a", "b")
						f := r.start()
						r.insert("a", 1, 20, 5)
						r.note("a")
						f.arrive("a")
						pass(2 * time.Second)
						if restart {
							f.close()
						}
						r.disable("a", "dbo_a")
						if how == "dropped" {
							r.exec("DROP TABLE dbo.a")
							r.exec("CREATE TABLE dbo.a (id int NOT NULL PRIMARY KEY, v int NULL)")
						} else {
							r.insert("a", 21, 25, 5)
						}
						if slow {
							pass(5 * time.Second)
						}
						r.enable("a", "dbo_a")
						r.insert("a", 101, 120, 5)
						have := 20
						if restart {
							f, have = r.start(), 0
						}
						var gap *changetable.GapError
						if err := r.parked("a"); !errors.As(err, &gap) {
							t.Fatalf("parked by %v", err)
						}
						if got := f.of("a"); len(got) != have {
							t.Fatalf("%d changes came after the gap", len(got)-have)
						}
					})
				})
			}
		}
	}
}
