package mssqltest_test

import (
	"bytes"
	"context"
	"log"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// TestPanicEndsItsConnection: a fault of the stand-in itself is an error of its client alone, whose transaction is rolled
// back; the others go on.
func TestPanicEndsItsConnection(t *testing.T) {
	var logged bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&logged)
	s := mssqltest.Start(t, mssqltest.Config{})
	db := open(t, s, s.ConnString("encrypt=disable"))
	execScript(t, s, "CREATE TABLE dbo.t (a int); INSERT dbo.t VALUES (1)")
	for _, text := range []string{"SELECT 'boom'", "INSERT /* boom */ dbo.t VALUES (3)"} {
		remove := s.Control().Add(mssqltest.Rule{Kind: "statement", Text: "boom", Before: func(mssqltest.Event) { panic("out of order") }})
		c := one(t, db)
		if _, err := c.ExecContext(context.Background(), "BEGIN TRAN; INSERT dbo.t VALUES (2)"); err != nil {
			t.Fatal(err)
		}
		_, err := c.ExecContext(context.Background(), text)
		wantError(t, err, 17310)
		remove()
		if _, err := c.ExecContext(context.Background(), "SELECT 1"); err == nil {
			t.Error("the connection goes on")
		}
		if got := scalar[int](t, db, "SELECT COUNT(*) FROM dbo.t"); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
	}
	if n := s.Control().OpenTransactions(); n != 0 {
		t.Errorf("%d transactions are open", n)
	}
	if !strings.Contains(logged.String(), "panic: out of order") {
		t.Errorf("logged %q", logged.String())
	}
}
