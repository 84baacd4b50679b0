package mssqlcdc

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// documentedMetric is a line of the table of docs/metrics.md: a name, a kind, and whether it has the label table.
var documentedMetric = regexp.MustCompile("(?m)^\\| `(mssql_cdc_[a-z_]+)` \\| (\\w+) \\| (\\w*) ?\\|")

// The page lists the metrics that there are, with their kinds.
func TestCDCMetricsPage(t *testing.T) {
	page, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range documentedMetric.FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = m[2]
	}
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		run := r.start("")
		run.nothing(cdcQuiet)
		for name, kind := range run.metrics.kinds {
			if strings.HasPrefix(name, "mssql_cdc_") && documented[name] != kind {
				t.Errorf("%s is a %s; docs/metrics.md has %q", name, kind, documented[name])
			}
		}
		for name := range documented {
			if run.metrics.kinds[name] == "" {
				t.Errorf("docs/metrics.md has %s, which does not exist", name)
			}
		}
	})
}

// lsnNumber is an LSN as gauges have it.
func lsnNumber(t *testing.T, lsn string) float64 {
	t.Helper()
	raw, err := hex.DecodeString(strings.TrimPrefix(lsn, "0x"))
	if err != nil {
		t.Fatal(err)
	}
	return float64(int64(binary.BigEndian.Uint64(raw[:8])))
}

// Rows, bytes, pages, polls, tables, positions and saves are counted as the page says.
func TestCDCMetricsOfReading(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY, v nvarchar(100) NULL")
		r.table("b", "id int NOT NULL PRIMARY KEY, v int NULL")
		run := r.start("checkpoint_cache_table_name: dbo.positions\npoll_interval: 1s\nbatching: {count: 10}")
		run.nothing(cdcQuiet)
		get := run.metrics.get
		polls, pages := get("mssql_cdc_polls", ""), get("mssql_cdc_pages", "dbo.a")
		r.sql("INSERT dbo.a VALUES (1, REPLICATE(N'x', 100)), (2, N''), (3, NULL); UPDATE dbo.a SET v = N'y'")
		last := run.take(6)[5]
		run.nothing(cdcQuiet)
		for _, want := range []struct {
			name, table string
			least, most float64
		}{
			{"mssql_cdc_changes", "dbo.a", 9, 9}, // an update is two
			{"mssql_cdc_changes", "dbo.b", 0, 0},
			{"mssql_cdc_bytes", "dbo.a", 100, 2000},
			{"mssql_cdc_pages", "dbo.a", pages + 1, pages + 4},
			{"mssql_cdc_polls", "", polls + 2, polls + 5},
			{"mssql_cdc_tables", "", 2, 2},
			{"mssql_cdc_tables_behind", "", 0, 0},
			{"mssql_cdc_table_state", "dbo.a", 0, 0},
			{"mssql_cdc_connections", "dbo.a", 0, 0},
			{"mssql_cdc_checkpoint_saves", "", 1, 10},
			{"mssql_cdc_checkpoint_errors", "", 0, 0},
			{"mssql_cdc_redelivered_changes", "dbo.a", 0, 0},
			{"mssql_cdc_lag_seconds", "dbo.a", 0, 0},
			{"mssql_cdc_position_lsn", "dbo.a", lsnNumber(t, last.text("lsn")), lsnNumber(t, last.text("lsn"))},
			{"mssql_cdc_watermark_lsn", "", lsnNumber(t, last.text("lsn")), lsnNumber(t, last.text("lsn")) + 1e6},
		} {
			if got := get(want.name, want.table); got < want.least || got > want.most {
				t.Errorf("%s of %q is %v, want %v to %v", want.name, want.table, got, want.least, want.most)
			}
		}
		if got := run.metrics.highest("mssql_cdc_connections", "dbo.a"); got != 1 {
			t.Errorf("%v connections read dbo.a at most, want 1", got)
		}
	})
}

// The time that a page takes is measured without the wait for a connection.
func TestCDCMetricsOfPageTime(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		r.table("b", "id int NOT NULL PRIMARY KEY")
		r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "FROM [cdc].[dbo_a_CT]", Delay: 3 * time.Second, Times: 1})
		r.sql("INSERT dbo.a VALUES (1); INSERT dbo.b VALUES (1)")
		run := r.start("max_connections: 1")
		run.take(2)
		a, b := time.Duration(run.metrics.highest("mssql_cdc_page_ns", "dbo.a")), time.Duration(run.metrics.highest("mssql_cdc_page_ns", "dbo.b"))
		if a < 3*time.Second || a > 4*time.Second || b > 100*time.Millisecond {
			t.Errorf("pages took %s and %s, want 3s and nothing", a, b)
		}
	})
}

// The lag is from what is acknowledged to the watermark; what the capture job has not captured shows in the watermark's age.
func TestCDCMetricsOfLag(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY")
		run := r.start("poll_interval: 1s")
		r.sql("INSERT dbo.a VALUES (1)")
		run.one()
		pass(100 * time.Second)
		r.sql("INSERT dbo.a VALUES (2)")
		_, answer := run.read() // not answered: the position stays at the first
		run.nothing(cdcQuiet)
		if lag := run.metrics.get("mssql_cdc_lag_seconds", "dbo.a"); lag < 100 || lag > 101 {
			t.Errorf("the lag is %v s, want 100", lag)
		}
		at := run.metrics.get("mssql_cdc_position_lsn", "dbo.a")
		answer(nil)
		run.nothing(cdcQuiet)
		if lag := run.metrics.get("mssql_cdc_lag_seconds", "dbo.a"); lag != 0 {
			t.Errorf("after the acknowledgement the lag is %v s", lag)
		}
		if now := run.metrics.get("mssql_cdc_position_lsn", "dbo.a"); now <= at {
			t.Errorf("the position went from %v to %v", at, now)
		}
		if err := r.ctl.CaptureStop(""); err != nil {
			t.Fatal(err)
		}
		watermark := run.metrics.get("mssql_cdc_watermark_lsn", "")
		age := run.metrics.get("mssql_cdc_watermark_age_seconds", "")
		r.sql("INSERT dbo.a VALUES (3)")
		run.nothing(5 * time.Minute)
		if now := run.metrics.get("mssql_cdc_watermark_age_seconds", ""); now-age < 299 || now-age > 301 {
			t.Errorf("in five minutes with the capture job stopped the age went from %v to %v s", age, now)
		}
		if now := run.metrics.get("mssql_cdc_watermark_lsn", ""); now != watermark {
			t.Errorf("the watermark moved from %v to %v", watermark, now)
		}
		if run.log.count("capture job") > 0 {
			t.Errorf("a warning after five minutes:\n%s", run.log)
		}
		run.nothing(10 * time.Minute)
		if run.log.count("sp_cdc_start_job") != 1 {
			t.Errorf("no warning, or several, after a quarter of an hour:\n%s", run.log)
		}
		if err := r.ctl.CaptureStart(""); err != nil {
			t.Fatal(err)
		}
		run.one()
		run.nothing(cdcQuiet)
		if now := run.metrics.get("mssql_cdc_watermark_age_seconds", ""); now > 1000 {
			t.Errorf("with the capture job running the age is %v s", now)
		}
	})
}

// States, backlog, refusals and failing saves are shown.
func TestCDCMetricsOfTrouble(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
		run := r.start("checkpoint_cache_table_name: dbo.positions\nbatching: {count: 10}")
		get := run.metrics.get
		run.nothing(cdcQuiet)
		// A refused batch.
		r.sql("INSERT dbo.a VALUES " + rows(1, 3))
		_, answer := run.read()
		answer(errors.New("refused"))
		_, answer = run.read()
		answer(nil)
		if got := get("mssql_cdc_redelivered_changes", "dbo.a"); got != 3 {
			t.Errorf("%v changes redelivered, want 3", got)
		}
		// An error that passes: retrying, and behind.
		remove := r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "__$update_mask", Error: 1205})
		r.sql("INSERT dbo.a VALUES " + rows(4, 5))
		run.nothing(cdcQuiet)
		if state, behind := get("mssql_cdc_table_state", "dbo.a"), get("mssql_cdc_tables_behind", ""); state != 2 || behind != 1 {
			t.Errorf("while reads fail for a while: state %v, %v tables behind; want 2 and 1", state, behind)
		}
		remove()
		run.take(2)
		run.nothing(cdcQuiet)
		if state, behind := get("mssql_cdc_table_state", "dbo.a"), get("mssql_cdc_tables_behind", ""); state != 0 || behind != 0 {
			t.Errorf("after that: state %v, %v tables behind", state, behind)
		}
		// Saves that fail are told once, and when they work again.
		remove = r.ctl.Add(mssqltest.Rule{Text: "[dbo].[positions]", Error: 1105, ErrorMessage: "the disk is full"})
		r.sql("INSERT dbo.a VALUES (6, 6)")
		run.take(1)
		run.nothing(5 * time.Second)
		if got := get("mssql_cdc_checkpoint_errors", ""); got < 2 {
			t.Errorf("%v failed saves in five seconds, want several", got)
		}
		if n := run.log.count("the disk is full"); n != 1 {
			t.Errorf("it is told %d times:\n%s", n, run.log)
		}
		saves := get("mssql_cdc_checkpoint_saves", "")
		remove()
		run.nothing(5 * time.Second)
		if get("mssql_cdc_checkpoint_saves", "") <= saves || run.log.count("saved again") != 1 {
			t.Errorf("saves did not go on:\n%s", run.log)
		}
		// The capture instance goes: state gone, no table left.
		r.sql("EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'a', @capture_instance = N'all'")
		run.nothing(cdcQuiet)
		if state, tables := get("mssql_cdc_table_state", "dbo.a"), get("mssql_cdc_tables", ""); state != 5 || tables != 0 {
			t.Errorf("without an instance: state %v, %v tables; want 5 and 0", state, tables)
		}
		run.nothing(20 * time.Minute)
		if lag := get("mssql_cdc_lag_seconds", "dbo.a"); lag != 0 {
			t.Errorf("a table that is gone lags %v s behind", lag)
		}
	})
}

// A table whose instance the capture job has not begun with is waiting.
func TestCDCMetricsOfWaiting(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("first", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.first VALUES (1)")
		if err := r.ctl.CaptureStop(""); err != nil {
			t.Fatal(err)
		}
		r.table("a", "id int NOT NULL PRIMARY KEY")
		r.sql("INSERT dbo.a VALUES (1)")
		run := r.start("")
		run.one()
		run.nothing(cdcQuiet)
		if got := run.metrics.get("mssql_cdc_table_state", "dbo.a"); got != 1 {
			t.Errorf("the state is %v, want 1", got)
		}
		if err := r.ctl.CaptureStart(""); err != nil {
			t.Fatal(err)
		}
		run.one()
		run.nothing(cdcQuiet)
		if got := run.metrics.get("mssql_cdc_table_state", "dbo.a"); got != 0 {
			t.Errorf("the state is %v, want 0", got)
		}
	})
}
