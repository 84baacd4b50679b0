package mssqlcdc

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// Each name in the field metadata adds that key and no other, with its type and value.
func TestCDCExtraMetadata(t *testing.T) {
	changed := func(want string) func(*cdcRig, *cdcMessage) string {
		return func(_ *cdcRig, m *cdcMessage) string {
			list, ok := m.meta["changed_columns"].([]any)
			if got := fmt.Sprint(list); !ok || got != want {
				return fmt.Sprintf("%T %v, want the list %s", m.meta["changed_columns"], got, want)
			}
			return ""
		}
	}
	equal := func(key string, want any) func(*cdcRig, *cdcMessage) string {
		return func(_ *cdcRig, m *cdcMessage) string {
			if m.meta[key] != want {
				return fmt.Sprintf("%T %v, want %T %v", m.meta[key], m.meta[key], want, want)
			}
			return ""
		}
	}
	stored := func(key, expr string) func(*cdcRig, *cdcMessage) string {
		return func(r *cdcRig, m *cdcMessage) string {
			want := r.cell("SELECT LOWER(" + expr + ") FROM cdc.dbo_k_CT AS c JOIN cdc.lsn_time_mapping AS m ON m.start_lsn = c.__$start_lsn WHERE c.__$operation = 4")
			return equal(key, want)(r, m)
		}
	}
	tests := map[string]func(*cdcRig, *cdcMessage) string{
		"database":         equal("database", "testdb"),
		"capture_instance": equal("capture_instance", "dbo_k"),
		"seqval":           stored("seqval", "CONVERT(varchar(40), c.__$seqval, 1)"),
		"transaction_id":   stored("transaction_id", "CONVERT(varchar(40), m.tran_id, 1)"),
		"command_id": func(r *cdcRig, m *cdcMessage) string {
			want, err := strconv.ParseInt(r.cell("SELECT CONVERT(varchar(10), __$command_id) FROM cdc.dbo_k_CT WHERE __$operation = 4"), 10, 64)
			if err != nil {
				return err.Error()
			}
			return equal("command_id", want)(r, m)
		},
		"source_ts_ms": func(r *cdcRig, m *cdcMessage) string {
			ms, ok := m.meta["source_ts_ms"].(int64)
			end, _ := m.meta["commit_ts_ms"].(int64)
			// The transaction began two seconds before it was committed.
			if !ok || end-ms < 1990 || end-ms > 2010 {
				return fmt.Sprintf("%T %v with the commit at %v", m.meta["source_ts_ms"], m.meta["source_ts_ms"], end)
			}
			return ""
		},
		"changed_columns": changed("[b c]"),
	}
	for _, name := range extraMetadata {
		if name == "snapshot_id" {
			continue // changes have none
		}
		if tests[name] == nil {
			t.Errorf("%s is not tested", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("k", "a int NOT NULL PRIMARY KEY, b int NULL, c int NULL, d int NULL")
				r.sql("INSERT dbo.k VALUES (1, 1, 1, 1)")
				run := r.start("metadata: [" + name + "]")
				r.sql("BEGIN TRANSACTION; INSERT dbo.k VALUES (2, 2, 2, 2); WAITFOR DELAY '00:00:02'; UPDATE dbo.k SET b = 5, c = 6 WHERE a = 1; COMMIT")
				m := run.take(3)[2]
				if m.text("operation") != "update" {
					t.Fatalf("got %v, want the update", m)
				}
				if wrong := tests[name](r, m); wrong != "" {
					t.Error(wrong)
				}
				want := strings.Fields(eightKeys + " " + name)
				slices.Sort(want)
				if m.keys() != strings.Join(want, " ") {
					t.Errorf("metadata %s, want %s", m.keys(), strings.Join(want, " "))
				}
			})
		})
	}
	t.Run("changed_columns of other operations", func(t *testing.T) {
		onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
			r.table("k", "a int NOT NULL PRIMARY KEY, b int NULL")
			run := r.start("metadata: [changed_columns]\nbefore_image: message")
			r.sql("INSERT dbo.k VALUES (1, 1); UPDATE dbo.k SET b = 2; DELETE dbo.k")
			all := run.take(4)
			wantTexts(t, "changed_columns", column(all, func(m *cdcMessage) string { return fmt.Sprint(m.meta["changed_columns"]) }), "<nil>", "[b]", "[b]", "<nil>")
		})
	})
}

// lsn and event_id name a change: unique within a transaction, sorted as the changes are, and the same whenever the change is
// read again.
func TestCDCEventIDs(t *testing.T) {
	ids := func(all []*cdcMessage) []string {
		return column(all, func(m *cdcMessage) string { return m.text("lsn") + " " + m.text("event_id") })
	}
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("BEGIN TRANSACTION; INSERT dbo.k VALUES (1, 1), (2, 1), (3, 1); UPDATE dbo.k SET v = v + 1; UPDATE dbo.k SET id = id + 1; DELETE dbo.k; COMMIT")
		r.sql("INSERT dbo.k VALUES (1, 1)")
		const n = 3 + 6 + 3 + 3 + 3 + 3 + 1
		const fields = "before_image: message\ncheckpoint_cache: positions\n"
		const caches = "cache_resources: [{label: positions, memory: {}}]"
		first := r.startWith(fields, caches)
		batch, ack := first.read()
		all := newCDCMessages(t, batch)
		for len(all) < n-6 {
			batch, _ := first.read()
			all = append(all, newCDCMessages(t, batch)...)
		}
		have := ids(all)
		sorted := slices.Clone(have)
		slices.Sort(sorted)
		if !slices.Equal(have, sorted) || len(slices.Compact(sorted)) != len(all) {
			t.Errorf("the event ids are not unique or not in order:\n%s", strings.Join(have, "\n"))
		}
		for _, m := range all {
			raw, err := hex.DecodeString(strings.TrimPrefix(m.text("lsn"), "0x"))
			if err != nil || len(raw) != 10 || !strings.HasPrefix(m.text("lsn"), "0x") || !strings.HasPrefix(m.text("event_id"), m.text("lsn")[2:]) {
				t.Errorf("lsn %v, event_id %v", m.meta["lsn"], m.meta["event_id"])
			}
		}
		lsns := column(all, func(m *cdcMessage) string { return m.text("lsn") })
		if n := len(slices.Compact(lsns)); n != 2 {
			t.Errorf("%d LSNs, want one for each of two transactions", n)
		}
		// Given out again, and read again in another life.
		ack(fmt.Errorf("refused"))
		again, _ := first.read()
		wantTexts(t, "after a refusal", ids(newCDCMessages(t, again)), have[:len(again)]...)
		first.stop()
		second := r.startWith(fields, caches)
		wantTexts(t, "after a restart", ids(second.take(len(all))), have...)
	})
}

// A second capture instance has the same changes under the same names, and each comes once.
func TestCDCEventIDsOverTwoInstances(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("k", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.k VALUES (1, 1)")
		r.sql("ALTER TABLE dbo.k ADD w int NULL")
		r.enable("k", "two")
		r.sql("INSERT dbo.k VALUES (2, 2, 2)")
		r.sql("UPDATE dbo.k SET v = 9, w = 9")
		run := r.start("metadata: [capture_instance]")
		all := run.take(4)
		wantTexts(t, "bodies", bodies(all), `{"id":1,"v":1}`, `{"id":2,"v":2,"w":2}`, `{"id":1,"v":9,"w":9}`, `{"id":2,"v":9,"w":9}`)
		wantTexts(t, "capture instances", column(all, func(m *cdcMessage) string { return m.text("capture_instance") }), "dbo_k", "two", "two", "two")
		rows, err := r.srv.Query(`SELECT LOWER(CONVERT(varchar(30), __$start_lsn, 2)), LOWER(CONVERT(varchar(30), __$seqval, 2)) FROM cdc.dbo_k_CT
			WHERE __$operation IN (2, 4) ORDER BY __$start_lsn, __$command_id, __$seqval`)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			if id := all[i].text("event_id"); !strings.HasPrefix(id, row[0]) || !strings.Contains(id, row[1]) {
				t.Errorf("event_id %s of a change that the first instance has at %v", id, row)
			}
		}
		run.nothing(cdcQuiet)
	})
}

// The server writes commit times in its own zone; messages have them in UTC.
func TestCDCCommitTimeInAnotherZone(t *testing.T) {
	for name, hours := range map[string]int{"UTC": 0, "nine hours ahead": 9, "half past three behind": -3} {
		t.Run(name, func(t *testing.T) {
			zone := time.FixedZone("test", hours*3600-map[bool]int{true: 1800}[hours < 0])
			onCDC(t, mssqltest.Config{Location: zone}, func(t *testing.T, r *cdcRig) {
				r.table("k", "id int NOT NULL PRIMARY KEY")
				run := r.start("metadata: [source_ts_ms]")
				pass(time.Hour)
				r.sql("INSERT dbo.k VALUES (1)")
				now := time.Now()
				m := run.one()
				for _, key := range []string{"commit_ts_ms", "source_ts_ms"} {
					ms, ok := m.meta[key].(int64)
					if d := time.UnixMilli(ms).Sub(now).Abs(); !ok || d > 10*time.Millisecond {
						t.Errorf("%s is %T %v, %s from the commit", key, m.meta[key], m.meta[key], d)
					}
				}
			})
		})
	}
}
