package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// Table to table, as JSON and as Arrow: inserts, updates with and without a large column, changes of the key, deletions, with both forms
// of the old row; again, from the start, and with other batches.
func TestBulkFollowsCDC(t *testing.T) {
	for _, format := range []string{"json", "arrow"} {
		for _, before := range []string{"none", "message"} {
			for _, once := range []bool{false, true} {
				onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
					const columns = "id int NOT NULL PRIMARY KEY, u int NULL, note nvarchar(max) NULL, rv rowversion"
					r.table("src", columns)
					r.sql("CREATE TABLE dbo.dst (" + columns + ")")
					run := r.start("format: " + format + "\nbefore_image: " + before)
					changes := 0
					change := func(n int, sql string) {
						r.sql(sql)
						changes += n
					}
					large := strings.Repeat("é", 5000)
					change(3, "INSERT dbo.src (id, u, note) VALUES (1, 1, N'"+large+"'), (2, 2, N'two'), (3, 3, NULL)")
					change(1, "UPDATE dbo.src SET u = 10 WHERE id = 1")
					change(2, "UPDATE dbo.src SET u = CASE u WHEN 2 THEN 3 ELSE 2 END WHERE id IN (2, 3)")
					change(2, "UPDATE dbo.src SET id = 4 WHERE id = 3")
					change(2, "DELETE dbo.src WHERE id = 2; INSERT dbo.src (id, u, note) VALUES (2, 20, N'again')")
					change(1, "UPDATE dbo.src SET note = N'short' WHERE id = 1")
					var batches []service.MessageBatch
					for n := 0; n < changes; {
						var batch service.MessageBatch
						for _, m := range run.batch() {
							message := service.NewMessage([]byte(m.body))
							for k, v := range m.meta {
								message.MetaSetMut(k, v)
							}
							batch = append(batch, message)
							if format == "json" && m.meta["operation"] != "update_before" {
								n++
							}
							if format == "arrow" {
								rows, _ := arrowRows(t, m)
								for _, row := range rows {
									if fmt.Sprint(row["__$operation"]) != "update_before" {
										n++
									}
								}
							}
						}
						batches = append(batches, batch)
					}
					b := &bulkRig{t: t, srv: r.srv, ctl: r.ctl, host: r.host}
					out := b.start(fmt.Sprintf("table: dst\nmode: apply\nexactly_once: {enabled: %t}", once))
					defer out.stop()
					for range 2 { // and again from the start
						for _, batch := range batches {
							out.applies(batch.DeepCopy()...)
						}
						b.want("SELECT id, u, note FROM dbo.dst ORDER BY id", b.rows("SELECT id, u, note FROM dbo.src ORDER BY id")...)
					}
					var all service.MessageBatch
					for _, batch := range batches {
						all = append(all, batch.DeepCopy()...)
					}
					b.sql("TRUNCATE TABLE dbo.dst")
					fresh := b.start("table: dst\nmode: apply")
					defer fresh.stop()
					fresh.applies(all...)
					b.want("SELECT id, u, note FROM dbo.dst ORDER BY id", b.rows("SELECT id, u, note FROM dbo.src ORDER BY id")...)
				})
				if t.Failed() {
					t.Fatal(format, before, once)
				}
			}
		}
	}
}
