package cdc

import (
	"context"
	"testing"
)

func TestAlterTable(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY, v int, w int); INSERT s VALUES (1, 1, 1)`)
	s.enable("s", "")
	s.exec(`ALTER TABLE s ADD c2 int NULL`)
	s.exec(`UPDATE s SET c2 = 7, v = 2`)
	s.exec(`ALTER TABLE s ALTER COLUMN v bigint`)
	s.exec(`UPDATE s SET v = 5000000000`)
	s.exec(`ALTER TABLE s DROP COLUMN w`)
	s.exec(`INSERT s (id, v) VALUES (2, 2)`)
	s.scan()
	s.wantChanges("dbo_s_CT", "__$update_mask, id, v, w", "3|0x02|1|1|1", "4|0x02|1|2|1", "3|0x02|1|2|1", "4|0x02|1|5000000000|1", "2|0x07|2|2|NULL")
	s.want(`SELECT required_column_update, ddl_command FROM cdc.ddl_history ORDER BY ddl_lsn`,
		"0|ALTER TABLE s ADD c2 int NULL", "1|ALTER TABLE s ALTER COLUMN v bigint", "0|ALTER TABLE s DROP COLUMN w")
	s.want(`SELECT TYPE_NAME(user_type_id) FROM sys.columns WHERE object_id = OBJECT_ID('cdc.dbo_s_CT') AND name = 'v'`, "bigint")
	s.want(`SELECT column_type FROM cdc.captured_columns WHERE column_name = 'v'`, "bigint")
	if rows := s.query(`EXEC sys.sp_cdc_get_ddl_history N'dbo_s'`); len(rows) != 3 {
		t.Errorf("sp_cdc_get_ddl_history gives %q, want 3 rows", rows)
	}
	s.fails(4928, `EXEC sp_rename 'dbo.s.v', 'x', 'COLUMN'`)
	s.fails(4711, `TRUNCATE TABLE s`)
	s.exec(`CREATE TABLE dbo.p (id int CONSTRAINT pk_p PRIMARY KEY)`)
	s.enable("p", "")
	s.fails(22983, `ALTER TABLE p DROP CONSTRAINT pk_p`)
}

// TestAlterColumnFails: old values that do not fit the column's new type stop the scan until they are gone.
func TestAlterColumnFails(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY, v nvarchar(20)); INSERT s VALUES (1, N'a long text')`)
	s.enable("s", "")
	s.m.Job(s.db).Stop()
	s.exec(`UPDATE s SET v = N'another text'; UPDATE s SET v = N'x'; ALTER TABLE s ALTER COLUMN v nvarchar(3)`)
	if err := s.m.Job(s.db).Scan(context.Background()); err == nil {
		t.Fatal("the scan succeeded, want error 2628")
	}
	s.want(`SELECT error_number FROM sys.dm_cdc_errors`, "2628")
	s.want(`SELECT MAX(failed_sessions_count) FROM sys.dm_cdc_log_scan_sessions`, "1")
	s.exec(`DELETE cdc.dbo_s_CT`)
	s.scan()
	s.want(`SELECT required_column_update FROM cdc.ddl_history`, "1")
}

// TestTwoInstances hands over from one instance to another: each change is in the instances that existed at its commit.
func TestTwoInstances(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY, v int)`)
	s.enable("s", ", @capture_instance = N'v1'")
	s.m.Job(s.db).Stop()
	s.exec(`INSERT s VALUES (1, 1)`)
	s.exec(`ALTER TABLE s ADD c2 int`)
	s.exec(`EXEC sys.sp_cdc_enable_table N'dbo', N's', @role_name = NULL, @capture_instance = N'v2'`)
	s.exec(`INSERT s VALUES (2, 2, 2)`)
	s.scan()
	s.wantChanges("v1_CT", "id, v", "2|1|1", "2|2|2")
	s.wantChanges("v2_CT", "id, v, c2", "2|2|2|2")
	s.want(`SELECT CASE WHEN MIN(__$start_lsn) > sys.fn_cdc_get_min_lsn(N'v2') AND
		sys.fn_cdc_get_min_lsn(N'v2') > (SELECT MIN(__$start_lsn) FROM cdc.v1_CT) THEN 1 ELSE 0 END FROM cdc.v2_CT`, "1")
	s.exec(`EXEC sys.sp_cdc_disable_table N'dbo', N's', N'v1'`)
	s.want(`SELECT is_tracked_by_cdc FROM sys.tables WHERE name = 's'`, "1")
	s.want(`SELECT COUNT(*) FROM cdc.ddl_history`, "0")
	s.exec(`INSERT s VALUES (3, 3, 3)`)
	s.scan()
	s.wantChanges("v2_CT", "id", "2|2", "2|3")
}

func TestRenamedTable(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY)`)
	s.enable("s", "")
	s.exec(`EXEC sp_rename 'dbo.s', 's2'`)
	s.exec(`INSERT s2 VALUES (1)`)
	s.scan()
	s.wantChanges("dbo_s_CT", "id", "2|1")
	s.want(`SELECT OBJECT_NAME(source_object_id), capture_instance FROM cdc.change_tables`, "s2|dbo_s")
}

// TestDropTable: a tracked table that is dropped takes its instances with it.
func TestDropTable(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY)`)
	s.enable("s", "")
	s.exec(`DROP TABLE dbo.s`)
	s.want(`SELECT COUNT(*) FROM cdc.change_tables`, "0")
	s.want(`SELECT COUNT(*) FROM sys.tables WHERE name = 'dbo_s_CT'`, "0")
	s.scan()
}
