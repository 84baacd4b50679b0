//go:build unix

package crashtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// ways are the ways of rows into the target: past the driver or through it, by a temporary table or straight into the table.
var ways = []struct {
	name, fields string
	points       []crashpoint.Point
}{
	{"raw staged", "raw_tds: require", []crashpoint.Point{crashpoint.BulkStaged, crashpoint.BulkBegun, crashpoint.BulkMoved, crashpoint.BulkCommitting, crashpoint.BulkCommitted}},
	{"driver direct", "raw_tds: off\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]", []crashpoint.Point{crashpoint.BulkBegun, crashpoint.BulkSent, crashpoint.BulkCommitting, crashpoint.BulkCommitted}},
	{"raw direct", "raw_tds: require\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]", []crashpoint.Point{crashpoint.BulkSent, crashpoint.BulkCommitting, crashpoint.BulkCommitted}},
	{"driver staged", "raw_tds: off", []crashpoint.Point{crashpoint.BulkStaged, crashpoint.BulkMoved, crashpoint.BulkCommitting, crashpoint.BulkCommitted}},
}

const outputFields = "snapshot_max_batch_size: 50\nbatching: {count: 20}"

// A process dies after each step of the output: no batch is in the target in part, none is there twice but for one whose commit nobody
// heard of, and nothing is lost. One way by default, all with CI=true.
func TestEveryCrashPointOfTheOutput(t *testing.T) {
	for _, p := range crashpoint.Output() {
		if !slices.Contains(slices.Concat(ways[0].points, ways[1].points), p) {
			t.Errorf("no process dies at %q", p)
		}
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			if i > 0 && os.Getenv("CI") != "true" && os.Getenv("MSSQLCDC_LONG") == "" {
				t.Skip("set CI=true or MSSQLCDC_LONG=1")
			}
			t.Parallel()
			l := NewLab(t, Shop(50), Options{Seed: uint64(i), Store: InFile, Fields: outputFields})
			target := l.WriteTo(way.fields)
			stop := l.Write(20 * time.Millisecond)
			defer stop()
			for n, point := range way.points {
				p := l.Start(3*n, point)
				if end := p.Wait(bound); end != "crashed" {
					last, made := p.Last()
					t.Fatalf("waiting for the step %q: the process has %s; its last step was %q of %v\n%s", point, end, last, made, p.log.String())
				}
				target.gather()
			}
			target.Settle(stop)
			messages, twice := target.Verify(0)
			tellPoints(t, l, messages, twice, crashpoint.Output())
		})
	}
}

// TestRandomKillsOfTheOutput ends readers that write into a target at random moments, in random ways, after faults of the network and
// of both servers: twice, 16 times with CI=true and 200 times with MSSQLCDC_LONG=1. What it did is printed by
//
//	CI=true go test -count=1 -v -run TestRandomKillsOfTheOutput ./internal/crashtest
func TestRandomKillsOfTheOutput(t *testing.T) {
	kills := []int{2}
	switch {
	case os.Getenv("MSSQLCDC_LONG") != "":
		kills = []int{50, 50, 50, 50}
	case os.Getenv("CI") == "true":
		kills = []int{4, 4, 4, 4}
	}
	for i, all := range kills {
		for round := 0; round*roundKills < all; round++ {
			t.Run(fmt.Sprintf("%s %d", ways[i].name, round), func(t *testing.T) {
				t.Parallel()
				seed := uint64(1000*i + round)
				workload := Shop(100)
				if round%2 == 1 {
					workload = Odd(150)
				}
				l := NewLab(t, workload, Options{Seed: seed, Store: InFile, Fields: outputFields})
				target := l.WriteTo(ways[i].fields)
				stop := l.Write(20 * time.Millisecond)
				defer stop()
				rng := rand.New(rand.NewPCG(seed, 11))
				ends, lost := map[string]int{}, 0
				for n := round * roundKills; n < min((round+1)*roundKills, all); n++ {
					how, cuts := endOutput(t, l, rng, n)
					ends[how]++
					lost += cuts
					target.gather()
				}
				target.Settle(stop)
				t.Logf("ends: %v", ends)
				messages, twice := target.Verify(lost)
				tellPoints(t, l, messages, twice, crashpoint.Output())
			})
		}
	}
}

// A part of a batch, and one that is there twice without a reason, are seen.
func TestTargetSeesHalfBatches(t *testing.T) {
	for _, tt := range []struct {
		rows, lost int
		want       string
	}{
		{10, 0, ""}, {9, 0, "has 10 rows, and the target 9"}, {11, 5, "has 10 rows, and the target 11"}, {20, 0, "there twice"}, {20, 1, ""}, {30, 1, "there twice"},
	} {
		n := &noted{TB: t}
		target := &Target{lab: &Lab{t: n}, rows: map[batchID]*written{{1, 1}: {10, 10}, {1, 2}: {10, tt.rows}}}
		target.whole(tt.lost)
		if got := strings.Join(n.errors, "\n"); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%d rows of 10, %d answers lost: %q, want %q", tt.rows, tt.lost, got, tt.want)
		}
	}
}

// endOutput runs a process that writes into the target and ends it, perhaps after a fault. It tells how, and how many connections to the
// target were broken under it.
func endOutput(t *testing.T, l *Lab, rng *rand.Rand, n int) (how string, cuts int) {
	t.Helper()
	p := l.Start(0)
	wait := func(d time.Duration) {
		select {
		case <-time.NewTimer(d).C:
		case <-p.ended:
			t.Errorf("a process has ended by itself: %s\n%s", p.Wait(time.Second), p.log.String())
		}
	}
	moment := func() time.Duration { return time.Duration(rng.IntN(700)) * time.Millisecond }
	if rng.IntN(10) > 0 || n%4 == 1 { // before it has begun, it cannot end in order
		p.Reach(crashpoint.BulkBegun, bound)
	}
	wait(moment())
	fault := []string{"nothing", "the network to the target was cut", "the target was gone", "the source was gone", "everything was cut"}[n%5]
	switch n % 5 {
	case 1:
		for range 1 + rng.IntN(4) {
			l.target.Cut()
			cuts++
			wait(moment() / 4)
		}
	case 2:
		l.target.Gone(true)
		cuts++
		wait(moment())
		if rng.IntN(2) == 0 && n%4 != 1 { // an orderly end has to write
			defer l.target.Gone(false) // it dies meanwhile
		} else {
			l.target.Gone(false)
		}
	case 3:
		l.Gone(true)
		wait(moment())
		l.Gone(false)
	case 4:
		l.Cut()
		l.target.Cut()
		cuts++
		wait(moment())
	}
	wait(moment())
	how = "killed"
	if n%4 == 1 {
		how = "stopped"
		p.Terminate()
	} else {
		p.Kill()
	}
	if got := p.Wait(30 * time.Second); got != how {
		t.Errorf("process %d, after %s, is %s and should be %s\n%s", p.Run, fault, got, how, p.log.String())
	}
	return how + " after " + fault, cuts
}

// tellPoints logs what was hit.
func tellPoints(t *testing.T, l *Lab, messages, twice int, points []crashpoint.Point) {
	t.Helper()
	died, made := l.Phases()
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "\n%6d died after %7d times %s", died[p], made[p], p)
	}
	others := 0
	for p, n := range died {
		if !slices.Contains(points, p) {
			others += n
		}
	}
	fmt.Fprintf(&b, "\n%6d died before any step of the output", others)
	t.Logf("%d processes, %d messages, %d batches written twice because the answer to their commit was lost:%s", len(l.processes), messages, twice, b.String())
}
