package exec

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func cutLine(s string) (string, string, bool) { return strings.Cut(s, "\n") }

func TestPrepareAndCall(t *testing.T) {
	ctx := context.Background()
	s := newSession(t)
	check(t, s, []sqlTest{{"setup", "CREATE TABLE t (a int PRIMARY KEY, b nvarchar(10))", ""}, {"procedure", "CREATE PROCEDURE p @a int, @b nvarchar(10) = N'z', @c int OUTPUT AS SET @c = @a * 2; SELECT @b; RETURN 3", ""}})
	h, err := s.Prepare(ctx, "@a int, @b nvarchar(10)", "INSERT t VALUES (@a, @b)")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		sink := &textSink{count: true}
		args := []Param{intParam("", int64(i)), {Type: nvarcharType(4000, s.db.Collation), Value: value.NewNVarChar("x")}}
		if _, err := s.Execute(ctx, h, args, sink); err != nil {
			t.Fatal(err)
		}
		if got := sink.b.String(); got != "(1)\n" {
			t.Errorf("execute %d: %q", i, got)
		}
	}
	if err := s.Unprepare(h); err != nil {
		t.Fatal(err)
	}
	if err := s.Unprepare(h); err == nil {
		t.Error("the handle was forgotten twice")
	}
	sink := &textSink{}
	status, out, err := s.Call(ctx, "dbo.p", []Param{intParam("@a", 21), {Name: "@c", Type: typeInt, Output: true}}, sink)
	if err != nil {
		t.Fatal(err)
	}
	if status != 3 || len(out) != 1 || out[0].Value.Int() != 42 || sink.b.String() != "z\n" {
		t.Errorf("call: status %d, output %v, rows %q", status, out, sink.b.String())
	}
	sink = &textSink{}
	if _, _, err := s.Call(ctx, "nothere", nil, sink); err != nil || sink.b.String() != "msg 2812\n" {
		t.Errorf("call of nothing: %v, %q", err, sink.b.String())
	}
	sink = &textSink{}
	if _, err := s.ExecuteSQL(ctx, "SET @o = @i + 1", []Param{intParam("@i", 1), {Name: "@o", Type: typeInt, Output: true}}, sink); err != nil {
		t.Fatal(err)
	}
}

func TestBulk(t *testing.T) {
	ctx := context.Background()
	s := newSession(t)
	check(t, s, []sqlTest{{"setup", "CREATE TABLE dbo.lab_bulk (id bigint NOT NULL PRIMARY KEY, ts datetime2(3) NULL, v varchar(10) NULL DEFAULT 'd', n int IDENTITY, c AS (id * 2))", ""}})
	load := func(text string, rows ...[]value.Value) (int64, error) {
		b, err := s.Bulk(ctx, text)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			if err := b.Row(r); err != nil {
				b.Abort()
				return 0, err
			}
		}
		return b.Finish(ctx)
	}
	big := func(n int64) value.Value { return value.NewInt(value.BigInt, n) }
	str := value.NewVarChar
	n, err := load("INSERT BULK dbo.lab_bulk ([id] BIGINT , [ts] VARCHAR(26) , [v] VARCHAR(10) COLLATE SQL_Latin1_General_CP1_CI_AS ) with (TABLOCK,ROWS_PER_BATCH = 10)",
		[]value.Value{big(1), str("2020-01-02 03:04:05.678"), str("a")}, []value.Value{big(2), {}, {}})
	if err != nil || n != 2 {
		t.Fatalf("%d rows, %v", n, err)
	}
	if _, err := load("insert bulk dbo.lab_bulk([id] bigint,[v] varchar(10))with(KEEP_NULLS)", []value.Value{big(3), {}}); err != nil {
		t.Fatal(err)
	}
	check(t, s, []sqlTest{{"rows", "SELECT id, ts, v, n, c FROM lab_bulk", "1|2020-01-02 03:04:05.678|a|1|2\n2|NULL|d|2|4\n3|NULL|NULL|3|6"}})
	if _, err := load("INSERT BULK [dbo].[lab_bulk](id bigint)", []value.Value{big(9)}, []value.Value{big(1)}); err == nil {
		t.Error("a duplicate went in")
	}
	check(t, s, []sqlTest{{"undone", "SELECT COUNT(*) FROM lab_bulk", "3"}, {"in a transaction", "BEGIN TRAN", ""}})
	if _, err := load("INSERT BULK lab_bulk(id bigint)", []value.Value{big(9)}); err != nil {
		t.Fatal(err)
	}
	check(t, s, []sqlTest{{"rolled back", "ROLLBACK; SELECT COUNT(*) FROM lab_bulk", "3"}})
}

func TestLocksAndSnapshots(t *testing.T) {
	in := newInstance(t)
	a, b := open(t, in, SessionOptions{}), open(t, in, SessionOptions{})
	check(t, a, []sqlTest{{"setup", "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT t VALUES (1, 1), (2, 2); ALTER DATABASE db SET ALLOW_SNAPSHOT_ISOLATION ON; BEGIN TRAN; UPDATE t SET b = 10 WHERE a = 1", ""}})
	check(t, b, []sqlTest{
		{"read committed waits", "SET LOCK_TIMEOUT 0; SELECT b FROM t WHERE a = 1", "msg 1222"},
		{"another row does not", "SELECT b FROM t WHERE a = 2", "2"},
		{"nolock", "SELECT b FROM t WITH (NOLOCK) WHERE a = 1", "10"},
		{"readpast", "SELECT b FROM t WITH (READPAST)", "2"},
		{"read uncommitted", "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT b FROM t WHERE a = 1", "10"},
		{"snapshot", "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT b FROM t WHERE a = 1", "1"},
	})
	check(t, a, []sqlTest{{"commit", "COMMIT", ""}})
	check(t, b, []sqlTest{
		{"snapshot stays", "SELECT b FROM t WHERE a = 1", "1"},
		{"update conflict", "UPDATE t SET b = 5 WHERE a = 1", "msg 3960"},
		{"rolled back", "SELECT @@TRANCOUNT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT b FROM t WHERE a = 1", "0\n10"},
	})
	if locks := in.Storage.OpenTransactions(); len(locks) != 0 {
		t.Errorf("%d transactions are open", len(locks))
	}
}

func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		began := time.Now()
		if got := batchText(t, s, "WAITFOR DELAY '00:01:30'; SELECT 1"); got != "1" {
			t.Errorf("got %q", got)
		}
		if d := time.Since(began); d != 90*time.Second {
			t.Errorf("waited %v", d)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Batch(ctx, "WAITFOR DELAY '01:00:00'", &textSink{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled wait gave %v", err)
		}
	})
}

func TestAttention(t *testing.T) {
	s := newSession(t)
	ctx, cancel := context.WithCancel(context.Background())
	sink := &cancelSink{cancel: cancel}
	err := s.Batch(ctx, "BEGIN TRAN; WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT i FROM n OPTION (MAXRECURSION 0)", sink)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if s.TranCount() != 1 {
		t.Errorf("the transaction is gone")
	}
}

type cancelSink struct {
	textSink
	cancel context.CancelFunc
}

func (s *cancelSink) Row([]value.Value) error { s.cancel(); return nil }

func TestReset(t *testing.T) {
	s := newSession(t)
	batchText(t, s, "CREATE TABLE #t (a int); SET XACT_ABORT ON; BEGIN TRAN")
	s.Reset(context.Background(), false)
	if got := batchText(t, s, "SELECT @@TRANCOUNT; SELECT * FROM #t"); got != "0\nmsg 208" {
		t.Errorf("got %q", got)
	}
	if s.Options().XactAbort {
		t.Error("XACT_ABORT is still on")
	}
}
