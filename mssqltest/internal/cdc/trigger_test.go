package cdc

import "testing"

// TestTriggerIsCaptured: what a trigger changes belongs to the statement's transaction, behind the statement's own rows.
func TestTriggerIsCaptured(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.k (id int PRIMARY KEY, v int); CREATE TABLE dbo.log (id int PRIMARY KEY, n int)`)
	s.exec(`CREATE TRIGGER dbo.tr ON dbo.k AFTER INSERT AS BEGIN
		INSERT log SELECT id, v FROM inserted; UPDATE k SET v = v + 1 WHERE id IN (SELECT id FROM inserted) END`)
	s.enable("k", "")
	s.enable("log", "")
	s.exec(`INSERT k VALUES (1, 10)`)
	s.exec(`BEGIN TRAN; INSERT k VALUES (2, 20); ROLLBACK`)
	s.scan()
	s.wantChanges("dbo_k_CT", "id, v", "2|1|10", "3|1|10", "4|1|11")
	s.wantChanges("dbo_log_CT", "id, n", "2|1|10")
	s.want(`SELECT COUNT(DISTINCT __$start_lsn) FROM (SELECT __$start_lsn FROM cdc.dbo_k_CT UNION ALL SELECT __$start_lsn FROM cdc.dbo_log_CT) x`, "1")
	s.want(`SELECT COUNT(DISTINCT __$command_id) FROM (SELECT __$command_id FROM cdc.dbo_k_CT UNION ALL SELECT __$command_id FROM cdc.dbo_log_CT) x`, "3")
}
