package compat

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// everyTime runs a fault at the k-th statement (or message) of the input, for every fifth k of a whole run, and with MSSQLCDC_LONG=1
// for every one: start, reading a backlog that
// is several batches and two tables, a transaction larger than a batch, and saving positions.
type everyTime struct {
	config string
	kind   string // of the events that are counted
	rule   func(r *rig, at *atomic.Bool) mssqltest.Rule
	crash  bool // the fault kills the process, and another one goes on
}

const faultRows = 9 // of each table

func (f everyTime) run(t *testing.T) {
	if os.Getenv(dsnVariable) != "" {
		t.Skip("only on the stand-in: it injects faults")
	}
	hits, stride := 0, 5
	if os.Getenv("MSSQLCDC_LONG") == "1" {
		stride = 1
	}
	for k := 0; ; k += stride {
		hit := false
		t.Run(fmt.Sprintf("%s %d", f.kind, k), func(t *testing.T) {
			onStandIn(t, databaseOptions{}, func(r *rig) { hit = f.one(t, r, k) })
		})
		if hit {
			hits++
		}
		if !hit || t.Failed() {
			break
		}
	}
	if hits < 4 && !t.Failed() {
		t.Errorf("only %d faults were met", hits)
	}
}

// one runs the fault at event k and tells whether there was one.
func (f everyTime) one(t *testing.T, r *rig, k int) bool {
	r.sql("CREATE TABLE dbo.a (id int PRIMARY KEY)\nCREATE TABLE dbo.b (id int PRIMARY KEY)")
	r.enable("a")
	r.enable("b")
	r.sql("INSERT dbo.a VALUES (0), (1), (2), (3), (4)\nINSERT dbo.b VALUES (0)\nINSERT dbo.b VALUES (1)\nINSERT dbo.b VALUES (2)\nINSERT dbo.b VALUES (3)\nINSERT dbo.b VALUES (4)")
	r.scan()
	var at atomic.Bool
	rule := f.rule(r, &at)
	rule.Kind, rule.Skip, rule.Times = f.kind, k, 1
	if rule.Match == nil {
		rule.Match = func(e mssqltest.Event) bool { return strings.HasPrefix(e.App, "mssqlcdc") }
	}
	r.control().Add(rule)
	r.start(f.config + "poll_interval: 1s\n")
	r.pass(quiet)
	r.sql("INSERT dbo.a VALUES (5), (6), (7), (8)\nINSERT dbo.b VALUES (5), (6), (7), (8)")
	r.scan()
	r.pass(saveTime)
	var all []*received
	if f.crash && at.Load() {
		all = append(all, r.takeAll()...)
		r.crash()
		r.restart()
	}
	r.pass(2 * quiet)
	all = append(all, r.takeAll()...)
	checkComplete(t, r, all, f.crash)
	if n := r.p.log.count("parked"); n > 0 {
		t.Errorf("a table was parked:\n%s", r.p.log)
	}
	return at.Load()
}

// takeAll takes what is there.
func (r *rig) takeAll() []*received {
	all := r.pending(r.p)
	for _, m := range all {
		r.taken[m] = true
	}
	return all
}

// checkComplete checks that each table gave every row in order. With repeats it may go back once, and goes on in order from there.
func checkComplete(t *testing.T, r *rig, all []*received, repeats bool) {
	t.Helper()
	next := map[string]int{}
	back := map[string]int{}
	for _, m := range all {
		var id int
		if _, err := fmt.Sscanf(string(m.body), `{"id":%d}`, &id); err != nil {
			r.t.Fatal(err)
		}
		if id < next[m.table] && repeats && back[m.table] == 0 {
			back[m.table]++
			next[m.table] = id
		}
		if id != next[m.table] {
			r.t.Fatalf("%s gave %d, want %d\n%s\nlog:\n%s", m.table, id, next[m.table], list(all), r.p.log)
		}
		next[m.table]++
	}
	for _, table := range []string{"dbo.a", "dbo.b"} {
		if next[table] != faultRows {
			t.Errorf("%s gave %d rows, want %d\nlog:\n%s", table, next[table], faultRows, r.p.log)
		}
	}
}

// ingestr, redpanda-data/connect (an error in the middle of a result was swallowed): whichever statement is a deadlock victim, nothing
// is skipped, nothing comes twice, and the order stays.
func TestADeadlockAtEveryStatement(t *testing.T) {
	everyTime{config: "batching: { count: 2 }\n", kind: "statement", rule: func(_ *rig, at *atomic.Bool) mssqltest.Rule {
		return mssqltest.Rule{Error: 1205, Before: func(mssqltest.Event) { at.Store(true) }}
	}}.run(t)
}

// dbz#1877: the same for connections, cut before the answer and in the middle of it.
func TestAConnectionCutAtEveryMessage(t *testing.T) {
	for _, bytes := range []int64{0, 100, 700} {
		t.Run(fmt.Sprintf("after %d bytes", bytes), func(t *testing.T) {
			everyTime{config: "batching: { count: 2 }\n", kind: "rpc", rule: func(_ *rig, at *atomic.Bool) mssqltest.Rule {
				return mssqltest.Rule{Cut: true, CutAfter: bytes, Before: func(mssqltest.Event) { at.Store(true) }}
			}}.run(t)
		})
	}
}

// Global order keeps its order, too.
func TestAConnectionCutAtEveryMessageUnderGlobalOrder(t *testing.T) {
	everyTime{config: "batching: { count: 2 }\nordering: global\n", kind: "rpc", rule: func(_ *rig, at *atomic.Bool) mssqltest.Rule {
		return mssqltest.Rule{Cut: true, CutAfter: 300, Before: func(mssqltest.Event) { at.Store(true) }}
	}}.run(t)
}

// A process that is killed at any moment loses nothing, and the next one goes on in order.
func TestACrashAtEveryMessage(t *testing.T) {
	everyTime{config: "batching: { count: 2 }\n", kind: "rpc", crash: true, rule: func(r *rig, at *atomic.Bool) mssqltest.Rule {
		return mssqltest.Rule{Before: func(mssqltest.Event) {
			at.Store(true)
			r.wire.Load().die()
		}}
	}}.run(t)
}
