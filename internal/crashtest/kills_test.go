//go:build unix

package crashtest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRandomKills ends processes at random moments, in random ways, and starts them again: twice, 10 times with CI=true and 200
// times with MSSQLCDC_LONG=1. What it did is printed by
//
//	CI=true go test -count=1 -v -run TestRandomKills ./internal/crashtest
func TestRandomKills(t *testing.T) {
	kills := map[string]int{"odd": 2}
	switch {
	case os.Getenv("MSSQLCDC_LONG") != "":
		kills = map[string]int{"odd": 80, "shop": 60, "chinook": 60}
	case os.Getenv("CI") == "true":
		kills = map[string]int{"odd": 4, "shop": 3, "chinook": 3}
	}
	for i, c := range []struct {
		name     string
		workload func(*testing.T) Workload
		options  Options
	}{
		{"odd", func(*testing.T) Workload { return Odd(300) }, Options{Store: InFile, Fields: "snapshot_max_batch_size: 50\nbatching: {count: 20}"}},
		{"shop", func(*testing.T) Workload { return Shop(200) }, Options{Store: InTable, Fields: "snapshot_max_batch_size: 30\nbatching: {count: 10}\nordering: global"}},
		{"chinook", chinook, Options{Store: InFile, Fields: "snapshot_max_batch_size: 500\nbatching: {count: 100}\nmax_connections: 3"}},
	} {
		for round := 0; round*roundKills < kills[c.name]; round++ {
			t.Run(fmt.Sprintf("%s %d", c.name, round), func(t *testing.T) {
				t.Parallel()
				options := c.options
				options.Seed = uint64(100*i + round)
				if round%2 == 1 && !strings.Contains(options.Fields, "ordering") {
					options.Fields += "\nordering: global"
				}
				l := NewLab(t, c.workload(t), options)
				stop := l.Write(20 * time.Millisecond)
				defer stop()
				rng := rand.New(rand.NewPCG(options.Seed, 7))
				ways := map[string]int{}
				for n := round * roundKills; n < min((round+1)*roundKills, kills[c.name]); n++ {
					ways[end(t, l, rng, n)]++
				}
				l.Settle(stop)
				t.Logf("ends: %v", ways)
				tell(t, l)
			})
		}
	}
}

// roundKills is how many ends one database sees: most of them while its snapshots are taken.
const roundKills = 5

// end runs a process and ends it, perhaps after a fault. It tells how.
func end(t *testing.T, l *Lab, rng *rand.Rand, n int) string {
	t.Helper()
	p := l.Start(0)
	p.Delay.Store(int64(rng.IntN(4)) * int64(5*time.Millisecond))
	wait := func(d time.Duration) {
		select {
		case <-time.NewTimer(d).C:
		case <-p.ended:
			t.Errorf("a process has ended by itself: %s\n%s", p.Wait(time.Second), p.log.String())
		}
	}
	moment := func() time.Duration { return time.Duration(rng.IntN(900)) * time.Millisecond }
	if rng.IntN(10) > 0 || n%3 == 1 { // before it has begun, it cannot end in order
		p.Reach("", bound)
	}
	wait(moment())
	fault := []string{"nothing", "network cut", "server gone", "disk full"}[n%4]
	switch fault {
	case "network cut":
		l.Cut()
		wait(moment())
		l.Cut()
	case "server gone":
		l.Gone(true)
		wait(moment())
		if rng.IntN(2) == 0 && n%3 != 1 { // an orderly end has to save
			defer l.Gone(false) // it dies meanwhile
		} else {
			l.Gone(false)
		}
	case "disk full":
		p.FillDisk(true)
		wait(time.Second + moment())
		if rng.IntN(2) == 0 || n%3 == 1 { // an orderly end has to save
			p.FillDisk(false)
		}
	}
	wait(moment())
	how := "killed"
	if n%3 == 1 {
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

// chinook reads Chinook from where it lies beside a checkout.
func chinook(t *testing.T) Workload {
	t.Helper()
	text, err := os.ReadFile("../../../shared/data/chinook.sql")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("chinook.sql is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "USE [Chinook]") {
		t.Fatal("chinook.sql has no USE [Chinook]")
	}
	return Chinook(string(text))
}
