package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/mssqltest"
)

// family are two tables with a foreign key that is enforced.
const family = `CREATE TABLE dbo.parent (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);
CREATE TABLE dbo.child (id int NOT NULL PRIMARY KEY, parent int NULL CONSTRAINT fk_child REFERENCES dbo.parent (id), v nvarchar(20) NULL);
CREATE TABLE dbo.other (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);`

// changesOf makes messages: "parent insert 1", "child update 5 1" with the parent's id.
func changesOf(what ...string) (b service.MessageBatch) {
	for _, w := range what {
		f := strings.Fields(w)
		body := fmt.Sprintf(`{"id":%s,"v":"x"}`, f[2])
		if len(f) > 3 {
			body = fmt.Sprintf(`{"id":%s,"parent":%s,"v":"x"}`, f[2], f[3])
		}
		m := service.NewMessage([]byte(body))
		m.MetaSetMut("database_schema", "dbo")
		m.MetaSetMut("table", f[0])
		m.MetaSetMut("operation", f[1])
		b = append(b, m)
	}
	return b
}

func TestBulkForeignKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		changes      []string
		transactions int
		want         []string // children with their parents
	}{
		"parents and children made by turns": {[]string{"parent insert 1", "child insert 1 1", "other insert 1", "parent insert 2", "child insert 2 2", "other insert 2"}, 1, []string{"1|1", "2|2", "90|90"}},
		"a child of an old parent first":     {[]string{"child insert 1 90", "parent insert 2", "child insert 2 2"}, 2, []string{"1|90", "2|2", "90|90"}},
		"a child that is given away":         {[]string{"parent insert 2", "child update 90 2", "parent delete 90"}, 2, []string{"90|2"}},
		"children deleted, then the parent":  {[]string{"child delete 90", "parent delete 90"}, 1, nil},
		"the parent deleted first":           {[]string{"parent delete 90", "child delete 90"}, 1, nil},
		"everything anew":                    {[]string{"child delete 90", "parent delete 90", "parent insert 90", "child insert 90 90"}, 2, []string{"90|90"}},
	} {
		t.Run(name, func(t *testing.T) {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(family + "INSERT dbo.parent VALUES (90, N'old'); INSERT dbo.child VALUES (90, 90, N'old');")
				run, commits := r.start("mode: apply"), 0
				defer r.ctl.Add(mssqltest.Rule{Text: sqlBulkCommit, Kind: "batch", Before: func(mssqltest.Event) { commits++ }})()
				began := time.Now()
				run.refuses(changesOf(tt.changes...), nil)
				r.want("SELECT id, parent FROM dbo.child ORDER BY id", tt.want...)
				if commits != tt.transactions {
					t.Errorf("%d transactions, want %d", commits, tt.transactions)
				}
				if waited := time.Since(began); waited > 100*time.Millisecond { // of the bubble: nothing was tried again after a pause
					t.Errorf("it took %s", waited)
				}
			})
		})
	}
}

func TestBulkForeignKeysAreSpokenOf(t *testing.T) {
	const script = family + `ALTER TABLE dbo.child DROP CONSTRAINT fk_child;
ALTER TABLE dbo.child ADD CONSTRAINT [fk child] FOREIGN KEY (parent) REFERENCES dbo.parent (id) ON DELETE CASCADE;`
	const trigger = "\nGO\nCREATE TRIGGER dbo.tr ON dbo.other AFTER INSERT AS SET NOCOUNT ON;"
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql(script + trigger)
		run := r.start("mode: apply")
		for range 2 {
			run.refuses(changesOf("parent insert 1", "child insert 1 1", "other upsert 1"), nil)
		}
		for _, want := range []string{
			"table dbo.child has enforced foreign keys (fk child)", "ordering: global", "ALTER TABLE [dbo].[child] NOCHECK CONSTRAINT [fk child]",
			"foreign keys to table dbo.parent cascade (fk child)", "table dbo.other has enabled triggers (tr)",
		} {
			if n := run.log.count(want); n != 1 {
				t.Errorf("%q is said %d times:\n%s", want, n, run.log)
			}
		}
		// At start for a table that is known then, not for inserts, and not for what is turned off.
		if run := r.start("mode: apply\ntable: dbo.child"); run.log.count("enforced foreign keys") != 1 {
			t.Errorf("the log:\n%s", run.log)
		}
		r.sql("ALTER TABLE dbo.child NOCHECK CONSTRAINT [fk child]; DISABLE TRIGGER dbo.tr ON dbo.other;")
		quiet := r.start("mode: apply")
		quiet.refuses(changesOf("parent update 1", "child update 1 1", "other update 1"), nil)
		insert := r.start("mode: insert")
		insert.refuses(changesOf("other insert 7"), nil)
		for _, run := range []*bulkRun{quiet, insert} {
			if run.log.count("table dbo.") > 0 {
				t.Errorf("the log:\n%s", run.log)
			}
		}
	})
}

func TestSegments(t *testing.T) {
	name := func(s string) catalog.Name { return catalog.Name{Schema: "dbo", Object: s} }
	parents := map[string][]catalog.Name{"c": {name("p")}, "P": nil}
	for _, tt := range []struct {
		changes string // table and operation
		want    int    // of them together
	}{
		{"p+ c+ p+ c+ P+", 5}, {"c+ p+ c+", 2}, {"c- p- c-", 3}, {"c- p- p+ c-", 4}, {"p- c- p-", 2}, {"p+ c+ p-", 2}, {"o+ c+ o- p+ o+", 5}, {"p+ c+ p?", 2}, {"o? p+ o?", 3},
	} {
		s, got := &segment{}, 0
		for _, c := range strings.Fields(tt.changes) {
			op := merge.OpUpsert
			if c[1] == '-' {
				op = merge.OpDelete
			}
			if !s.joins(name(c[:1]), parents[c[:1]], op, c[1] == '?') {
				break
			}
			got++
		}
		if got != tt.want {
			t.Errorf("%s: %d land together, want %d", tt.changes, got, tt.want)
		}
	}
}

// Tables with foreign keys follow their source in global order.
func TestFollowForeignKeys(t *testing.T) {
	for _, format := range []string{"json", "arrow"} {
		t.Run(format, func(t *testing.T) {
			onFollow(t, family+"INSERT dbo.parent VALUES (1, N'a'), (2, N'b'); INSERT dbo.child VALUES (1, 1, N'x'), (2, 2, N'y');"+cdcOf("parent", "child", "other"), family,
				func(t *testing.T, r *followRig) {
					r.start("ordering: global\nstream_snapshot: false\nformat: "+format, "mode: apply")
					for i := range 30 {
						n := 100 + 2*i
						r.sql(r.src, fmt.Sprintf(`BEGIN TRAN; INSERT dbo.parent VALUES (%[1]d, N'p'); INSERT dbo.child VALUES (%[1]d, %[1]d, N'c'); INSERT dbo.parent VALUES (%[2]d, N'p'); INSERT dbo.child VALUES (%[2]d, %[1]d, N'c'); COMMIT;
BEGIN TRAN; UPDATE dbo.child SET parent = %[2]d WHERE parent = %[1]d; DELETE dbo.parent WHERE id = %[1]d; COMMIT;
UPDATE dbo.parent SET v = N'later' WHERE id = %[2]d - 4; INSERT dbo.other VALUES (%[1]d, N'o');`, n, n+1))
						if i%5 == 4 {
							r.sql(r.src, fmt.Sprintf("BEGIN TRAN; DELETE dbo.child WHERE parent = %[1]d; DELETE dbo.parent WHERE id = %[1]d; COMMIT;", n-1))
							<-time.After(200 * time.Millisecond)
						}
					}
					r.sql(r.src, "UPDATE dbo.parent SET v = N'z'; UPDATE dbo.child SET v = N'z'; DELETE dbo.child WHERE id < 3; DELETE dbo.parent WHERE id < 3;")
					r.equal("dbo.parent", "dbo.child", "dbo.other")
					r.want(r.dst, "SELECT COUNT(*) FROM dbo.child AS c LEFT JOIN dbo.parent AS p ON p.id = c.parent WHERE p.id IS NULL", "0")
				})
		})
	}
}
