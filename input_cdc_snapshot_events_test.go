package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// Snapshots while something else happens to their table, to the flow, or to the server.

const smallChunks = "stream_snapshot: true\nsnapshot_max_batch_size: 10\nbatching: {count: 5}\n"

func TestSnapshotOnlyEndsAgainAfterARestart(t *testing.T) {
	onSnapshot(t, 3, func(t *testing.T, r *cdcRig) {
		for i := range 2 {
			run := r.start("snapshot_mode: snapshot_only")
			if i == 0 {
				run.take(3)
			}
			ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
			if _, _, err := run.input.ReadBatch(ctx); !errors.Is(err, service.ErrEndOfInput) {
				t.Errorf("run %d: %v, want the end of the input", i, err)
			}
			cancel()
			run.stop()
		}
	})
}

// A table that appears under ordering global takes its place in the commit order with its first change, not a window later.
func TestTableThatAppearsTakesItsPlaceInGlobalOrder(t *testing.T) {
	onSnapshot(t, 2, func(t *testing.T, r *cdcRig) {
		run := r.start("stream_snapshot: true\nordering: global")
		run.take(2)
		r.sql("CREATE TABLE dbo.late (id int NOT NULL PRIMARY KEY); INSERT dbo.late VALUES (0)")
		r.enable("late", "dbo_late")
		run.one().want(t, "read", `{"id":0}`)
		pass(time.Second)
		for i := 1; i <= 3; i++ {
			r.sql(fmt.Sprintf("INSERT dbo.late VALUES (%d)", 2*i))
			r.sql(fmt.Sprintf("INSERT dbo.k VALUES (%d, NULL)", 10*i))
			got := run.take(2)
			wantTexts(t, "order", column(got, func(m *cdcMessage) string { return m.text("table") }), "late", "k")
			pass(time.Second)
		}
	})
}

// One connection is enough, also with a table without a key.
func TestSnapshotOnOneConnection(t *testing.T) {
	onSnapshot(t, 30, func(t *testing.T, r *cdcRig) {
		r.table("h", "a int NULL")
		r.sql("INSERT dbo.h VALUES (1), (2)")
		pass(time.Second)
		run := r.start(smallChunks + "max_connections: 1\ncheckpoint_limit: 10")
		got := run.take(32)
		if n := strings.Count(strings.Join(column(got, func(m *cdcMessage) string { return m.text("table") }), ""), "h"); n != 2 {
			t.Errorf("%d rows of the heap", n)
		}
		r.sql("INSERT dbo.h VALUES (3); INSERT dbo.k VALUES (99, NULL)")
		run.take(2)
	})
}

// Closing does not wait for the rest of a snapshot, nor for what is out.
func TestCloseWhileASnapshotRuns(t *testing.T) {
	onSnapshot(t, 200, func(t *testing.T, r *cdcRig) {
		run := r.start("checkpoint_limit: 20\n" + smallChunks)
		run.batch()
		pass(time.Second)
		run.read() // not answered
		if took := run.stop(); took > 5*time.Second {
			t.Errorf("closing took %s", took)
		}
		if n := r.ctl.OpenTransactions(); n != 0 {
			t.Errorf("%d transactions are left open", n)
		}
		run = r.start(smallChunks)
		got := run.take(195)
		got[0].want(t, "read", `{"id":6,"v":"old"}`)
	})
}

// A table whose capture instance is dropped while its snapshot runs is left; another one goes on.
func TestTableGoneWhileItsSnapshotRuns(t *testing.T) {
	onSnapshot(t, 100, func(t *testing.T, r *cdcRig) {
		run := r.start(smallChunks + "checkpoint_limit: 20\nmax_parallel_snapshot_tables: 1")
		run.take(10)
		r.sql("EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'k', @capture_instance = N'dbo_k'")
		pass(time.Second)
		r.table("other", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.other VALUES (1)")
		seen := 0
		for {
			m := run.take(1)[0]
			if m.text("table") == "other" {
				break
			}
			if seen++; seen > 60 {
				t.Fatalf("%d rows come of a table that is gone", seen)
			}
		}
	})
}

// While a snapshot runs the table gets another key: it is read anew.
func TestKeyChangesWhileASnapshotIsInterrupted(t *testing.T) {
	onSnapshot(t, 0, func(t *testing.T, r *cdcRig) {
		r.sql("CREATE TABLE dbo.c (a int NOT NULL, b varchar(10) NOT NULL, CONSTRAINT pk_c PRIMARY KEY (a))")
		r.enable("c", "dbo_c")
		r.sql("INSERT dbo.c SELECT n, CONCAT('b', 100 - n) FROM (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12)) AS v (n)")
		pass(time.Second)
		run := r.start(smallChunks)
		run.take(5)
		run.stop()
		r.sql("ALTER TABLE dbo.c DROP CONSTRAINT pk_c; ALTER TABLE dbo.c ADD CONSTRAINT pk_c PRIMARY KEY (b)")
		run = r.start(smallChunks)
		if got := run.take(12); got[0].body != `{"a":12,"b":"b88"}` {
			t.Errorf("the first row is %s", got[0])
		}
		run.logs("the table has another key than when its snapshot began")
	})
}

// Columns that come and go while a snapshot runs: it goes on without them.
func TestColumnsChangeWhileASnapshotRuns(t *testing.T) {
	onSnapshot(t, 40, func(t *testing.T, r *cdcRig) {
		run := r.start(smallChunks + "checkpoint_limit: 10")
		run.take(5)
		r.sql("ALTER TABLE dbo.k ADD w int NULL")
		run.take(10)
		r.sql("ALTER TABLE dbo.k DROP COLUMN v")
		for seen, n := map[string]bool{}, 0; len(seen) < 25; n++ {
			if n > 100 {
				t.Fatalf("%d rows came after a column was dropped\nlog:\n%s", len(seen), run.log)
			}
			m := run.take(1)[0]
			if seen[m.text("key")] = true; m.text("operation") != "read" {
				t.Fatalf("got %s", m)
			}
		}
		r.sql("INSERT dbo.k (id, w) VALUES (50, 1)")
		if m := run.take(1)[0]; m.text("key") != `{"id":50}` {
			t.Errorf("got %s", m)
		}
	})
}

// Cleanup overtakes a snapshot that was interrupted. The changes after its handover are lost, so it says so, or begins anew.
func TestRetentionEndsBeforeASnapshot(t *testing.T) {
	for _, policy := range []string{"fail", "snapshot"} {
		t.Run(policy, func(t *testing.T) {
			onSnapshot(t, 30, func(t *testing.T, r *cdcRig) {
				run := r.start(smallChunks)
				run.batch()
				pass(time.Second)
				run.stop()
				r.sql("UPDATE dbo.k SET v = N'lost' WHERE id = 1")
				pass(time.Second)
				r.sql("UPDATE dbo.k SET v = N'kept' WHERE id = 2")
				pass(time.Second)
				r.sql("DECLARE @max binary(10) = sys.fn_cdc_get_max_lsn(); EXEC sys.sp_cdc_cleanup_change_table N'dbo_k', @max, 5000")
				run = r.start(smallChunks + "on_retention_gap: " + policy)
				if policy == "fail" {
					run.nothing(cdcQuiet)
					run.logs("cleanup has removed changes from LSN")
					return
				}
				got := run.take(30)
				got[0].want(t, "read", `{"id":1,"v":"lost"}`)
				got[1].want(t, "read", `{"id":2,"v":"kept"}`)
				r.sql("DELETE dbo.k WHERE id = 2")
				run.one().want(t, "delete", `{"id":2,"v":"kept"}`)
			})
		})
	}
}

// A refused batch stops the snapshot of its table with auto_replay_nacks off, and leaves the others their turn.
func TestRefusedSnapshotLeavesTheOthersTheirTurn(t *testing.T) {
	onSnapshot(t, 50, func(t *testing.T, r *cdcRig) {
		r.table("z", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.z VALUES (1)")
		pass(time.Second)
		run := r.start(smallChunks + "auto_replay_nacks: false\nmax_parallel_snapshot_tables: 1\ncheckpoint_limit: 200")
		for {
			batch, answer := run.read()
			m := newCDCMessages(t, batch)[0]
			if m.text("table") == "z" {
				answer(nil)
				return
			}
			answer(errors.New("no"))
		}
	})
}

// Another process takes the lease away in the middle: it goes on where the first one has saved, which becomes a standby.
func TestLeaseLostWhileASnapshotRuns(t *testing.T) {
	onSnapshot(t, 60, func(t *testing.T, r *cdcRig) {
		const fields = smallChunks + "checkpoint_limit: 10\ncheckpoint_cache_table_name: dbo.positions"
		first := r.start(fields)
		first.take(10)
		first.until("a position is saved", func() bool {
			return r.cell("SELECT COUNT(*) FROM dbo.positions WHERE position LIKE N'%\"rows\":10%'") == "1"
		})
		r.sql("UPDATE dbo.positions SET owner = N'', epoch = epoch + 1, expires_at = DATEADD(second, -1, SYSUTCDATETIME()) WHERE source_table = N''")
		second := r.start(fields)
		got := second.take(20)
		if got[0].body != `{"id":11,"v":"old"}` {
			t.Errorf("the second process begins with %s", got[0])
		}
		first.stop()
		second.take(30)
	})
}

// The handover is stored before a row is given out: after a crash, the deletion of a row that was given out must not be before it.
func TestHandoverIsStoredBeforeTheFirstRow(t *testing.T) {
	onSnapshot(t, 10, func(t *testing.T, r *cdcRig) {
		run := r.start(smallChunks + "checkpoint_cache_table_name: dbo.positions")
		run.read()
		if n := r.cell("SELECT COUNT(*) FROM dbo.positions WHERE position LIKE N'%snapshot%'"); n != "1" {
			t.Errorf("%s positions are stored when the first row comes", n)
		}
	})
}
