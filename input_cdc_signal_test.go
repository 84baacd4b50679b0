package mssqlcdc

import (
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

const signalTable = "CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)"

// onSignals is a rig with a signal table, and a table k with the rows 1 to n.
func onSignals(t *testing.T, n int, test func(*testing.T, *cdcRig)) {
	t.Helper()
	onSnapshot(t, n, func(t *testing.T, r *cdcRig) {
		r.sql(signalTable)
		r.enable("signals", "dbo_signals")
		pass(time.Second)
		test(t, r)
	})
}

// A signal has the rows read anew among the changes, with event ids that sort with theirs.
func TestSignalTable(t *testing.T) {
	onSignals(t, 5, func(t *testing.T, r *cdcRig) {
		run := r.start("start_from: latest\nsignal_table: dbo.signals\nmetadata: [snapshot_id]")
		run.nothing(cdcQuiet)
		r.sql("UPDATE dbo.k SET v = N'before' WHERE id = 1")
		first := run.one()
		r.sql(`INSERT dbo.signals VALUES ('s', 'execute-snapshot', '{"data-collections": ["dbo.k"], "additional-conditions": [{"data-collection": "dbo.k", "filter": "id < 3"}]}')`)
		all := run.take(4)
		wantTexts(t, "operations", operations(all), "incremental_begin", "read", "read", "incremental_end")
		all[1].want(t, "read", `{"id":1,"v":"before"}`)
		r.sql("UPDATE dbo.k SET v = N'after' WHERE id = 1")
		last := run.one()
		last.want(t, "update", `{"id":1,"v":"after"}`)
		if a, b, c := first.text("event_id"), all[1].text("event_id"), last.text("event_id"); a >= b || b >= c {
			t.Errorf("event ids do not sort as what they are of: %s, %s, %s", a, b, c)
		}
		if all[1].text("snapshot_id") == "" || all[1].text("snapshot_id") != all[0].text("snapshot_id") || all[1].text("key") != `{"id":1}` {
			t.Errorf("metadata %s", all[1])
		}
		for _, m := range []struct {
			name, label string
			want        float64
		}{
			{"mssql_cdc_signals", "", 1}, {"mssql_cdc_signal_queue", "", 0}, {"mssql_cdc_window_rows", "dbo.k", 2},
			{"mssql_cdc_windows", "dbo.k", 1}, {"mssql_cdc_window_dropped_rows", "dbo.k", 0}, {"mssql_cdc_snapshot_rows", "dbo.k", 2},
		} {
			if got := run.metrics.get(m.name, m.label); got != m.want {
				t.Errorf("%s is %v, want %v", m.name, got, m.want)
			}
		}
		run.logs("signal s (execute-snapshot): the rows of dbo.k are read")
		r.sql("INSERT dbo.signals VALUES ('p', 'pause-snapshot', NULL)")
		run.until("paused", func() bool { return run.metrics.get("mssql_cdc_signal_paused", "") == 1 })
	})
}

// Without the field the table is one like any other.
func TestSignalTableIsReadWithoutTheField(t *testing.T) {
	onSignals(t, 1, func(t *testing.T, r *cdcRig) {
		run := r.start("start_from: latest")
		run.nothing(cdcQuiet)
		r.sql("INSERT dbo.signals VALUES ('p', 'pause-snapshot', NULL)")
		run.one().want(t, "insert", `{"id":"p","type":"pause-snapshot","data":null}`)
	})
}

func TestSignalTableWithDebeziumAndArrow(t *testing.T) {
	for format, want := range map[string]string{"debezium": `"snapshot":"incremental"`, "arrow": ""} {
		t.Run(format, func(t *testing.T) {
			onSignals(t, 3, func(t *testing.T, r *cdcRig) {
				run := r.start("start_from: latest\nsignal_table: dbo.signals\nformat: " + format)
				run.nothing(cdcQuiet)
				r.sql(`INSERT dbo.signals VALUES ('s', 'execute-snapshot', '{"data-collections": ["dbo.k"]}')`)
				for _, m := range run.batch() {
					if !strings.Contains(m.body, want) {
						t.Errorf("%s", m)
					}
				}
			})
		})
	}
}

// What is missing for signals is said at the start, with what mends it.
func TestSignalTableIsChecked(t *testing.T) {
	for _, tt := range []struct{ name, setup, want string }{
		{"no table", "", "CREATE TABLE [dbo].[signals]"},
		{"not captured", signalTable, "sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'signals'"},
		{"another shape", "CREATE TABLE dbo.signals (id int NOT NULL PRIMARY KEY, type varchar(32)); " + enableSignals, "captures no text column id"},
		{"no right", signalTable + "; " + enableSignals + "; CREATE LOGIN reader WITH PASSWORD = 'S3cret!x'; CREATE USER reader FOR LOGIN reader; GRANT SELECT ON SCHEMA::cdc TO reader; GRANT SELECT ON SCHEMA::dbo TO reader", "GRANT INSERT ON [dbo].[signals] TO [reader];"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("k", "id int NOT NULL PRIMARY KEY, v int")
				if tt.setup != "" {
					r.sql(tt.setup)
				}
				dsn := r.dsn()
				if tt.name == "no right" {
					dsn = asReader(dsn)
				}
				run := r.start("connection_string: '" + dsn + "'\ncheckpoint_file: '" + r.file + "'\nsignal_table: dbo.signals")
				if got := run.test(); !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q in it", got, tt.want)
				}
			})
		})
	}
}

const enableSignals = "EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'signals', @role_name = NULL, @supports_net_changes = 0"
