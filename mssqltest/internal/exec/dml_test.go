package exec

import "testing"

func TestInsert(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (id int IDENTITY(10,5) PRIMARY KEY, a int NOT NULL DEFAULT 7, b varchar(5) NULL, c AS (a * 2), v rowversion)", ""},
		{"values", "INSERT t (a, b) VALUES (1, 'x'), (DEFAULT, NULL); SELECT id, a, b, c FROM t; SELECT @@ROWCOUNT, SCOPE_IDENTITY(), @@IDENTITY", "10|1|x|2\n15|7|NULL|14\n2|15|15"},
		{"default values", "INSERT t DEFAULT VALUES; SELECT a FROM t WHERE id = 20", "7"},
		{"output", "INSERT t (a) OUTPUT inserted.id, inserted.a + 1 VALUES (3), (4)", "25|4\n30|5"},
		{"output into", "DECLARE @o TABLE (i int, a int); INSERT t (a) OUTPUT inserted.id, inserted.a INTO @o VALUES (9); SELECT * FROM @o", "35|9"},
		{"select", "INSERT t (a, b) SELECT a, 'q' FROM t WHERE a < 3; SELECT COUNT(*) FROM t WHERE b = 'q'", "1"},
		{"not null", "INSERT t (a) VALUES (NULL)", "msg 515"},
		{"too long", "INSERT t (a, b) VALUES (1, 'abcdef')", "msg 2628"},
		{"identity", "INSERT t (id, a) VALUES (1, 1)", "msg 544"},
		{"identity insert", "SET IDENTITY_INSERT t ON; INSERT t (id, a) VALUES (100, 1); SET IDENTITY_INSERT t OFF; INSERT t (a) VALUES (2); SELECT MAX(id) FROM t", "105"},
		{"duplicate", "SET IDENTITY_INSERT t ON; INSERT t (id, a) VALUES (100, 1); SET IDENTITY_INSERT t OFF", "msg 2627"},
		{"computed", "INSERT t (a, c) VALUES (1, 1)", "msg 271"},
		{"rowversion", "INSERT t (a, v) VALUES (1, 0x00)", "msg 273"},
		{"too few", "INSERT t (a, b) VALUES (1)", "msg 109"},
		{"too many", "INSERT t (a) VALUES (1, 2)", "msg 110"},
		{"unknown column", "INSERT t (zz) VALUES (1)", "msg 207"},
		{"statement is undone", "DECLARE @n int = (SELECT COUNT(*) FROM t); INSERT t (a) VALUES (1), (2), (NULL); SELECT COUNT(*) - @n FROM t", "msg 515\n0"},
		{"exec", "DECLARE @x TABLE (a int, b int); INSERT @x EXEC ('SELECT 1, 2; SELECT 3, 4'); SELECT * FROM @x", "1|2\n3|4"},
		{"check", "CREATE TABLE k (a int CHECK (a > 0), b int, CONSTRAINT ck CHECK (b < a)); INSERT k VALUES (0, 0); INSERT k VALUES (2, 3); INSERT k VALUES (2, NULL)", "msg 547\nmsg 547"},
		{"unique", "CREATE TABLE u (a int UNIQUE, b int); CREATE UNIQUE INDEX ux ON u (b) WHERE b IS NOT NULL; INSERT u VALUES (1, NULL), (2, NULL), (NULL, 3); INSERT u VALUES (1, 5); INSERT u VALUES (9, 3)", "msg 2627\nmsg 2601"},
	})
}

func TestUpdateDelete(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", people, ""},
		{"update", "UPDATE emp SET pay = pay * 2, name = name + N'x' WHERE id <= 2; SELECT name, pay FROM emp WHERE id <= 2", "annx|21.00\nbobx|40.00"},
		{"from", "UPDATE e SET name = d.name FROM emp e JOIN dept d ON d.id = e.dept WHERE e.id = 3; SELECT name FROM emp WHERE id = 3", "ops"},
		{"from by table name", "UPDATE emp SET name = N'q' FROM emp JOIN dept d ON d.id = emp.dept WHERE d.id = 2; SELECT name FROM emp WHERE id = 3", "q"},
		{"compound and variable", "DECLARE @v decimal(10,2); UPDATE emp SET @v = pay += 1 WHERE id = 1; SELECT @v", "22.00"},
		{"output", "UPDATE emp SET name = N'z' OUTPUT deleted.name, inserted.name WHERE id = 4", "dan|z"},
		{"keys move together", "UPDATE dept SET id = id + 100 WHERE id = 3; SELECT MAX(id) FROM dept", "103"},
		{"swap of a key", "CREATE TABLE p (id int PRIMARY KEY); INSERT p VALUES (1), (2), (3); UPDATE p SET id = id + 1; SELECT * FROM p", "2\n3\n4"},
		{"duplicate", "UPDATE p SET id = 2 WHERE id = 3", "msg 2627"},
		{"top", "UPDATE TOP (1) p SET id = 50; SELECT COUNT(*) FROM p WHERE id = 50", "1"},
		{"identity", "UPDATE emp SET id = 1", "msg 8102"},
		{"foreign key of the child", "UPDATE emp SET dept = 77 WHERE id = 1", "msg 547"},
		{"foreign key of the parent", "DELETE dept WHERE id = 1", "msg 547"},
		{"delete", "DELETE FROM emp WHERE id = 4; SELECT @@ROWCOUNT, COUNT(*) FROM emp", "1|3"},
		{"delete from", "DELETE e FROM emp e JOIN dept d ON d.id = e.dept WHERE d.id = 2; SELECT COUNT(*) FROM emp", "2"},
		{"delete output", "DELETE TOP (1) FROM emp OUTPUT deleted.id WHERE id > 0", "1"},
		{"delete through a cte", "CREATE TABLE q (id int PRIMARY KEY, g int); INSERT q VALUES (1,1),(2,1),(3,2); WITH d AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY id DESC) AS rn FROM q) DELETE FROM d WHERE rn > 1; SELECT id FROM q; WITH x AS (SELECT TOP (1) id FROM q ORDER BY id) DELETE x; SELECT id FROM q", "2\n3\n3"},
		{"update through a cte", "WITH x (k, v) AS (SELECT id, g FROM q) UPDATE x SET v = k * 10 WHERE k = 3; SELECT * FROM q", "3|30"},
		{"view", "CREATE VIEW qv AS SELECT id AS k, g FROM q WHERE id > 1", ""},
		{"change through a view", "UPDATE qv SET g = 7 WHERE k = 3; SELECT * FROM q; DELETE qv; SELECT COUNT(*) FROM q", "3|7\n0"},
		{"truncate", "TRUNCATE TABLE p; SELECT COUNT(*) FROM p", "0"},
		{"truncate of a parent", "TRUNCATE TABLE dept", "msg 4712"},
		{"table variable", "DECLARE @t TABLE (a int PRIMARY KEY, b int); INSERT @t VALUES (1,1),(2,2); UPDATE @t SET b = a * 10; DELETE @t WHERE a = 1; SELECT * FROM @t; INSERT @t VALUES (2, 0)", "2|20\nmsg 2627"},
		{"cascade", "CREATE TABLE c1 (id int PRIMARY KEY); CREATE TABLE c2 (id int PRIMARY KEY, p int REFERENCES c1(id) ON DELETE CASCADE ON UPDATE CASCADE); CREATE TABLE c3 (p int NULL REFERENCES c2(id) ON DELETE SET NULL); INSERT c1 VALUES (1),(2); INSERT c2 VALUES (10,1),(20,2); INSERT c3 VALUES (10),(20); UPDATE c1 SET id = 3 WHERE id = 2; SELECT p FROM c2 ORDER BY id; DELETE c1 WHERE id = 1; SELECT id FROM c2; SELECT p FROM c3 ORDER BY p", "1\n3\n20\nNULL\n20"},
		{"self reference", "CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree(id)); INSERT tree VALUES (1, 1), (2, 1); DELETE tree; SELECT COUNT(*) FROM tree", "0"},
		{"rowversion changes", "CREATE TABLE rv (a int, v rowversion); INSERT rv (a) VALUES (1); DECLARE @a binary(8) = (SELECT v FROM rv); UPDATE rv SET a = 1; SELECT CASE WHEN v > @a THEN 1 ELSE 0 END FROM rv", "1"},
	})
}

func TestMerge(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int PRIMARY KEY, b varchar(10)); INSERT t VALUES (1,'one'),(2,'two'),(3,'three'); CREATE TABLE s (a int, b varchar(10)); INSERT s VALUES (2,'TWO'),(4,'FOUR')", ""},
		{"all arms", "MERGE t WITH (HOLDLOCK) AS x USING s ON x.a = s.a WHEN MATCHED AND s.b <> 'zz' THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT (a, b) VALUES (s.a, s.b) WHEN NOT MATCHED BY SOURCE AND x.a > 2 THEN DELETE OUTPUT $action, inserted.a, deleted.a; SELECT * FROM t ORDER BY a", "UPDATE|2|2\nINSERT|4|NULL\nDELETE|NULL|3\n1|one\n2|TWO\n4|FOUR"},
		{"values source", "MERGE INTO t USING (VALUES (1,'uno'),(9,'nine')) AS v(a,b) ON t.a = v.a WHEN MATCHED THEN UPDATE SET t.b = v.b WHEN NOT MATCHED BY TARGET THEN INSERT VALUES (v.a, v.b); SELECT @@ROWCOUNT", "2"},
		{"twice", "INSERT s VALUES (2,'again'); MERGE t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b;", "msg 8672"},
		{"output into", "DECLARE @o TABLE (act nvarchar(10), a int); MERGE t USING (SELECT 1 AS a) AS s ON t.a = s.a WHEN MATCHED THEN DELETE OUTPUT $action, deleted.a INTO @o (act, a); SELECT * FROM @o", "DELETE|1"},
	})
}
