package mssqltest_test

import (
	"context"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

const captured = `CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, s nvarchar(20) NULL);
EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't', @role_name = NULL;`

// query runs a query of one column in the process.
func query(t *testing.T, s *mssqltest.Server, q string) (out []string) {
	t.Helper()
	rows, err := s.Query(q)
	if err != nil {
		t.Fatalf("running %q: %v", q, err)
	}
	for _, r := range rows {
		out = append(out, r[0])
	}
	return out
}

func TestCaptureByHand(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{CaptureStopped: true})
	execScript(t, s, captured)
	execScript(t, s, "INSERT dbo.t VALUES (1, N'a')")
	if got := query(t, s, "SELECT COUNT(*) FROM cdc.dbo_t_CT"); got[0] != "0" {
		t.Errorf("%s changes are captured while the job stands still", got[0])
	}
	ctl := s.Control()
	if err := ctl.CaptureError("", 22859, "log scan failed", 1); err != nil {
		t.Fatal(err)
	}
	if err := ctl.CaptureScan(context.Background(), ""); err == nil {
		t.Error("the injected error did not come")
	}
	if got := query(t, s, "SELECT TOP (1) error_number FROM sys.dm_cdc_errors ORDER BY entry_time"); len(got) != 1 || got[0] != "22859" {
		t.Errorf("sys.dm_cdc_errors shows %v, want 22859", got)
	}
	if err := ctl.CaptureScan(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s, "SELECT CONCAT([__$operation], ' ', id, ' ', s) FROM cdc.dbo_t_CT"); len(got) != 1 || got[0] != "2 1 a" {
		t.Errorf("captured %v, want one insert", got)
	}
}

func TestCaptureStartStopCleanup(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, captured)
	ctl := s.Control()
	wait := func(want string) {
		t.Helper()
		eventually(t, want+" changes", func() bool { return query(t, s, "SELECT COUNT(*) FROM cdc.dbo_t_CT")[0] == want })
	}
	execScript(t, s, "INSERT dbo.t VALUES (1, NULL), (2, NULL)")
	wait("2")
	if err := ctl.CaptureStop(""); err != nil {
		t.Fatal(err)
	}
	pass(10 * time.Millisecond) // a mark steps back to the first commit of the same 1/300 s
	execScript(t, s, "UPDATE dbo.t SET s = N'x' WHERE id = 1")
	wait("2")
	if err := ctl.CaptureStart(""); err != nil {
		t.Fatal(err)
	}
	wait("4")
	max := query(t, s, "SELECT CONVERT(varchar(22), sys.fn_cdc_get_max_lsn(), 1)")[0]
	if err := ctl.Cleanup("", "dbo_t", max, 5000); err != nil {
		t.Fatal(err)
	}
	if got := query(t, s, "SELECT CONVERT(varchar(22), sys.fn_cdc_get_min_lsn('dbo_t'), 1)"); got[0] != max {
		t.Errorf("after the cleanup the low end is %s, want %s", got[0], max)
	}
	wait("2")
	if err := ctl.Cleanup("", "dbo_t", "0x12", 5000); err == nil {
		t.Error("a mark that is no LSN was taken")
	}
}

func TestOldChangeTables(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	if err := s.Control().OldChangeTables("", true); err != nil {
		t.Fatal(err)
	}
	execScript(t, s, captured)
	if got := query(t, s, "SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('cdc.dbo_t_CT') AND name = '__$command_id'"); got[0] != "0" {
		t.Error("the change table has __$command_id")
	}
}
