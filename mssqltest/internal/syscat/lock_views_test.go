package syscat

import (
	"context"
	"runtime"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
)

// TestWaitsInTheCatalog looks at a session that waits for a key, as a monitor does.
func TestWaitsInTheCatalog(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (id int PRIMARY KEY, v int); INSERT p VALUES (1, 1)`)
	other, err := s.in.NewSession(exec.SessionOptions{Database: s.s.Database().Name()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	s.exec(`BEGIN TRAN; UPDATE p SET v = 2`)
	done := make(chan error, 1)
	go func() { done <- other.Batch(context.Background(), `UPDATE p SET v = 3`, &recorder{}) }()
	for len(s.in.Storage.Locks()) < 4 {
		runtime.Gosched()
	}
	s.want(`SELECT wait_type, CASE WHEN blocking_session_id = @@SPID THEN 'me' END FROM sys.dm_os_waiting_tasks`, "LCK_M_U|me")
	s.want(`SELECT r.wait_type, CASE WHEN r.blocking_session_id = @@SPID THEN 'me' END FROM sys.dm_exec_requests r WHERE r.blocking_session_id <> 0`, "LCK_M_U|me")
	s.want(`SELECT resource_type, request_mode, request_status FROM sys.dm_tran_locks WHERE resource_type <> 'DATABASE' AND request_session_id <> @@SPID ORDER BY 1, 2`,
		"KEY|U|WAIT", "OBJECT|IX|GRANT")
	s.want(`SELECT resource_type, request_mode FROM sys.dm_tran_locks WHERE request_session_id = @@SPID ORDER BY 1, 2`, "DATABASE|S", "KEY|X", "OBJECT|IX")
	s.exec(`ROLLBACK`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.want(`SELECT v FROM p`, "3")
	s.exec(`ALTER TABLE p SET (LOCK_ESCALATION = DISABLE)`)
	s.want(`SELECT lock_escalation_desc FROM sys.tables`, "DISABLE")
	s.exec(`ALTER TABLE p SET (LOCK_ESCALATION = TABLE)`)
	s.want(`SELECT lock_escalation_desc FROM sys.tables`, "TABLE")
}
