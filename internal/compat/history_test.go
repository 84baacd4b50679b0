package compat

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
)

// A restored database has another history than the position: first it is behind, and then its transactions at those LSNs are
// different ones. Neither is waited for in silence, and nothing of the wrong history is taken for the rest of the right one.
func TestARestoredDatabaseIsTold(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		r.enable("t")
		r.sql("INSERT dbo.t VALUES (1)")
		r.scan()
		backup, err := r.control().Backup(r.db.name)
		if err != nil {
			r.t.Fatal(err)
		}
		r.sql("INSERT dbo.t VALUES (2)\nGO\nINSERT dbo.t VALUES (3)")
		r.scan()
		r.start("")
		r.take(3)
		r.saved()
		r.stop()
		if err := r.control().Restore(r.db.name, backup); err != nil {
			r.t.Fatal(err)
		}
		r.db.reopen(t)
		r.restart()
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
		r.pass(3 * time.Minute)
		if err := r.logged("restored"); err != nil {
			t.Error(err)
		}
		for i := 10; i < 30; i++ {
			r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d)", i))
		}
		r.scan()
		r.pass(6 * time.Minute)
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
		if err := r.logged("history of the database has forked"); err != nil {
			t.Error(err)
		}
	})
}

// The same while the input runs.
func TestADatabaseThatIsRestoredUnderTheInputIsTold(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
		r.enable("t")
		r.sql("INSERT dbo.t VALUES (1)")
		r.scan()
		backup, err := r.control().Backup(r.db.name)
		if err != nil {
			r.t.Fatal(err)
		}
		r.start("")
		r.take(1)
		r.sql("INSERT dbo.t VALUES (2)\nGO\nINSERT dbo.t VALUES (3)")
		r.scan()
		r.take(2)
		if err := r.control().Restore(r.db.name, backup); err != nil {
			r.t.Fatal(err)
		}
		r.db.reopen(t)
		for i := 10; i < 30; i++ {
			r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d)", i))
		}
		r.scan()
		if err := r.logged("history of the database has forked"); err != nil {
			t.Error(err)
		}
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
	})
}

// pathwaycom/pathway#218; drasi-project#379 (an LSN in 64 bits); redpanda-data/connect#4304, #4394, #4642, #4644 (bytes that the
// code page does not have): LSNs come back from a database with a CP1252 collation as they were, and compare as 80 bits.
func TestPositionsKeepEveryBit(t *testing.T) {
	onStandIn(t, databaseOptions{collation: "SQL_Latin1_General_CP1_CI_AS"}, func(r *rig) {
		conf := session.Config{ConnectionString: r.db.dsn("", ""), Dial: r.db.server.DialContext}
		open := func(ctx context.Context) (checkpoint.Session, error) {
			c, err := session.Open(ctx, conf)
			return storeSession{c}, err
		}
		texts := []string{"0x00000001000000000000ffff"[:22], "0x00008d8f00909d8180ff", "0x0000000100000000ffff", "0x00000001000000010000", "0xffffffff00000001abcd"}
		want := map[string]checkpoint.Position{}
		for i, text := range texts {
			lsn, err := checkpoint.ParseLSN(text)
			if err != nil {
				r.t.Fatal(err)
			}
			want[fmt.Sprintf("dbo.t%d", i)] = checkpoint.Position{Instance: "名 ]'", LSN: lsn, CommandID: -1, SeqVal: lsn, Operation: 4,
				Proof: checkpoint.Proof{StartLSN: lsn, TranID: []byte{0x81, 0x8d, 0x9d}, EndTime: time.Now().UTC()}}
		}
		store := func() *checkpoint.SQLStore {
			s, err := checkpoint.NewSQLStore(checkpoint.SQLConfig{Open: open, Table: "[dbo].[positions]", Key: "ключ"})
			if err != nil {
				r.t.Fatal(err)
			}
			return s
		}
		s := store()
		if _, err := s.Load(r.ctx); err != nil {
			r.t.Fatal(err)
		}
		if err := s.Save(r.ctx, want); err != nil {
			r.t.Fatal(err)
		}
		if err := s.Close(r.ctx); err != nil {
			r.t.Fatal(err)
		}
		s = store()
		got, err := s.Load(r.ctx)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := s.Close(r.ctx); err != nil {
			r.t.Fatal(err)
		}
		for name, p := range want {
			if !got[name].Equal(p) {
				t.Errorf("%s: got %v, want %v", name, got[name], p)
			}
		}
		a, b, c := want["dbo.t2"].LSN, want["dbo.t3"].LSN, want["dbo.t4"].LSN
		if a.Compare(b) >= 0 || b.Compare(c) >= 0 {
			t.Errorf("%v, %v and %v are not in order", a, b, c)
		}
	})
}

// storeSession lets the store of positions ask on a session, as the input does.
type storeSession struct{ conn *session.Conn }

func (s storeSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) (out [][]driver.Value, err error) {
	rows, err := s.conn.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(row); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
}

func (s storeSession) Close() error { return s.conn.Close() }
