package exec

import "testing"

func TestTables(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"create", "CREATE TABLE t (id int NOT NULL, a varchar(5) NULL, CONSTRAINT pk PRIMARY KEY CLUSTERED (id)); INSERT t VALUES (1, 'x'), (2, NULL)", ""},
		{"exists", "CREATE TABLE t (a int)", "msg 2714"},
		{"add column", "ALTER TABLE t ADD b int NULL, c int NOT NULL DEFAULT 3, d int NULL DEFAULT 4 WITH VALUES, e AS (id * 10); SELECT * FROM t", "1|x|NULL|3|4|10\n2|NULL|NULL|3|4|20"},
		{"add not null", "ALTER TABLE t ADD z int NOT NULL", "msg 4901"},
		{"alter column", "ALTER TABLE t ALTER COLUMN a varchar(50) NOT NULL", "msg 515"},
		{"alter column wider", "UPDATE t SET a = 'y' WHERE id = 2; ALTER TABLE t ALTER COLUMN a nvarchar(50) NOT NULL; INSERT t (id, a) VALUES (3, N'long enough'); SELECT a FROM t WHERE id = 3", "long enough"},
		{"alter column narrower", "ALTER TABLE t ALTER COLUMN a nvarchar(3) NOT NULL", "msg 2628"},
		{"type change", "ALTER TABLE t ALTER COLUMN b bigint NULL; UPDATE t SET b = 5000000000 WHERE id = 1; SELECT b FROM t WHERE id = 1; ALTER TABLE t ALTER COLUMN b int", "5000000000\nmsg 8115"},
		{"drop column in use", "ALTER TABLE t DROP COLUMN id", "msg 4922"},
		{"drop column", "ALTER TABLE t DROP COLUMN b; SELECT * FROM t WHERE id = 1", "1|x|3|4|10"},
		{"drop unknown", "ALTER TABLE t DROP COLUMN zz", "msg 4924"},
		{"add check", "ALTER TABLE t ADD CONSTRAINT ck CHECK (c > 5)", "msg 547"},
		{"add check without check", "ALTER TABLE t WITH NOCHECK ADD CONSTRAINT ck CHECK (c > 5); INSERT t (id, a) VALUES (9, 'q')", "msg 547"},
		{"nocheck", "ALTER TABLE t NOCHECK CONSTRAINT ck; INSERT t (id, a) VALUES (9, 'q'); ALTER TABLE t CHECK CONSTRAINT ck; INSERT t (id, a) VALUES (10, 'q')", "msg 547"},
		{"drop constraint", "ALTER TABLE t DROP CONSTRAINT ck; INSERT t (id, a) VALUES (10, 'q'); ALTER TABLE t DROP CONSTRAINT ck", "msg 3728"},
		{"primary key", "ALTER TABLE t DROP CONSTRAINT pk; INSERT t (id, a) VALUES (10, 'again'); ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (id)", "msg 1505"},
		{"foreign key", "CREATE TABLE u (id int PRIMARY KEY, t int, CONSTRAINT fk FOREIGN KEY (t) REFERENCES t(id))", "msg 1776"},
		{"index", "CREATE INDEX ix ON t (a DESC) INCLUDE (c); CREATE INDEX ix ON t (id)", "msg 1913"},
		{"unique index", "CREATE UNIQUE INDEX ux ON t (id)", "msg 1505"},
		{"drop index", "DROP INDEX ix ON t; DROP INDEX ix ON t", "msg 3701"},
		{"rename through drop", "DROP TABLE IF EXISTS nothere; DROP TABLE t; DROP TABLE t", "msg 3701"},
		{"schema", "CREATE SCHEMA s1", ""},
		{"table in it", "CREATE TABLE s1.t (a int); INSERT s1.t VALUES (1); SELECT s1.t.a, t.a FROM s1.t; SELECT a FROM t", "1|1\nmsg 208"},
		{"no such schema", "CREATE TABLE nos.t (a int)", "msg 2760"},
		{"drop schema in use", "DROP SCHEMA s1", "msg 3729"},
		{"transfer", "ALTER SCHEMA dbo TRANSFER s1.t; SELECT a FROM dbo.t; DROP SCHEMA s1", "1"},
		{"types", "CREATE TABLE k (a decimal(9,3), b datetime2(3), c char(3), d nchar(3), e binary(3), f uniqueidentifier, g float, h real, i money, j bit, k time(0), l datetimeoffset(0), m smalldatetime, n date, o xml, p sql_variant, q varbinary(max)); INSERT k VALUES (1.2345, '2020-01-02 03:04:05.6789', 'a', N'b', 0x01, '6F9619FF-8B86-D011-B42D-00C04FC964FF', 1.5, 2.5, 3, 1, '12:34:56', '2020-01-01 00:00:00 +02:00', '2020-01-01 10:30:29', '2020-02-03', '<a/>', 7, 0x0102); SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, n, q FROM k", "1.235|2020-01-02 03:04:05.679|a  |b  |0x010000|6F9619FF-8B86-D011-B42D-00C04FC964FF|1.5|2.5|3.0000|1|12:34:56|2020-01-01 00:00:00 +02:00|2020-01-01 10:30:00.000|2020-02-03|0x0102"},
		{"period columns", "CREATE TABLE per (id int PRIMARY KEY, a datetime2(2) GENERATED ALWAYS AS ROW START HIDDEN NOT NULL, b datetime2(2) GENERATED ALWAYS AS ROW END NOT NULL, PERIOD FOR SYSTEM_TIME (a, b)); INSERT per (id) VALUES (1); INSERT per VALUES (2); SELECT * FROM per; UPDATE per SET a = '2020-01-01'", "1|9999-12-31 23:59:59.99\n2|9999-12-31 23:59:59.99\nmsg 13537"},
		{"filtered index", "CREATE TABLE fi (a int, b nvarchar(5)); CREATE UNIQUE INDEX fx ON fi (a) WHERE b = N'x'; INSERT fi VALUES (1, N'x'), (1, N'y'), (1, NULL); INSERT fi VALUES (1, N'X')", "msg 2601"},
		{"heap", "CREATE TABLE heap (a int); INSERT heap VALUES (3),(1),(2); SELECT a FROM heap; DELETE heap WHERE a = 1; SELECT a FROM heap", "3\n1\n2\n3\n2"},
		{"databases", "CREATE DATABASE other COLLATE Latin1_General_CS_AS", ""},
		{"use", "USE other; CREATE TABLE o (a varchar(5)); INSERT o VALUES ('A'); SELECT COUNT(*) FROM o WHERE a = 'a'; SELECT COUNT(*) FROM db.dbo.heap; USE db", "0\n2"},
		{"database exists", "CREATE DATABASE other", "msg 1801"},
		{"offline", "ALTER DATABASE other SET OFFLINE WITH ROLLBACK IMMEDIATE; USE other", "msg 942"},
		{"online", "ALTER DATABASE other SET ONLINE; SELECT COUNT(*) FROM other.dbo.o; DROP DATABASE other; USE other", "1\nmsg 911"},
		{"in a transaction", "BEGIN TRAN; CREATE DATABASE x", "msg 226"},
		{"clean", "ROLLBACK", ""},
		{"read only", "ALTER DATABASE db SET READ_ONLY; INSERT heap VALUES (1); CREATE TABLE ro (a int); ALTER DATABASE db SET READ_WRITE", "msg 3906\nmsg 3906"},
	})
}

func TestSecurity(t *testing.T) {
	in := newInstance(t)
	sa := open(t, in, SessionOptions{})
	check(t, sa, []sqlTest{
		{"login", "CREATE LOGIN joe WITH PASSWORD = 'x'; CREATE USER joe FOR LOGIN joe; CREATE TABLE t (a int, b int); CREATE TABLE secret (a int); CREATE ROLE readers; ALTER ROLE readers ADD MEMBER joe; GRANT SELECT ON t TO readers", ""},
		{"procedure", "CREATE PROCEDURE p AS SELECT COUNT(*) FROM secret", ""},
		{"execute", "GRANT EXECUTE ON dbo.p TO joe", ""},
		{"login without user", "CREATE LOGIN nobody WITH PASSWORD = 'x'; CREATE DATABASE d2", ""},
	})
	joe := open(t, in, SessionOptions{Login: "joe"})
	check(t, joe, []sqlTest{
		{"who", "SELECT SYSTEM_USER, USER, CURRENT_USER", "joe|joe|joe"},
		{"granted", "SELECT COUNT(*) FROM t", "0"},
		{"not granted", "SELECT * FROM secret", "msg 229"},
		{"insert", "INSERT t VALUES (1, 1)", "msg 229"},
		{"ownership chain", "EXEC p", "0"},
		{"create", "CREATE TABLE x (a int)", "msg 262"},
		{"no user there", "USE d2", "msg 916"},
		{"temporary table", "CREATE TABLE #x (a int); INSERT #x VALUES (1); SELECT * FROM #x", "1"},
		{"users", "CREATE USER x WITHOUT LOGIN", "msg 15247"},
	})
	check(t, sa, []sqlTest{{"deny", "DENY SELECT ON t TO joe; GRANT SELECT ON SCHEMA::dbo TO joe", ""}})
	check(t, joe, []sqlTest{{"denied", "SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM secret", "msg 229\n0"}})
	check(t, sa, []sqlTest{{"owner", "REVOKE SELECT ON t FROM joe; ALTER ROLE db_owner ADD MEMBER joe", ""}})
	check(t, joe, []sqlTest{{"owner may", "INSERT t VALUES (1, 1); SELECT COUNT(*) FROM t; CREATE TABLE x (a int)", "1"}})
	if _, err := in.NewSession(SessionOptions{Login: "nobody", Database: "db"}); err == nil {
		t.Error("a login without a user opened the database")
	}
}

func TestMetadata(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{{"setup", "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a nvarchar(10) NOT NULL, b decimal(9,2) NULL, c char(2))", ""}})
	for _, tt := range []sqlTest{
		{"table", "SELECT * FROM t", "id int|a nvarchar(10)|b decimal(9,2) null|c char(2) null"},
		{"outer join", "SELECT t.id, u.id FROM t LEFT JOIN t u ON 1 = 0", "id int|id int null"},
		{"expressions", "SELECT 1 AS one, NULL AS n, 'ab' AS s, N'ab' AS ns, 1.25 AS d, COUNT(*) AS c, MAX(id) AS m FROM t", "one int|n int null|s varchar(2)|ns nvarchar(2)|d numeric(3,2)|c int|m int null\n"},
		{"isnull", "SELECT ISNULL(b, 0) AS b, a + 'x' AS x, CAST(id AS bigint) AS i FROM t", "b decimal(9,2)|x nvarchar(11)|i bigint"},
		{"case", "SELECT CASE WHEN id = 1 THEN 1 ELSE 2 END AS c, CASE WHEN id = 1 THEN b END AS d FROM t", "c int|d decimal(9,2) null"},
		{"union", "SELECT id FROM t UNION ALL SELECT 5000000000", "id decimal(10,0)"},
	} {
		sink := &textSink{types: true}
		if err := s.Batch(t.Context(), tt.sql, sink); err != nil {
			t.Fatal(err)
		}
		line, _, _ := cutLine(sink.b.String())
		want, _, _ := cutLine(tt.want)
		if line != want {
			t.Errorf("%s: %s\n got %s\nwant %s", tt.name, tt.sql, line, want)
		}
	}
}
