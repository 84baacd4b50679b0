package exec

import "testing"

func TestCursors(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int PRIMARY KEY, b varchar(5)); INSERT t VALUES (1, 'x'), (2, 'y'), (3, 'z')", ""},
		{"loop", `DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT a, b FROM t ORDER BY a
			DECLARE @a int, @b varchar(5), @all varchar(20) = ''
			OPEN c
			FETCH NEXT FROM c INTO @a, @b
			WHILE @@FETCH_STATUS = 0
			BEGIN
				SET @all += CAST(@a AS varchar(5)) + @b
				FETCH NEXT FROM c INTO @a, @b
			END
			CLOSE c
			DEALLOCATE c
			SELECT @all, @@FETCH_STATUS, @@CURSOR_ROWS`, "1x2y3z|-1|3"},
		{"a local one ends with its batch", "DECLARE c CURSOR LOCAL FOR SELECT 1; SELECT 1", "1"},
		{"gone", "OPEN c", "msg 16916"},
		{"a global one stays", "DECLARE g CURSOR FOR SELECT a FROM t; OPEN g", ""},
		{"fetch without variables", "FETCH g; FETCH NEXT FROM g", "1\n2"},
		{"twice", "DECLARE g CURSOR FOR SELECT 1", "msg 16915"},
		{"open twice", "OPEN g", "msg 16905"},
		{"close", "CLOSE g; FETCH g", "msg 16917"},
		{"deallocate", "DEALLOCATE g; DEALLOCATE g", "msg 16916"},
		{"forward only", "DECLARE c CURSOR LOCAL FORWARD_ONLY FOR SELECT a FROM t; OPEN c; FETCH LAST FROM c", "msg 16911"},
		{"scroll", "DECLARE c SCROLL CURSOR FOR SELECT a FROM t ORDER BY a; OPEN c; FETCH LAST FROM c; FETCH PRIOR FROM c; FETCH ABSOLUTE 1 FROM c; FETCH RELATIVE 2 FROM c; FETCH ABSOLUTE -2 FROM c; FETCH FIRST FROM c; FETCH PRIOR FROM c; SELECT @@FETCH_STATUS; CLOSE c; DEALLOCATE c", "3\n2\n1\n3\n2\n1\n-1"},
		{"wrong number of variables", "DECLARE @a int; DECLARE c CURSOR LOCAL FOR SELECT a, b FROM t; OPEN c; FETCH c INTO @a", "msg 16924"},
		{"variable", "DECLARE @c CURSOR, @a int; SET @c = CURSOR FOR SELECT a FROM t WHERE a > 1; OPEN @c; FETCH NEXT FROM @c INTO @a; SELECT @a; CLOSE @c; DEALLOCATE @c; OPEN @c", "2\nmsg 16950"},
		{"values of when it was declared", "DECLARE @k int = 2, @a int; DECLARE c CURSOR LOCAL FOR SELECT a FROM t WHERE a = @k; SET @k = 3; OPEN c; FETCH c INTO @a; SELECT @a", "2"},
		{"rows of when it was opened", "DECLARE c CURSOR LOCAL STATIC FOR SELECT a FROM t ORDER BY a; OPEN c; DELETE t WHERE a = 1; FETCH c; INSERT t VALUES (1, 'x')", "1"},
		{"status", "DECLARE c CURSOR LOCAL FOR SELECT a FROM t; SELECT CURSOR_STATUS('local', 'c'), CURSOR_STATUS('global', 'c'); OPEN c; SELECT CURSOR_STATUS('local', 'c')", "-1|-3\n1"},
		{"in a procedure", "CREATE PROCEDURE walk AS BEGIN DECLARE @a int; DECLARE c CURSOR LOCAL FOR SELECT a FROM t ORDER BY a DESC; OPEN c; FETCH c INTO @a; WHILE @@FETCH_STATUS = 0 BEGIN UPDATE t SET b = 'w' WHERE a = @a; FETCH c INTO @a END; CLOSE c; DEALLOCATE c END", ""},
		{"runs", "EXEC walk; SELECT DISTINCT b FROM t", "w"},
	})
}

func TestSequences(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"create", "CREATE SEQUENCE dbo.s AS int START WITH 5 INCREMENT BY 2; SELECT NEXT VALUE FOR dbo.s; SELECT NEXT VALUE FOR s", "5\n7"},
		{"a value a row", "SELECT NEXT VALUE FOR s FROM (VALUES (1), (2)) v(x)", "9\n11"},
		{"default", "CREATE TABLE t (id int NOT NULL CONSTRAINT df DEFAULT (NEXT VALUE FOR dbo.s), a int); INSERT t (a) VALUES (1), (2); SELECT id FROM t ORDER BY a", "13\n15"},
		{"variable", "DECLARE @n int; SET @n = NEXT VALUE FOR s; SELECT @n", "17"},
		{"rolled back", "BEGIN TRAN; SELECT NEXT VALUE FOR s; ROLLBACK; SELECT NEXT VALUE FOR s", "19\n21"},
		{"restart", "ALTER SEQUENCE s RESTART WITH 100; SELECT NEXT VALUE FOR s; ALTER SEQUENCE s RESTART; SELECT NEXT VALUE FOR s; ALTER SEQUENCE s INCREMENT BY 10; SELECT NEXT VALUE FOR s", "100\n5\n7"},
		{"ends", "CREATE SEQUENCE small AS tinyint START WITH 254; SELECT NEXT VALUE FOR small; SELECT NEXT VALUE FOR small; SELECT NEXT VALUE FOR small", "254\n255\nmsg 11728"},
		{"cycles", "CREATE SEQUENCE round AS int MINVALUE 1 MAXVALUE 2 CYCLE; SELECT NEXT VALUE FOR round; SELECT NEXT VALUE FOR round; SELECT NEXT VALUE FOR round", "1\n2\n1"},
		{"downwards", "CREATE SEQUENCE down START WITH 3 INCREMENT BY -1 NO CACHE; SELECT NEXT VALUE FOR down; SELECT NEXT VALUE FOR down", "3\n2"},
		{"wrong start", "CREATE SEQUENCE bad START WITH 9 MAXVALUE 5", "msg 11703"},
		{"no increment", "CREATE SEQUENCE bad INCREMENT BY 0", "msg 11700"},
		{"unknown", "SELECT NEXT VALUE FOR nothere", "msg 208"},
		{"drop", "DROP SEQUENCE small; DROP SEQUENCE IF EXISTS small; DROP SEQUENCE small", "msg 3701"},
	})
}

func TestOtherSignsOfComparison(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"not equal", "SELECT 1 WHERE 'a' != 'b' AND 2 !< 1 AND 1 !> 1; IF 1 != 1 OR 2 != 3 SELECT 2; SELECT CASE WHEN 1 != 2 THEN 3 END", "1\n2\n3"},
		{"alone", "SELECT 1 ! 2", "msg 102"},
		{"comma at the end of a table", "CREATE TABLE dbo.[a b] (a int, CONSTRAINT ck CHECK ((a > 0) OR (a IS NULL)),); INSERT [a b] VALUES (0)", "msg 547"},
		{"not elsewhere", "SELECT COALESCE(1,)", "msg 102"},
	})
}

func TestWindowFrames(t *testing.T) {
	s := newSession(t)
	const v = " FROM (VALUES (1), (2), (4), (8)) v(x) ORDER BY x"
	check(t, s, []sqlTest{
		{"sliding", "SELECT SUM(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)" + v, "3\n7\n14\n12"},
		{"short form", "SELECT SUM(x) OVER (ORDER BY x ROWS 1 PRECEDING)" + v, "1\n3\n6\n12"},
		{"to the end", "SELECT SUM(x) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)" + v, "15\n14\n12\n8"},
		{"behind", "SELECT COUNT(*) OVER (ORDER BY x ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING), MAX(x) OVER (ORDER BY x ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)" + v, "2|8\n1|8\n0|NULL\n0|NULL"},
		{"first and last", "SELECT FIRST_VALUE(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), LAST_VALUE(x) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)" + v, "1|2\n1|4\n2|8\n4|8"},
	})
}
