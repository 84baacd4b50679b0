package mssqltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

const manyRows = `CREATE TABLE dbo.many (id int PRIMARY KEY, s nvarchar(1000));
DECLARE @i int = 0;
WHILE @i < 500 BEGIN INSERT dbo.many VALUES (@i, REPLICATE(N'x', 1000)); SET @i = @i + 1 END`

// A client that stops reading holds up its own scan and nobody else.
func TestClientThatDoesNotRead(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, manyRows)
	c, err := s.DialContext(context.Background(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	rd := tds.NewMessageReader(c, 0)
	for _, m := range [][]byte{prelogin(), login()} {
		if _, err := c.Write(m); err != nil {
			t.Fatal(err)
		}
		if _, err := rd.Next(); err != nil {
			t.Fatal(err)
		}
		if _, err := rd.ReadAll(nil); err != nil {
			t.Fatal(err)
		}
	}
	batch := tds.SQLBatch{Text: "SELECT id, s FROM dbo.many"}
	if _, err := c.Write(message(tds.PacketSQLBatch, batch.Append(nil))); err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := c.Read(one); err != nil { // the answer has begun
		t.Fatal(err)
	}
	db := open(t, s, s.ConnString())
	if _, err := db.ExecContext(within(t), "INSERT dbo.many VALUES (1000, N'y')"); err != nil {
		t.Error(err)
	}
	if n := s.Control().OpenRequests(); n != 1 {
		t.Errorf("%d open requests, want the one that is not read", n)
	}
	_ = c.Close()
	eventually(t, "the request and its locks are gone", func() bool {
		return s.Control().OpenRequests() == 0 && s.Control().OpenTransactions() == 0 && len(s.Control().Locks()) == 0
	})
}

// eventually waits for what another goroutine is about to do.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not true after ten seconds: %s", what)
		}
	}
}

// A message that is dropped gets no answer, but the attention that follows does.
func TestDroppedMessage(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	c := one(t, open(t, s, s.ConnString()))
	dropped := make(chan struct{})
	defer s.Control().Add(mssqltest.Rule{Kind: "batch", Text: "lost", Drop: true, Before: func(mssqltest.Event) { close(dropped) }})()
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-dropped
		cancel()
	}()
	if _, err := c.ExecContext(ctx, "SELECT 'lost'"); !errors.Is(err, context.Canceled) {
		t.Errorf("a dropped batch ended with %v", err)
	}
	if got := scalar[int](t, c, "SELECT 1"); got != 1 {
		t.Errorf("the next batch gave %d", got)
	}
}

// An injected 1205 takes the transaction along, as a real one does.
func TestInjectedDeadlock(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY)")
	for _, kind := range []string{"batch", "statement"} {
		c := one(t, open(t, s, s.ConnString()))
		remove := s.Control().Add(mssqltest.Rule{Kind: kind, Text: "VALUES (2)", Error: 1205, Class: 13})
		if _, err := c.ExecContext(within(t), "BEGIN TRAN; INSERT dbo.t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		_, err := c.ExecContext(within(t), "INSERT dbo.t VALUES (2)")
		wantError(t, err, 1205)
		if n := scalar[int](t, c, "SELECT 10 * @@TRANCOUNT + (SELECT COUNT(*) FROM dbo.t)"); n != 0 {
			t.Errorf("%s: transactions and rows after the deadlock: %d", kind, n)
		}
		remove()
	}
}
