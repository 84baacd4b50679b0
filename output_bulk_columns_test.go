package mssqlcdc

import (
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// Columns that the server fills itself are left out, whether messages have them, as those of mssql_cdc do, or not.
func TestBulkLeavesOutColumnsOfTheServer(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(`CREATE TABLE dbo.t (id int PRIMARY KEY, v int, twice AS v * 2 PERSISTED, once AS v, rv rowversion,
				a datetime2(2) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, b datetime2(2) GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (a, b))`)
			out := r.start(fields)
			out.lands(`{"id":1,"v":10}`)
			out.lands(`{"id":2,"v":20,"twice":7,"once":7,"rv":"AAAAAAAAB9E=","a":"2001-01-01T00:00:00.00","b":"2002-01-01T00:00:00.00"}`)
			wantTexts(t, way, r.rows("SELECT id, v, twice, once, DATALENGTH(rv), CASE WHEN a > '2001-01-01' OR a < '2000-06-01' THEN 'now' END, b FROM dbo.t ORDER BY id"),
				"1|10|20|10|8|now|9999-12-31 23:59:59.99", "2|20|40|20|8|now|9999-12-31 23:59:59.99")
			out.refuses(bulkBatch(`{"id":3,"v":30,"c":1}`), map[int][]string{0: {"column c", "no such column"}})
		})
	}
}

// Where rows cannot be written past the driver, raw_tds decides: auto goes through the driver and says so once, require fails with the
// reason.
func TestBulkRawNotPossible(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int)")
		r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "0x0102", Error: 50000}) // the probe
		out := r.make("table: t\nraw_tds: require")
		for what, err := range map[string]error{"Connect": out.output.Connect(t.Context()), "ConnectionTest": out.output.ConnectionTest(t.Context())[0].Err} {
			if err == nil || !strings.Contains(err.Error(), "raw_tds: require asks for: probing the connection: mssql: Error 50000") {
				t.Errorf("%s with require: %v", what, err)
			}
		}
		auto := r.start("table: t\nraw_tds: auto")
		auto.lands(`{"id":1}`)
		r.ctl.Cut(nil)
		auto.lands(`{"id":2}`) // on a new connection
		if n := auto.log.count("rows go through the driver"); n != 1 {
			t.Errorf("it is said %d times", n)
		}
		off := r.start("table: t\nraw_tds: off")
		off.lands(`{"id":3}`)
		if n := off.log.count("rows go through the driver"); n != 0 {
			t.Errorf("it is said %d times, though raw_tds is off", n)
		}
		r.want("SELECT id FROM dbo.t ORDER BY id", "1", "2", "3")
	})
}
