package syscat

import "testing"

func TestTrustInTheCatalog(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (id int PRIMARY KEY); CREATE TABLE dbo.c (p int CONSTRAINT fk REFERENCES p(id) ON DELETE SET NULL ON UPDATE CASCADE, CONSTRAINT ck CHECK (p > 0))`)
	const q = `SELECT name, is_disabled, is_not_trusted FROM sys.foreign_keys UNION ALL SELECT name, is_disabled, is_not_trusted FROM sys.check_constraints`
	s.want(q, "fk|0|0", "ck|0|0")
	s.want(`SELECT delete_referential_action_desc, update_referential_action_desc FROM sys.foreign_keys`, "SET_NULL|CASCADE")
	s.exec(`ALTER TABLE c NOCHECK CONSTRAINT ALL`)
	s.want(q, "fk|1|1", "ck|1|1")
	s.exec(`ALTER TABLE c CHECK CONSTRAINT ALL`)
	s.want(q, "fk|0|1", "ck|0|1")
	s.exec(`ALTER TABLE c WITH CHECK CHECK CONSTRAINT ALL`)
	s.want(q, "fk|0|0", "ck|0|0")
}
