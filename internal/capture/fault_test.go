package capture

import (
	"fmt"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// Errors that pass, at any page, lose nothing and change no order; nothing comes twice.
func TestTransientErrorsOfAnyPage(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		for _, number := range []int32{1205, 601, 1222, 3960} {
			for _, skip := range []int{0, 1, 5} {
				for _, times := range []int{1, 6} {
					if number == 3960 && times > 1 || number == 1222 && skip > 1 {
						continue
					}
					t.Run(fmt.Sprintf("error %d %d times after %d pages", number, times, skip), func(t *testing.T) {
						bubble(t, mssqltest.Config{}, func(r *rig) {
							r.cfg.Global = global
							r.tables("a", "b")
							r.insert("a", 1, 60, 12)
							r.insert("b", 1, 60, 7)
							r.note("a", "b")
							r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "FROM [cdc].[dbo_a_CT] AS t", Skip: skip, Times: times, Error: number})
							r.start().arriveAll("a", "b")
						})
					})
				}
			}
		}
	})
}

// The connection is cut at every message of a start, a poll and a page, before the message is handled or in the middle of its
// answer.
func TestCutAtEveryMessage(t *testing.T) {
	for _, after := range []int64{0, 30, 1500} {
		t.Run(fmt.Sprintf("after %d bytes", after), func(t *testing.T) {
			for _, table := range []string{"metadata", "reader"} {
				for message := 2; message <= 8; message++ {
					cutCase(t, table, message, after)
				}
			}
		})
	}
}

// cutCase cuts the n-th message of the connection that watches the database, or of the first one that reads a table.
func cutCase(t *testing.T, who string, message int, after int64) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.Global = message%2 == 0
		r.tables("a", "b")
		r.insert("a", 1, 30, 6)
		r.insert("b", 1, 10, 5)
		r.note("a", "b")
		f := r.start()
		conn := 1
		if who == "reader" {
			conn = 2
		}
		cut := 0
		rule := mssqltest.Rule{
			Match: func(e mssqltest.Event) bool { return e.Conn == conn && e.Message >= message }, Times: 1, Cut: true, CutAfter: after,
			Before: func(mssqltest.Event) { cut++ },
		}
		r.ctl.Add(rule)
		for i := range 6 {
			r.insert("a", 100+10*i, 104+10*i, 3)
			r.insert("b", 100+10*i, 104+10*i, 5)
			pass(time.Second)
		}
		r.note("a", "b")
		f.arriveAll("a", "b")
		if cut == 0 {
			t.Errorf("message %d of the %s connection was never sent", message, who)
		}
	})
}

// The server goes away in the middle, for a while, again and again.
func TestServerGoneAndBack(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b", "idle")
			f := r.start()
			for i := range 12 {
				r.insert("a", 100*i, 100*i+30, 10)
				r.setDown(true)
				r.insert("b", 100*i, 100*i+9, 2)
				pass(time.Duration(i) * 7 * time.Second)
				r.setDown(false)
				pass(time.Duration(i*130) * time.Millisecond)
			}
			r.note("a", "b", "idle")
			f.arriveAll("a", "b", "idle")
		})
	})
}

// The password is changed while the flow runs. Tables that need a new connection are parked, and go on when it is changed back.
func TestLoginRefusedLater(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a", "b")
		r.insert("a", 1, 20, 5)
		r.note("a")
		f := r.start()
		f.arrive("a")
		r.exec("ALTER LOGIN sa WITH PASSWORD = N'other-Passw0rd!'")
		r.ctl.Cut(nil)
		r.insert("a", 21, 40, 5)
		r.insert("b", 1, 40, 5)
		pass(20 * time.Second)
		if !r.seen.noted("watching the database does not work") {
			t.Fatalf("nothing is said of the login:\n%s", r.seen)
		}
		r.exec("ALTER LOGIN sa WITH PASSWORD = N'Passw0rd!'")
		r.note("a", "b")
		f.arrive("a", "b")
	})
}

// Only the connections that read tables are refused.
func TestLoginOfReadersRefused(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.tables("a")
		f := r.start()
		pass(5 * time.Second)
		remove := r.ctl.Add(mssqltest.Rule{Kind: "login", Error: 18456, Class: 14})
		r.ctl.Cut(func(e mssqltest.Event) bool { return e.Conn > 1 })
		r.insert("a", 1, 40, 5)
		r.parked("a")
		remove()
		r.note("a")
		f.arrive("a")
		if s, _ := r.seen.is("a"); s != Streaming {
			t.Errorf("the table is %s", s)
		}
	})
}

// A login may not read the history of DDL and the capture job's errors. That is told at the start, and nothing else comes of it.
func TestRightsThatOnlyHelp(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.tables("a", "b")
			r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "cdc.ddl_history", Error: 229, Class: 14})
			r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "sys.dm_cdc_errors", Error: 300, Class: 14})
			f := r.start()
			for i := range 30 {
				r.insert(string("ab"[i%2]), 10*i, 10*i+5, 3)
				pass(5 * time.Second)
			}
			r.note("a", "b")
			f.arriveAll("a", "b")
			if opened := f.flow.meta.opened; opened != 1 {
				t.Errorf("%d connections to look at the database", opened)
			}
		})
	})
}
