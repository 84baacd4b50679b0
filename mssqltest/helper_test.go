package mssqltest_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

// open opens a pool over the server's in-memory network.
func open(t *testing.T, s *mssqltest.Server, dsn string) *sql.DB {
	t.Helper()
	c, err := mssql.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c.Dialer = s
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// openTCP starts the server on a socket and opens a pool.
func openTCP(t *testing.T, cfg mssqltest.Config, params ...string) *sql.DB {
	t.Helper()
	s, err := mssqltest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(l); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlserver", s.ConnString(params...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// one is the connection that the test works on.
func one(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(within(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func execScript(t *testing.T, s *mssqltest.Server, script string) {
	t.Helper()
	if err := s.Exec(script); err != nil {
		t.Fatalf("running %q: %v", script, err)
	}
}

// scalar runs a query of one value.
func scalar[T any](t *testing.T, c interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args ...any) T {
	t.Helper()
	var v T
	if err := c.QueryRowContext(within(t), query, args...).Scan(&v); err != nil {
		t.Fatalf("running %q: %v", query, err)
	}
	return v
}

// wantError checks the number of a server's error.
func wantError(t *testing.T, err error, number int32) {
	t.Helper()
	var me mssql.Error
	if !errors.As(err, &me) || me.Number != number {
		t.Errorf("error %v, want %d", err, number)
	}
}
