package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// bulkWays are the ways of a load: through a temporary table, and straight into the table.
var bulkWays = map[string]string{
	"staged": "table: t\nbackoff: {initial_interval: 1s, max_interval: 1s}",
	"direct": "table: t\nhints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]\nbackoff: {initial_interval: 1s, max_interval: 1s}",
	"driver": "table: t\nraw_tds: off\nbackoff: {initial_interval: 1s, max_interval: 1s}",
}

// The connection is cut at each message of a load in turn: every row is there once, and never half of a batch.
func TestBulkCutAtEveryMessage(t *testing.T) {
	for way, fields := range bulkWays {
		for cut := 0; ; cut++ {
			hit, half := false, false
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (id int, s nvarchar(20))")
				out := r.start(fields)
				out.lands(`{"id":0}`)
				r.ctl.Add(mssqltest.Rule{Skip: cut, Times: 1, Cut: true, Before: func(mssqltest.Event) { hit = true }})
				r.ctl.Add(mssqltest.Rule{Kind: "login", Before: func(mssqltest.Event) { // a second later
					rows, err := r.srv.Query("SELECT COUNT(*) FROM dbo.t")
					half = half || err != nil || rows[0][0] != "1"
				}})
				var rows []string
				for i := range 10 {
					rows = append(rows, fmt.Sprintf(`{"id":%d,"s":"row %d"}`, i+1, i+1))
				}
				out.lands(rows...)
				r.want("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id) FROM dbo.t", "11|11|55")
				if n := out.metrics.get("mssql_bulk_rows", "dbo.t"); n != 11 {
					t.Errorf("%v rows were counted", n)
				}
			})
			if t.Failed() || half {
				t.Fatalf("%s: cut before message %d (half written: %t)", way, cut+1, half)
			}
			if !hit {
				if cut < 3 {
					t.Errorf("%s: a load has %d messages", way, cut)
				}
				break
			}
		}
	}
}

// The answer to the commit is lost: the rows are loaded again, and that is counted and logged.
func TestBulkUnknownCommit(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		out := r.start(bulkWays["staged"])
		r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "COMMIT", Times: 1, Cut: true, CutAfter: 1})
		out.lands(`{"id":1}`)
		r.want("SELECT id FROM dbo.t", "1", "1")
		if n := out.metrics.get("mssql_bulk_unknown_commits", ""); n != 1 || out.log.count("may be there twice") != 1 {
			t.Errorf("%v unknown commits, log %s", n, out.log)
		}
	})
	// A key makes the second time a refused row.
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		out := r.start(bulkWays["staged"] + "\nmax_retries: 0")
		r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "COMMIT", Times: 1, Cut: true, CutAfter: 1})
		out.refuses(bulkBatch(`{"id":1}`), map[int][]string{0: {"PRIMARY KEY"}})
		r.want("SELECT id FROM dbo.t", "1")
	})
}

// Every error of the transient list is waited out, at each statement of a load.
func TestBulkTransientErrors(t *testing.T) {
	for _, number := range []int32{1205, 1222, 3960, 701, 9002, 976, 40197, 40501, 10928, 1105, 3906} {
		class := uint8(16)
		if number == 1105 { // not on the list: a class for resources
			class = 17
		}
		for _, at := range []string{"CREATE TABLE [#", "INSERT BULK", "BEGIN TRANSACTION", "INSERT INTO [dbo].[t]", "COMMIT"} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
				out := r.start(bulkWays["staged"])
				met := 0
				r.ctl.Add(mssqltest.Rule{Text: at, Times: 3, Error: number, Class: class, ErrorMessage: "passes", Match: func(e mssqltest.Event) bool { return e.Kind != "statement" }, Before: func(mssqltest.Event) { met++ }})
				began := time.Now()
				out.lands(`{"id":1}`, `{"id":2}`)
				if met != 3 {
					t.Errorf("error %d at %s was met %d times", number, at, met)
				}
				if took := time.Since(began); took < 1500*time.Millisecond {
					t.Errorf("error %d at %s: landed after %s without pauses", number, at, took)
				}
				if n := out.log.count("until it lands: loading into dbo.t: "); n != 1 || out.log.count(fmt.Sprintf("error %d", number)) != 1 {
					t.Errorf("%d log lines: %s", n, out.log)
				}
				r.want("SELECT COUNT(*) FROM dbo.t", "2")
			})
			if t.Failed() {
				t.Fatalf("error %d at %s", number, at)
			}
		}
	}
}

// The server is not there at all for a while: the batch waits in place.
func TestBulkServerAway(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		out := r.start(bulkWays["staged"])
		remove := r.ctl.Add(mssqltest.Rule{Kind: "connect", Cut: true})
		r.ctl.Cut(nil)
		go func() {
			pass(5 * time.Minute)
			remove()
		}()
		began := time.Now()
		out.lands(`{"id":1}`)
		if took := time.Since(began); took < 5*time.Minute {
			t.Errorf("landed after %s", took)
		}
		r.want("SELECT id FROM dbo.t", "1")

		r.ctl.Add(mssqltest.Rule{Kind: "connect", Cut: true})
		r.ctl.Cut(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := out.output.WriteBatch(ctx, bulkBatch(`{"id":2}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end of the context: %v", err)
		}
	})
}

// Rows to blame are found among many; the others land.
func TestBulkBisection(t *testing.T) {
	for way, fields := range bulkWays {
		for _, bad := range [][]int{{0}, {499}, {250, 251}, {3, 77, 300, 498}} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v int CHECK (v < 1000))")
				var rows []string
				want := map[int][]string{}
				for i := range 500 {
					v := 1
					if slices.Contains(bad, i) {
						v, want[i] = 1000, []string{"dbo.t", fmt.Sprintf("row %d of the batch", i+1), "CHECK"}
					}
					rows = append(rows, fmt.Sprintf(`{"id":%d,"v":%d}`, i, v))
				}
				out := r.start(fields + "\nmax_retries: 0")
				out.refuses(bulkBatch(rows...), want)
				r.want("SELECT COUNT(*) FROM dbo.t", fmt.Sprint(500-len(bad)))
				if n := out.metrics.get("mssql_bulk_rows", "dbo.t"); n != float64(500-len(bad)) {
					t.Errorf("%v rows were counted", n)
				}
			})
			if t.Failed() {
				t.Fatalf("%s, %v", way, bad)
			}
		}
	}
}

// A table of a fixed name that is not there holds the batch back; one by interpolation refuses its messages.
func TestBulkMissingTable(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		out := r.make("table: dbo.t")
		if err := out.output.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "dbo.t") {
			t.Errorf("Connect without the table: %v", err)
		}
		r.sql("CREATE TABLE dbo.t (id int)")
		if err := out.output.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		out.lands(`{"id":1}`)
		r.sql("DROP TABLE dbo.t")
		if err := out.output.WriteBatch(t.Context(), bulkBatch(`{"id":2}`)); !errors.Is(err, service.ErrNotConnected) || !strings.Contains(err.Error(), "dbo.t") {
			t.Errorf("WriteBatch without the table: %v", err)
		}
		r.sql("CREATE TABLE dbo.t (id bigint)")
		out.lands(`{"id":9007199254740993}`)
		r.want("SELECT id FROM dbo.t", "9007199254740993")

		r.sql("CREATE TABLE dbo.u (id int)")
		some := r.start("table: 'dbo.${! @to }'")
		batch := bulkBatch(`{"id":1}`, `{"id":2}`, `{"id":3}`, `{"id":4}`)
		for i, to := range []string{"u", "nowhere", "a.b.c", "u"} {
			batch[i].MetaSet("to", to)
		}
		some.refuses(batch, map[int][]string{1: {"dbo.nowhere", "does not exist"}, 2: {"4 parts"}})
		r.want("SELECT id FROM dbo.u", "1", "4")
	})
}

// The table changes while the output knows it.
func TestBulkTableChanges(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int, s varchar(3))")
			out := r.start(fields + "\nmax_retries: 0")
			out.lands(`{"id":1,"s":"abc"}`)
			pass(staleAfter)
			r.sql("ALTER TABLE dbo.t ADD n int NULL")
			out.lands(`{"id":2,"n":7}`)
			pass(staleAfter)
			r.sql("ALTER TABLE dbo.t ALTER COLUMN s varchar(10)")
			out.lands(`{"id":3,"s":"abcdefghij"}`)
			r.sql("ALTER TABLE dbo.t DROP COLUMN n")
			out.refuses(bulkBatch(`{"id":4,"n":8}`, `{"id":5}`), map[int][]string{0: {"column n", "no such column"}})
			pass(staleAfter)
			r.sql("DROP TABLE dbo.t; CREATE TABLE dbo.t (id int, s nvarchar(5))")
			out.lands(`{"id":6,"s":"é表"}`)
			r.want("SELECT id, s FROM dbo.t", "6|é表")
		})
		if t.Failed() {
			t.Fatal(way)
		}
	}
}

// What has landed before a failure that holds the batch back does not come again.
func TestBulkHalvesLandOnce(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v int CHECK (v < 10))")
		out := r.start("table: t\nmax_retries: 0")
		loads := 0
		r.ctl.Add(mssqltest.Rule{Kind: "rpc", Text: "INSERT INTO [dbo].[t]", Before: func(mssqltest.Event) {
			if loads++; loads == 3 {
				r.sql("DENY INSERT ON dbo.t TO public")
			}
		}, Match: func(mssqltest.Event) bool { return true }})
		r.ctl.Add(mssqltest.Rule{Kind: "rpc", Text: "INSERT INTO [dbo].[t]", Skip: 2, Error: 229, ErrorMessage: "The INSERT permission was denied"})
		failed := out.write(bulkBatch(`{"id":1,"v":1}`, `{"id":2,"v":2}`, `{"id":3,"v":99}`, `{"id":4,"v":4}`))
		if failed[0] != nil || failed[1] != nil || failed[2] == nil || failed[3] == nil {
			t.Errorf("refused: %v", failed)
		}
		r.want("SELECT id FROM dbo.t", "1", "2")
	})
}
