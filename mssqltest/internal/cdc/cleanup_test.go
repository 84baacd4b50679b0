package cdc

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// TestCleanupOrder stops a cleanup between its transactions: the low end is raised first, rows follow in chunks.
func TestCleanupOrder(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	for i := range 5 {
		s.exec(`INSERT a VALUES (%d)`, i)
		s.scan()
	}
	old := s.one(`SELECT start_lsn FROM cdc.change_tables`)
	mark := s.one(`SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping`)
	// Commits within the resolution of datetime share a time, and the mark steps back to the first of them.
	s.exec(`UPDATE cdc.lsn_time_mapping SET tran_end_time = DATEADD(minute, -1, tran_end_time) WHERE start_lsn < %s`, mark)
	var steps []string
	s.m.SetCleanupHook(s.db, func(step CleanupStep, instance string) error {
		steps = append(steps, fmt.Sprint(step, " ", instance, " ", s.one(`SELECT COUNT(*) FROM cdc.dbo_a_CT`)))
		if step == CleanupMarked {
			s.fails(313, `SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_a(%s, %s, N'all')`, old, mark)
		}
		return nil
	})
	s.exec(`EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', %s, 3`, mark)
	want := []string{"0 dbo_a 5", "1 dbo_a 2", "1 dbo_a 1"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	s.want(`SELECT start_lsn FROM cdc.change_tables`, mark)
	s.want(`SELECT id FROM cdc.dbo_a_CT`, "4")
}

func TestCleanupMark(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.exec(`INSERT a VALUES (2)`)
	s.scan()
	low := s.one(`SELECT start_lsn FROM cdc.change_tables`)
	first := s.one(`SELECT MIN(__$start_lsn) FROM cdc.dbo_a_CT`)
	second := s.one(`SELECT MAX(__$start_lsn) FROM cdc.dbo_a_CT`)
	s.fails(22964, `EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', 0x00000000000000000001`)
	s.fails(22920, `EXEC sys.sp_cdc_cleanup_change_table N'nix', %s`, first)
	s.fails(22850, `EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', %s, 0`, first)
	// Both commits share a time: the mark steps back to the first.
	s.exec(`UPDATE cdc.lsn_time_mapping SET tran_end_time = '2024-01-01' WHERE tran_id <> 0x00`)
	s.exec(`EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', %s`, second)
	s.want(`SELECT start_lsn FROM cdc.change_tables`, first)
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "2")
	s.fails(22957, `EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', %s`, low)
	// NULL keeps the mark and deletes what is below it.
	s.exec(`UPDATE cdc.change_tables SET start_lsn = %s`, second)
	s.exec(`EXEC sys.sp_cdc_cleanup_change_table N'dbo_a', NULL`)
	s.want(`SELECT start_lsn FROM cdc.change_tables`, second)
	s.want(`SELECT id FROM cdc.dbo_a_CT`, "2")
}

// TestCleanupJob: the retention makes one mark; instances above it keep theirs; the mapping is trimmed; it runs at two.
func TestCleanupJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY)`)
		s.enable("a", "")
		s.exec(`INSERT a VALUES (1)`)
		s.scan()
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		wait(2 * time.Hour)
		s.exec(`INSERT a VALUES (2)`)
		s.enable("b", "")
		low := s.one(`SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = 'dbo_b'`)
		s.exec(`EXEC sys.sp_cdc_change_job N'cleanup', @retention = 60`)
		if err := s.m.RunCleanup(context.Background(), s.db); err != nil {
			t.Fatal(err)
		}
		s.want(`SELECT id FROM cdc.dbo_a_CT`, "2")
		s.want(`SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = 'dbo_b'`, low)
		s.want(`SELECT CASE WHEN MIN(m.start_lsn) = (SELECT MIN(start_lsn) FROM cdc.change_tables) THEN 1 ELSE 0 END FROM cdc.lsn_time_mapping m`, "1")
		wait(25 * time.Hour)
		s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "0")
		s.m.Close()
	})
}

// TestCleanupStops: a hook's error leaves the cleanup where it is, with the low end above rows that are still there.
func TestCleanupStops(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	s.exec(`UPDATE cdc.lsn_time_mapping SET tran_end_time = '2024-01-01'`)
	s.exec(`INSERT a VALUES (2)`)
	s.scan()
	b, err := hex.DecodeString(s.one(`SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping`)[2:])
	if err != nil {
		t.Fatal(err)
	}
	mark, stop := storage.LSN(b), errors.New("stop")
	err = s.m.CleanupInstance(context.Background(), s.db, "dbo_a", &mark, 1, func(CleanupStep, string) error { return stop })
	if !errors.Is(err, stop) {
		t.Fatalf("error %v, want the hook's", err)
	}
	s.want(`SELECT id FROM cdc.dbo_a_CT ORDER BY id`, "1", "2")
	s.want(`SELECT id FROM cdc.fn_cdc_get_all_changes_dbo_a(sys.fn_cdc_get_min_lsn(N'dbo_a'), sys.fn_cdc_get_max_lsn(), N'all')`, "2")
}
