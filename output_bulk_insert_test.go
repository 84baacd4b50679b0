package mssqlcdc

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// W15: values of an identity column are kept when the messages have them, numbered when they do not, and never mixed.
func TestBulkIdentity(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY, v int)")
		out := r.start("table: t")
		out.lands(`{"v":1}`, `{"v":2}`)
		out.lands(`{"id":10,"v":3}`, `{"id":20,"v":4}`)
		out.refuses(bulkBatch(`{"id":30,"v":5}`, `{"v":6}`, `{"id":40,"v":7}`), map[int][]string{1: {"column id", "identity"}})
		out.refuses(bulkBatch(`{"v":8}`, `{"id":50,"v":9}`, `{"id":null,"v":10}`), map[int][]string{1: {"column id", "identity"}, 2: {"column id", "null"}})
		r.want("SELECT id, v FROM dbo.t ORDER BY v", "1|1", "2|2", "10|3", "20|4", "30|5", "40|7", "41|8")
	})
}

// W16, W17: what the server fills itself is left out, whether the messages have it or not; defaults and NULL are two things.
func TestBulkColumnsOfTheServer(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (a int NOT NULL, b int NULL DEFAULT 7, c AS a * 2, rv rowversion, d int NOT NULL DEFAULT 8, e int NULL)")
		for way, fields := range bulkWays {
			out := r.start(fields)
			out.refuses(bulkBatch(
				`{"a":1}`, `{"a":2,"b":null,"c":99,"rv":"AAAAAAAAB9E="}`, `{"a":3,"b":1,"d":2,"e":3}`, `{"a":4,"d":null}`, `{"b":1}`, `{"a":5,"e":5}`,
			), map[int][]string{3: {"column d", "NOT NULL"}, 4: {"column a", "no value"}})
			wantTexts(t, way, r.rows("SELECT a, b, c, d, e FROM dbo.t ORDER BY a"), "1|7|2|8|NULL", "2|NULL|4|8|NULL", "3|1|6|2|3", "5|7|10|8|5")
			r.sql("TRUNCATE TABLE dbo.t")
		}
	})
}

// One transaction holds a batch of two tables: the refusal of a row of one takes nothing from the other.
func TestBulkTwoTables(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY, v int CHECK (v > 0))")
		out := r.start("max_retries: 0")
		var batch service.MessageBatch
		for i := range 20 {
			m := service.NewMessage(fmt.Appendf(nil, `{"id":%d}`, i))
			m.MetaSet("table", "a")
			if i%2 == 1 {
				m = service.NewMessage(fmt.Appendf(nil, `{"id":%d,"v":%d}`, i, i-7))
				m.MetaSet("table", "b")
			}
			m.MetaSet("database_schema", "dbo")
			batch = append(batch, m)
		}
		out.refuses(batch, map[int][]string{1: {"dbo.b", "CHECK"}, 3: {"dbo.b"}, 5: {"dbo.b"}, 7: {"dbo.b"}})
		r.want("SELECT COUNT(*) FROM dbo.a", "10")
		r.want("SELECT id FROM dbo.b ORDER BY id", "9", "11", "13", "15", "17", "19")
	})
}

// W21: a login with SELECT and INSERT alone loads, large and small batches.
func TestBulkLeastRights(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, s nvarchar(max))\nGO\nCREATE LOGIN loader WITH PASSWORD = 'Str0ng!pass'\nGO\nCREATE USER loader FOR LOGIN loader; GRANT SELECT, INSERT ON dbo.t TO loader")
		out := r.start("table: t\nconnection_string: " + r.dsn("user id=loader", "password=Str0ng!pass"))
		out.lands(`{"id":1,"s":"é"}`)
		out.lands(`{"id":2,"s":"`+strings.Repeat("x", stagedBytes)+`"}`, `{"id":3}`)
		r.want("SELECT id, LEN(s) FROM dbo.t ORDER BY id", "1|1", fmt.Sprintf("2|%d", stagedBytes), "3|NULL")
	})
}

// W01, W12, W13, rule 22: small loads go through a temporary table, made once; large ones do not; neither has a limit of rows.
func TestBulkSmallAndLarge(t *testing.T) {
	onBulk(t, mssqltest.Config{PacketSize: 512}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int, a int, b int, s nvarchar(max))")
		out := r.start("table: t")
		var bulk, created int
		var targets []string
		var mu sync.Mutex
		r.ctl.Add(mssqltest.Rule{Kind: "bulk", Before: func(e mssqltest.Event) {
			mu.Lock()
			defer mu.Unlock()
			bulk++
			targets = append(targets, strings.Fields(e.Text)[2])
		}})
		r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "CREATE TABLE", Before: func(mssqltest.Event) { created++ }})
		var rows []string
		for i := range 3000 {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"a":1,"b":2,"s":"x"}`, i))
		}
		out.lands(rows...)
		out.lands(rows...)
		long := fmt.Sprintf(`{"id":1,"a":1,"b":2,"s":"%s"}`, strings.Repeat("é", 3<<19))
		out.lands(long)
		if bulk != 3 || created != 1 || targets[0] != "[#mssql_bulk_1]" || targets[2] != "[dbo].[t]" {
			t.Errorf("%d bulk loads into %q, %d temporary tables", bulk, targets, created)
		}
		r.want("SELECT COUNT(*), MAX(LEN(s)) FROM dbo.t", fmt.Sprintf("6001|%d", 3<<19))
	})
}

// Several batches at the same time, each on a connection of its own.
func TestBulkInFlight(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		out := r.start("table: t\nmax_in_flight: 4")
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for i := range 20 {
					if err := out.output.WriteBatch(t.Context(), bulkBatch(fmt.Sprintf(`{"id":%d}`, n*100+i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		r.want("SELECT COUNT(*) FROM dbo.t", "80")
		if n := out.metrics.highest("mssql_bulk_connections", ""); n < 1 || n > 4 {
			t.Errorf("%v connections", n)
		}
	})
}

// Names that need quoting, and columns that differ in case.
func TestBulkNames(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.[a]]b.c] ([x y] int, [select] nvarchar(5), [Ünï]]] int)")
		for _, fields := range []string{"", "hints: [CHECK_CONSTRAINTS]"} {
			r.start("table: 'dbo.[a]]b.c]'\n" + fields).lands(`{"X Y":1,"select":"a","Ünï]":2}`)
		}
		r.want("SELECT * FROM dbo.[a]]b.c]", "1|a|2", "1|a|2")
	})
}

// An index with IGNORE_DUP_KEY leaves rows out: their loads are refused, by each way, and the others land.
func TestBulkIgnoreDupKey(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			if err := r.srv.Exec("CREATE TABLE dbo.t (id int); CREATE UNIQUE INDEX i ON dbo.t (id) WITH (IGNORE_DUP_KEY = ON)"); err != nil {
				t.Skipf("the stand-in has no IGNORE_DUP_KEY: %v", err)
			}
			out := r.start(fields + "\nmax_retries: 0")
			out.refuses(bulkBatch(`{"id":1}`, `{"id":2}`, `{"id":1}`), map[int][]string{2: {"dbo.t"}})
			wantTexts(t, way, r.rows("SELECT id FROM dbo.t ORDER BY id"), "1", "2")
		})
	}
}
