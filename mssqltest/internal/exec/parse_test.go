package exec

import (
	"errors"
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
		{"CREATE TABLE t (a int,)", 102},
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

// TestRightStatements are statements that the checks after parsing must let through.
func TestRightStatements(t *testing.T) {
	for _, sql := range []string{
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
	} {
		if _, err := parseBatch(sql); err != nil {
			t.Errorf("%q: %v", sql, err)
		}
	}
}
