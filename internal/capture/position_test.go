package capture

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
)

// Positions are saved at most once a second, those of changed tables alone; a table without changes is saved at the heartbeat.
func TestSavesAreRare(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("busy", "idle")
		f := r.start()
		pass(3 * time.Second)
		began := time.Now()
		for i := range 200 {
			r.insert("busy", 10*i, 10*i+3, 2)
			pass(100 * time.Millisecond)
		}
		r.note("busy")
		f.arrive("busy")
		pass(2 * time.Second)
		var last time.Time
		idle := 0
		for _, s := range r.store.all() {
			if s.at.Before(began) {
				continue
			}
			if d := s.at.Sub(last); d < time.Second {
				t.Errorf("two saves within %s", d)
			}
			last = s.at
			if _, ok := s.changed["dbo.idle"]; ok {
				idle++
			}
		}
		if took := time.Since(began); idle < int(took/r.cfg.Heartbeat)-1 || idle > int(took/r.cfg.Heartbeat)+1 {
			t.Errorf("the idle table was saved %d times in %s", idle, took)
		}
		high := r.query("SELECT CONVERT(varchar(30), MAX(start_lsn), 1) FROM cdc.lsn_time_mapping")[0][0]
		pass(r.cfg.Heartbeat + 2*time.Second)
		idlePos, err := checkpoint.ParseLSN(high)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.position("idle"); got.LSN != idlePos || !got.Done || got.Proof.IsZero() {
			t.Errorf("the idle table stands at %s, the watermark is %s", got, high)
		}
		n := len(r.store.all())
		pass(time.Minute)
		if more := len(r.store.all()) - n; more != 0 {
			t.Errorf("nothing happened, and it was saved %d times", more)
		}
	})
}

// Processes that die at any moment, with batches refused and acknowledged in any order: every change is acknowledged by one of
// them, a position is never beyond what is, and what comes again begins where nothing was unacknowledged.
func TestCrashes(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		for seed := range uint64(3) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.cfg.Global = global
				rng := rand.New(rand.NewPCG(seed, 7))
				r.tables("a", "b")
				refusals := rand.New(rand.NewPCG(seed, 8))
				acked := map[string]map[string]bool{"a": {}, "b": {}}
				for life := range 6 {
					f := r.start()
					f.set(func() {
						f.decide = func(b *Batch) error {
							if refusals.IntN(5) == 0 {
								pass(time.Duration(refusals.IntN(400)) * time.Millisecond)
								return errors.New("refused")
							}
							for _, run := range b.Runs {
								for row := run.From; row < run.To; row++ {
									acked[run.Table.Name.Object][rowText(run, row)] = true
								}
							}
							return nil
						}
					})
					for i := range 4 {
						from := 1000*life + 100*i
						r.insert("a", from, from+20, 1+rng.IntN(25))
						r.insert("b", from, from+7, 1+rng.IntN(5))
						pass(time.Duration(rng.IntN(900)) * time.Millisecond)
					}
					if life%2 == 0 {
						f.crash()
					} else {
						f.close()
					}
					r.note("a", "b")
					for _, table := range []string{"a", "b"} {
						p := r.position(table)
						for _, c := range r.truth[table] {
							if !acked[table][c] && "0x"+c[:20] < p.LSN.String() {
								t.Fatalf("seed %d, life %d: position %s is saved, %q was not acknowledged", seed, life, p, c)
							}
						}
					}
				}
				f := r.start()
				r.until(time.Minute, "the end", func() bool {
					for _, table := range []string{"a", "b"} {
						got, want := f.of(table), r.truth[table]
						if p := r.position(table); len(got) == 0 && p.LSN.String() < "0x"+want[len(want)-1][:20] || len(got) > 0 && got[len(got)-1] != want[len(want)-1] {
							return false
						}
					}
					return true
				})
				for _, table := range []string{"a", "b"} {
					got, want := f.of(table), r.truth[table]
					rest := want[len(want)-len(got):]
					if !slices.Equal(got, rest) {
						t.Fatalf("seed %d: table %s: %s", seed, table, difference(got, rest))
					}
					for _, c := range want[:len(want)-len(got)] {
						if !acked[table][c] {
							t.Fatalf("seed %d: %q of %s was never acknowledged", seed, c, table)
						}
					}
				}
			})
		}
	})
}

// A position file carries over restarts and kills; its lock keeps a second flow out.
func TestPositionFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "positions.json")
	bubble(t, mssqltest.Config{}, func(r *rig) {
		open := func() {
			t.Helper()
			s, err := checkpoint.NewFileStore(path, "k")
			if err != nil {
				t.Fatal(err)
			}
			r.cfg.Store = s
		}
		r.tables("a")
		open()
		f := r.start()
		r.insert("a", 1, 20, 5)
		r.note("a")
		f.arrive("a")
		pass(2 * time.Second)
		open()
		if _, err := r.tryStart(context.Background()); !errors.Is(err, checkpoint.ErrFileInUse) {
			t.Errorf("a second flow with the same file: %v", err)
		}
		release := f.block()
		defer release()
		r.insert("a", 21, 30, 5)
		pass(5 * time.Second)
		release()
		f.crash() // the file has the first twenty; the operating system frees the lock
		r.note("a")
		open()
		g := r.start()
		rest := r.truth["a"][20:]
		r.until(time.Minute, "the rest", func() bool { return len(g.of("a")) >= len(rest) })
		pass(time.Second)
		if d := difference(g.of("a"), rest); d != "" && len(f.of("a")) == 20 {
			t.Error(d)
		}
		g.close()
		open()
		h := r.start()
		pass(5 * time.Second)
		if got := h.of("a"); len(got) != 0 {
			t.Errorf("after an orderly stop %d changes came again", len(got))
		}
	})
}
