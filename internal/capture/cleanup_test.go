package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
)

// pageStatements are the statements that a page is read with; cleanup runs just before each of them.
var pageStatements = []struct{ name, text string }{
	{"verify", "WHERE m.start_lsn = @proof"},
	{"window", "SELECT MAX(w.start_lsn), COUNT(*)"},
	{"watermark of the page", "@max = m.start_lsn"},
	{"proof of the server", "SELECT @max"},
	{"rows", "FROM [cdc].[dbo_a_CT] AS t"},
	{"retention after the page", "SELECT ct.start_lsn FROM cdc.change_tables AS ct WHERE ct.capture_instance = @instance"},
	{"commits of the page", "m.start_lsn >= @first AND m.start_lsn <= @last"},
	{"proof of the next position", "WHERE m.start_lsn <= @next"},
}

var isolations = []struct{ name, set string }{
	{"nolock", ""},
	{"rcsi", "ALTER DATABASE testdb SET READ_COMMITTED_SNAPSHOT ON"},
	{"snapshot", "ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON"},
}

// Cleanup that runs between any two statements of any page takes nothing away silently: either everything arrives, or what
// came is the beginning of everything and the table is parked with a gap that names the LSNs.
func TestCleanupAtEveryStatementOfEveryPage(t *testing.T) {
	for _, iso := range []int{0, 2} {
		for _, at := range pageStatements {
			t.Run(isolations[iso].name+"/before the "+at.name, func(t *testing.T) {
				for _, page := range []int{0, 1, 3} {
					for _, mark := range []int{2, 9} {
						cleanupCase(t, isolations[iso].set, at.text, page, mark)
					}
				}
			})
		}
	}
}

// cleanupCase streams twelve transactions of five rows, and cleans up below transaction mark when the statement has run a
// number of times.
func cleanupCase(t *testing.T, isolation, statement string, skip, mark int) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		name := fmt.Sprintf("%q for the time %d, cleanup below transaction %d", statement, skip+1, mark)
		r.tables("a")
		if isolation != "" {
			r.exec("%s", isolation)
		}
		r.insert("a", 1, 60, 5)
		r.note("a")
		below := r.lsns("dbo_a")[mark]
		ran := false
		r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: statement, App: "mssqlcdc", Skip: skip, Times: 1, Before: func(mssqltest.Event) {
			ran = true
			r.cleanup("dbo_a", below)
		}})
		f := r.start()
		want := r.truth["a"]
		r.until(time.Minute, "everything or parked", func() bool {
			s, _ := r.seen.is("a")
			got := f.of("a")
			return len(got) > 0 && got[len(got)-1] == want[len(want)-1] || s == Parked
		})
		pass(time.Second)
		got := f.of("a")
		first := 0
		if len(got) > 0 {
			first = slices.Index(want, got[0])
		}
		// Before anything was read, "earliest" is what is retained now.
		if first != 0 && (first < 0 || want[first-1] >= strings.ToLower(below[2:])) {
			t.Fatalf("%s: the first change is %q", name, got[0])
		}
		if !slices.Equal(got, want[first:first+len(got)]) {
			t.Fatalf("%s: %s", name, difference(got, want[first:]))
		}
		if first+len(got) == len(want) {
			return
		}
		var gap *changetable.GapError
		if _, err := r.seen.is("a"); !ran || !errors.As(err, &gap) {
			t.Fatalf("%s: %d of %d changes came, state %s", name, len(got), len(want), r.seen)
		}
		if !strings.EqualFold(gap.Start.String(), below) {
			t.Fatalf("%s: the gap names %s, cleanup was below %s", name, gap.Start, below)
		}
		if gap.Start.Compare(gap.Position) <= 0 || len(got) > 0 && gap.Position.String()[2:] != got[len(got)-1][:20] {
			t.Fatalf("%s: %v; the last change was %q", name, gap, got[len(got)-1])
		}
	})
}

// A table that is level with the watermark gets changes, which cleanup removes before the coordinator has asked for them.
func TestCleanupOfALevelTable(t *testing.T) {
	for _, global := range []bool{false, true} {
		for _, iso := range isolations {
			t.Run(fmt.Sprintf("%s/global=%t", iso.name, global), func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) {
					r.tables("a", "b")
					if iso.set != "" {
						r.exec("%s", iso.set)
					}
					r.cfg.Global = global
					r.insert("a", 1, 5, 5)
					r.insert("b", 1, 5, 5)
					r.note("a")
					f := r.start()
					f.arrive("a")
					pass(5 * time.Second)
					r.setDown(true)
					r.insert("a", 6, 10, 5)
					r.insert("b", 6, 10, 5)
					r.exec("SELECT 1")
					lost := r.lsns("dbo_a")
					r.cleanup("dbo_a", r.lsns("dbo_b")[1])
					if n := len(r.changes("dbo_a", false)); n != 0 || len(lost) != 2 {
						t.Fatalf("cleanup left %d changes of %d transactions", n, len(lost))
					}
					r.setDown(false)
					var gap *changetable.GapError
					if err := r.parked("a"); !errors.As(err, &gap) {
						t.Fatalf("parked by %v", err)
					}
					if got := r.position("a").LSN.String(); got >= lost[1] {
						t.Fatalf("position %s is saved, changes at %s never came", got, lost[1])
					}
				})
			})
		}
	}
}

// Cleanup runs between the two looks that the coordinator takes, its watermark and its question for rows.
func TestCleanupAroundTheProbe(t *testing.T) {
	for _, iso := range isolations {
		t.Run(iso.name, func(t *testing.T) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.tables("a", "b")
				if iso.set != "" {
					r.exec("%s", iso.set)
				}
				r.insert("a", 1, 5, 5)
				r.note("a")
				f := r.start()
				f.arrive("a")
				pass(5 * time.Second)
				ran := false
				r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "CASE WHEN EXISTS (SELECT 1 FROM [cdc].[dbo_a_CT]", Times: 1, Before: func(mssqltest.Event) {
					ran = true
					r.cleanup("dbo_a", r.lsns("dbo_b")[0])
				}})
				// One transaction of a and then one of b, in one turn of the coordinator.
				r.exec("INSERT dbo.a VALUES (6, 6)")
				r.exec("INSERT dbo.b VALUES (1, 1)")
				var gap *changetable.GapError
				if err := r.parked("a"); !errors.As(err, &gap) {
					t.Fatalf("parked by %v", err)
				}
				if !ran {
					t.Fatal("no cleanup ran")
				}
			})
		})
	}
}

// A table without changes was read up to a watermark; what comes and goes afterwards is a gap, also when start_from is earliest.
func TestGapOfATableThatNeverHadAChange(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "b")
		r.insert("b", 1, 1, 1)
		r.start()
		r.until(time.Minute, "a stands at the watermark", func() bool { return !r.position("a").Proof.Equal(checkpoint.Proof{}) })
		r.setDown(true)
		r.insert("a", 1, 5, 5)
		r.insert("b", 2, 2, 1)
		r.exec("SELECT 1")
		r.cleanup("dbo_a", r.lsns("dbo_b")[1])
		r.setDown(false)
		var gap *changetable.GapError
		if err := r.parked("a"); !errors.As(err, &gap) {
			t.Fatalf("parked by %v", err)
		}
	})
}

// An outage is longer than the retention. The cleanup job has run, and what may be lost is said; after the positions were removed,
// as the documentation says, reading goes on with what is retained.
func TestOutageLongerThanTheRetention(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "idle")
			r.exec("EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 10")
			f := r.start()
			r.insert("a", 1, 10, 5)
			r.note("a")
			f.arriveAll("a")
			pass(2 * time.Second)
			r.setDown(true)
			r.insert("a", 11, 20, 5)
			pass(20 * time.Minute)
			r.insert("a", 21, 30, 5)
			r.scan()
			if err := r.ctl.CleanupJob(""); err != nil {
				t.Fatal(err)
			}
			r.setDown(false)
			for _, table := range []string{"a", "idle"} {
				var gap *changetable.GapError
				if err := r.parked(table); !errors.As(err, &gap) {
					t.Errorf("%s: parked by %v", table, err)
				}
			}
			if got := f.of("a"); len(got) != 10 {
				t.Errorf("%d changes came", len(got))
			}
			f.close()
			r.cfg.Store = newMemoryStore()
			r.truth["a"] = r.changes("dbo_a", false)
			r.start().arriveAll("a")
		})
	})
}
