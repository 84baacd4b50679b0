package exec

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestTriggers(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(10)); CREATE TABLE log (n int IDENTITY, what varchar(20), id int, old int, new int)", ""},
		{"create", "CREATE TRIGGER tr_i ON dbo.t AFTER INSERT AS BEGIN SET NOCOUNT ON; INSERT log (what, id, new) SELECT 'insert', id, a FROM inserted END", ""},
		{"update and delete", `CREATE TRIGGER tr_ud ON t FOR UPDATE, DELETE AS
			INSERT log (what, id, old, new) SELECT CASE WHEN i.id IS NULL THEN 'delete' ELSE 'update' END, d.id, d.a, i.a FROM deleted AS d LEFT JOIN inserted i ON i.id = d.id`, ""},
		{"fires once a statement", "INSERT t VALUES (1, 10, 'x'), (2, 20, 'y'); UPDATE t SET a = a + 1; DELETE t WHERE id = 2; SELECT what, id, old, new FROM log ORDER BY n",
			"insert|1|NULL|10\ninsert|2|NULL|20\nupdate|1|10|11\nupdate|2|20|21\ndelete|2|21|NULL"},
		{"row count is the statement's", "UPDATE t SET a = 5; SELECT @@ROWCOUNT", "1"},
		{"scope identity is the scope's", "CREATE TABLE idt (n int IDENTITY(100, 1), a int)", ""},
		{"its trigger", "CREATE TRIGGER tr_idt ON idt AFTER INSERT AS INSERT log (what) VALUES ('idt')", ""},
		{"both identities", "INSERT idt VALUES (1); SELECT SCOPE_IDENTITY(), CASE WHEN @@IDENTITY = IDENT_CURRENT('log') THEN 1 END", "100|1"},
		{"merge fires each event", "TRUNCATE TABLE log; MERGE t USING (VALUES (1, 50), (9, 90)) s (id, a) ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a); SELECT what, id, old, new FROM log ORDER BY n",
			"insert|9|NULL|90\nupdate|1|5|50"},
		{"no row at all", "CREATE TRIGGER tr_none ON t AFTER DELETE AS SELECT @@ROWCOUNT, COUNT(*) FROM deleted", ""},
		{"fires too", "DELETE t WHERE id = 77", "0|0"},
		{"drop", "DROP TRIGGER tr_none; DELETE t WHERE id = 77; DROP TRIGGER tr_none", "msg 3701"},
		{"truncate fires nothing", "TRUNCATE TABLE log; TRUNCATE TABLE t; SELECT COUNT(*) FROM log", "0"},
		{"disable", "DISABLE TRIGGER tr_i ON t; INSERT t VALUES (1, 1, 'x'); SELECT COUNT(*) FROM log; ENABLE TRIGGER ALL ON dbo.t; INSERT t VALUES (2, 1, 'x'); SELECT COUNT(*) FROM log", "0\n1"},
		{"alter table disable", "ALTER TABLE t DISABLE TRIGGER ALL; DELETE t; SELECT COUNT(*) FROM log; ALTER TABLE t ENABLE TRIGGER tr_i, tr_ud; ALTER TABLE t DISABLE TRIGGER nope", "1\nmsg 4920"},
		{"enable of none", "ENABLE TRIGGER nope ON t", "msg 1088"},
		{"on nothing", "CREATE TRIGGER x ON nothere AFTER INSERT AS SELECT 1", "msg 8197"},
		{"output", "INSERT t OUTPUT inserted.id VALUES (5, 5, 'x')", "msg 334"},
		{"output into", "DECLARE @o TABLE (id int); INSERT t OUTPUT inserted.id INTO @o VALUES (5, 5, 'x'); SELECT id FROM @o", "5"},
		{"output into a table with triggers", "INSERT idt (a) OUTPUT inserted.a, 1, 'x' INTO t VALUES (5)", "msg 331"},
		{"logical tables stay", "CREATE TRIGGER tr_bad ON log AFTER INSERT AS DELETE inserted", ""},
		{"286", "INSERT log (what) VALUES ('x')", "msg 286"},
		{"alter", "ALTER TRIGGER tr_bad ON log AFTER INSERT AS UPDATE l SET old = -1 FROM log AS l JOIN inserted i ON i.n = l.n", ""},
		{"changes the row again, once", "INSERT log (what) VALUES ('y'); SELECT what, old FROM log WHERE what = 'y'; DROP TRIGGER dbo.tr_bad", "y|-1"},
		{"only there", "SELECT * FROM inserted", "msg 208"},
		{"if update outside", "IF UPDATE(a) SELECT 1", "msg 140"},
		{"drop table drops it", "DROP TABLE idt; DROP TRIGGER tr_idt", "msg 3701"},
	})
}

func TestTriggerColumns(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(10), c AS a + 1)", ""},
		{"create", `CREATE TRIGGER tr ON t AFTER INSERT, UPDATE, DELETE AS
			SELECT CASE WHEN UPDATE(id) THEN 1 ELSE 0 END, CASE WHEN UPDATE(a) OR UPDATE(b) THEN 1 ELSE 0 END, CONVERT(varchar(10), COLUMNS_UPDATED(), 1), TRIGGER_NESTLEVEL()`, ""},
		{"insert", "INSERT t VALUES (1, 1, 'x')", "1|1|0x0F|1"},
		{"update", "UPDATE t SET b = b", "0|1|0x04|1"},
		{"update of no row", "UPDATE t SET id = 1 WHERE id = 5", "1|0|0x01|1"},
		{"delete", "DELETE t", "0|0|0x00|1"},
		{"merge", "MERGE t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1;", "0|1|0x02|1"},
		{"computed", "ALTER TRIGGER tr ON t AFTER INSERT AS IF UPDATE(c) SELECT 1", ""},
		{"2114", "INSERT t VALUES (1, 1, 'x')", "msg 2114"},
	})
}

func TestTriggerTransactions(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE log (a int PRIMARY KEY)", ""},
		{"an open transaction", "CREATE TRIGGER tr ON t AFTER INSERT AS SELECT @@TRANCOUNT, XACT_STATE()", ""},
		{"of the statement", "INSERT t VALUES (1, 1); BEGIN TRAN; INSERT t VALUES (2, 1); COMMIT; SELECT @@TRANCOUNT", "1|1\n1|1\n0"},
		{"rollback", "ALTER TRIGGER tr ON t AFTER INSERT AS IF EXISTS (SELECT * FROM inserted WHERE a < 0) BEGIN ROLLBACK; RAISERROR('negative', 16, 1); SELECT @@TRANCOUNT; INSERT log VALUES (77) END", ""},
		{"ends statement and batch", "INSERT t VALUES (3, -1); SELECT 'not here'", "msg 50000\n0\nmsg 3609"},
		{"what came after it stays", "SELECT COUNT(*) FROM t; SELECT a FROM log; DELETE log", "2\n77"},
		{"rolls back everything", "BEGIN TRAN; INSERT t VALUES (4, 1); INSERT t VALUES (5, -1)", "msg 50000\n0\nmsg 3609"},
		{"all gone", "SELECT @@TRANCOUNT, COUNT(*) FROM t; DELETE log", "0|2"},
		{"caught", "BEGIN TRY BEGIN TRAN; INSERT t VALUES (4, 1); INSERT t VALUES (5, -1) END TRY BEGIN CATCH SELECT ERROR_NUMBER(), XACT_STATE() END CATCH; SELECT COUNT(*) FROM t", "50000|0\n2"},
		{"error in a trigger", "ALTER TRIGGER tr ON t AFTER INSERT AS INSERT log SELECT a FROM inserted", ""},
		{"of the statement alone", "INSERT t VALUES (3, 1); INSERT t VALUES (4, 1); SELECT 'not here'", "msg 2627"},
		{"ends the transaction", "SELECT COUNT(*) FROM t; BEGIN TRAN; INSERT t VALUES (4, 2); INSERT t VALUES (5, 1)", "3\nmsg 2627"},
		{"gone with it", "SELECT @@TRANCOUNT, COUNT(*) FROM t", "0|3"},
		{"dooms what is caught", "BEGIN TRAN; BEGIN TRY INSERT t VALUES (4, 1) END TRY BEGIN CATCH SELECT XACT_STATE(), ERROR_PROCEDURE(); ROLLBACK END CATCH", "-1|tr"},
		{"caught inside", "ALTER TRIGGER tr ON t AFTER INSERT AS BEGIN TRY INSERT log SELECT a FROM inserted END TRY BEGIN CATCH SELECT 'caught' END CATCH", ""},
		{"3616", "INSERT t VALUES (4, 1); SELECT 'not here'", "caught\nmsg 3616"},
		{"left the table alone", "SELECT COUNT(*) FROM t", "3"},
		{"raiserror alone goes on", "ALTER TRIGGER tr ON t AFTER INSERT AS RAISERROR('note', 16, 1)", ""},
		{"statement stays", "INSERT t VALUES (4, 1); SELECT COUNT(*) FROM t", "msg 50000\n4"},
		{"commit in a trigger", "ALTER TRIGGER tr ON t AFTER INSERT AS COMMIT", ""},
		{"is its end", "INSERT t VALUES (5, 1); SELECT 'not here'", "msg 3609"},
		{"but it is in", "SELECT COUNT(*) FROM t", "5"},
		{"a new transaction", "ALTER TRIGGER tr ON t AFTER INSERT AS BEGIN ROLLBACK; BEGIN TRAN END", ""},
		{"no error then", "INSERT t VALUES (6, 1); SELECT @@TRANCOUNT, COUNT(*) FROM t; ROLLBACK", "1|5"},
		{"begin in a trigger", "ALTER TRIGGER tr ON t AFTER INSERT AS BEGIN TRAN", ""},
		{"stays open", "INSERT t VALUES (6, 1); SELECT @@TRANCOUNT, COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t", "1|6\n5"},
		{"options end with it", "ALTER TRIGGER tr ON t AFTER INSERT AS SET NOCOUNT ON", ""},
		{"xact_abort is back", "INSERT t VALUES (6, 1); BEGIN TRAN; INSERT t VALUES (6, 1); SELECT @@TRANCOUNT; ROLLBACK", "msg 2627\n1"},
		{"throw", "ALTER TRIGGER tr ON t AFTER INSERT AS THROW 51234, 'no', 1", ""},
		{"undoes", "INSERT t VALUES (7, 1); SELECT 'not here'", "msg 51234"},
		{"undone", "SELECT COUNT(*), @@TRANCOUNT FROM t", "6|0"},
	})
}

func TestNestedTriggers(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE a (n int); CREATE TABLE b (n int); CREATE TABLE c (n int)", ""},
		{"a to b", "CREATE TRIGGER tr_a ON a AFTER INSERT AS INSERT b SELECT n + 1 FROM inserted", ""},
		{"b to c", "CREATE TRIGGER tr_b ON b AFTER INSERT AS INSERT c SELECT n * 10 + TRIGGER_NESTLEVEL() FROM inserted", ""},
		{"nested", "INSERT a VALUES (1); SELECT n FROM b; SELECT n FROM c", "2\n22"},
		{"several", "CREATE TRIGGER tr_a2 ON a AFTER INSERT AS INSERT c VALUES (-1)", ""},
		{"in order", "DELETE c; INSERT a VALUES (1); SELECT n FROM c", "22\n-1"},
		{"around", "CREATE TRIGGER tr_c ON c AFTER INSERT AS INSERT a SELECT 0 FROM inserted", ""},
		{"too deep", "INSERT a VALUES (1)", "msg 217"},
		{"all undone", "SELECT COUNT(*) FROM a", "2"},
		{"through a procedure", "CREATE PROCEDURE p AS INSERT a VALUES (5)", ""},
		{"rows", "DISABLE TRIGGER tr_c ON c; EXEC p; SELECT COUNT(*) FROM a", "3"},
		{"insert exec", "CREATE TABLE d (n int)", ""},
		{"selects", "CREATE TRIGGER tr_d ON d AFTER INSERT AS SELECT n FROM inserted", ""},
		{"set of a trigger comes first", "INSERT d VALUES (3); SELECT 4", "3\n4"},
	})
}

func TestInsteadOfTriggers(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int PRIMARY KEY, gone bit NOT NULL DEFAULT 0)", ""},
		{"create", "CREATE TRIGGER tr ON t INSTEAD OF DELETE AS UPDATE t SET gone = 1 FROM t JOIN deleted d ON d.id = t.id", ""},
		{"second", "CREATE TRIGGER tr2 ON t INSTEAD OF INSERT, DELETE AS SELECT 1", "msg 2111"},
		{"delete", "INSERT t (id) VALUES (1), (2); DELETE t WHERE id = 1; SELECT @@ROWCOUNT; SELECT * FROM t", "1\n1|1\n2|0"},
		{"itself", "ALTER TRIGGER tr ON t INSTEAD OF DELETE AS DELETE t WHERE id IN (SELECT id FROM deleted)", ""},
		{"does what it says", "DELETE t WHERE id = 1; SELECT id FROM t", "2"},
	})
}

func TestTriggersOfABulkLoad(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int); CREATE TABLE log (n int)", ""},
		{"create", "CREATE TRIGGER tr ON t AFTER INSERT AS BEGIN INSERT log SELECT COUNT(*) FROM inserted; IF EXISTS (SELECT * FROM inserted WHERE a < 0) THROW 50001, 'negative', 1 END", ""},
	})
	load := func(options string, vals ...int64) error {
		b, err := s.Bulk(context.Background(), "INSERT BULK t (a int)"+options)
		if err != nil {
			return err
		}
		defer b.Abort()
		for _, v := range vals {
			if err := b.Row([]value.Value{value.NewInt(value.Int, v)}); err != nil {
				return err
			}
		}
		_, err = b.Finish(context.Background())
		return err
	}
	if err := load("", 1, -2); err != nil {
		t.Fatal(err)
	}
	if err := load(" WITH (FIRE_TRIGGERS)", 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	if err := load(" WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS)", -1); err == nil || !strings.Contains(err.Error(), "50001") {
		t.Errorf("error of the trigger: %v", err)
	}
	check(t, s, []sqlTest{
		{"once, and undone", "SELECT n FROM log; SELECT COUNT(*), @@TRANCOUNT FROM t", "3\n5|0"},
		{"open", "BEGIN TRAN; INSERT log VALUES (9)", ""},
	})
	if err := load(" WITH (FIRE_TRIGGERS)", -1); err == nil {
		t.Error("no error of the trigger in a transaction")
	}
	check(t, s, []sqlTest{{"rolled back", "SELECT @@TRANCOUNT, COUNT(*) FROM log", "0|1"}})
}
