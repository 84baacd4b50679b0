package capture

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// orderings runs a test under both.
func orderings(t *testing.T, test func(t *testing.T, global bool)) {
	for _, global := range []bool{false, true} {
		t.Run(map[bool]string{false: "table", true: "global"}[global], func(t *testing.T) { test(t, global) })
	}
}

// Connections are spread over a primary and a replica that lags behind: everything arrives once and in order.
func TestTwoListenersOfDifferentLag(t *testing.T) {
	for _, lag := range []time.Duration{0, 700 * time.Millisecond, 20 * time.Second} {
		orderings(t, func(t *testing.T, global bool) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.cfg.Global = global
				r.tables("a", "b", "c")
				r.replica(lag)
				pass(time.Minute)
				f := r.start()
				for i := range 40 {
					r.insert(string("abc"[i%3]), 10*i+1, 10*i+7, 1+i%4)
					if i%5 == 0 {
						pass(time.Second)
						r.ctl.Cut(nil) // the next connections are spread anew
					}
				}
				r.note("a", "b", "c")
				f.arriveAll("a", "b", "c")
			})
		})
	}
}

// A replica that has the whole log becomes the primary while changes stream.
func TestSwitchOfThePrimary(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b", "idle")
			rep := r.replica(2 * time.Second)
			f := r.start()
			for i := range 30 {
				r.insert(string("ab"[i%2]), 10*i+1, 10*i+9, 1+i%5)
				pass(300 * time.Millisecond)
				if i == 15 {
					if err := r.ctl.Promote(rep); err != nil {
						r.t.Fatal(err)
					}
				}
			}
			r.note("a", "b")
			f.arriveAll("a", "b")
			r.insert("idle", 1, 3, 1)
			r.note("idle")
			f.arriveAll("a", "b", "idle")
		})
	})
}

// A switch loses transactions that the tables were read up to. None of them goes on: neither the one that had the lost
// changes, nor the one that was only level with them, whichever way the new history goes.
func TestSwitchWithLoss(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("unreachable until the new history is longer=%t", late), func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) {
					r.cfg.Global = global
					r.tables("a", "level", "quiet")
					rep := r.replica(0)
					f := r.start()
					r.insert("a", 1, 20, 5)
					r.note("a")
					f.arriveAll("a")
					rep.Freeze()
					r.insert("a", 21, 30, 5)
					r.note("a")
					f.arriveAll("a")
					pass(3 * time.Second)
					r.setDown(late)
					if err := r.ctl.Promote(rep); err != nil {
						r.t.Fatal(err)
					}
					if !late {
						r.until(time.Minute, "waiting", func() bool { return r.seen.was("a", Waiting) && r.seen.was("quiet", Waiting) })
					}
					// The same places in the log, other changes. Those of quiet are all below what it was read up to.
					r.insert("quiet", 1, 1, 1)
					for i := range 10 {
						r.insert("level", 10*i+1, 10*i+5, 5)
						r.insert("a", 1000+10*i, 1005+10*i, 5)
					}
					pass(time.Second)
					r.setDown(false)
					for _, table := range []string{"a", "level", "quiet"} {
						var fork *changetable.ForkError
						if err := r.parked(table); !errors.As(err, &fork) {
							r.t.Errorf("table %s: parked by %v", table, err)
						}
					}
					if got := append(f.of("level"), f.of("quiet")...); len(got) != 0 {
						r.t.Errorf("changes of the new history came: %q", got)
					}
					if got := f.of("a"); len(got) != len(r.truth["a"]) {
						r.t.Errorf("changes of the new history came: %q", got[len(r.truth["a"]):])
					}
				})
			})
		}
	})
}

// Transactions are lost that were not read yet. What survives and what follows arrives.
func TestSwitchWithLossOfWhatWasNotRead(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b")
			rep := r.replica(0)
			f := r.start()
			r.insert("a", 1, 20, 5)
			r.note("a")
			f.arriveAll("a")
			pass(2 * time.Second)
			r.setDown(true)
			r.insert("b", 1, 10, 5)
			rep.Freeze()
			r.insert("a", 21, 30, 5) // lost
			if err := r.ctl.Promote(rep); err != nil {
				r.t.Fatal(err)
			}
			r.insert("a", 31, 40, 5)
			r.insert("b", 11, 20, 5)
			r.setDown(false)
			r.note("a", "b")
			f.arriveAll("a", "b")
		})
	})
}

// Only a replica is left, and it is five minutes behind the positions. The tables wait, are parked when it takes too long, and go
// on when the replica has caught up; nothing is empty in the meantime.
func TestReplicaFarBehind(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global, r.cfg.PollInterval = global, time.Second
			r.tables("a", "b")
			rep := r.replica(5 * time.Minute)
			r.addrs = r.addrs[:1]
			pass(10 * time.Minute)
			f := r.start()
			r.insert("a", 1, 20, 5)
			r.note("a")
			f.arriveAll("a")
			pass(time.Second)
			r.mu.Lock()
			r.addrs = []string{rep.Addr()}
			r.mu.Unlock()
			r.ctl.Cut(nil)
			r.insert("a", 21, 40, 5)
			r.insert("b", 1, 10, 5)
			r.note("a", "b")
			var behind *changetable.BehindError
			if err := r.parked("a"); !errors.As(err, &behind) {
				t.Errorf("parked by %v", err)
			}
			f.arriveAll("a", "b")
		})
	})
}
