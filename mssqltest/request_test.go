package mssqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

func asError(err error, target *mssql.Error) bool { return errors.As(err, target) }

func TestParametersAndOutput(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, `CREATE PROCEDURE dbo.sum_of @a int, @b int, @sum int OUTPUT AS BEGIN SET @sum = @a + @b; RETURN 7 END`)
	c := one(t, open(t, s, s.ConnString()))
	var sum int64
	var status mssql.ReturnStatus
	if _, err := c.ExecContext(within(t), "dbo.sum_of", sql.Named("a", 20), sql.Named("b", 22), sql.Named("sum", sql.Out{Dest: &sum}), &status); err != nil {
		t.Fatal(err)
	}
	if sum != 42 || status != 7 {
		t.Errorf("sum %d, status %d; want 42 and 7", sum, status)
	}
	var n int64
	if _, err := c.ExecContext(within(t), "SET @n = @n + 1", sql.Named("n", sql.Out{Dest: &n, In: true})); err != nil || n != 1 {
		t.Errorf("sp_executesql gave %d, %v", n, err)
	}
	stmt, err := c.PrepareContext(within(t), "SELECT @p1 * 2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }()
	for i := range 3 {
		var got int
		if err := stmt.QueryRowContext(within(t), i).Scan(&got); err != nil || got != 2*i {
			t.Errorf("prepared: %d, %v", got, err)
		}
	}
}

func TestErrorsAndMessages(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c := one(t, open(t, s, s.ConnString()))
	_, err := c.ExecContext(within(t), "SELECT 1\nSELECT * FROM dbo.nowhere")
	wantError(t, err, 208)
	var me mssql.Error
	if asError(err, &me) && (me.LineNo != 2 || me.Class != 16) {
		t.Errorf("line %d, class %d; want 2 and 16", me.LineNo, me.Class)
	}
	if _, err := c.ExecContext(within(t), "RAISERROR('over', 20, 1) WITH LOG"); err == nil {
		t.Error("severity 20 passed")
	}
	if err := c.PingContext(within(t)); err == nil {
		t.Error("the connection outlived severity 20")
	}
}

func TestTransactions(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	db := open(t, s, s.ConnString())
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadUncommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
		tx, err := db.BeginTx(within(t), &sql.TxOptions{Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(within(t), "INSERT dbo.t VALUES (@p1)", int(level)); err != nil {
			t.Fatal(err)
		}
		if n := scalar[int](t, tx, "SELECT @@TRANCOUNT"); n != 1 {
			t.Errorf("%v: @@TRANCOUNT %d, want 1", level, n)
		}
		if level == sql.LevelSerializable {
			err = tx.Rollback()
		} else {
			err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := scalar[int](t, db, "SELECT COUNT(*) FROM dbo.t"); n != 3 {
		t.Errorf("%d rows, want the 3 committed ones", n)
	}
	if n := s.Control().OpenTransactions(); n != 0 {
		t.Errorf("%d transactions are open", n)
	}
}

// A connection that comes back from the pool is as new.
func TestResetConnection(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	db := open(t, s, s.ConnString())
	db.SetMaxOpenConns(1)
	c := one(t, db)
	spid := scalar[int](t, c, "SELECT @@SPID")
	if _, err := c.ExecContext(within(t), "CREATE TABLE #t (id int); SET LOCK_TIMEOUT 5; BEGIN TRAN"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if got := scalar[int](t, db, "SELECT @@SPID"); got != spid {
		t.Fatalf("another session %d, want %d", got, spid)
	}
	if got := scalar[string](t, db, "SELECT CONCAT(@@TRANCOUNT, ' ', @@LOCK_TIMEOUT, ' ', ISNULL(OBJECT_ID('tempdb..#t'), 0))"); got != "0 -1 0" {
		t.Errorf("after a reset %q, want %q", got, "0 -1 0")
	}
}

func TestAttention(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c := one(t, open(t, s, s.ConnString()))
	for i, query := range []string{
		"WAITFOR DELAY '01:00:00'",
		"WITH n(i) AS (SELECT 1 UNION ALL SELECT 1) SELECT a.i FROM n a, n b, n c, n d, n e, n f, n g, n h, n i, n j, n k, n l, n m, n o, n p, n q, n r, n s, n t, n u",
	} {
		ctx, cancel := context.WithCancel(within(t))
		timer := time.AfterFunc(30*time.Millisecond, cancel)
		rows, err := c.QueryContext(ctx, query)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			_ = rows.Close()
		}
		timer.Stop()
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d: ended with %v, want cancelled", i, err)
		}
		if got := scalar[int](t, c, "SELECT 7"); got != 7 {
			t.Errorf("%d: the next statement gave %d", i, got)
		}
	}
	if n := s.Control().OpenRequests(); n != 0 {
		t.Errorf("%d requests are open", n)
	}
}

func TestBulkLoad(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, `CREATE TABLE dbo.b (id int NOT NULL PRIMARY KEY, n bigint NULL, s nvarchar(50) NULL, d decimal(18,4) NULL,
		at datetime2(3) NULL, x varbinary(20) NULL, f float NULL, flag bit NOT NULL)`)
	db := open(t, s, s.ConnString())
	load := func(from, rows int) error {
		tx, err := db.BeginTx(within(t), nil)
		if err != nil {
			return err
		}
		stmt, err := tx.PrepareContext(within(t), mssql.CopyIn("dbo.b", mssql.BulkOptions{}, "id", "n", "s", "d", "at", "x", "f", "flag"))
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		for i := from; i < from+rows; i++ {
			if _, err := stmt.ExecContext(within(t), i, nil, fmt.Sprintf("ü%d", i), fmt.Sprintf("%d.25", i), time.Unix(int64(i), 123_000_000).UTC(), []byte{byte(i)}, float64(i)/2, i%2 == 0); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		res, err := stmt.ExecContext(within(t))
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if n, _ := res.RowsAffected(); n != int64(rows) {
			t.Errorf("%d rows counted, want %d", n, rows)
		}
		return errors.Join(stmt.Close(), tx.Commit())
	}
	if err := load(0, 3000); err != nil {
		t.Fatal(err)
	}
	if got := scalar[string](t, db, "SELECT CONCAT(COUNT(*), ' ', COUNT(n), ' ', SUM(d), ' ', MAX(s)) FROM dbo.b"); got != "3000 0 4499250.0000 ü999" {
		t.Errorf("loaded %q", got)
	}
	wantError(t, load(2999, 2), 2627)
	if n := scalar[int](t, db, "SELECT COUNT(*) FROM dbo.b"); n != 3000 {
		t.Errorf("%d rows after a load that failed, want 3000", n)
	}
}
