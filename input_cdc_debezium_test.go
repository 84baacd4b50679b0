package mssqlcdc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// debeziumEvent is the envelope, strictly: another field is an error.
type debeziumEvent struct {
	Before, After json.RawMessage
	Source        struct {
		Version, Connector, Name, Snapshot, DB, Schema, Table string
		TsMs                                                  int64   `json:"ts_ms"`
		TsUs                                                  int64   `json:"ts_us"`
		TsNs                                                  int64   `json:"ts_ns"`
		ChangeLSN                                             *string `json:"change_lsn"`
		CommitLSN                                             string  `json:"commit_lsn"`
		Serial                                                *int    `json:"event_serial_no"`
		Sequence                                              *string
	}
	Transaction *string
	Op          string
	TsMs        int64 `json:"ts_ms"`
	TsUs        int64 `json:"ts_us"`
	TsNs        int64 `json:"ts_ns"`
}

func debeziumOf(t *testing.T, m *cdcMessage) (e debeziumEvent) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(m.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%v in %s", err, m.body)
	}
	return e
}

// colons writes an LSN as SQL Server's functions show it.
func colons(lsn string) string {
	h := strings.TrimPrefix(lsn, "0x")
	return h[:8] + ":" + h[8:16] + ":" + h[16:]
}

func TestCDCDebezium(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", arrowColumns)
		arrowChanges(r)
		run := r.start("format: debezium\ncheckpoint_cache_key: shop\nmetadata: [seqval]\ncheckpoint_file: " + r.file)
		all := run.take(5)
		wantTexts(t, "operations", operations(all), "insert", "insert", "update", "update", "delete")
		for i, want := range []struct {
			op, before, after string
			serial            int
		}{
			{"c", `null`, `{"id":1,"v":1,"note":"long"}`, 1},
			{"c", `null`, `{"id":2,"v":null,"note":null}`, 1},
			{"u", `{"id":1,"v":1}`, `{"id":1,"v":2}`, 2}, // the server has not logged the note
			{"u", `{"id":1,"v":2,"note":"long"}`, `{"id":1,"v":3,"note":null}`, 2},
			{"d", `{"id":2,"v":null,"note":null}`, `null`, 1},
		} {
			m, e := all[i], debeziumOf(t, all[i])
			if e.Op != want.op || string(e.Before) != want.before || string(e.After) != want.after {
				t.Errorf("message %d is %s %s %s, want %s %s %s", i, e.Op, e.Before, e.After, want.op, want.before, want.after)
			}
			s := e.Source
			if s.Connector != "sqlserver" || s.Version != version || s.Name != "shop" || s.DB != "testdb" || s.Schema != "dbo" || s.Table != "k" || s.Snapshot != "false" || s.Sequence != nil || e.Transaction != nil {
				t.Errorf("message %d has the source %+v", i, s)
			}
			if s.ChangeLSN == nil || *s.ChangeLSN != colons(m.text("seqval")) || s.CommitLSN != colons(m.text("lsn")) || s.Serial == nil || *s.Serial != want.serial {
				t.Errorf("message %d with lsn %s and seqval %s has the source %+v", i, m.text("lsn"), m.text("seqval"), s)
			}
			if ms := m.meta["commit_ts_ms"].(int64); s.TsMs != ms || s.TsUs != ms*1000 || s.TsNs != ms*1_000_000 {
				t.Errorf("message %d of the time %d has the source %+v", i, ms, s)
			}
			if now := time.Now().UnixMilli(); e.TsMs < s.TsMs || e.TsMs > now || e.TsUs/1000 != e.TsMs || e.TsNs/1000 != e.TsUs {
				t.Errorf("message %d was made at %d, it is %d", i, e.TsMs, now)
			}
			if i == 2 && fmt.Sprint(m.meta["unchanged_columns"]) != "[note]" {
				t.Errorf("unchanged_columns is %v", m.meta["unchanged_columns"])
			}
		}
		if got, want := all[0].keys(), strings.Replace(eightKeys, "schema table", "schema seqval table", 1); got != want || all[0].text("key") != `{"id":1}` {
			t.Errorf("metadata %s, want %s", got, want)
		}
	})
}

// Rows at one place of the log are numbered as Debezium numbers them, whatever batch they are in.
func TestCDCDebeziumSerialNumbers(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.k VALUES " + rows(1, 4))
		r.sql("UPDATE dbo.k SET v = v + 1; UPDATE dbo.k SET id = id + 1")
		read := func(name string, count int) (out []string) {
			fields := fmt.Sprintf("format: debezium\nmetadata: [seqval]\nbatching: {count: %d}\ncheckpoint_limit: 10000\ncheckpoint_file: %s", count, r.file+name)
			place, n := "", 0
			for _, m := range r.start(fields).drains(cdcQuiet) {
				e := debeziumOf(t, m)
				if at := m.text("lsn") + m.text("seqval"); at != place {
					place, n = at, 0
				}
				n++
				if e.Op == "u" {
					n++
				}
				if *e.Source.Serial != n {
					t.Errorf("%s is number %d at its place, want %d", m, *e.Source.Serial, n)
				}
				out = append(out, m.text("event_id"))
			}
			return out
		}
		wantTexts(t, "changes", read("large", 1000), read("again", 2)...)
	})
}

// A changed key is a deletion and an insertion at one place of the log; their numbers stay when a page ends between them.
func TestCDCDebeziumSerialNumberAfterPage(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.k VALUES (1, 1)")
		r.sql("UPDATE dbo.k SET id = 2")
		fields := "format: debezium\nbatching: {count: 1}\ncheckpoint_file: " + r.file
		run := r.start(fields)
		wantTexts(t, "operations", operations(run.take(2)), "insert", "delete")
		run.stop()
		m := r.start(fields).one()
		if e := debeziumOf(t, m); e.Op != "c" || e.Source.Serial == nil || *e.Source.Serial != 2 {
			t.Errorf("the insertion is %s, want number 2", m.body)
		}
	})
}

func TestCDCDebeziumSnapshot(t *testing.T) {
	onSnapshot(t, 2, func(t *testing.T, r *cdcRig) {
		for i, m := range r.start("format: debezium\nstream_snapshot: true").take(2) {
			e := debeziumOf(t, m)
			if e.Op != "r" || string(e.Before) != "null" || string(e.After) != fmt.Sprintf(`{"id":%d,"v":"old"}`, i+1) || e.Source.Snapshot != "true" {
				t.Errorf("the row is %s", m.body)
			}
			if e.Source.ChangeLSN != nil || e.Source.Serial != nil || e.Source.CommitLSN != colons(m.text("lsn")) || e.Source.TsMs != m.meta["commit_ts_ms"] {
				t.Errorf("the row has the source %+v", e.Source)
			}
		}
	})
}

func TestCDCDebeziumTombstones(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.k VALUES (1, 1); DELETE dbo.k")
		all := r.start("format: debezium\ntombstones: true").take(3)
		if debeziumOf(t, all[1]).Op != "d" || !all[2].null || all[2].text("key") != `{"id":1}` {
			t.Errorf("got %v", all)
		}
	})
}

// The values are those of format json, for every type.
func TestCDCDebeziumTypes(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		cdcTypeTable(r)
		var values []string
		for _, c := range cdcTypes {
			values = append(values, c.value)
		}
		r.sql("INSERT dbo.ty VALUES (1, " + strings.Join(values, ", ") + "); UPDATE dbo.ty SET c0 = 1; DELETE dbo.ty")
		plain := r.start("before_image: message\ncheckpoint_file: " + r.file + "json").take(4)
		all := r.start("format: debezium\ncheckpoint_file: " + r.file + "debezium").take(3)
		insert, update, gone := debeziumOf(t, all[0]), debeziumOf(t, all[1]), debeziumOf(t, all[2])
		wantTexts(t, "rows", []string{string(insert.After), string(update.Before), string(update.After), string(gone.Before)}, bodies(plain)...)
	})
}
