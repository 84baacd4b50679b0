package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// What mssql_cdc gives out as Arrow goes into a table as it is, with every type but sql_variant: into one that is there, one that create_table
// makes, and one that keeps some of the change columns.
func TestBulkTakesArrowOfCDC(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.sql("CREATE TYPE dbo.price FROM decimal(9,3) NULL")
		var values, plain []string
		columns := "id int NOT NULL PRIMARY KEY"
		for i, c := range cdcTypes {
			typ := strings.TrimSuffix(c.typ, " NULL")
			if !c.inNanoseconds() || typ == "sql_variant" {
				continue
			}
			values = append(values, c.value)
			columns += fmt.Sprintf(", c%d %s NULL", i, typ)
			if !strings.HasPrefix(typ, "ge") && typ != "hierarchyid" { // what create_table makes of them is varbinary(max)
				plain = append(plain, fmt.Sprintf("c%d", i))
			}
		}
		r.table("ty", columns)
		r.sql("CREATE TABLE dbo.same (" + columns + ")")
		r.sql("CREATE TABLE dbo.history (id int, c0 bit, [__$operation] nvarchar(20), [__$lsn] varchar(22), [__$commit_ts_ms] datetimeoffset(3))")
		run := r.start("format: arrow")
		r.sql("INSERT dbo.ty VALUES (1, " + strings.Join(values, ", ") + "); INSERT dbo.ty (id) VALUES (2)")
		var bodies []string
		for n := 0; n < 2; {
			for _, m := range run.batch() {
				rows, _ := arrowRows(t, m)
				n += len(rows)
				bodies = append(bodies, m.body)
			}
		}
		b := &bulkRig{t: t, srv: r.srv, ctl: r.ctl, host: r.host}
		load := func(fields string) {
			t.Helper()
			run := b.start(fields)
			defer run.stop()
			var batch service.MessageBatch
			for _, body := range bodies {
				batch = append(batch, service.NewMessage([]byte(body)))
			}
			if failed := run.write(batch); len(failed) > 0 {
				t.Errorf("%s: refused: %v", fields, failed)
			}
		}
		load("table: dbo.same")
		b.want("SELECT * FROM dbo.same ORDER BY id", b.rows("SELECT * FROM dbo.ty ORDER BY id")...)
		load("table: dbo.fresh\ncreate_table: true")
		list := strings.Join(plain, ", ")
		b.want("SELECT "+list+" FROM dbo.fresh ORDER BY id", b.rows("SELECT "+list+" FROM dbo.ty ORDER BY id")...)
		b.want("SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.fresh')", fmt.Sprint(len(values)+1))
		load("table: dbo.history\non_unknown_field: ignore")
		b.want("SELECT id, [__$operation], LEN([__$lsn]), DATEPART(TZOFFSET, [__$commit_ts_ms]) FROM dbo.history ORDER BY id", "1|insert|22|0", "2|insert|22|0")
	})
}
