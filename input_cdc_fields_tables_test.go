package mssqlcdc

import (
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// include and exclude are patterns over the whole of schema.table, in its case; exclude wins.
func TestCDCChoosesTables(t *testing.T) {
	tests := []struct{ name, fields, want string }{
		{"all", "", "Customers Orders orders2 sold"},
		{"whole name", "include: ['dbo\\.Orders']", "Orders"},
		{"no part of it", "include: ['.*r.*2']", "orders2"},
		{"several", "include: ['dbo\\.Orders', '.*\\.Cust.*']", "Customers Orders"},
		{"alternatives", "include: ['dbo\\.Orders|sales\\.sold']", "Orders sold"},
		{"another schema", "include: ['sales\\..*']", "sold"},
		{"excluded", "exclude: ['.*2', 'sales\\..*']", "Customers Orders"},
		{"excluded whole name only", "exclude: ['Orders', 'dbo\\.Ord']", "Customers Orders orders2 sold"},
		{"exclude wins", "include: ['dbo\\..*']\nexclude: ['dbo\\.Orders']", "Customers orders2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{Collation: "SQL_Latin1_General_CP1_CS_AS"}, func(t *testing.T, r *cdcRig) {
				r.sql("CREATE SCHEMA sales")
				script := ""
				for _, name := range []string{"dbo.Orders", "dbo.orders2", "dbo.Customers", "sales.sold"} {
					schema, table, _ := strings.Cut(name, ".")
					script += "CREATE TABLE " + name + " (id int NOT NULL PRIMARY KEY);\nEXEC sys.sp_cdc_enable_table @source_schema = N'" + schema + "', @source_name = N'" + table +
						"', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;\nINSERT " + name + " VALUES (1);\n"
				}
				r.sql(script)
				run := r.start(tt.fields)
				got := column(run.drains(cdcQuiet), func(m *cdcMessage) string { return m.text("table") })
				slices.Sort(got)
				if strings.Join(got, " ") != tt.want {
					t.Errorf("read %s, want %s", strings.Join(got, " "), tt.want)
				}
			})
		})
	}
}

// A pattern that matches nothing is an error at start that names it.
func TestCDCPatternWithoutMatch(t *testing.T) {
	for _, pattern := range []string{`dbo\.oders`, `DBO\.ORDERS`, `orders`, `dbo\.plain`} {
		onCDC(t, mssqltest.Config{Collation: "SQL_Latin1_General_CP1_CS_AS"}, func(t *testing.T, r *cdcRig) {
			r.table("orders", "id int NOT NULL PRIMARY KEY")
			r.sql("CREATE TABLE dbo.plain (id int NOT NULL PRIMARY KEY); INSERT dbo.orders VALUES (1)")
			run := r.start("include: ['dbo\\.orders', '" + pattern + "']")
			run.nothing(cdcQuiet)
			if run.log.count(pattern) == 0 || run.log.count("sp_cdc_enable_table") == 0 {
				t.Errorf("the log does not name the pattern %s and the way out:\n%s", pattern, run.log)
			}
			// Benthos tries again, so enabling the table is enough.
			if pattern == `dbo\.plain` {
				r.enable("plain", "dbo_plain")
				r.sql("INSERT dbo.plain VALUES (2)")
				run.take(2)
			}
		})
	}
}

// Under ordering table each table is in order; under global all of them are in commit order, in batches of whole transactions.
func TestCDCOrderingField(t *testing.T) {
	for _, ordering := range []string{"table", "global"} {
		t.Run(ordering, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY")
				r.table("b", "id int NOT NULL PRIMARY KEY")
				var want []string
				for i := range 6 {
					r.sql(strings.NewReplacer("?", string(rune('0'+i))).Replace("BEGIN TRANSACTION; INSERT dbo.b VALUES (?); INSERT dbo.a VALUES (?); COMMIT"))
					want = append(want, "b", "a")
				}
				run := r.start("ordering: " + ordering)
				first := run.batch()
				if ordering == "table" {
					if len(first) != 6 {
						t.Errorf("the first batch has %d changes, want one table's six", len(first))
					}
					return
				}
				wantTexts(t, "tables of the first batch", column(first, func(m *cdcMessage) string { return m.text("table") }), want...)
			})
		})
	}
}
