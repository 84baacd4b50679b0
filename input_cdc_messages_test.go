package mssqlcdc

import (
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

const (
	eightKeys = "commit_ts_ms database_schema event_id key lsn operation schema table"
	sevenKeys = "commit_ts_ms database_schema event_id lsn operation schema table"
)

// Each kind of change has its operation and its row, and exactly the eight keys of the documentation: a ninth would make every
// message twice as dear.
func TestCDCMessagesOfChanges(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
		run := r.start("")
		r.sql("INSERT dbo.k VALUES (1, N'a'), (2, NULL)")
		r.sql("UPDATE dbo.k SET v = N'b'")
		r.sql("UPDATE dbo.k SET id = 3 WHERE id = 1") // a deferred update: delete and insert
		r.sql("DELETE dbo.k WHERE id = 2")
		all := run.take(7)
		all[0].want(t, "insert", `{"id":1,"v":"a"}`)
		all[1].want(t, "insert", `{"id":2,"v":null}`)
		all[2].want(t, "update", `{"id":1,"v":"b"}`)
		all[3].want(t, "update", `{"id":2,"v":"b"}`)
		all[4].want(t, "delete", `{"id":1,"v":"b"}`)
		all[5].want(t, "insert", `{"id":3,"v":"b"}`)
		all[6].want(t, "delete", `{"id":2,"v":"b"}`)
		for _, m := range all {
			if m.keys() != eightKeys {
				t.Errorf("%v has the metadata %s, want %s", m, m.keys(), eightKeys)
			}
			if m.text("database_schema") != "dbo" || m.text("table") != "k" {
				t.Errorf("%v is of %v.%v", m, m.meta["database_schema"], m.meta["table"])
			}
		}
		if all[4].text("lsn") != all[5].text("lsn") {
			t.Error("the two halves of a deferred update have different LSNs")
		}
		run.nothing(cdcQuiet)
	})
}

func TestCDCBeforeImages(t *testing.T) {
	const change = `INSERT dbo.k VALUES (1, 9007199254740993, 12345678901234567890.50, N'a');
UPDATE dbo.k SET big = 9223372036854775807, dec = -0.01;
DELETE dbo.k`
	server := func(t *testing.T, fields string, check func(*cdcRun)) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("k", "id int NOT NULL PRIMARY KEY, big bigint NULL, dec decimal(38,2) NULL, v nvarchar(20) NULL")
			run := r.start(fields)
			r.sql(change)
			check(run)
			run.nothing(cdcQuiet)
		})
	}
	const (
		old  = `{"id":1,"big":9007199254740993,"dec":"12345678901234567890.50","v":"a"}`
		next = `{"id":1,"big":9223372036854775807,"dec":"-0.01","v":"a"}`
	)
	t.Run("none", func(t *testing.T) {
		server(t, "before_image: none", func(run *cdcRun) {
			all := run.take(3)
			wantTexts(t, "operations", operations(all), "insert", "update", "delete")
			wantTexts(t, "bodies", bodies(all), old, next, next)
			for _, m := range all {
				if m.has("before") {
					t.Errorf("%v has a before image", m)
				}
			}
		})
	})
	t.Run("metadata", func(t *testing.T) {
		server(t, "before_image: metadata", func(run *cdcRun) {
			all := run.take(3)
			wantTexts(t, "operations", operations(all), "insert", "update", "delete")
			wantTexts(t, "bodies", bodies(all), old, next, next)
			if all[0].has("before") || all[2].has("before") {
				t.Error("an insert or a delete has a before image")
			}
			before, ok := all[1].meta["before"].(map[string]any)
			if !ok {
				t.Fatalf("before is a %T, want an object", all[1].meta["before"])
			}
			if got := inJSON(t, before); got != `{"big":9007199254740993,"dec":"12345678901234567890.50","id":1,"v":"a"}` {
				t.Errorf("before is %s", got)
			}
		})
	})
	t.Run("message", func(t *testing.T) {
		server(t, "before_image: message", func(run *cdcRun) {
			all := run.take(4)
			wantTexts(t, "operations", operations(all), "insert", "update_before", "update_after", "delete")
			wantTexts(t, "bodies", bodies(all), old, old, next, next)
			if a, b := all[1], all[2]; a.text("key") != b.text("key") || a.text("lsn") != b.text("lsn") || a.text("event_id") == b.text("event_id") {
				t.Error("the two messages of an update have the same key and LSN, and each its event_id")
			}
		})
	})
}
