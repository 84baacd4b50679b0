package exec

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// TestTerminatedStatement: 3621 follows an error by which a statement that writes is undone while its batch goes on.
func TestTerminatedStatement(t *testing.T) {
	s := newSession(t)
	batchText(t, s, "CREATE TABLE t (a int PRIMARY KEY, b tinyint NOT NULL, c varchar(2) CHECK (c <> 'x')); INSERT t VALUES (1, 1, 'a')")
	for _, tc := range []struct {
		sql        string
		terminated bool
	}{
		{"INSERT t VALUES (1, 1, 'b')", true},
		{"INSERT t VALUES (2, NULL, 'b')", true},
		{"INSERT t VALUES (2, 1, 'x')", true},
		{"INSERT t VALUES (2, 1, 'long')", true},
		{"UPDATE t SET b = 300", true},
		{"UPDATE t SET b = 1 / 0", true},
		{"DELETE t WHERE a = (SELECT 1 UNION ALL SELECT 2)", true},
		{"SELECT 1 / 0", false},
		{"UPDATE t SET zz = 1", false},
		{"INSERT t VALUES (2, 'q', 'b')", false},
		{"SET XACT_ABORT ON; INSERT t VALUES (1, 1, 'b')", false},
	} {
		sink := &textSink{info: true}
		if err := s.Batch(context.Background(), tc.sql, sink); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(sink.b.String(), "info The statement has been terminated."); got != tc.terminated || len(sink.errs) != 1 {
			t.Errorf("%s: terminated %v, want %v: %s", tc.sql, got, tc.terminated, sink.b.String())
		}
	}
}

// TestOptionsEndWithTheirText: what a text of sp_executesql sets, also as a remote call, ends with it.
func TestOptionsEndWithTheirText(t *testing.T) {
	s := newSession(t)
	const set = "SET NOCOUNT ON; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET XACT_ABORT ON; SET LOCK_TIMEOUT 7; CREATE TABLE #t (a int)"
	sink := &textSink{}
	if _, err := s.ExecuteSQL(context.Background(), set, nil, sink); err != nil || len(sink.errs) > 0 {
		t.Fatal(err, sink.errs)
	}
	batchText(t, s, "EXEC sp_executesql N'"+set+"'")
	o := s.Options()
	if o.NoCount || o.Isolation != 2 || o.XactAbort || o.LockTimeout >= 0 {
		t.Errorf("options after the call: %+v", o)
	}
	if got := batchText(t, s, "SELECT * FROM #t"); got != "msg 208" {
		t.Errorf("temporary table of the call: %q", got)
	}
}

// TestScopeIdentityOfBatches: batches are one scope, a remote text is one of its own.
func TestScopeIdentityOfBatches(t *testing.T) {
	s := newSession(t)
	batchText(t, s, "CREATE TABLE t (n int IDENTITY(5, 1), a int); INSERT t VALUES (1)")
	if _, err := s.ExecuteSQL(context.Background(), "INSERT t VALUES (1)", nil, &textSink{}); err != nil {
		t.Fatal(err)
	}
	if got := batchText(t, s, "SELECT SCOPE_IDENTITY(), @@IDENTITY"); got != "5|6" {
		t.Errorf("identities %q", got)
	}
}

// TestAttentionRollsBackUnderXactAbort: without XACT_ABORT the transaction stays open.
func TestAttentionRollsBackUnderXactAbort(t *testing.T) {
	for _, abort := range []string{"ON", "OFF"} {
		s := newSession(t)
		batchText(t, s, "CREATE TABLE t (a int); SET XACT_ABORT "+abort+"; BEGIN TRAN; INSERT t VALUES (1)")
		ctx, cancel := context.WithCancel(context.Background())
		s.in.Before = func(int, string) (func(), error) { cancel(); return nil, nil }
		if err := s.Batch(ctx, "WAITFOR DELAY '10:00'", &textSink{}); err == nil {
			t.Error("no error of an attention")
		}
		s.in.Before = nil
		want := map[string]string{"ON": "0|0", "OFF": "1|1"}[abort]
		if got := batchText(t, s, "SELECT @@TRANCOUNT, COUNT(*) FROM t"); got != want {
			t.Errorf("XACT_ABORT %s: %q, want %q", abort, got, want)
		}
	}
}

// TestBulkLoadFails: an error of a load in a transaction ends that under XACT_ABORT alone.
func TestBulkLoadFails(t *testing.T) {
	s := newSession(t)
	batchText(t, s, "CREATE TABLE t (a tinyint)")
	for _, abort := range []string{"ON", "OFF"} {
		batchText(t, s, "SET XACT_ABORT "+abort+"; BEGIN TRAN; INSERT t VALUES (1)")
		b, err := s.Bulk(context.Background(), "INSERT BULK t (a int)")
		if err != nil {
			t.Fatal(err)
		}
		err = b.Row([]value.Value{value.NewInt(value.Int, 300)})
		if err == nil {
			t.Fatal("300 in a tinyint")
		}
		if err := b.Fail(err); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"ON": "0", "OFF": "1"}[abort]
		if got := batchText(t, s, "SELECT @@TRANCOUNT; IF @@TRANCOUNT > 0 ROLLBACK"); got != want {
			t.Errorf("XACT_ABORT %s: %q, want %q", abort, got, want)
		}
	}
}

// TestNamesOfACaseSensitiveDatabase: names of columns, aliases and constraints follow the collation of the database.
func TestNamesOfACaseSensitiveDatabase(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE DATABASE cs COLLATE Latin1_General_CS_AS", ""},
		{"two columns", "USE cs; CREATE TABLE t (a int, A int, CONSTRAINT ck CHECK (a > 0), CONSTRAINT CK CHECK (A > 0)); INSERT t VALUES (1, 2)", ""},
		{"each its own", "SELECT A, a FROM t; SELECT x.A FROM t AS x; UPDATE t SET A = 5 WHERE a = 1; SELECT a, A FROM t ORDER BY A", "2|1\n2\n1|5"},
		{"grouped apart", "SELECT a FROM t GROUP BY A", "msg 8120"},
		{"no such column", "CREATE TABLE u (Id int); SELECT id FROM u", "msg 207"},
		{"no such table", "SELECT Id FROM U", "msg 208"},
		{"no such alias", "SELECT X.a FROM t AS x", "msg 4104"},
		{"insert", "INSERT t (a, b) VALUES (1, 1)", "msg 207"},
		{"index", "CREATE INDEX ix ON t (a); CREATE INDEX IX ON t (A); SELECT COUNT(*) FROM t WITH (INDEX(IX)); SELECT COUNT(*) FROM t WITH (INDEX(Ix))", "1\nmsg 308"},
		{"drop", "ALTER TABLE t DROP CONSTRAINT CK; ALTER TABLE t DROP CONSTRAINT Ck", "msg 3728"},
		{"ignored elsewhere", "USE db; CREATE TABLE u (Id int); SELECT ID FROM U", ""},
		{"twice", "CREATE TABLE v (a int, A int)", "msg 2705"},
	})
}

// TestConditionsReachViews counts the rows that are read behind a view, a derived table and a common table expression.
func TestConditionsReachViews(t *testing.T) {
	s := newSession(t)
	batchText(t, s, "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(10)); INSERT t SELECT value, value % 10, 'x' FROM GENERATE_SERIES(1, 2000)")
	batchText(t, s, "CREATE VIEW v AS SELECT id AS k, a + 1 AS a1, b FROM dbo.t WHERE a < 9")
	batchText(t, s, "CREATE VIEW vv (kk, x) AS SELECT k, a1 FROM dbo.v")
	batchText(t, s, "CREATE VIEW lj AS SELECT x.id, y.a FROM dbo.t x LEFT JOIN dbo.t y ON y.id = x.id + 1990")
	for _, tc := range []struct {
		sql, want string
		most      int64
	}{
		{"SELECT k, a1 FROM v WHERE k = 15", "15|6", 2},
		{"DECLARE @k int = 15; SELECT x FROM vv WHERE @k = kk", "6", 2},
		{"SELECT COUNT(*) FROM vv WHERE kk BETWEEN 11 AND 20", "9", 12},
		{"SELECT k FROM v WHERE k > 1999", "2000", 3},
		{"SELECT q.id FROM (SELECT id FROM t WHERE a = 5) q WHERE q.id = 15", "15", 2},
		{"WITH c AS (SELECT id, a FROM t) SELECT c.a FROM c WHERE c.id = 15", "5", 2},
		{"SELECT (SELECT a1 FROM v WHERE v.k = o.n) FROM (VALUES (15)) o(n)", "6", 2},
		{"SELECT id, a FROM lj WHERE id = 1995 AND a IS NULL", "1995|NULL", 4},
		{"SELECT k FROM v WHERE k = 19", "", 2},
		{"SELECT COUNT(*) FROM v WHERE a1 = 3", "200", 3000},
	} {
		if got := batchText(t, s, tc.sql); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.sql, got, tc.want)
		}
		if n := s.RowsExamined(); n > tc.most {
			t.Errorf("%s: %d rows read, want at most %d", tc.sql, n, tc.most)
		}
	}
}

// TestRowNumbersStream: TOP ends a cross join that is only numbered; the rest of it would take for ever.
func TestRowNumbersStream(t *testing.T) {
	s := newSession(t)
	const many = "GENERATE_SERIES(1, 100000) a CROSS JOIN (SELECT value FROM GENERATE_SERIES(1, 1000)) b CROSS JOIN (SELECT value FROM GENERATE_SERIES(1, 1000)) c"
	check(t, s, []sqlTest{
		{"top", "SELECT TOP (3) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM " + many, "1\n2\n3"},
		{"plain", "SELECT TOP (2) 1 FROM " + many, "1\n1"},
		{"in a cte", "WITH n AS (SELECT TOP (4) ROW_NUMBER() OVER (ORDER BY (SELECT 1)) AS i FROM " + many + ") SELECT SUM(i) FROM n", "10"},
		{"ordered is not", "SELECT ROW_NUMBER() OVER (ORDER BY x DESC), x FROM (VALUES (1), (3), (2)) v(x) ORDER BY x", "3|1\n2|2\n1|3"},
	})
}

func TestIndexHintsWithQuotedNames(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"setup", "CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX [ix b] ON t (b); INSERT t VALUES (1, 2), (2, 1)", ""},
		{"brackets", "SELECT a FROM t WITH (INDEX([ix b])) WHERE b > 0", "2\n1"},
		{"quotation marks", `SELECT a FROM t WITH (INDEX("ix b"), NOLOCK) WHERE b > 0`, "2\n1"},
		{"equals", "SELECT a FROM t WITH (INDEX = [ix b]) WHERE b > 0", "2\n1"},
		{"seek", "SELECT a FROM t WITH (FORCESEEK([ix b](b))) WHERE b > 0", "2\n1"},
		{"unknown", "SELECT a FROM t WITH (INDEX([ix c]))", "msg 308"},
	})
}

func TestXMLDeclarationIsNotKept(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"cast", `SELECT CAST(CAST('<?xml version="1.0"?><a/>' AS xml) AS varchar(50))`, "<a/>"},
		{"column", `CREATE TABLE x (d xml); INSERT x VALUES (N'  <?xml version="1.0" encoding="utf-16"?>
<a>1</a>'); SELECT CAST(d AS nvarchar(50)) FROM x`, "<a>1</a>"},
		{"other instructions stay", `SELECT CAST(CAST('<?xml-stylesheet href="s"?><a/>' AS xml) AS varchar(50))`, `<?xml-stylesheet href="s"?><a/>`},
	})
}
