package mssqltest_test

import (
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestReplicaLags(t *testing.T) {
	s, err := mssqltest.New(mssqltest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	synctest.Test(t, func(t *testing.T) {
		if err := s.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		r, err := s.AddReplica("r1", "127.0.0.1:1434")
		if err != nil {
			t.Fatal(err)
		}
		execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
		connector, err := mssql.NewConnector(r.ConnString())
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer = s
		db := sql.OpenDB(connector)
		count := func() (n int) {
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.t").Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		pass(time.Second)
		execScript(t, s, "INSERT dbo.t VALUES (1)")
		if n := count(); n != 1 {
			t.Errorf("without lag %d rows, want 1", n)
		}
		r.SetLag(time.Minute)
		pass(time.Second)
		execScript(t, s, "INSERT dbo.t VALUES (2)")
		if n := count(); n != 1 {
			t.Errorf("a second after the commit %d rows, want 1", n)
		}
		pass(time.Minute)
		if n := count(); n != 2 {
			t.Errorf("a minute after the commit %d rows, want 2", n)
		}
		r.Freeze()
		execScript(t, s, "INSERT dbo.t VALUES (3)")
		pass(time.Hour)
		if n := count(); n != 2 {
			t.Errorf("frozen, %d rows, want 2", n)
		}
		_, err = db.ExecContext(t.Context(), "INSERT dbo.t VALUES (4)")
		var me mssql.Error
		if !errors.As(err, &me) || me.Number != 3906 {
			t.Errorf("writing to a replica: %v, want 3906", err)
		}
		r.Thaw()
		if n := count(); n != 3 {
			t.Errorf("thawed, %d rows, want 3", n)
		}
		_ = db.Close()
		s.Close()
	})
}

// pass lets time go by, virtual time inside a synctest bubble.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// A forced failover loses what the replica had not seen, and the old primary becomes a secondary.
func TestPromote(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY); INSERT dbo.t VALUES (1)")
	r, err := s.AddReplica("r1", "127.0.0.1:1434")
	if err != nil {
		t.Fatal(err)
	}
	r.Freeze()
	execScript(t, s, "INSERT dbo.t VALUES (2)")
	old := open(t, s, s.ConnString())
	c := one(t, old)
	if err := s.Control().Promote(r); err != nil {
		t.Fatal(err)
	}
	if err := c.PingContext(within(t)); err == nil {
		t.Error("a connection outlived the failover")
	}
	now := open(t, s, r.ConnString())
	if n := scalar[int](t, now, "SELECT COUNT(*) FROM dbo.t"); n != 1 {
		t.Errorf("%d rows on the new primary, want 1", n)
	}
	if _, err := now.ExecContext(within(t), "INSERT dbo.t VALUES (3)"); err != nil {
		t.Errorf("writing to the new primary: %v", err)
	}
	_, err = old.ExecContext(within(t), "INSERT dbo.t VALUES (4)")
	wantError(t, err, 3906)
}
