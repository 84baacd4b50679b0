package mssqltest_test

import (
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

func TestRules(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY, s nvarchar(4000))\nINSERT dbo.t SELECT TOP (200) ROW_NUMBER() OVER (ORDER BY a.object_id), REPLICATE(N'x', 1000) FROM sys.all_columns a")
	db := open(t, s, s.ConnString())
	ctl := s.Control()

	remove := ctl.Add(mssqltest.Rule{Text: "from dbo.t", Error: 1205, Times: 1})
	_, err := db.ExecContext(within(t), "SELECT COUNT(*) FROM dbo.t")
	wantError(t, err, 1205)
	if n := scalar[int](t, db, "SELECT COUNT(*) FROM dbo.t"); n != 200 {
		t.Errorf("%d rows after the rule was used up", n)
	}
	remove()

	remove = ctl.Add(mssqltest.Rule{Kind: "batch", Text: "from dbo.t", Cut: true, CutAfter: 100_000})
	rows, err := db.QueryContext(within(t), "SELECT id, s FROM dbo.t")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() == nil || n < 30 || n > 60 {
		t.Errorf("%d rows of 2 KB and error %v from a connection cut after 100 KB", n, rows.Err())
	}
	_ = rows.Close()
	remove()

	remove = ctl.Add(mssqltest.Rule{Kind: "login", Error: 18456, Class: 14})
	fresh := open(t, s, s.ConnString())
	wantError(t, fresh.PingContext(within(t)), 18456)
	remove()
	if err := fresh.PingContext(within(t)); err != nil {
		t.Errorf("login after the rule is gone: %v", err)
	}
}

// A statement that gets an error number in the middle of its batch.
func TestStatementRule(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	db := open(t, s, s.ConnString())
	defer s.Control().Add(mssqltest.Rule{Kind: "statement", Text: "VALUES (2)", Error: 9002})()
	_, err := db.ExecContext(within(t), "INSERT dbo.t VALUES (1); INSERT dbo.t VALUES (2)")
	wantError(t, err, 9002)
	if n := scalar[int](t, db, "SELECT COUNT(*) FROM dbo.t"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func TestBetween(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY); INSERT dbo.t VALUES (1)")
	db := open(t, s, s.ConnString())
	var calls atomic.Int32
	defer s.Control().Between("max(id)", "count(*)", func(mssqltest.Event) {
		calls.Add(1)
		execScript(t, s, "INSERT dbo.t VALUES (2)")
	})()
	c := one(t, db)
	if n := scalar[int](t, c, "DECLARE @m int; SELECT @m = MAX(id) FROM dbo.t; SELECT COUNT(*) + 10 * @m FROM dbo.t"); n != 12 || calls.Load() != 1 {
		t.Errorf("batch gave %d after %d calls, want 12 after 1", n, calls.Load())
	}
}

func TestDropDelayThrottle(t *testing.T) {
	s, err := mssqltest.New(mssqltest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	synctest.Test(t, func(t *testing.T) {
		if err := s.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		connector, err := mssql.NewConnector(s.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer = s
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		took := func(query string) time.Duration {
			start := time.Now()
			var v string
			if err := db.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
				t.Errorf("%s: %v", query, err)
			}
			return time.Since(start)
		}
		took("SELECT 'warm'")
		remove := s.Control().Add(mssqltest.Rule{Text: "slow", Delay: time.Minute})
		if d := took("SELECT 'slow'"); d != time.Minute {
			t.Errorf("a delay of a minute took %v", d)
		}
		remove()
		s.Control().Throttle(1 << 20)
		// The last write of 64 KiB may still be under way when the client has it.
		if d := took("SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 2621440)"); d < 4800*time.Millisecond || d > 5200*time.Millisecond {
			t.Errorf("5 MiB at 1 MiB/s took %v", d)
		}
		s.Control().Throttle(0)
		_ = db.Close()
		s.Close()
	})
}

func TestReadOnlyDatabase(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	db := open(t, s, s.ConnString())
	if err := s.Control().ReadOnly("", true); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(within(t), "INSERT dbo.t VALUES (1)")
	wantError(t, err, 3906)
	if err := s.Control().ReadOnly("", false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(within(t), "INSERT dbo.t VALUES (1)"); err != nil {
		t.Error(err)
	}
}

func TestBackupAndRestore(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY); INSERT dbo.t VALUES (1)")
	b, err := s.Control().Backup("")
	if err != nil {
		t.Fatal(err)
	}
	execScript(t, s, "INSERT dbo.t VALUES (2); CREATE TABLE dbo.later (id int)")
	if err := s.Control().Restore("", b); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Query("SELECT COUNT(*), OBJECT_ID('dbo.later') FROM dbo.t")
	if err != nil || len(rows) != 1 || strings.Join(rows[0], " ") != "1 NULL" {
		t.Errorf("after the restore %v, %v; want 1 NULL", rows, err)
	}
}

func TestKillAndCut(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	db := open(t, s, s.ConnString("app name=victim"))
	other := open(t, s, s.ConnString("app name=killer"))
	c := one(t, db)
	spid := scalar[int](t, c, "SELECT @@SPID")
	if _, err := c.ExecContext(within(t), "BEGIN TRAN"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(within(t), "KILL "+itoa(spid)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(within(t), "SELECT 1"); err == nil {
		t.Error("the killed session goes on")
	}
	c = one(t, db)
	if n := s.Control().Cut(func(e mssqltest.Event) bool { return e.App == "victim" }); n != 1 {
		t.Errorf("%d connections cut, want 1", n)
	}
	if _, err := c.ExecContext(within(t), "SELECT 1"); err == nil {
		t.Error("the cut connection goes on")
	}
	if _, err := other.ExecContext(within(t), "SELECT 1"); err != nil {
		t.Errorf("the other connection: %v", err)
	}
}

func TestStatements(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY); INSERT dbo.t VALUES (1), (2), (3), (4)")
	db := open(t, s, s.ConnString())
	s.Control().RecordStatements(true)
	scalar[int](t, db, "SELECT id FROM dbo.t WHERE id = 3")
	scalar[int](t, db, "SELECT COUNT(*) FROM dbo.t")
	var examined []int64
	for _, st := range s.Control().Statements() {
		examined = append(examined, st.RowsExamined)
	}
	if len(examined) != 2 || examined[0] != 1 || examined[1] != 4 {
		t.Errorf("rows examined %v, want 1 for a seek and 4 for a scan", examined)
	}
}
