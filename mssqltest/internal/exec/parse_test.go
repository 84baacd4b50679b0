package exec

import (
	"errors"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// TestWrongStatements are statements that a server refuses to parse; teesql accepts about a third of them.
func TestWrongStatements(t *testing.T) {
	tests := []struct {
		sql  string
		want int32
	}{
		{"SELECT", 102},
		{"SELECT 1 +", 102},
		{"SELECT 1 FROM WHERE a = 1", 102},
		{"SELECT * FORM t", 102},
		{"SELECT a FROM", 156},
		{"SELECT a, FROM t", 156},
		{"SELECT a FROM t WHERE", 102},
		{"SELECT a FROM t WHERE a =", 102},
		{"SELECT a FROM t ORDER a", 102},
		{"SELECT a FROM t GROUP a", 102},
		{"SELECT 'abc", 105},
		{"SELECT [a FROM t", 105},
		{"SELECT 1 /* abc", 113},
		{"SELECT a FROM t JOIN u", 102},
		{"INSERT t VALUES (1", 102},
		{"INSERT t VALUES 1", 102},
		{"INSERT INTO VALUES (1)", 102},
		{"UPDATE t", 102},
		{"UPDATE t SET", 102},
		{"UPDATE t SET a", 102},
		{"UPDATE SET a = 1", 102},
		{"DELETE FROM", 102},
		{"DELETE t WHERE", 102},
		{"CREATE TABLE t", 102},
		{"CREATE TABLE t (", 102},
		{"CREATE TABLE t (a)", 102},
		{"CREATE TABLE t (a int,,)", 102},
		{"DROP TABLE", 102},
		{"SELECT 1 2", 102},
		{"SELECT (1", 102},
		{"SELECT 1)", 102},
		{"IF 1 SELECT 1", 156},
		{"IF 1=1", 102},
		{"BEGIN SELECT 1", 102},
		{"DECLARE @a", 102},
		{"SET @a =", 102},
		{"SELECT CASE WHEN 1=1 THEN 2", 102},
		{"SELECT CAST(1 int)", 102},
		{"EXEC", 156},
		{"SELECT 1; foo bar", 102},
		{"SELECT a FROM t WHERE a IN ()", 102},
		{"SELECT a b c FROM t", 102},
		{"SELECT * FROM (SELECT 1)", 102},
		{"CREATE PROCEDURE p", 102},
		{"BEGIN TRY SELECT 1 END TRY", 102},
		{"SELECT a FROM t x y", 102},
		{"SELECT a FROM t UNION", 102},
		{"END", 156},
		{"SELECT a.FROM t", 102},
		{"GRANT SELECT ON", 156},
		{"SELECT 1\nGO\nSELECT 2", 102},
		{"ALTER TABLE t ADD", 156},
		{"SELECT 1 AS", 156},
	}
	for _, tt := range tests {
		_, err := parseBatch(tt.sql)
		var se *sqlerr.Error
		if !errors.As(err, &se) {
			t.Errorf("%q: error %v, want a syntax error", tt.sql, err)
			continue
		}
		if se.Number != tt.want && !(tt.want == 102 && se.Number == 156) && !(tt.want == 156 && se.Number == 102) {
			t.Errorf("%q: error %d (%s), want %d", tt.sql, se.Number, se.Message, tt.want)
		}
	}
}

// TestPrefixes runs every prefix of many statements, word by word: whatever they are, they end with an error or a result.
func TestPrefixes(t *testing.T) {
	s := newSession(t)
	batchText(t, s, people)
	for _, sql := range append(prefixStatements, rightStatements...) {
		toks, err := tokenize(sql)
		if err != nil {
			t.Fatal(err)
		}
		for i := range toks {
			for _, text := range []string{sql[:toks[i].end()], sql[toks[i].pos:], sql[:toks[i].pos] + sql[toks[i].end():]} {
				if strings.Contains(text, "WAITFOR") || strings.Contains(text, "GOTO") {
					continue
				}
				if err := s.Batch(t.Context(), text, &textSink{}); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
			}
		}
		batchText(t, s, "IF @@TRANCOUNT > 0 ROLLBACK; SET ROWCOUNT 0; SET NOEXEC OFF; SET PARSEONLY OFF")
	}
}

var prefixStatements = []string{
	people,
	"CREATE TABLE c1 (id int PRIMARY KEY, a int NULL CONSTRAINT df DEFAULT (1), b AS (a + 1) PERSISTED, c rowversion, CONSTRAINT fk FOREIGN KEY (a) REFERENCES dept (id) ON DELETE CASCADE, UNIQUE (a DESC), INDEX ix (a), CHECK (a > 0))",
	"ALTER TABLE emp ADD x int NOT NULL DEFAULT 1, CONSTRAINT ck CHECK (x > 0)", "ALTER TABLE emp ALTER COLUMN name nvarchar(30) NOT NULL", "ALTER TABLE emp DROP CONSTRAINT ck, COLUMN x",
	"CREATE UNIQUE NONCLUSTERED INDEX i ON dbo.emp (name DESC, id) INCLUDE (pay) WHERE pay IS NOT NULL WITH (FILLFACTOR = 80)", "DROP INDEX i ON emp",
	"CREATE PROCEDURE pp @a int = 1, @b int OUTPUT AS BEGIN SET @b = @a; RETURN 1 END", "CREATE FUNCTION ff (@a int) RETURNS TABLE AS RETURN (SELECT @a AS x)", "CREATE VIEW vv AS SELECT id FROM emp",
	"DECLARE @x int = 1, @y nvarchar(10) = N'a', @t TABLE (a int PRIMARY KEY, b int); INSERT @t (a, b) OUTPUT inserted.a VALUES (1, 2); EXEC sp_executesql N'SELECT @p', N'@p int', @p = 1",
	"GRANT SELECT (name), INSERT ON OBJECT::dbo.emp TO public WITH GRANT OPTION", "CREATE USER uu WITHOUT LOGIN WITH DEFAULT_SCHEMA = dbo", "ALTER ROLE db_owner ADD MEMBER uu",
	"ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON", "DBCC CHECKIDENT ('emp', RESEED, 5)", "SET DEADLOCK_PRIORITY LOW; SET LOCK_TIMEOUT -1", "RAISERROR ('a %d', 16, 1, 5)",
	"WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, SUM(i) OVER (PARTITION BY i ORDER BY i), (SELECT MAX(id) FROM emp e WHERE e.id = n.i) FROM n WHERE EXISTS (SELECT 1 FROM emp WHERE id IN (i, 2)) GROUP BY i HAVING COUNT(*) > 0 ORDER BY i",
	"SELECT TOP (2) WITH TIES d.name, x.n FROM dept AS d LEFT JOIN emp e ON e.dept = d.id AND e.id BETWEEN 1 AND 5 OUTER APPLY (SELECT COUNT(*) AS n FROM emp q WHERE q.dept = d.id) x WHERE d.name LIKE N'd%' OR NOT d.id = 2 ORDER BY d.id",
	"MERGE INTO emp AS t USING (VALUES (1, N'a'), (9, N'b')) AS s (id, name) ON t.id = s.id WHEN MATCHED AND t.pay > 0 THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name) OUTPUT $action, inserted.id;",
	"BEGIN TRAN x; SAVE TRAN y; ROLLBACK TRAN y; COMMIT TRAN x", "BEGIN TRY THROW 50001, 'x', 1 END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
	"UPDATE e SET e.pay = e.pay * 2, name = d.name OUTPUT deleted.pay FROM emp e JOIN dept d ON d.id = e.dept WHERE d.id = 1", "DELETE TOP (1) FROM emp OUTPUT deleted.id WHERE id > 100",
	"INSERT BULK dbo.emp ([name] nvarchar(20) COLLATE Latin1_General_CI_AS, [pay] decimal(10,2)) WITH (TABLOCK)",
	"INSERT BULK dbo.emp ([at] time(3), [until] time, [time] time(7) NULL)",
}

// TestRightStatements are statements that the checks after parsing must let through.
func TestRightStatements(t *testing.T) {
	for _, sql := range rightStatements {
		if _, err := parseBatch(sql); err != nil {
			t.Errorf("%q: %v", sql, err)
		}
	}
}

var rightStatements = []string{
	"", " -- nothing", ";", "SELECT 1; ; SELECT 2",
	"SELECT TOP (@n) a.b, COUNT(*) OVER (PARTITION BY x ORDER BY y ROWS UNBOUNDED PRECEDING) AS [c d] FROM [t] a WITH (NOLOCK, INDEX(ix)) WHERE a.b <> 0x00 AND NOT a.c IS NULL ORDER BY 1 DESC OPTION (MAXDOP 1, RECOMPILE)",
	"SELECT N'ünïcödé 😀' AS x, a FROM t WHERE b = N'😀' ORDER BY a OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
	"SELECT a FROM t WHERE name COLLATE Latin1_General_CS_AS = N'A' AND (a + 1) * 2 > 3 AND b >= ALL (SELECT 1) ORDER BY name COLLATE Latin1_General_BIN2",
	"SELECT CASE WHEN a COLLATE Latin1_General_BIN = 'b' THEN 1 END FROM t JOIN u ON t.a COLLATE Latin1_General_BIN = u.a COLLATE Latin1_General_BIN",
	"BEGIN TRY SELECT 1 END TRY BEGIN CATCH THROW END CATCH",
	"sp_who", "sp_help 'a', b", "IF 1 = 1 SELECT 1 ELSE PRINT 'x'",
	"MERGE TOP (1) t USING s ON t.a = s.a WHEN MATCHED THEN DELETE OPTION (MAXDOP 1);",
	"UPDATE t SET a += 1, @v = b = 3 OUTPUT inserted.*, deleted.a INTO x (c) FROM t JOIN u ON 1 = 1 WHERE t.a = 1",
	"SELECT DATEPART(TZOFFSET, SYSDATETIMEOFFSET()), DATEADD(day, 1, a), CONVERT(varchar(10), a, 120), TRY_PARSE('1' AS int) FROM t",
	"SELECT x.a FROM t CROSS APPLY (VALUES (1), (2)) AS x(a) FULL OUTER JOIN u ON u.a = x.a",
	"CREATE TABLE t (id int IDENTITY(1,1) NOT NULL PRIMARY KEY, a AS (id+1) PERSISTED, b varchar(10) COLLATE Latin1_General_CI_AS NULL CONSTRAINT d DEFAULT ('x'), ts timestamp, CHECK (id > 0))",
	"SET ANSI_NULLS, QUOTED_IDENTIFIER ON", "label1: SELECT 1; GOTO label1",
	"SELECT i.type AS TYPE, type, language, password FROM job AS i WHERE type = 1 AND message <> 2 ORDER BY login",
	"CREATE TABLE type (type int, password varchar(10), language int)", "INSERT t (type, password) VALUES (1, 2)", "UPDATE t SET type = 1, password = 'x' WHERE type = 2",
	"CREATE TYPE x FROM int", "CREATE USER u FROM LOGIN l", "CREATE LOGIN l WITH PASSWORD = 'x'", "SELECT a FROM t GROUP BY a OPTION (FAST 10)", "WAITFOR DELAY '0:0:1'", "COMMIT WORK",
	"DECLARE @t TABLE (a int, b varchar(3) COLLATE Latin1_General_BIN NULL)",
}
