package exec

import "testing"

func TestFlow(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"if else", "IF 1 = 1 SELECT 'yes' ELSE SELECT 'no'; IF 1 = 2 SELECT 'yes' ELSE BEGIN SELECT 'no' END", "yes\nno"},
		{"while", "DECLARE @i int = 0; WHILE @i < 5 BEGIN SET @i += 1; IF @i = 2 CONTINUE; IF @i = 4 BREAK; SELECT @i END", "1\n3"},
		{"return", "SELECT 1; RETURN; SELECT 2", "1"},
		{"goto", "DECLARE @i int = 0; again: SET @i = @i + 1; IF @i < 3 GOTO again; SELECT @i", "3"},
		{"undeclared", "SELECT @zz", "msg 137"},
		{"try catch", "BEGIN TRY SELECT 1/0; SELECT 'not here' END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_SEVERITY(), ERROR_LINE() END CATCH; SELECT ERROR_NUMBER()", "8134|16|1\nNULL"},
		{"rethrow", "BEGIN TRY RAISERROR('bad %d', 16, 3, 5) END TRY BEGIN CATCH SELECT ERROR_MESSAGE(), ERROR_STATE(); THROW END CATCH; SELECT 'not here'", "bad 5|3\nmsg 50000"},
		{"throw", "THROW 51000, 'mine', 1; SELECT 'not here'", "msg 51000"},
		{"raiserror goes on", "RAISERROR('x', 16, 1); SELECT 1", "msg 50000\n1"},
		{"raiserror of class 10", "RAISERROR('x', 10, 1); SELECT 1", "1"},
		{"error variable", "SELECT 1/0; SELECT @@ERROR; SELECT @@ERROR", "msg 8134\n8134\n0"},
		{"procedure", "CREATE PROCEDURE p @a int, @b int = 5, @c int OUTPUT AS BEGIN SET @c = @a + @b; SELECT @a; RETURN 7 END", ""},
		{"call", "DECLARE @r int, @o int; EXEC @r = p 1, @c = @o OUTPUT; SELECT @r, @o", "1\n7|6"},
		{"call by name", "DECLARE @o int; EXEC p @c = @o OUTPUT, @a = 2, @b = DEFAULT; SELECT @o", "2\n7"},
		{"missing parameter", "EXEC p", "msg 201"},
		{"too many", "EXEC p 1, 2, 3, 4", "msg 8144"},
		{"wrong name", "EXEC p @zz = 1", "msg 8145"},
		{"no such procedure", "EXEC nothere; SELECT 1", "msg 2812\n1"},
		{"first word is a procedure", "p 1, 2, 3", "1"},
		{"exec text", "EXEC ('SELECT ' + '1'); DECLARE @s nvarchar(50) = N'SELECT 2'; EXEC (@s)", "1\n2"},
		{"sp_executesql", "DECLARE @o int; EXEC sp_executesql N'SET @x = @y * 2', N'@x int OUTPUT, @y int', @x = @o OUTPUT, @y = 4; SELECT @o", "8"},
		{"error in a procedure is caught by the caller", "CREATE PROCEDURE bad AS SELECT * FROM nothere", ""},
		{"caught", "BEGIN TRY EXEC bad END TRY BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_PROCEDURE() END CATCH", "208|bad"},
		{"unknown names are not caught in their own batch", "BEGIN TRY SELECT * FROM nothere END TRY BEGIN CATCH SELECT 'caught' END CATCH", "msg 208"},
		{"scalar function", "CREATE FUNCTION f (@a int) RETURNS int AS BEGIN DECLARE @x int = @a; IF @x > 10 RETURN 10; RETURN @x * 2 END", ""},
		{"scalar call", "SELECT dbo.f(3), db.dbo.f(30)", "6|10"},
		{"inline function", "CREATE FUNCTION g (@n int) RETURNS TABLE AS RETURN (SELECT value AS v FROM GENERATE_SERIES(1, @n))", ""},
		{"inline call", "SELECT SUM(v) FROM dbo.g(4); SELECT x.a, y.v FROM (VALUES (1), (2)) x(a) CROSS APPLY dbo.g(x.a) y", "10\n1|1\n2|1\n2|2"},
		{"multi statement function", "CREATE FUNCTION h (@n int) RETURNS @t TABLE (i int PRIMARY KEY, s varchar(10)) AS BEGIN WHILE @n > 0 BEGIN INSERT @t VALUES (@n, 'x'); SET @n = @n - 1 END; RETURN END", ""},
		{"multi statement call", "SELECT i, s FROM dbo.h(2) ORDER BY i", "1|x\n2|x"},
		{"view", "CREATE VIEW v AS SELECT value AS a, value * 2 AS b FROM GENERATE_SERIES(1, 3)", ""},
		{"view read", "SELECT b FROM v WHERE a = 2; SELECT * FROM dbo.v AS w WHERE w.a = 3", "4\n3|6"},
		{"temporary table", "CREATE TABLE #t (a int); INSERT #t VALUES (1); SELECT * FROM #t; SELECT * FROM tempdb..#t", "1\n1"},
		{"temporary table lives on", "SELECT COUNT(*) FROM #t; DROP TABLE #t; SELECT * FROM #t", "1\nmsg 208"},
		{"temporary table of a procedure", "CREATE PROCEDURE tmp AS CREATE TABLE #x (a int); INSERT #x VALUES (5); SELECT a FROM #x", ""},
		{"ends with it", "EXEC tmp; SELECT * FROM #x", "5\nmsg 208"},
		{"alias type", "CREATE TYPE phone FROM nvarchar(20) NOT NULL; CREATE TABLE ph (p phone, q dbo.phone NULL); INSERT ph VALUES (N'1', NULL); SELECT * FROM ph; INSERT ph VALUES (NULL, N'1'); DECLARE @p phone = N'9'; SELECT @p", "1|NULL\nmsg 515\n9"},
		{"synonym", "CREATE SYNONYM sy FOR dbo.ph; SELECT COUNT(*) FROM sy", "1"},
		{"print is no row", "PRINT 'hello'", ""},
	})
}

func TestTransactions(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int PRIMARY KEY)", ""},
		{"commit", "BEGIN TRAN; INSERT t VALUES (1); SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT, COUNT(*) FROM t", "1\n0|1"},
		{"rollback", "BEGIN TRAN; INSERT t VALUES (2); ROLLBACK; SELECT COUNT(*) FROM t", "1"},
		{"nested", "BEGIN TRAN; BEGIN TRAN; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; ROLLBACK; SELECT @@TRANCOUNT", "2\n1\n0"},
		{"save", "BEGIN TRAN; INSERT t VALUES (2); SAVE TRAN sp; INSERT t VALUES (3); ROLLBACK TRAN sp; COMMIT; SELECT COUNT(*) FROM t", "2"},
		{"no transaction", "COMMIT", "msg 3902"},
		{"no transaction to roll back", "ROLLBACK", "msg 3903"},
		{"unknown savepoint", "BEGIN TRAN; ROLLBACK TRAN nope; ROLLBACK", "msg 6401"},
		{"error keeps the transaction", "BEGIN TRAN; INSERT t VALUES (1); SELECT @@TRANCOUNT, XACT_STATE(); ROLLBACK", "msg 2627\n1|1"},
		{"xact_abort", "SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (1); SELECT 'not here'", "msg 2627"},
		{"after xact_abort", "SELECT @@TRANCOUNT; SET XACT_ABORT OFF", "0"},
		{"doomed", "SET XACT_ABORT ON; BEGIN TRAN; BEGIN TRY INSERT t VALUES (1) END TRY BEGIN CATCH SELECT XACT_STATE(); INSERT t VALUES (77) END CATCH", "-1\nmsg 3930"},
		{"doomed is rolled back", "SELECT @@TRANCOUNT; SET XACT_ABORT OFF", "0"},
		{"conversion error rolls back", "BEGIN TRAN; SELECT CAST('x' AS int)", "msg 245"},
		{"rolled back", "SELECT @@TRANCOUNT", "0"},
		{"implicit", "SET IMPLICIT_TRANSACTIONS ON; SELECT COUNT(*) FROM t; SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 COMMIT TRAN; SET IMPLICIT_TRANSACTIONS OFF", "2\n1"},
		{"Debezium's lock transaction", "IF @@TRANCOUNT = 0 BEGIN BEGIN TRAN IF @@TRANCOUNT = 2 COMMIT TRAN END SAVE TRAN [dbz_schema_snapshot]", ""},
		{"and its end", "SELECT TOP(0) * FROM [db].[dbo].[t] WITH (TABLOCKX); IF @@TRANCOUNT > 0 ROLLBACK TRAN [dbz_schema_snapshot]; SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 COMMIT TRAN", "1"},
		{"procedure that leaves a transaction", "CREATE PROCEDURE leave AS BEGIN TRAN", ""},
		{"266", "EXEC leave; ROLLBACK", "msg 266"},
		{"snapshot not allowed", "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; SELECT COUNT(*) FROM t", "msg 3952"},
		{"snapshot allowed", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON; SET TRANSACTION ISOLATION LEVEL SNAPSHOT; SELECT COUNT(*) FROM t; SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "2"},
		{"ddl rolls back", "BEGIN TRAN; CREATE TABLE gone (a int); ROLLBACK; SELECT * FROM gone", "msg 208"},
		{"table variable does not", "DECLARE @v TABLE (a int); BEGIN TRAN; INSERT @v VALUES (1); ROLLBACK; SELECT COUNT(*) FROM @v", "1"},
	})
}
