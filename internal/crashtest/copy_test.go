//go:build unix

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// copies are the ways from table to table.
var copies = []struct {
	name string
	opts CopyOptions
}{
	{"shop json", CopyOptions{Format: "json"}},
	{"chinook json", CopyOptions{Format: "json", Global: true}},
	{"shop arrow", CopyOptions{Format: "arrow"}},
	{"shop json, 4 lanes", CopyOptions{Format: "json", Lanes: 4}},
	{"chinook arrow", CopyOptions{Format: "arrow", Global: true}},
}

// copyLab makes a source and its copy. Rows that do not fit are written in JSON alone: an Arrow message is refused as a whole, with the
// rows beside them.
func copyLab(t *testing.T, o CopyOptions, seed uint64) (*Lab, *Copy) {
	t.Helper()
	var bad atomic.Bool
	var w Workload
	if o.Global {
		w = chinook(t)
	} else {
		w = Shop(60)
		w.Tables = slices.DeleteFunc(w.Tables, func(n Name) bool { return n.Table == "visits" }) // it has no key
	}
	w = WithPicky(w, func() bool { return bad.Load() })
	l := NewLab(t, w, Options{Seed: seed, Store: InFile})
	c := l.CopyTo(o)
	c.Bad = &bad
	return l, c
}

// allowBad has a process bring the first rows, and then rows written that do not fit: those of a snapshot are no changes.
func (c *Copy) allowBad(t *testing.T) {
	t.Helper()
	p := c.lab.Start(0)
	if err := c.AwaitSnapshot(); err != nil {
		t.Fatalf("%v\n%s", err, p.log.String())
	}
	c.Bad.Store(c.opts.Format == "json")
	p.Kill()
	if end := p.Wait(bound); end != "killed" {
		t.Errorf("a process has %s\n%s", end, p.log.String())
	}
}

var copyPoints = []crashpoint.Point{
	crashpoint.BulkStaged, crashpoint.BulkMoved, crashpoint.BulkCommitting, crashpoint.BulkCommitted, crashpoint.PageGiven, crashpoint.PageAcked, crashpoint.Saved, crashpoint.BulkBegun,
}

// A table follows another while its process dies after each step of the output, and some of the input: at the end both are equal, no
// event was applied twice, and the rows that do not fit are in the table of refused rows. One way by default, all with CI=true.
func TestCopyAtEveryCrashPoint(t *testing.T) {
	for i, way := range copies {
		t.Run(way.name, func(t *testing.T) {
			if i > 0 && !fuller() {
				t.Skip("set CI=true or MSSQLCDC_LONG=1")
			}
			t.Parallel()
			l, c := copyLab(t, way.opts, uint64(i))
			stop := l.Write(20 * time.Millisecond)
			defer stop()
			points := copyPoints
			if !fuller() {
				points = []crashpoint.Point{crashpoint.BulkStaged, crashpoint.BulkCommitting, crashpoint.BulkCommitted}
			}
			for n, point := range points {
				if n == 1 { // one has died in the snapshot
					c.allowBad(t)
				}
				p := l.Start(n, point)
				end := p.Wait(bound)
				if end != "crashed" {
					last, made := p.Last()
					t.Fatalf("waiting for the step %q: the process has %s; its last step was %q of %v\n%s", point, end, last, made, p.log.String())
				}
			}
			c.Settle(stop)
			applied, refused := c.Verify()
			t.Logf("%d processes, %d changes applied, %d refused", len(l.processes), applied, refused)
		})
	}
}

// TestRandomKillsOfCopies ends processes at random moments, in random ways, after faults of the network and of both servers: 2 for one way
// by default, 10 in all with CI=true, and 200 with MSSQLCDC_LONG=1.
func TestRandomKillsOfCopies(t *testing.T) {
	rounds, kills := 1, 2
	if longest() {
		rounds, kills = 10, 4
	}
	for i, way := range copies {
		for round := range rounds {
			t.Run(fmt.Sprintf("%s %d", way.name, round), func(t *testing.T) {
				if i > 0 && !fuller() {
					t.Skip("set CI=true or MSSQLCDC_LONG=1")
				}
				t.Parallel()
				seed := uint64(100*i + round)
				l, c := copyLab(t, way.opts, seed)
				stop := l.Write(20 * time.Millisecond)
				defer stop()
				rng := rand.New(rand.NewPCG(seed, 17))
				ends := map[string]int{}
				for n := range kills {
					if n == 1 {
						c.allowBad(t)
					}
					ends[endCopy(t, l, &c.Target, rng, i+round*kills+n)]++
				}
				c.Settle(stop)
				applied, refused := c.Verify()
				t.Logf("ends: %v; %d changes applied, %d refused", ends, applied, refused)
			})
		}
	}
}

// TestHistoryIsExactlyOnce has each change of several tables in one heap, exactly once, whatever happens to the process and the servers:
// 3 ends by default, 10 with CI=true, 200 with MSSQLCDC_LONG=1.
func TestHistoryIsExactlyOnce(t *testing.T) {
	rounds, kills := 1, 3
	switch {
	case longest():
		rounds, kills = 10, 20
	case fuller():
		kills = 10
	}
	for round := range rounds {
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) {
			t.Parallel()
			seed := uint64(7 + round)
			l := NewLab(t, Shop(50), Options{Seed: seed, Store: InFile})
			h := l.HistoryTo()
			stop := l.Write(20 * time.Millisecond)
			defer stop()
			for n, point := range []crashpoint.Point{crashpoint.BulkCommitting, crashpoint.BulkCommitted, crashpoint.BulkMoved, crashpoint.BulkStaged, crashpoint.PageAcked} {
				p := l.Start(n, point)
				if end := p.Wait(bound); end != "crashed" {
					t.Fatalf("no process has died at %q but one is %s\n%s", point, end, p.log.String())
				}
			}
			rng := rand.New(rand.NewPCG(seed, 19))
			for n := range kills {
				endCopy(t, l, &h.Target, rng, n)
			}
			h.Settle(stop)
			t.Logf("%d processes, %d changes, each once", len(l.processes), h.Verify())
		})
	}
}

// endCopy runs a process and ends it, perhaps after a fault. It tells how.
func endCopy(t *testing.T, l *Lab, target *Target, rng *rand.Rand, n int) string {
	t.Helper()
	p := l.Start(0)
	wait := func(d time.Duration) {
		select {
		case <-time.NewTimer(d).C:
		case <-p.ended:
			t.Errorf("a process has ended by itself: %s\n%s", p.Wait(time.Second), p.log.String())
		}
	}
	moment := func() time.Duration { return time.Duration(rng.IntN(600)) * time.Millisecond }
	p.Reach(crashpoint.BulkBegun, bound)
	wait(moment())
	fault := []string{"nothing", "the target was cut", "the target was gone", "the source was gone", "everything was cut"}[n%5]
	switch n % 5 {
	case 1:
		for range 1 + rng.IntN(4) {
			target.Cut()
			wait(moment() / 4)
		}
	case 2:
		target.Gone(true)
		wait(moment())
		target.Gone(false)
	case 3:
		l.Gone(true)
		wait(moment())
		l.Gone(false)
	case 4:
		l.Cut()
		target.Cut()
	}
	wait(moment())
	how := "killed"
	if n%4 == 3 {
		how = "stopped"
		p.Terminate()
	} else {
		p.Kill()
	}
	if got := p.Wait(30 * time.Second); got != how {
		t.Errorf("process %d, after %s, is %s and should be %s\n%s", p.Run, fault, got, how, p.log.String())
	}
	return fmt.Sprintf("%s after %s", how, fault)
}

// What was applied twice, left out, or refused without need is seen.
func TestCopiesAreLookedThrough(t *testing.T) {
	l := NewLab(t, Shop(3), Options{Seed: 1, Store: InFile})
	h := l.HistoryTo()
	l.exec(l.workload.Last)
	if err := l.srv.Control().CaptureScan(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, n := range l.workload.Tables {
		for _, e := range h.events(i) {
			all = append(all, fmt.Sprintf("(N'%s', '%s', 'insert')", n, e))
		}
	}
	write := func(rows ...string) {
		if err := h.srv.Exec("DELETE dbo.history; DELETE dbo.audit;"); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := h.srv.Exec("INSERT dbo.history (source, event, operation) VALUES " + r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		rows   []string
		errors int
	}{{"all", all, 0}, {"one is left out", all[1:], 1}, {"one is there twice", append([]string{all[0]}, all...), 1}, {"one is another", append([]string{"(N'dbo.orders', 'x', 'insert')"}, all...), 1}} {
		write(tt.rows...)
		n := &noted{TB: t}
		l.t = n
		h.Verify()
		l.t = t
		if len(n.errors) != tt.errors {
			t.Errorf("%s: %q", tt.name, n.errors)
		}
	}
}
