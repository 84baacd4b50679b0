package mssqlcdc

import (
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// What passes is waited out at each statement of an upsert, a deletion, and the fence; the batch lands once and whole.
func TestBulkApplyTransientErrors(t *testing.T) {
	for _, at := range []string{"CREATE TABLE [#mssql_merge", "INSERT BULK [#mssql_merge", "LEAD(", "BEGIN TRANSACTION", "DELETE t FROM", "UPDATE t SET", "SET token", "COMMIT"} {
		for _, number := range []int32{1205, 1222} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql(once)
				r.sql("INSERT dbo.t VALUES (1, 0), (2, 0)")
				out := r.start(fenced["apply"])
				met := 0
				r.ctl.Add(mssqltest.Rule{Text: at, Times: 3, Error: number, ErrorMessage: "passes", Match: func(e mssqltest.Event) bool { return e.Kind != "statement" }, Before: func(mssqltest.Event) { met++ }})
				out.applies(event(1, "update", `{"id":1,"v":1}`), event(2, "delete", `{"id":2}`), event(3, "insert", `{"id":3,"v":3}`), event(4, "update", `{"id":3,"v":4}`))
				if met != 3 {
					t.Errorf("error %d at %s was met %d times", number, at, met)
				}
				r.want("SELECT id, v FROM dbo.t ORDER BY id", "1|1", "3|4")
				r.want("SELECT id, COUNT(*) FROM dbo.audit WHERE v > 0 GROUP BY id ORDER BY id", "1|1", "3|1")
			})
			if t.Failed() {
				t.Fatalf("error %d at %s", number, at)
			}
		}
	}
}
