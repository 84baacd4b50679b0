package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/mssqltest"
)

// fenced are ways to load with exactly_once.
var fenced = map[string]string{
	"insert": "table: t\nexactly_once: {enabled: true}\nbackoff: {initial_interval: 1s, max_interval: 1s}",
	"upsert": "table: t\nmode: upsert\nexactly_once: {enabled: true}\nbackoff: {initial_interval: 1s, max_interval: 1s}",
	"apply":  "table: t\nmode: apply\nexactly_once: {enabled: true}\nbackoff: {initial_interval: 1s, max_interval: 1s}",
	"direct": "table: t\nexactly_once: {enabled: true}\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]\nbackoff: {initial_interval: 1s, max_interval: 1s}",
}

// event makes a message of a change: its place, operation and body.
func event(place int, operation, body string, more ...any) *service.Message {
	more = append(more, "event_id", fmt.Sprintf("%020x-00000001-%020x-4", place, place), "database_schema", "dbo", "table", "src")
	return changed(operation, body, more...)
}

// once is the table that fenced loads go to, with an audit of what its triggers see.
const once = `CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NULL CHECK (v < 1000));
CREATE TABLE dbo.audit (id int, v int)
GO
CREATE TRIGGER dbo.watch ON dbo.t AFTER INSERT, UPDATE AS INSERT dbo.audit SELECT id, v FROM inserted`

// What comes again is dropped row by row, whatever the batches are now.
func TestBulkOnceDropsRowByRow(t *testing.T) {
	for way, fields := range fenced {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(once)
			out := r.start(fields)
			for from := 0; from < 10; from += 2 { // 0-3, 2-5, 4-7 …
				var batch service.MessageBatch
				for i := from; i < from+4; i++ {
					batch = append(batch, event(i, "insert", fmt.Sprintf(`{"id":%d,"v":%d}`, i, i)))
				}
				out.applies(batch...)
			}
			r.want("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.audit", "12|12")
			r.want("SELECT target, channel, token, epoch FROM dbo.mssql_bulk_fence", fmt.Sprintf("dbo.t|dbo.src|%020x-00000001-%020x-4|1", 11, 11))
			if n := out.metrics.get("mssql_bulk_dropped", "dbo.t"); n != 8 {
				t.Errorf("%s: %v rows were dropped", way, n)
			}
			again := r.start(fields) // another process
			again.applies(event(11, "insert", `{"id":11,"v":11}`), event(12, "insert", `{"id":12,"v":12}`))
			r.want("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.audit", "13|13")
			r.want("SELECT epoch FROM dbo.mssql_bulk_fence", "2")
		})
		if t.Failed() {
			t.Fatal(way)
		}
	}
}

// The connection is cut at each message of a load, also while it is committed: each row is applied once.
func TestBulkOnceCutAtEveryMessage(t *testing.T) {
	for way, fields := range fenced {
		for cut := 0; ; cut++ {
			hit := false
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(once)
				out := r.start(fields)
				out.applies(event(0, "insert", `{"id":0,"v":0}`))
				rule := mssqltest.Rule{Skip: cut / 2, Times: 1, Cut: true, Before: func(mssqltest.Event) { hit = true }}
				if cut%2 == 1 {
					rule.CutAfter = 1 // it is done, and the answer is lost
				}
				r.ctl.Add(rule)
				var batch service.MessageBatch
				for i := 1; i <= 10; i++ {
					batch = append(batch, event(i, "insert", fmt.Sprintf(`{"id":%d,"v":%d}`, i, i)))
				}
				out.applies(batch...)
				r.want("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM dbo.audit", "11|11|55")
				if n := out.log.count("may be there twice"); n != 0 {
					t.Errorf("it is said that rows may be there twice: %s", out.log)
				}
			})
			if t.Failed() {
				t.Fatalf("%s: cut at message %d", way, cut)
			}
			if !hit {
				if cut < 10 {
					t.Errorf("%s: a load has %d messages", way, cut/2)
				}
				break
			}
		}
	}
}

// A process dies after each message of a load, and another gets the batch again, cut in another way.
func TestBulkOnceCrashAtEveryMessage(t *testing.T) {
	for way, fields := range fenced {
		for crash := 0; ; crash++ {
			hit := false
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(once)
				out := r.start(fields)
				ctx, cancel := context.WithCancel(t.Context())
				remove := r.ctl.Add(mssqltest.Rule{Skip: crash, Times: 1, Cut: true, CutAfter: 1, Before: func(mssqltest.Event) { hit = true }, After: func(mssqltest.Event) { cancel() }})
				var all service.MessageBatch
				for i := range 10 {
					all = append(all, event(i, "insert", fmt.Sprintf(`{"id":%d,"v":%d}`, i, i)))
				}
				err := out.output.WriteBatch(ctx, all[:7])
				if !hit && err != nil {
					t.Errorf("without a crash: %v", err)
				}
				cancel()
				remove()
				again := r.start(fields)
				again.applies(all[:4].DeepCopy()...)
				again.applies(all[4:].DeepCopy()...)
				r.want("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM dbo.audit", "10|10|45")
			})
			if t.Failed() {
				t.Fatalf("%s: crash after message %d", way, crash)
			}
			if !hit {
				break
			}
		}
	}
}

// A row that cannot be stored holds its lane, loudly, until it can; nothing after it lands before it, nothing twice.
func TestBulkOnceStandsStill(t *testing.T) {
	for way, fields := range fenced {
		for name, bad := range map[string]string{"the server refuses": `{"id":5,"v":1000}`, "has no form": `{"id":5,"v":"x"}`} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(strings.Replace(once, "v int NULL CHECK (v < 1000)", "v int NULL CONSTRAINT small CHECK (v < 1000)", 1))
				out := r.start(fields + "\nmax_retries: 0")
				var batch service.MessageBatch
				for i := range 10 {
					body := fmt.Sprintf(`{"id":%d,"v":%d}`, i, i)
					if i == 5 {
						body = bad
					}
					batch = append(batch, event(i, "insert", body))
				}
				done := make(chan error)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				go func() { done <- out.output.WriteBatch(ctx, batch) }()
				pass(time.Minute)
				if rows := r.rows("SELECT id FROM dbo.t WHERE id > 4"); len(rows) > 0 {
					t.Errorf("%s: %q have landed ahead of the bad row", way, rows)
				}
				if out.log.count("stands still") < 5 {
					t.Errorf("%s: the log says %s", way, out.log)
				}
				r.sql("ALTER TABLE dbo.t DROP CONSTRAINT small")
				if strings.Contains(name, "form") {
					r.sql("ALTER TABLE dbo.t ALTER COLUMN v nvarchar(5) NULL; ALTER TABLE dbo.audit ALTER COLUMN v nvarchar(5)")
				}
				if err := <-done; err != nil {
					t.Errorf("%s: after the mend: %v", way, err)
				}
				r.want("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.audit", "10|10")
			})
			if t.Failed() {
				t.Fatal(way, name)
			}
		}
	}
}

// Refused rows go to the reject table in the transaction that moves the mark, once, and the others land.
func TestBulkRejectTable(t *testing.T) {
	for way, fields := range fenced {
		for _, on := range []bool{true, false} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(once)
				if !on {
					fields = strings.Replace(fields, "enabled: true", "enabled: false", 1)
				}
				out := r.start(fields + "\nmax_retries: 0\nreject_table: dbo.rejected")
				batch := func() (b service.MessageBatch) {
					for i := range 10 {
						body := fmt.Sprintf(`{"id":%d,"v":%d}`, i, i)
						switch i {
						case 2:
							body = `{"id":2,"v":"x"}`
						case 5:
							body = `{"id":5,"v":1000}`
						}
						b = append(b, event(i, "insert", body, "key", fmt.Sprintf(`{"id":%d}`, i)))
					}
					return b
				}
				out.applies(batch()...)
				want := []string{`dbo.t|insert|{"id":2,"v":"x"}|{"id":2}|NULL`, `dbo.t|insert|{"id":5,"v":1000}|{"id":5}|NULL`}
				r.want("SELECT target, operation, body, [key], body_binary FROM dbo.rejected ORDER BY id", want...)
				r.want("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.audit", "8|8")
				if on {
					out.applies(batch()...)
					r.want("SELECT COUNT(*) FROM dbo.rejected", "2")
					r.want("SELECT COUNT(*) FROM dbo.rejected WHERE channel = N'dbo.src' AND token = event_id AND error LIKE N'%row%v%' AND rejected_at >= '2000-01-01'", "2")
				}
				if n := out.metrics.get("mssql_bulk_rejected", "dbo.rejected"); n != 2 {
					t.Errorf("%s: %v rejected", way, n)
				}
			})
			if t.Failed() {
				t.Fatal(way, on)
			}
		}
	}
}

// M3: a refused batch comes behind later ones. The lane lets nothing land before it.
func TestBulkOnceRefusedBatchComesLater(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(once)
		out := r.start(fenced["apply"])
		out.applies(event(1, "insert", `{"id":1,"v":1}`))
		// Another process takes the lane over, so batch 2 is refused.
		other := r.start(fenced["apply"])
		other.applies(event(1, "insert", `{"id":1,"v":1}`))
		out.refuses(service.MessageBatch{event(2, "update", `{"id":1,"v":2}`)}, map[int][]string{0: {"another writer"}})
		out.refuses(service.MessageBatch{event(3, "update", `{"id":1,"v":3}`)}, map[int][]string{0: {"waits"}})
		out.refuses(service.MessageBatch{event(4, "update", `{"id":1,"v":4}`)}, map[int][]string{0: {"waits"}})
		out.applies(event(3, "update", `{"id":1,"v":3}`), event(2, "update", `{"id":1,"v":2}`)) // gathered, in the wrong order
		r.want("SELECT v FROM dbo.t", "3")
		out.applies(event(4, "update", `{"id":1,"v":4}`))
		r.want("SELECT v FROM dbo.audit", "1", "3", "4") // 2 and 3 were folded
	})
}

// A writer that was paused finds its lane taken over: nothing of what it was about to do is done.
func TestBulkOncePausedWriter(t *testing.T) {
	for _, at := range []string{"BEGIN TRANSACTION", "UPDATE [dbo].[mssql_bulk_fence] SET token"} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(once)
			out := r.start(fenced["insert"])
			out.applies(event(0, "insert", `{"id":0,"v":0}`))
			batch := service.MessageBatch{event(1, "insert", `{"id":1,"v":1}`), event(2, "insert", `{"id":2,"v":2}`)}
			standby := r.start(fenced["insert"])
			paused := 0
			r.ctl.Add(mssqltest.Rule{Text: at, Times: 1, Before: func(mssqltest.Event) {
				paused++
				standby.applies(batch.DeepCopy()...)
				standby.applies(event(3, "insert", `{"id":3,"v":3}`))
			}})
			out.refuses(batch, map[int][]string{0: {"another writer"}, 1: {"another writer"}})
			if paused != 1 {
				t.Errorf("paused %d times at %s", paused, at)
			}
			// Given out again, there is nothing to do; and the standby goes on after one refusal.
			out.applies(batch.DeepCopy()...)
			next := service.MessageBatch{event(4, "insert", `{"id":4,"v":4}`)}
			standby.refuses(next.DeepCopy(), map[int][]string{0: {"another writer"}})
			standby.applies(next...)
			r.want("SELECT id FROM dbo.audit ORDER BY id", "0", "1", "2", "3", "4")
		})
	}
}

// Channels and tokens: of Kafka, of the source, and by the fields.
func TestBulkOnceLanes(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int); CREATE TABLE dbo.u (id int)")
		out := r.start("table: 'dbo.${! @to.or(\"t\") }'\nexactly_once: {enabled: true}")
		kafka := func(partition, offset, id int, more ...any) *service.Message {
			return changed("", fmt.Sprintf(`{"id":%d}`, id), append([]any{"kafka_topic", "changes", "kafka_partition", partition, "kafka_offset", offset}, more...)...)
		}
		out.applies(kafka(0, 9, 1), kafka(0, 10, 2), kafka(1, 9, 3), kafka(0, 11, 4, "to", "u"))
		out.applies(kafka(0, 9, 1), kafka(0, 10, 2), kafka(1, 10, 5), kafka(0, 12, 6), kafka(0, 11, 4, "to", "u"))
		r.want("SELECT id FROM dbo.t ORDER BY id", "1", "2", "3", "5", "6")
		r.want("SELECT id FROM dbo.u", "4")
		r.want("SELECT target, channel, token FROM dbo.mssql_bulk_fence ORDER BY target, channel", "dbo.t|changes/0|12", "dbo.t|changes/1|10", "dbo.u|changes/0|11")

		own := r.start("table: dbo.t\nexactly_once: {enabled: true, table: dbo.marks, channel: 'c-${! @c }', offset_token: '${! this.id }'}")
		a, b := changed("", `{"id":100}`, "c", "x"), changed("", `{"id":99}`, "c", "y")
		own.applies(a, b)
		r.want("SELECT channel, token FROM dbo.marks ORDER BY channel", "c-x|100", "c-y|99")

		out.refuses(service.MessageBatch{changed("", `{"id":7}`), changed("", `{"id":8}`, "database_schema", "a", "table", "b"), kafka(3, 1, 9)},
			map[int][]string{0: {"no channel"}, 1: {"no offset_token"}})
		r.want("SELECT id FROM dbo.t WHERE id BETWEEN 7 AND 9", "9")
		out.refuses(service.MessageBatch{event(1, "", `{"id":50}`, "database_schema", "x"), changed("", `{"id":51}`, "database_schema", "dbo", "table", "src", "event_id", "17")},
			map[int][]string{1: {"another kind"}})
	})
}

// Rows of a snapshot have no order of their own: they need a key, and are dropped when the changes after them have landed.
func TestBulkOnceSnapshot(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(once)
		read := func(id, v int) *service.Message {
			m := event(0, "read", fmt.Sprintf(`{"id":%d,"v":%d}`, id, v))
			m.MetaSetMut("event_id", fmt.Sprintf(`%020x-read-dbo.src-{"id":%d}`, 10, id))
			return m
		}
		mark := changed("snapshot_begin", "", "database_schema", "dbo", "table", "src")
		out := r.start(fenced["apply"])
		out.applies(mark, read(2, 0), read(10, 0))
		out.applies(read(2, 0), read(10, 0), read(1, 0)) // a refused batch, given out again
		out.applies(event(11, "update", `{"id":2,"v":11}`))
		out.applies(read(2, 0), read(10, 0), read(1, 0), event(11, "update", `{"id":2,"v":11}`), event(12, "update", `{"id":2,"v":12}`))
		r.want("SELECT id, v FROM dbo.t ORDER BY id", "1|0", "2|12", "10|0")
		r.want("SELECT v FROM dbo.audit WHERE v > 0", "11", "12")

		// Rows that were held back, and a change after them that waits until they have landed.
		fresh := func(id int) *service.Message {
			m := read(id, 1)
			m.MetaSetMut("event_id", fmt.Sprintf(`0x%020x-read-dbo.src-{"id":%d}`, 20, id))
			return m
		}
		r.start(fenced["apply"]).applies(event(12, "update", `{"id":2,"v":12}`)) // takes the lane over
		out.refuses(service.MessageBatch{fresh(1), fresh(2)}, map[int][]string{0: {"another writer"}, 1: {"another writer"}})
		out.applies(fresh(10))
		out.refuses(service.MessageBatch{event(21, "update", `{"id":2,"v":21}`), fresh(10)}, map[int][]string{0: {"waits"}})
		out.applies(fresh(1), fresh(2))
		out.applies(event(21, "update", `{"id":2,"v":21}`))
		r.want("SELECT id, v FROM dbo.t ORDER BY id", "1|1", "2|21", "10|1")
		r.start(strings.Replace(fenced["insert"], "table: t", "table: dbo.audit", 1)).refuses(service.MessageBatch{read(7, 7)}, map[int][]string{0: {"snapshot", "key"}})
	})
}

// The table of the fence is made, or said how to make; ConnectionTest finds what is missing.
func TestBulkOnceTable(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY)\nGO\nCREATE LOGIN loader WITH PASSWORD = 'Str0ng!pass'\nGO\nCREATE USER loader FOR LOGIN loader; GRANT SELECT, INSERT, UPDATE, DELETE ON dbo.t TO loader")
		login := "\nconnection_string: " + r.dsn("user id=loader", "password=Str0ng!pass")
		for fields, want := range map[string]string{
			"table: t\nmode: apply\nexactly_once: {enabled: true}": "CREATE TABLE [dbo].[mssql_bulk_fence] ( target",
			"table: t\nreject_table: rejected":                     "CREATE TABLE [dbo].[rejected] ( id bigint",
		} {
			got := r.make(fields + login).output.ConnectionTest(t.Context())
			if len(got) != 1 || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), want) {
				t.Errorf("%s: %v", fields, got)
			}
		}
		r.start("table: t\nmode: apply\nreject_table: rejected\nexactly_once: {enabled: true}")
		r.sql("GRANT SELECT, INSERT, UPDATE ON dbo.mssql_bulk_fence TO loader; GRANT SELECT, INSERT ON dbo.rejected TO loader")
		out := r.start("table: t\nmode: apply\nreject_table: rejected\nexactly_once: {enabled: true}" + login)
		out.applies(event(1, "insert", `{"id":1}`), event(2, "insert", `{"id":"x"}`))
		r.want("SELECT COUNT(*) FROM dbo.rejected", "1")
		r.refusesConfig("exactly_once: {enabled: true}\nmax_in_flight: 2", "exactly_once")
		r.refusesConfig("exactly_once: {enabled: true, table: a.b.c}", "exactly_once.table")
		r.refusesConfig("reject_table: a.b.c", "reject_table")
		if lints := strings.Join(lint(t, "output:\n  mssql_bulk:\n    connection_string: x\n    max_in_flight: 2\n    exactly_once: {enabled: true}\n"), "; "); !strings.Contains(lints, "exactly_once") {
			t.Errorf("lints: %q", lints)
		}
	})
}

// The fence row is taken away while the output runs, as an operator does who wants everything again.
func TestBulkOnceForgotten(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		out := r.start(fenced["insert"])
		out.applies(event(1, "insert", `{"id":1}`))
		r.sql("DELETE dbo.mssql_bulk_fence")
		out.refuses(service.MessageBatch{event(2, "insert", `{"id":2}`)}, map[int][]string{0: {merge.ErrTaken.Error()}})
		out.applies(event(2, "insert", `{"id":2}`))
		r.want("SELECT id FROM dbo.t", "1", "2")
		if err := out.output.WriteBatch(t.Context(), nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
