package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// snapshotOf makes the messages of a snapshot: begin, end, read 1, insert 9, delete 3, each with the snapshot's id.
func snapshotOf(id string, what ...string) (b service.MessageBatch) {
	for _, w := range what {
		operation, key, _ := strings.Cut(w, " ")
		m := service.NewMessage(nil)
		if key != "" {
			m.SetBytes(fmt.Appendf(nil, `{"id":%s,"v":"new"}`, key))
		} else {
			operation = "snapshot_" + operation
		}
		m.MetaSetMut("operation", operation)
		m.MetaSetMut("snapshot_id", id)
		b = append(b, m)
	}
	return b
}

const (
	ghosts    = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL); INSERT dbo.t VALUES (1, N'old'), (2, N'old'), (3, N'old'), (4, N'old');"
	sideCount = "SELECT COUNT(*) FROM sys.tables WHERE name LIKE N'mssql_bulk_seen%'"
	missing   = "table: t\nmode: apply\non_snapshot_end: delete_missing"
	allOfT    = "SELECT id, v FROM dbo.t ORDER BY id"
)

func TestBulkSnapshotEnd(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(ghosts)
		all := snapshotOf("a", "begin", "read 1", "read 2", "insert 9", "read 7", "delete 7", "end")
		r.start("table: t\nmode: apply").refuses(all, nil)
		r.want(allOfT, "1|new", "2|new", "3|old", "4|old", "9|new")
		r.start("table: t\nmode: apply\non_snapshot_end: keep").refuses(all, nil)
		r.want(allOfT, "1|new", "2|new", "3|old", "4|old", "9|new")
		run := r.start(missing)
		run.refuses(all, nil)
		r.want(allOfT, "1|new", "2|new", "9|new")
		r.want(sideCount, "0")
		r.want("SELECT COUNT(*) FROM dbo.mssql_bulk_snapshots", "0")
		if run.log.count("2 rows that it did not have were removed") != 1 {
			t.Errorf("the log:\n%s", run.log)
		}
		// An end that comes again, and one of a snapshot that did not begin here.
		run.refuses(snapshotOf("a", "read 1", "end"), nil)
		run.refuses(snapshotOf("b", "end"), nil)
		r.want(allOfT, "1|new", "2|new", "9|new")
		// In batches of their own, as a pipeline has them.
		for _, m := range snapshotOf("c", "begin", "read 2", "end") {
			run.refuses(service.MessageBatch{m}, nil)
		}
		r.want(allOfT, "2|new")
	})
}

// The writer ends in the middle; another goes on, also over a begin that comes again.
func TestBulkSnapshotEndAfterARestart(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(ghosts)
		r.start(missing).refuses(snapshotOf("a", "begin", "read 1"), nil)
		r.want(sideCount, "1")
		r.start(missing).refuses(snapshotOf("a", "begin", "read 3"), nil)
		r.start(missing).refuses(snapshotOf("a", "end"), nil)
		r.want(allOfT, "1|new", "3|new")
		// What a snapshot that was given up has shown counts no more.
		r.start(missing).refuses(snapshotOf("b", "begin", "read 1"), nil)
		r.start(missing).refuses(snapshotOf("c", "begin", "read 3", "end"), nil)
		r.want(allOfT, "3|new")
		r.want(sideCount, "0")
	})
}

// The connection is lost at each step of an end.
func TestBulkSnapshotEndOverLostConnections(t *testing.T) {
	for _, at := range []string{"DELETE TOP (4000)", "DELETE FROM [dbo].[mssql_bulk_snapshots]", "INSERT INTO [dbo].[mssql_bulk_snapshots]", "INSERT INTO [dbo].[mssql_bulk_seen_", "CREATE TABLE [dbo].[mssql_bulk_snapshots]"} {
		for _, after := range []bool{false, true} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(ghosts)
				run, hit := r.start(missing), 0
				rule := mssqltest.Rule{Text: at, Times: 1, Before: func(mssqltest.Event) { hit++ }}
				if after {
					rule.After = func(e mssqltest.Event) { r.ctl.Kill(e.SPID) }
				} else {
					rule.Cut = true
				}
				defer r.ctl.Add(rule)()
				run.refuses(snapshotOf("a", "begin", "read 2", "end"), nil)
				if hit == 0 {
					t.Errorf("there was no statement with %q", at)
				}
				r.want(allOfT, "2|new")
				r.want(sideCount, "0")
			})
		}
	}
}

func TestBulkSnapshotEndWithARefusedRow(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(ghosts)
		run := r.start(missing)
		run.refuses(snapshotOf("a", "begin", "read 1", "read nonsense", "end"), map[int][]string{2: {"batch"}})
		r.want(allOfT, "1|new", "2|old", "3|old", "4|old")
		if run.log.count("no row is removed") != 1 {
			t.Errorf("the log:\n%s", run.log)
		}
		r.start(missing).refuses(snapshotOf("b", "begin", "read nonsense"), map[int][]string{1: {"batch"}})
		r.start(missing).refuses(snapshotOf("b", "read 1", "end"), nil)
		r.want(allOfT, "1|new", "2|old", "3|old", "4|old")
		r.start(missing).refuses(snapshotOf("c", "begin", "read 1", "end"), nil)
		r.want(allOfT, "1|new")
	})
}

func TestBulkSnapshotEndOfManyRows(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		script := ghosts
		for have := 4; have < 16384; have *= 2 {
			script += fmt.Sprintf("INSERT dbo.t SELECT id + %d, v FROM dbo.t;", have)
		}
		r.sql(script)
		deletes := 0
		defer r.ctl.Add(mssqltest.Rule{Text: "DELETE TOP (4000)", Kind: "rpc", Before: func(mssqltest.Event) { deletes++ }})()
		r.start(missing).refuses(snapshotOf("a", "begin", "read 5", "end"), nil)
		r.want(allOfT, "5|new")
		if deletes != 5 {
			t.Errorf("%d statements removed 16,383 rows, want 5 of at most 4,000", deletes)
		}
	})
}

func TestBulkSnapshotEndWithoutAKey(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NULL, v nvarchar(20) NULL); INSERT dbo.t VALUES (1, N'old')")
		run := r.start(missing)
		run.refuses(snapshotOf("a", "begin", "read 2", "end"), nil)
		r.want(allOfT, "1|old", "2|new")
		if run.log.count("has no key") == 0 {
			t.Errorf("the log:\n%s", run.log)
		}
	})
}

// A snapshot that is interrupted and gone on with, while changes go on, leaves exactly the source's rows at the target.
func TestFollowSnapshotRemovesGhosts(t *testing.T) {
	const table = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);"
	rows := func(from, to int) (s string) {
		for i := from; i < to; i++ {
			s += fmt.Sprintf("INSERT dbo.t VALUES (%d, N'v');", i)
		}
		return s
	}
	for _, format := range []string{"json", "arrow"} {
		for _, end := range []string{"delete_missing", "keep"} {
			t.Run(format+" "+end, func(t *testing.T) {
				onFollow(t, table+rows(100, 400)+cdcOf("t"), table+rows(350, 500)+"INSERT dbo.t VALUES (1, N'ghost');", func(t *testing.T, r *followRig) {
					input := "stream_snapshot: true\nsnapshot_max_batch_size: 50\nmetadata: [ snapshot_id ]\nformat: " + format
					output := "mode: apply\non_snapshot_end: " + end
					defer r.src.Control().Add(mssqltest.Rule{Text: "SELECT TOP (@n)", Kind: "rpc", Delay: 300 * time.Millisecond})()
					r.start(input, output)
					for i := range 3 {
						<-time.After(400 * time.Millisecond)
						r.sql(r.src, fmt.Sprintf("UPDATE dbo.t SET v = N'changed' WHERE id %% 7 = %d; DELETE dbo.t WHERE id = %d; INSERT dbo.t VALUES (%d, N'late')", i, 150+i, 1000+i))
						r.stop()
						r.start(input, output)
					}
					if end == "keep" {
						<-time.After(10 * time.Minute)
						r.want(r.dst, "SELECT COUNT(*) FROM dbo.t WHERE id = 1 OR id BETWEEN 400 AND 499", "101")
						return
					}
					r.equal("dbo.t")
					r.want(r.dst, sideCount, "0")
				})
			})
		}
	}
}

// A row in the table of refused rows is one that the snapshot did not bring.
func TestBulkSnapshotEndWithARejectedRow(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(ghosts)
		run := r.start(missing + "\nreject_table: dbo.rejects")
		run.refuses(snapshotOf("a", "begin", "read 1", "read nonsense", "end"), nil)
		r.want("SELECT COUNT(*) FROM dbo.rejects", "1")
		r.want(allOfT, "1|new", "2|old", "3|old", "4|old")
		if run.log.count("no row is removed") != 1 {
			t.Errorf("the log:\n%s", run.log)
		}
	})
}
