//go:build unix

package crashtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// crash is a death at a step, or at the last one of several.
type crash struct {
	steps []crashpoint.Point
	skip  int
	stop  bool // it is told to stop, and dies while it does
}

func at(steps ...crashpoint.Point) crash { return crash{steps: steps} }

// crashes are the deaths in one database, by where it keeps its positions. The first processes die before anything is saved.
var crashes = map[string][]crash{
	InFile: {
		at(crashpoint.SnapshotBegun), at(crashpoint.SnapshotBeginGiven), at(crashpoint.SnapshotBeginAcked), at(crashpoint.HandoverKept),
		at(crashpoint.PassRead),
		at(crashpoint.PassResolved), at(crashpoint.ChunkRead), at(crashpoint.Saving), at(crashpoint.FileWritten), at(crashpoint.FileSynced),
		at(crashpoint.FileRenamed), at(crashpoint.Saved, crashpoint.ChunkCut), at(crashpoint.Saved, crashpoint.ChunkGiven),
		at(crashpoint.Saved, crashpoint.ChunkAcked),
		at(crashpoint.SnapshotRead), at(crashpoint.SnapshotEndGiven), at(crashpoint.SnapshotEndAcked),
		at(crashpoint.SnapshotEndAcked, crashpoint.Saving, crashpoint.Saved), // the handover is saved
		{steps: []crashpoint.Point{crashpoint.PageRead}, skip: 3}, {steps: []crashpoint.Point{crashpoint.PageGiven}, skip: 5},
		{steps: []crashpoint.Point{crashpoint.PageAcked}, skip: 2}, at(crashpoint.PageAcked, crashpoint.Saving, crashpoint.Saved),
	},
	InTable: {
		at(crashpoint.LeaseTaken), at(crashpoint.SQLSaving), at(crashpoint.SQLSaved), at(crashpoint.SnapshotEndAcked, crashpoint.SQLSaved),
		at(crashpoint.PageAcked, crashpoint.SQLSaving), at(crashpoint.LeaseKept), {steps: []crashpoint.Point{crashpoint.LeaseFreed}, stop: true},
	},
	InCache: {at(crashpoint.CacheSaved), at(crashpoint.SnapshotEndAcked, crashpoint.CacheSaved), at(crashpoint.PageAcked, crashpoint.CacheSaved)},
}

// Every named step is made by a process that dies there, and nothing is lost.
func TestEveryCrashPoint(t *testing.T) {
	for _, p := range crashpoint.All() {
		hit := slices.ContainsFunc(signalCrashes, func(c crash) bool { return c.steps[len(c.steps)-1] == p })
		for _, all := range crashes {
			hit = hit || slices.ContainsFunc(all, func(c crash) bool { return c.steps[len(c.steps)-1] == p })
		}
		if !hit {
			t.Errorf("no process dies at %q", p)
		}
	}
	for i, store := range []string{InFile, InTable, InCache} {
		t.Run(store, func(t *testing.T) {
			if store == InFile && !fuller() {
				t.Skip("22 processes: set CI=true or MSSQLCDC_LONG=1")
			}
			t.Parallel()
			l := NewLab(t, Odd(500), Options{Seed: uint64(i), Store: store, Fields: "snapshot_max_batch_size: 20\nbatching: {count: 10}\ncheckpoint_limit: 200\nmax_parallel_snapshot_tables: 10"})
			stop := l.Write(50 * time.Millisecond)
			defer stop()
			for _, c := range crashes[store] {
				p := l.Start(c.skip, c.steps...)
				if first := c.steps[0]; first != crashpoint.SnapshotRead && first != crashpoint.SnapshotEndGiven && first != crashpoint.SnapshotEndAcked {
					p.Delay.Store(int64(25 * time.Millisecond))
				}
				if c.stop {
					p.Reach(crashpoint.Saved, bound)
					p.Terminate()
				}
				if end := p.Wait(bound); end != "crashed" {
					last, made := p.Last()
					t.Fatalf("waiting for the step %q: the process has %s; its last step was %q of %v\n%s", c.steps, end, last, made, p.log.String())
				}
			}
			l.Settle(stop)
			tell(t, l)
		})
	}
}

// fuller tells whether the tests that take longer are asked for, and longest whether all are.
func fuller() bool  { return longest() || os.Getenv("CI") == "true" }
func longest() bool { return os.Getenv("MSSQLCDC_LONG") != "" }

// tell verifies, and logs what was hit.
func tell(t *testing.T, l *Lab) {
	t.Helper()
	messages := l.Verify()
	died, made := l.Phases()
	var b strings.Builder
	for _, p := range crashpoint.All() {
		if made[p] > 0 {
			fmt.Fprintf(&b, "\n%6d died after %7d times %s", died[p], made[p], p)
		}
	}
	if n := died[""]; n > 0 {
		fmt.Fprintf(&b, "\n%6d died before any step", n)
	}
	t.Logf("%d processes, %d messages:%s", len(l.processes), messages, b.String())
}
