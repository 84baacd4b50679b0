package cdc

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestJobProcedures(t *testing.T) {
	s := newServer(t)
	if rows := s.query(`EXEC sys.sp_cdc_help_jobs`); len(rows) != 0 {
		t.Errorf("jobs before the first table: %q", rows)
	}
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	r := s.run(s.s, `EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL`)
	if len(r.info) != 2 || r.info[0].Message != "Job 'cdc.d_capture' started successfully." {
		t.Errorf("messages of the first table: %v", r.info)
	}
	shape := func() string {
		rows := s.query(`EXEC sys.sp_cdc_help_jobs`)
		for i := range rows {
			_, rows[i], _ = strings.Cut(rows[i], "|") // without the job_id
		}
		return strings.Join(rows, " ")
	}
	if got, want := shape(), "capture|cdc.d_capture|500|10|1|5|0|0 cleanup|cdc.d_cleanup|0|0|0|0|4320|5000"; got != want {
		t.Errorf("jobs %s, want %s", got, want)
	}
	s.want(`SELECT job_type, pollinginterval, retention FROM msdb.dbo.cdc_jobs ORDER BY job_type`, "capture|5|0", "cleanup|0|4320")
	s.exec(`EXEC sys.sp_cdc_change_job N'cleanup', @retention = 1, @threshold = 10; EXEC sys.sp_cdc_change_job @pollinginterval = 0`)
	if got, want := shape(), "capture|cdc.d_capture|500|10|1|0|0|0 cleanup|cdc.d_cleanup|0|0|0|0|1|10"; got != want {
		t.Errorf("changed jobs %s, want %s", got, want)
	}
	s.fails(22994, `EXEC sys.sp_cdc_change_job N'cleanup', @retention = 0`)
	s.fails(22970, `EXEC sys.sp_cdc_change_job N'capture', @maxtrans = 0`)
	s.fails(22992, `EXEC sys.sp_cdc_change_job N'other'`)
	s.fails(22968, `EXEC sys.sp_cdc_add_job N'capture'`)
	s.exec(`EXEC sys.sp_cdc_drop_job N'capture'`)
	s.fails(22997, `EXEC sys.sp_cdc_start_job N'capture'`)
	if got, want := shape(), "cleanup|cdc.d_cleanup|0|0|0|0|1|10"; got != want {
		t.Errorf("jobs after the drop %s, want %s", got, want)
	}
	s.exec(`INSERT a VALUES (1)`)
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "0")
	s.exec(`EXEC sys.sp_cdc_scan`)
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "1")
	s.exec(`EXEC sys.sp_cdc_add_job N'capture'`)
	s.fails(22903, `EXEC sys.sp_cdc_scan`)
}

// TestCaptureJob runs the job's goroutine on a virtual clock: delay, stop, start, dummy rows.
func TestCaptureJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.m.SetDelay(2 * time.Second)
		s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
		s.exec(`EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL`)
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		wait(3 * time.Second)
		s.exec(`INSERT a VALUES (1)`)
		wait(time.Second)
		s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "0")
		wait(2 * time.Second)
		s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "1")

		s.exec(`EXEC sys.sp_cdc_stop_job N'capture'`)
		frozen := s.one(`SELECT sys.fn_cdc_get_max_lsn()`)
		s.exec(`INSERT a VALUES (2)`)
		wait(time.Hour)
		s.want(`SELECT sys.fn_cdc_get_max_lsn()`, frozen)
		s.exec(`EXEC sys.sp_cdc_start_job N'capture'`)
		wait(3 * time.Second)
		s.want(`SELECT id FROM cdc.dbo_a_CT ORDER BY id`, "1", "2")

		last := s.one(`SELECT sys.fn_cdc_get_max_lsn()`)
		wait(11 * time.Minute)
		s.want(`SELECT COUNT(*) FROM cdc.lsn_time_mapping WHERE tran_id = 0x00 AND start_lsn > `+last, "2")
		s.want(`SELECT TOP 1 start_lsn FROM sys.dm_cdc_log_scan_sessions ORDER BY session_id DESC`, "00000000:00000000:0000\x00")
		s.m.Close()
	})
}

// TestCloseWhileWaiting: a job that waits for a lock ends with Close.
func TestCloseWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
		s.enable("a", "")
		s.exec(`BEGIN TRAN; SELECT COUNT(*) FROM cdc.dbo_a_CT WITH (TABLOCKX)`)
		other := s.session("sa", "d")
		if r := s.run(other, `INSERT a VALUES (1)`); len(r.errs) > 0 {
			t.Fatal(r.errs[0])
		}
		synctest.Wait()
		s.m.Close()
		s.exec(`ROLLBACK`)
		if locks := s.db.Locks(); len(locks) != 0 {
			t.Errorf("locks are left: %v", locks)
		}
		s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "0")
		s.want(`SELECT COUNT(*) FROM sys.dm_cdc_errors`, "0")
	})
}

func TestScanSessionsAndErrors(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.m.Job(s.db).Stop()
	s.exec(`INSERT a VALUES (1), (2)`)
	s.scan()
	s.want(`SELECT session_id, scan_phase, tran_count, command_count, latency FROM sys.dm_cdc_log_scan_sessions WHERE session_id = 0`, "0|Done|1|2|0")
	// The LSN is text that ends with NUL, which Debezium compares with.
	s.want(`SELECT LEN(start_lsn), UNICODE(RIGHT(start_lsn, 1)), SUBSTRING(start_lsn, 9, 1), SUBSTRING(start_lsn, 18, 1) FROM sys.dm_cdc_log_scan_sessions WHERE session_id <> 0 AND tran_count = 1`, "23|0|:|:")
	s.m.Job(s.db).InjectError(18805, "the log reader failed", 2)
	s.exec(`INSERT a VALUES (3)`)
	for range 2 {
		if err := s.m.Job(s.db).Scan(context.Background()); err == nil {
			t.Fatal("the scan succeeded, want the injected error")
		}
	}
	s.want(`SELECT error_number, error_message FROM sys.dm_cdc_errors`, "18805|the log reader failed", "18805|the log reader failed")
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "2")
	s.scan()
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "3")
}

// TestRestore: a restored database goes on from its own log, also with what was not captured at the backup.
func TestRestore(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	s.m.Job(s.db).Stop()
	s.exec(`INSERT a VALUES (2)`)
	b := s.db.Backup()
	s.exec(`INSERT a VALUES (3)`)
	s.scan()
	s.want(`SELECT id FROM cdc.dbo_a_CT ORDER BY id`, "1", "2", "3")
	if err := s.db.Restore(b); err != nil {
		t.Fatal(err)
	}
	s.want(`SELECT id FROM cdc.dbo_a_CT ORDER BY id`, "1")
	s.exec(`INSERT a VALUES (4)`)
	s.scan()
	s.want(`SELECT id FROM cdc.dbo_a_CT ORDER BY id`, "1", "2", "4")
}
