package mssqlcdc

import (
	"fmt"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// A normal run logs nothing to worry about and next to nothing else: changes, deadlocks and a connection that breaks come and
// go in silence.
func TestCDCLogsAreQuiet(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		for i := range 3 {
			r.table(fmt.Sprintf("t%d", i), "id int NOT NULL PRIMARY KEY, v int NULL")
		}
		run := r.start("checkpoint_cache_table_name: dbo.positions\npoll_interval: 1s")
		changes := 0
		for minute := range 5 {
			r.sql(fmt.Sprintf("INSERT dbo.t%d VALUES %s", minute%3, rows(100*minute, 100*minute+9)))
			changes += 10
			run.drains(20 * time.Second)
			r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: []string{"_CT]", "__$update_mask", "m.start_lsn"}[minute%3], Error: 1205, Times: 1})
			r.ctl.Cut(nil)
			r.sql(fmt.Sprintf("UPDATE dbo.t%d SET v = -1", minute%3))
			run.drains(40 * time.Second)
		}
		if n := run.log.count(""); n > 3 {
			t.Errorf("%d lines in five minutes:\n%s", n, run.log)
		}
		if run.log.count("WARN")+run.log.count("ERROR") > 0 {
			t.Errorf("a normal run logs\n%s", run.log)
		}
	})
}

// What a user would wonder about is one line each: many tables that have the same do not make many lines.
func TestCDCWarnsOnce(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		for i := range 9 {
			r.sql(fmt.Sprintf(`CREATE TABLE dbo.t%d (id int NOT NULL PRIMARY KEY);
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't%[1]d', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 1`, i))
		}
		run := r.start("")
		run.nothing(time.Minute)
		if n := run.log.count("WARN"); n != 1 || run.log.count("and 4 more tables") != 1 {
			t.Errorf("%d warnings, want one of nine tables:\n%s", n, run.log)
		}
	})
}
