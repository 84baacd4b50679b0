package capture

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// A database is restored to a state before what was read, while the flow runs or while it is stopped. The tables wait for the
// changes to come back, and say after replicaWait that they do not; when other changes have come in their place, the fork is seen.
func TestRestoredDatabase(t *testing.T) {
	for _, running := range []bool{true, false} {
		for _, grow := range []bool{false, true} {
			orderings(t, func(t *testing.T, global bool) {
				t.Run(fmt.Sprintf("running=%t/new changes=%t", running, grow), func(t *testing.T) {
					bubble(t, mssqltest.Config{}, func(r *rig) {
						r.cfg.Global, r.cfg.PollInterval = global, 2*time.Second
						r.tables("a", "idle")
						f := r.start()
						r.insert("a", 1, 20, 5)
						r.note("a")
						f.arriveAll("a")
						backup, err := r.ctl.Backup("")
						if err != nil {
							t.Fatal(err)
						}
						r.insert("a", 21, 40, 5)
						r.note("a")
						f.arriveAll("a")
						pass(15 * time.Second)
						if !running {
							f.close()
						}
						if err := r.ctl.Restore("", backup); err != nil {
							t.Fatal(err)
						}
						if !running {
							f = r.start()
						}
						if grow {
							r.insert("a", 100, 200, 5)
						}
						began := time.Now()
						for _, table := range []string{"a", "idle"} {
							err := r.parked(table)
							var (
								fork   *changetable.ForkError
								behind *changetable.BehindError
							)
							if grow && !errors.As(err, &fork) || !grow && !errors.As(err, &behind) {
								t.Errorf("table %s: parked by %v", table, err)
							}
						}
						if took := time.Since(began); took > replicaWait+10*time.Second {
							t.Errorf("that took %s", took)
						}
						// The history grows later: now it is a fork.
						r.insert("a", 1000, 1100, 5)
						r.until(15*time.Minute, "a fork", func() bool {
							_, err := r.seen.is("a")
							var fork *changetable.ForkError
							return errors.As(err, &fork)
						})
						if got := f.of("a"); running && len(got) != len(r.truth["a"]) || !running && len(got) != 0 {
							t.Errorf("%d changes of a came", len(got))
						}
					})
				})
			})
		}
	}
}

// A database is restored to the state that it has, so nothing is lost: reading goes on.
func TestRestoredToTheSameHistory(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		for _, running := range []bool{true, false} {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.cfg.Global = global
				r.tables("a", "idle")
				f := r.start()
				r.insert("a", 1, 20, 5)
				r.note("a")
				f.arriveAll("a")
				pass(15 * time.Second)
				backup, err := r.ctl.Backup("")
				if err != nil {
					t.Fatal(err)
				}
				if !running {
					f.close()
				}
				if err := r.ctl.Restore("", backup); err != nil {
					t.Fatal(err)
				}
				if !running {
					f = r.start()
					r.truth["a"] = nil
				}
				from := len(f.of("a"))
				r.insert("a", 21, 40, 5)
				r.insert("idle", 1, 3, 1)
				if running {
					r.note("a", "idle")
					f.arriveAll("a", "idle")
				} else {
					r.until(time.Minute, "the rest of a", func() bool { return len(f.of("a")) == 20+from && len(f.of("idle")) == 3 })
				}
				if s, err := r.seen.is("a"); s != Streaming {
					t.Errorf("a is %s: %v", s, err)
				}
			})
		}
	})
}
