package capture

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// The output stands still for a minute. Meanwhile the server has no request of ours open, no lock and no transaction; writers
// and CDC's own procedures do not notice. Afterwards everything arrives.
func TestBlockedOutput(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		for _, iso := range isolations {
			if global && iso.set != "" {
				continue
			}
			t.Run(iso.name, func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) {
					r.cfg.Global = global
					r.cfg.Limit = 50
					r.tables("a", "b", "other")
					if iso.set != "" {
						r.exec("%s", iso.set)
					}
					r.insert("a", 1, 300, 60)
					r.insert("b", 1, 300, 60)
					r.note("a", "b")
					f := r.start()
					release := f.block()
					defer release()
					pass(time.Second)
					open := 0
					for second := range 60 {
						began := time.Now()
						r.insert("a", 1000+10*second, 1002+10*second, 3)
						r.exec("UPDATE dbo.b SET v = v + 1 WHERE id <= 3")
						switch second {
						case 20:
							r.disable("other", "dbo_other")
						case 30:
							r.exec("ALTER TABLE dbo.a ADD more int NULL")
						case 40:
							r.exec("DROP TABLE dbo.other")
						}
						if took := time.Since(began); took > 100*time.Millisecond {
							t.Errorf("in second %d writers took %s", second, took)
						}
						for range 20 {
							synctest.Wait()
							if n := r.ctl.OpenTransactions(); n != 0 {
								t.Fatalf("in second %d there are %d open transactions", second, n)
							}
							if locks := r.ctl.Locks(); len(locks) != 0 {
								t.Fatalf("in second %d there are locks: %q", second, locks)
							}
							open += r.ctl.OpenRequests()
							pass(47 * time.Millisecond)
						}
					}
					if open != 0 {
						t.Errorf("%d times there was an open request", open)
					}
					f.mu.Lock()
					taken := len(f.got)
					f.mu.Unlock()
					if taken != 0 {
						t.Fatalf("%d changes were taken by a blocked consumer", taken)
					}
					release()
					r.note("a", "b")
					f.arriveAll("a", "b")
				})
			})
		}
	})
}

// A flow is closed while its consumer stands still: at once, and what was not acknowledged comes again.
func TestCloseWhileBlocked(t *testing.T) {
	for _, limit := range []int{10, 1000} {
		orderings(t, func(t *testing.T, global bool) {
			t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
				bubble(t, mssqltest.Config{}, func(r *rig) {
					r.cfg.Global, r.cfg.Limit = global, limit
					r.tables("a", "b")
					r.insert("a", 1, 100, 20)
					r.insert("b", 1, 100, 20)
					r.note("a", "b")
					f := r.start()
					release := f.block()
					pass(10 * time.Second)
					began := time.Now()
					time.AfterFunc(2*time.Second, release)
					if err := f.flow.Close(r.t.Context()); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); took > time.Second {
						t.Errorf("closing took %s", took)
					}
					pass(3 * time.Second)
					<-f.done
					r.start().arriveAll("a", "b")
				})
			})
		})
	}
}

// Closing does not wait for a server that does not answer.
func TestCloseWhileTheServerIsSilent(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "b")
		f := r.start()
		pass(time.Second)
		r.insert("a", 1, 10, 5)
		r.ctl.Add(mssqltest.Rule{Drop: true})
		pass(5 * time.Second)
		began := time.Now()
		f.close()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("closing took %s", took)
		}
	})
}
