package mssqlcdc

import (
	"encoding/json"
	"fmt"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// The key is an object of the key columns in the key's order, absent without one; its values have the form that they have in
// the body.
func TestCDCKeys(t *testing.T) {
	tests := []struct {
		name, columns, insert, key string
	}{
		{"one column", "v int NULL, id int NOT NULL PRIMARY KEY", "5, 7", `{"id":7}`},
		{"composite, in key order", "a int NOT NULL, b int NOT NULL, v int NULL, PRIMARY KEY (b, a)", "1, 2, 3", `{"b":2,"a":1}`},
		{"guid", "id uniqueidentifier NOT NULL PRIMARY KEY", "'01234567-89ab-cdef-0123-456789abcdef'", `{"id":"01234567-89AB-CDEF-0123-456789ABCDEF"}`},
		{"decimal", "id decimal(20,3) NOT NULL PRIMARY KEY", "12345678901234567.5", `{"id":"12345678901234567.500"}`},
		{"money", "id money NOT NULL PRIMARY KEY", "-0.5", `{"id":"-0.5000"}`},
		{"bigint", "id bigint NOT NULL PRIMARY KEY", "9223372036854775807", `{"id":9223372036854775807}`},
		{"datetime", "id datetime NOT NULL PRIMARY KEY", "'2024-02-29T23:59:59.997'", `{"id":"2024-02-29T23:59:59.997"}`},
		{"datetime2 and offset", "a datetime2(7) NOT NULL, b datetimeoffset(0) NOT NULL, PRIMARY KEY (a, b)",
			"'0001-01-01T00:00:00.0000001', '2024-01-02T03:04:05+09:30'", `{"a":"0001-01-01T00:00:00.0000001","b":"2024-01-02T03:04:05+09:30"}`},
		{"binary", "id varbinary(8) NOT NULL PRIMARY KEY", "0xDEADBEEF", `{"id":"3q2+7w=="}`},
		{"text with marks", "id nvarchar(20) NOT NULL PRIMARY KEY", `N'<a&b>"é名'`, `{"id":"<a&b>\"é名"}`},
		{"unique index", "v int NULL, id int NOT NULL UNIQUE", "1, 2", `{"id":2}`},
		{"unique index with NULLs", "v int NULL, id int NULL UNIQUE", "1, 2", ""},
		{"no key", "id int NOT NULL", "1", ""},
	}
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		run := r.start("")
		for i, tt := range tests {
			table := fmt.Sprintf("t%d", i)
			r.table(table, tt.columns)
			r.sql("INSERT dbo." + table + " VALUES (" + tt.insert + "); DELETE dbo." + table)
			for _, m := range run.take(2) {
				if got, has := m.meta["key"]; tt.key == "" && has || tt.key != "" && got != tt.key {
					t.Errorf("%s: the key of the %s is %v, want %s", tt.name, m.text("operation"), got, tt.key)
				}
				if want := map[bool]string{false: sevenKeys, true: eightKeys}[tt.key != ""]; m.keys() != want {
					t.Errorf("%s: metadata %s, want %s", tt.name, m.keys(), want)
				}
				var key, row map[string]json.RawMessage
				if tt.key == "" {
					continue
				}
				if err := json.Unmarshal([]byte(m.text("key")), &key); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal([]byte(m.body), &row); err != nil {
					t.Fatal(err)
				}
				for name, v := range key {
					if string(row[name]) != string(v) {
						t.Errorf("%s: column %s is %s in the key and %s in the body", tt.name, name, v, row[name])
					}
				}
			}
		}
	})
}

// Names come out as they are, whatever is in them, and HTML's characters are not escaped.
func TestCDCOddNames(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.sql(`CREATE SCHEMA [my schema]`)
		r.sql(`CREATE TABLE [my schema].[Or'der ]]$1.x] ([my col$a] int NOT NULL PRIMARY KEY, [a]]b] int, [名前] nvarchar(10), [select] int, [<&>"\] int);
EXEC sys.sp_cdc_enable_table @source_schema = N'my schema', @source_name = N'Or''der ]$1.x', @capture_instance = N'i ]''1', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0`)
		run := r.start("metadata: [capture_instance]\ninclude: ['my schema\\.Or.der \\]\\$1\\.x']")
		r.sql(`INSERT [my schema].[Or'der ]]$1.x] VALUES (1, 2, N'<b>&''é', 3, 4)`)
		m := run.one()
		m.want(t, "insert", `{"my col$a":1,"a]b":2,"名前":"<b>&'é","select":3,"<&>\"\\":4}`)
		if m.text("database_schema") != "my schema" || m.text("table") != "Or'der ]$1.x" || m.text("capture_instance") != "i ]'1" || m.text("key") != `{"my col$a":1}` {
			t.Errorf("metadata %v", m.meta)
		}
		run.nothing(cdcQuiet)
	})
}
