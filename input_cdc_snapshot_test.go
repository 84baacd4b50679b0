package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// onSnapshot is a rig whose table k has the rows 1 to n from before the input.
func onSnapshot(t *testing.T, n int, test func(*testing.T, *cdcRig)) {
	t.Helper()
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.sql("ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON")
		r.table("k", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
		r.sql(fmt.Sprintf("SET NOCOUNT ON; DECLARE @i int = 1; WHILE @i <= %d BEGIN INSERT dbo.k (id, v) VALUES (@i, N'old'); SET @i += 1 END", n))
		pass(time.Second)
		test(t, r)
	})
}

func TestSnapshotThenChanges(t *testing.T) {
	onSnapshot(t, 3, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true\nmetadata: [snapshot_id, capture_instance, source_ts_ms]")
		marks := run.take(5)
		marks[0].wantMark(t, "snapshot_begin")
		for i, m := range marks[1:4] {
			m.want(t, "read", fmt.Sprintf(`{"id":%d,"v":"old"}`, i+1))
			if m.text("key") != fmt.Sprintf(`{"id":%d}`, i+1) || !m.has("schema") || !m.has("commit_ts_ms") || m.text("snapshot_id") == "" || m.text("capture_instance") != "dbo_k" {
				t.Errorf("metadata of a row that was read: %s", m)
			}
			if m.text("lsn") != marks[0].text("lsn") || !strings.Contains(m.text("event_id"), "-read-dbo.k-") {
				t.Errorf("lsn and event_id of a row that was read: %s", m)
			}
		}
		marks[4].wantMark(t, "snapshot_end")
		r.sql("UPDATE dbo.k SET v = N'new' WHERE id = 2")
		change := run.one()
		change.want(t, "update", `{"id":2,"v":"new"}`)
		if change.text("lsn") <= marks[0].text("lsn") {
			t.Errorf("the change at %s is not after the handover %s", change.text("lsn"), marks[0].text("lsn"))
		}
	})
}

// wantMark checks a message without a body.
func (m *cdcMessage) wantMark(t *testing.T, operation string) {
	t.Helper()
	if m.text("operation") != operation || m.text("table") != "k" || m.text("snapshot_id") == "" || m.body != "" || m.has("key") {
		t.Fatalf("got %s, want a mark %s", m, operation)
	}
}

func TestSnapshotMarksAreNotGivenOutUnasked(t *testing.T) {
	onSnapshot(t, 2, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true")
		wantTexts(t, "operations", operations(run.take(2)), "read", "read")
		run.nothing(cdcQuiet)
	})
}

func TestSnapshotIsOffByDefault(t *testing.T) {
	onSnapshot(t, 2, func(t *testing.T, r *cdcRig) {
		run := r.start("start_from: latest")
		run.nothing(cdcQuiet)
	})
}

// What is acknowledged is not read again after a restart, and the changes made meanwhile follow.
func TestSnapshotGoesOnWhereItWas(t *testing.T) {
	onSnapshot(t, 50, func(t *testing.T, r *cdcRig) {
		const fields = "stream_snapshot: true\nsnapshot_max_batch_size: 10\nbatching: {count: 5}"
		run := r.start(fields)
		done := len(run.batch()) + len(run.batch()) + len(run.batch())
		run.read() // not acknowledged
		run.stop()
		r.sql("DELETE dbo.k WHERE id = 1; INSERT dbo.k (id, v) VALUES (100, N'late')")
		run = r.start(fields)
		var ids []string
		for _, m := range run.drains(cdcQuiet) {
			ids = append(ids, m.text("operation")+" "+m.text("key"))
		}
		var want []string
		for id := done + 1; id <= 50; id++ {
			want = append(want, fmt.Sprintf(`read {"id":%d}`, id))
		}
		want = append(want, `read {"id":100}`, `delete {"id":1}`, `insert {"id":100}`)
		if strings.Join(ids, "\n") != strings.Join(want, "\n") {
			t.Errorf("after the restart came %v, want %v", ids, want)
		}
	})
}

func TestSnapshotOnlyEnds(t *testing.T) {
	onSnapshot(t, 3, func(t *testing.T, r *cdcRig) {
		run := r.start("snapshot_mode: snapshot_only")
		wantTexts(t, "operations", operations(run.take(3)), "read", "read", "read")
		ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
		defer cancel()
		if _, _, err := run.input.ReadBatch(ctx); !errors.Is(err, service.ErrEndOfInput) {
			t.Errorf("after the last row: %v, want the end of the input", err)
		}
	})
}

func TestSnapshotModeWinsOverStreamSnapshot(t *testing.T) {
	onSnapshot(t, 1, func(t *testing.T, r *cdcRig) {
		run := r.start("snapshot_mode: snapshot_and_stream")
		run.one().want(t, "read", `{"id":1,"v":"old"}`)
		r.sql("DELETE dbo.k")
		run.one().want(t, "delete", `{"id":1,"v":"old"}`)
	})
}

func TestSnapshotFilters(t *testing.T) {
	onSnapshot(t, 5, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true\nsnapshot_filters: {dbo.k: 'id % 2 = 0'}")
		wantTexts(t, "rows", bodies(run.take(2)), `{"id":2,"v":"old"}`, `{"id":4,"v":"old"}`)
		r.sql("UPDATE dbo.k SET v = N'new' WHERE id = 1")
		run.one().want(t, "update", `{"id":1,"v":"new"}`) // changes are not filtered
	})
}

func TestSnapshotFilterOfNoTable(t *testing.T) {
	onSnapshot(t, 1, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true\nsnapshot_filters: {dbo.k: 'no such column = 1'}")
		run.nothing(cdcQuiet)
		run.logs(`the filter "no such column = 1" is not a condition`)
	})
}

func TestRetentionGapTakesASnapshot(t *testing.T) {
	for _, policy := range []string{"fail", "snapshot"} {
		t.Run(policy, func(t *testing.T) {
			onSnapshot(t, 2, func(t *testing.T, r *cdcRig) {
				run := r.start("stream_snapshot: true")
				run.take(2)
				run.until("the position is saved", func() bool { return run.metrics.get("mssql_cdc_checkpoint_saves", "") > 0 })
				run.stop()
				r.sql("INSERT dbo.k (id, v) VALUES (3, N'lost')")
				pass(time.Second)
				r.sql("INSERT dbo.k (id, v) VALUES (4, N'kept')")
				pass(time.Second)
				r.sql("DECLARE @max binary(10) = sys.fn_cdc_get_max_lsn(); EXEC sys.sp_cdc_cleanup_change_table N'dbo_k', @max, 5000")
				run = r.start("on_retention_gap: " + policy)
				if policy == "fail" {
					run.nothing(cdcQuiet)
					run.logs("retains changes from LSN")
					return
				}
				wantTexts(t, "rows", bodies(run.take(4)), `{"id":1,"v":"old"}`, `{"id":2,"v":"old"}`, `{"id":3,"v":"lost"}`, `{"id":4,"v":"kept"}`)
				r.sql("DELETE dbo.k WHERE id = 4")
				run.one().want(t, "delete", `{"id":4,"v":"kept"}`)
			})
		})
	}
}

func TestSnapshotOfATableThatAppears(t *testing.T) {
	onSnapshot(t, 1, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true")
		run.take(1)
		r.sql("CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY); INSERT dbo.late VALUES (7)")
		r.enable("late", "dbo_late")
		run.one().want(t, "read", `{"id":7}`)
		r.sql("INSERT dbo.late VALUES (8)")
		run.one().want(t, "insert", `{"id":8}`)
	})
}

// Under ordering global the changes of all tables wait until every snapshot is there.
func TestSnapshotUnderGlobalOrder(t *testing.T) {
	onSnapshot(t, 4, func(t *testing.T, r *cdcRig) {
		r.table("b", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.b VALUES (1), (2)")
		pass(time.Second)
		run := r.start("stream_snapshot: true\nordering: global")
		for _, m := range run.take(6) {
			if m.text("operation") != "read" {
				t.Errorf("%s comes before the snapshots are complete", m)
			}
		}
		r.sql("BEGIN TRAN; INSERT dbo.k VALUES (9, NULL); INSERT dbo.b VALUES (9); DELETE dbo.k WHERE id = 1; COMMIT")
		wantTexts(t, "changes", column(run.take(3), func(m *cdcMessage) string { return m.text("table") + " " + m.text("operation") }), "k insert", "b insert", "k delete")
	})
}

// A table without a key is read in one pass, and no change is both in the snapshot and in the stream.
func TestSnapshotOfAHeap(t *testing.T) {
	onSnapshot(t, 0, func(t *testing.T, r *cdcRig) {
		r.table("h", "a int NULL, b int NULL")
		r.sql("INSERT dbo.h VALUES (1,1), (1,1), (2,2)")
		pass(time.Second)
		run := r.start("stream_snapshot: true\ninclude: ['dbo\\.h']")
		got := run.take(3)
		wantTexts(t, "rows", bodies(got), `{"a":1,"b":1}`, `{"a":1,"b":1}`, `{"a":2,"b":2}`)
		if got[0].has("key") || got[0].text("event_id") == got[1].text("event_id") {
			t.Errorf("two equal rows: %s and %s", got[0], got[1])
		}
		r.sql("DELETE TOP (1) FROM dbo.h WHERE a = 1")
		run.one().want(t, "delete", `{"a":1,"b":1}`)
		run.nothing(cdcQuiet)
	})
}

func TestSnapshotWithoutItsMeaning(t *testing.T) {
	for yaml, want := range map[string]string{
		"stream_snapshot: true\nstart_from: latest":              "start_from",
		"stream_snapshot: true\nsnapshot_mode: none":             "contradict",
		"snapshot_mode: snapshot_only\nstart_from: latest":       "start_from",
		"stream_snapshot: true\nsnapshot_max_batch_size: 0":      "snapshot_max_batch_size",
		"stream_snapshot: true\nmax_parallel_snapshot_tables: 0": "max_parallel_snapshot_tables",
	} {
		if _, err := parseCDC(yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", yaml, err, want)
		}
	}
}
