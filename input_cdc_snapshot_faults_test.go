package mssqlcdc

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// transientNumbers are the errors that pass, with those that end the connection last.
var transientNumbers = []int32{
	1205, 1222, 601, 3960, 3961, 3947, 1219, 1204, 701, 8645, 976, 983, 9002, 40197, 40501, 40613, 49918, 49919, 49920, 10928, 10929,
	10053, 10054, 233, 64,
}

const closesConnection = 10053

// faultFields make a snapshot of several chunks and pages, with positions in a table of the same server.
const faultFields = "stream_snapshot: true\nsnapshot_max_batch_size: 8\nbatching: {count: 5}\nmax_connections: 2\ncheckpoint_cache_table_name: dbo.positions"

// faultRun takes a snapshot of a table and of a heap and reads changes of both, under a rule. It gives how many messages that took.
func faultRun(t *testing.T, rule mssqltest.Rule) (sent int) {
	var messages, acted atomic.Int64
	onSnapshot(t, 20, func(t *testing.T, r *cdcRig) {
		r.table("h", "a int NULL")
		r.sql("INSERT dbo.h VALUES (1), (1), (2)")
		pass(time.Second)
		rule.Match = func(e mssqltest.Event) bool { return e.App != "" }
		r.ctl.Add(mssqltest.Rule{Match: rule.Match, Before: func(mssqltest.Event) { messages.Add(1) }})
		rule.Before = func(mssqltest.Event) { acted.Add(1) }
		r.ctl.Add(rule)
		run := r.start(faultFields)
		// A table without a key that was read twice has its rows twice; the others never.
		rows, heap := map[string]bool{}, 0
		await := func(what string, ok func() bool) {
			t.Helper()
			for n := 0; !ok(); n++ {
				if n > 1000 {
					t.Fatalf("%s did not come\nlog:\n%s", what, run.log)
				}
				for _, m := range run.batch() {
					switch {
					case m.text("table") == "h":
						heap++
					default:
						rows[m.text("operation")+" "+m.body] = true
					}
				}
			}
		}
		await("the rows", func() bool {
			for id := 1; id <= 20; id++ {
				if !rows[fmt.Sprintf(`read {"id":%d,"v":"old"}`, id)] {
					return false
				}
			}
			return heap >= 3
		})
		r.sql("UPDATE dbo.k SET v = N'new' WHERE id IN (3, 20); DELETE dbo.k WHERE id = 4; INSERT dbo.h VALUES (7)")
		pass(2 * time.Second)
		r.sql("INSERT dbo.k (id, v) VALUES (21, N'last')")
		await("the changes", func() bool {
			return rows[`update {"id":3,"v":"new"}`] && rows[`update {"id":20,"v":"new"}`] && rows[`delete {"id":4,"v":"old"}`] && rows[`insert {"id":21,"v":"last"}`] && heap >= 4
		})
		run.until("the positions are saved", func() bool {
			return r.cell("SELECT COUNT(*) FROM dbo.positions WHERE source_table <> N'' AND position NOT LIKE N'%snapshot%'") == "2"
		})
		run.stop()
		sent = int(messages.Load())
		if n := r.ctl.OpenTransactions(); n != 0 {
			t.Errorf("%d transactions are open at the end", n)
		}
		if locks := r.ctl.Locks(); len(locks) != 0 {
			t.Errorf("locks are left: %v", locks)
		}
		if rule.Times > 0 && acted.Load() == 0 {
			t.Errorf("the rule never acted: there were %d messages", sent)
		}
		again := r.start(faultFields)
		r.sql("INSERT dbo.k (id, v) VALUES (22, N'again')")
		for _, m := range again.drains(cdcQuiet) {
			if m.text("operation") == "read" {
				t.Errorf("after the end of the snapshot a row is read again: %s", m)
			}
			rows[m.text("operation")+" "+m.body] = true
		}
		if !rows[`insert {"id":22,"v":"again"}`] {
			t.Errorf("after a restart the next change does not come\nlog:\n%s", again.log)
		}
	})
	return sent
}

// faultMessages is how many messages there are for sure: goroutines decide about a few.
func faultMessages(t *testing.T) int {
	t.Helper()
	all := faultRun(t, mssqltest.Rule{Kind: "no such kind"})
	if all < 60 {
		t.Fatalf("a snapshot, its stream and its positions took %d messages only", all)
	}
	return all * 9 / 10
}

// stride is how many cases of a matrix are passed over: none with MSSQLCDC_LONG=1.
func stride() int {
	if os.Getenv("MSSQLCDC_LONG") != "" {
		return 1
	}
	return 3
}

// The connection is cut at every message of logins, the opening of a snapshot, its bounds, chunks, its handover, the pages after it, and
// the saving of positions: before the message is handled, or in the middle of its answer.
func TestSnapshotCutAtEveryMessage(t *testing.T) {
	all := faultMessages(t)
	for n := 0; n < all; n += stride() {
		for i, after := range []int64{0, 40, 400} {
			if stride() > 1 && n/stride()%3 != i {
				continue
			}
			t.Run(fmt.Sprintf("message %d after %d bytes", n, after), func(t *testing.T) {
				faultRun(t, mssqltest.Rule{Skip: n, Times: 1, Cut: true, CutAfter: after})
			})
		}
	}
}

// Each error that passes, at each of those messages.
func TestSnapshotEveryTransientError(t *testing.T) {
	all := faultMessages(t)
	for n := 0; n < all; n += stride() {
		for i, number := range transientNumbers {
			if stride() > 1 && (n/stride()+8)%len(transientNumbers) != i {
				continue
			}
			t.Run(fmt.Sprintf("message %d error %d", n, number), func(t *testing.T) {
				rule := mssqltest.Rule{Skip: n, Times: 1, Error: number, ErrorMessage: "a fault of the test"}
				if i := strings.Index(fmt.Sprint(transientNumbers), fmt.Sprint(closesConnection)); strings.Index(fmt.Sprint(transientNumbers), fmt.Sprint(number)) >= i {
					rule.Class = 20
				}
				faultRun(t, rule)
			})
		}
	}
}
