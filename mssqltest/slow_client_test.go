package mssqltest_test

import (
	"context"
	"errors"
	"strings"
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
	c := dialRaw(t, s)
	if _, err := c.Write(batchMessage("SELECT id, s FROM dbo.many")); err != nil {
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

// A client that goes away leaves nothing behind: neither its transaction nor a wait for somebody else's lock.
func TestClientThatVanishes(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY, n int); INSERT dbo.t VALUES (1, 0)")
	holder, waiter := dialRaw(t, s), dialRaw(t, s)
	holder.ask(t, batchMessage("BEGIN TRAN; UPDATE dbo.t SET n = 1"))
	if _, err := waiter.Write(batchMessage("UPDATE dbo.t SET n = 2")); err != nil {
		t.Fatal(err)
	}
	waiting := func() bool {
		for _, l := range s.Control().Locks() {
			if strings.Contains(l, "WAIT") {
				return true
			}
		}
		return false
	}
	eventually(t, "the second client waits", waiting)
	_ = waiter.Close()
	eventually(t, "nobody waits", func() bool { return !waiting() })
	_ = holder.Close()
	eventually(t, "no lock is held", func() bool { return len(s.Control().Locks()) == 0 && s.Control().OpenTransactions() == 0 })
	if got := query(t, s, "SELECT n FROM dbo.t"); got[0] != "0" {
		t.Errorf("n is %s, want 0", got[0])
	}
}

// An attention reaches a statement that waits for a lock.
func TestAttentionInLockWait(t *testing.T) {
	s := mssqltest.Start(t, mssqltest.Config{})
	execScript(t, s, "CREATE TABLE dbo.t (id int PRIMARY KEY, n int); INSERT dbo.t VALUES (1, 0)")
	holder, waiter := dialRaw(t, s), dialRaw(t, s)
	holder.ask(t, batchMessage("BEGIN TRAN; UPDATE dbo.t SET n = 1"))
	if _, err := waiter.Write(batchMessage("SELECT 1; UPDATE dbo.t SET n = 2")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second client waits", func() bool { return strings.Contains(strings.Join(s.Control().Locks(), "\n"), "WAIT") })
	if _, err := waiter.Write(message(tds.PacketAttention, nil)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"colmetadata, row, done 0x10 1", "done 0x20 0"} {
		if _, err := waiter.rd.Next(); err != nil {
			t.Fatal(err)
		}
		b, err := waiter.rd.ReadAll(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := tokens(t, b); got != want {
			t.Errorf("answer %d is %q, want %q", i, got, want)
		}
	}
	if got := tokens(t, waiter.ask(t, batchMessage("SELECT 1"))); got != "colmetadata, row, done 0x10 1" {
		t.Errorf("the next batch gave %q", got)
	}
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
