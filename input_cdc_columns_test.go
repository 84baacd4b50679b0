package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/schema"

	"example.com/mssqlcdc/mssqltest"
)

// Columns that the server treats in its own way: each is in the body as the change table has it, or left out.
func TestCDCSpecialColumns(t *testing.T) {
	tests := []struct{ name, table, captured, insert, want string }{
		{"rowversion", "id int NOT NULL PRIMARY KEY, rv rowversion", "", "(id) VALUES (1)", `{"id":1,"rv":"%s"}`},
		{"computed, persisted and not", "id int NOT NULL PRIMARY KEY, a int NULL, b AS (a * 2), c AS (a * 3) PERSISTED, d int NULL", "", "(id, a, d) VALUES (1, 2, 3)", `{"id":1,"a":2,"d":3}`},
		{"hidden period columns", `id int NOT NULL PRIMARY KEY, v int NULL, f datetime2(0) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL,
			u datetime2(0) GENERATED ALWAYS AS ROW END HIDDEN NOT NULL, PERIOD FOR SYSTEM_TIME (f, u)`, "", "(id, v) VALUES (1, 2)", `{"id":1,"v":2,"f":"%s","u":"9999-12-31T23:59:59"}`},
		{"some columns captured", "id int NOT NULL PRIMARY KEY, secret nvarchar(50) NULL, v int NULL", "id,v", "VALUES (1, N'secret', 2)", `{"id":1,"v":2}`},
		{"NOT NULL columns beside a large one", "id int NOT NULL PRIMARY KEY, b bit NOT NULL, n nvarchar(max) NULL", "", "VALUES (1, 1, NULL)", `{"id":1,"b":true,"n":null}`},
		{"identity", "id int IDENTITY(7, 3) NOT NULL PRIMARY KEY, v int NULL", "", "(v) VALUES (1)", `{"id":7,"v":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.sql("CREATE TABLE dbo.x (" + tt.table + ")")
				columns := ""
				if tt.captured != "" {
					columns = ", @captured_column_list = N'" + tt.captured + "'"
				}
				r.sql("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'x', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0" + columns)
				run := r.start("")
				r.sql("INSERT dbo.x " + tt.insert)
				m, want := run.one(), tt.want
				if _, values := fields(t, m.body); strings.Contains(want, "%s") {
					// What only the server knows: a generated value.
					want = fmt.Sprintf(want, strings.Trim(values["rv"]+values["f"], `"`))
				}
				m.want(t, "insert", want)
				run.nothing(cdcQuiet)
			})
		})
	}
}

// A second capture instance with a new column gives a new schema, in a new batch: the first message's schema is taken for its
// whole batch.
func TestCDCSchemaOfTwoInstances(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.k VALUES (1, 1), (2, 2)")
		r.sql("ALTER TABLE dbo.k ADD w decimal(9,3) NULL")
		r.enable("k", "two")
		r.sql("INSERT dbo.k VALUES (3, 3, 3), (4, 4, 4)")
		run := r.start("")
		for _, want := range []string{"id INT32, v INT32", "id INT32, v INT32, w DECIMAL(9,3)"} {
			batch := run.batch()
			if len(batch) != 2 {
				t.Errorf("a batch of %d, want the two changes of one instance: %v", len(batch), batch)
			}
			for _, m := range batch {
				if got := schemaText(t, m); got != "k: "+want {
					t.Errorf("%v has the schema %s, want %s", m, got, want)
				}
			}
		}
	})
}

// Under ordering table a batch has one table and one schema.
func TestCDCOneSchemaInABatch(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		r.table("b", "id bigint NOT NULL PRIMARY KEY")
		for i := range 5 {
			r.sql(fmt.Sprintf("BEGIN TRANSACTION; INSERT dbo.a VALUES (%d); INSERT dbo.b VALUES (%d); COMMIT", i, i))
		}
		run := r.start("")
		came := 0
		for came < 10 {
			batch := run.batch()
			for _, m := range batch {
				if schemaText(t, m) != schemaText(t, batch[0]) || m.text("table") != batch[0].text("table") {
					t.Errorf("a batch with %v and %v", batch[0], m)
				}
			}
			came += len(batch)
		}
	})
}

// schemaText writes a message's schema in one line.
func schemaText(t *testing.T, m *cdcMessage) string {
	t.Helper()
	root, err := schema.ParseFromAny(m.meta["schema"])
	if err != nil {
		t.Fatal(err)
	}
	columns := make([]string, len(root.Children))
	for i, c := range root.Children {
		columns[i] = c.Name + " " + commonText(c)
	}
	return root.Name + ": " + strings.Join(columns, ", ")
}
