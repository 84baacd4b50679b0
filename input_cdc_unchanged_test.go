package mssqlcdc

import (
	"fmt"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// A large value that an update leaves alone is not logged: it is left out of the body, never null, and named.
func TestCDCUnchangedColumns(t *testing.T) {
	const columns = "id int NOT NULL PRIMARY KEY, v int NULL, note nvarchar(max) NULL, doc varchar(max) NULL, data varbinary(max) NULL"
	change := func(r *cdcRig) {
		r.sql("INSERT dbo.k VALUES (1, 1, N'long', '<a/>', 0x01)")
		r.sql("UPDATE dbo.k SET v = 2")
		r.sql("UPDATE dbo.k SET note = NULL, doc = '<b/>'")
		r.sql("DELETE dbo.k")
	}
	unchanged := func(m *cdcMessage) string {
		if !m.has("unchanged_columns") {
			return ""
		}
		return fmt.Sprint(m.meta["unchanged_columns"])
	}
	t.Run("none", func(t *testing.T) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("k", columns)
			run := r.start("")
			change(r)
			all := run.take(4)
			all[0].want(t, "insert", `{"id":1,"v":1,"note":"long","doc":"<a/>","data":"AQ=="}`)
			all[1].want(t, "update", `{"id":1,"v":2}`)
			all[2].want(t, "update", `{"id":1,"v":2,"note":null,"doc":"<b/>"}`)
			all[3].want(t, "delete", `{"id":1,"v":2,"note":null,"doc":"<b/>","data":"AQ=="}`)
			wantTexts(t, "unchanged_columns", column(all, unchanged), "", "[note doc data]", "[data]", "")
			if all[0].keys() != eightKeys || all[3].keys() != eightKeys {
				t.Errorf("metadata %s and %s", all[0].keys(), all[3].keys())
			}
			if _, ok := all[1].meta["unchanged_columns"].([]any); !ok {
				t.Errorf("unchanged_columns is a %T, want a list", all[1].meta["unchanged_columns"])
			}
		})
	})
	t.Run("metadata", func(t *testing.T) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("k", columns)
			run := r.start("before_image: metadata")
			change(r)
			all := run.take(4)
			for i, want := range map[int]string{1: `{"id":1,"v":1}`, 2: `{"doc":"<a/>","id":1,"note":"long","v":2}`} {
				if got := inJSON(t, all[i].meta["before"]); got != want {
					t.Errorf("before of message %d is %s, want %s", i, got, want)
				}
			}
		})
	})
	t.Run("message", func(t *testing.T) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("k", columns)
			run := r.start("before_image: message")
			change(r)
			all := run.take(6)
			all[1].want(t, "update_before", `{"id":1,"v":1}`)
			all[2].want(t, "update_after", `{"id":1,"v":2}`)
			all[3].want(t, "update_before", `{"id":1,"v":2,"note":"long","doc":"<a/>"}`)
			wantTexts(t, "unchanged_columns", column(all, unchanged), "", "[note doc data]", "[note doc data]", "[data]", "[data]", "")
		})
	})
}

// text, ntext and image are missing in deletes and old rows as well, as the server does not log them there.
func TestCDCOldLargeTypes(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, a text NULL, b ntext NULL, c image NULL")
		run := r.start("before_image: message")
		r.sql("INSERT dbo.k VALUES (1, 'é', N'名', 0xFF)")
		r.sql("UPDATE dbo.k SET a = 'x'")
		r.sql("DELETE dbo.k")
		all := run.take(4)
		all[0].want(t, "insert", `{"id":1,"a":"é","b":"名","c":"/w=="}`)
		all[1].want(t, "update_before", `{"id":1}`)
		all[2].want(t, "update_after", `{"id":1,"a":"x"}`)
		all[3].want(t, "delete", `{"id":1}`)
	})
}
