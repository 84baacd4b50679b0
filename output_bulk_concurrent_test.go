package mssqlcdc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// W22: two writers change the same keys at the same time. No key comes twice, deadlocks are tried again, nothing is lost.
func TestBulkTwoWriters(t *testing.T) {
	for _, mode := range []string{"upsert", "apply"} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a int NULL, b int NULL, c AS a + b)")
			fields := "table: t\nmode: " + mode + "\noperation: ${! @operation.or(\"upsert\") }"
			var wg sync.WaitGroup
			const rounds, keys = 12, 60
			for n, column := range []string{"a", "b"} {
				out := r.start(fields)
				wg.Go(func() {
					for round := range rounds {
						var batch service.MessageBatch
						for k := range keys {
							id := k*7%keys + round // in another order than that of the key, and half new
							if n == 1 {
								id = keys - 1 - k + round
							}
							batch = append(batch, service.NewMessage(fmt.Appendf(nil, `{"id":%d,%q:%d}`, id, column, round)))
						}
						if err := out.output.WriteBatch(t.Context(), batch); err != nil {
							t.Errorf("writer %d, round %d: %v", n, round, err)
						}
					}
				})
			}
			wg.Wait()
			r.want("SELECT COUNT(*), COUNT(a), COUNT(b) FROM dbo.t", "71|71|71")
			r.want("SELECT COUNT(*) FROM dbo.t WHERE a <> CASE WHEN id < 11 THEN id ELSE 11 END OR a <> b", "0")
		})
	}
}

// tableLocks counts the exclusive locks of whole tables that are held when a load commits.
func tableLocks(r *bulkRig, table string) *int {
	n := new(int)
	r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "COMMIT TRAN", Before: func(mssqltest.Event) {
		object := r.rows("SELECT OBJECT_ID(N'" + table + "')")[0]
		for _, lock := range r.ctl.Locks() {
			if strings.HasPrefix(lock, "X ") && strings.Contains(lock, ":"+object+" ") {
				*n++
			}
		}
	}})
	return n
}

// A batch of the default size, and a longer one that is cut, locks rows and not the table; one transaction for it would.
func TestBulkNoEscalation(t *testing.T) {
	const rows = 9000
	for _, form := range []string{"json", "arrow"} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NULL)")
			batch := func() service.MessageBatch {
				var list []string
				for i := range rows {
					list = append(list, fmt.Sprintf(`{"id":%d,"v":%d}`, i, i))
				}
				if form == "json" {
					return bulkBatch(list...)
				}
				return service.MessageBatch{arrowMessage(t, []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: arrow.PrimitiveTypes.Int32}}, "["+strings.Join(list, ",")+"]")}
			}
			locked := tableLocks(r, "dbo.t")
			out := r.start("table: t\nmode: upsert")
			out.applies(batch()...) // inserts
			out.applies(batch()...) // updates
			if *locked != 0 {
				t.Errorf("%s: the table was locked %d times", form, *locked)
			}
			r.want("SELECT COUNT(*) FROM dbo.t", fmt.Sprint(rows))
			if form == "arrow" { // one that must not be cut shows that the look finds something
				out := r.start("table: t\nmode: upsert\nreject_table: rejected")
				if err := out.output.WriteBatch(context.Background(), batch()); err != nil {
					t.Error(err)
				}
				if *locked == 0 {
					t.Error("a batch of 9000 rows did not lock the table, so this test shows nothing")
				}
			}
		})
	}
}
