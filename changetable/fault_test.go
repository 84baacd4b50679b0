package changetable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func TestCleanupBetweenTheCheckAndTheRead(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	for i := range 6 {
		// Cleanup steps back to the first transaction of the same time, which is kept to 1/300 s.
		l.exec(fmt.Sprintf("INSERT dbo.a VALUES (%d); WAITFOR DELAY '00:00:00.010'", i))
	}
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	from, high := l.earliest(r), l.high()
	if err := r.Verify(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	remove := l.Control().Add(mssqltest.Rule{Kind: "statement", Text: "[dbo_a_CT]", Times: 1, Before: func(mssqltest.Event) {
		if err := l.Control().Cleanup("", "dbo_a", high.String(), 1); err != nil {
			t.Error(err)
		}
	}})
	defer remove()
	p, err := r.Read(t.Context(), from, high, changetable.Limits{})
	var gap *changetable.GapError
	if !errors.As(err, &gap) || gap.Start != high {
		t.Fatalf("Read: %+v, %v", p, err)
	}
	// What is left is read from the new low end.
	diff(t, l.all(r, l.earliest(r), changetable.Limits{}), []string{"I id=5"})
}

func TestAnIdleTablesPositionOutlivesCleanup(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.exec(fmt.Sprintf(enable, "b"))
	l.exec("INSERT dbo.a VALUES (1); WAITFOR DELAY '00:00:00.010'")
	l.exec("INSERT dbo.b VALUES (1)")
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if err := l.Control().Cleanup("", "dbo_a", l.high().String(), 5000); err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(t.Context(), p.Next); err != nil {
		t.Errorf("Verify(%s): %v", p.Next, err)
	}
	diff(t, l.all(r, p.Next, changetable.Limits{}), nil)
}

func TestAReplicaThatLagsIsNeverTakenForEmpty(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.scan()
	replica, err := l.AddReplica("second", "127.0.0.1:1434")
	if err != nil {
		t.Fatal(err)
	}
	replica.Freeze()
	r := l.reader("dbo_a", changetable.Options{})
	from := l.earliest(r)
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	high := l.high()
	lagging := l.open(replica.ConnString())
	r.Use(lagging)
	_, err = r.Read(t.Context(), from, high, changetable.Limits{})
	var behind *changetable.BehindError
	if !errors.As(err, &behind) || behind.Want != high || behind.Server.Compare(high) >= 0 {
		t.Fatalf("Read on the replica: %v", err)
	}
	_, err = changetable.Probe(t.Context(), lagging, high, []changetable.Target{{Table: "dbo.a", Capture: "dbo_a", ChangeTable: "dbo_a_CT", After: from}}, changetable.NoLock)
	if !errors.As(err, &behind) {
		t.Errorf("Probe on the replica: %v", err)
	}
	replica.Thaw()
	p, err := r.Read(t.Context(), from, high, changetable.Limits{})
	if err != nil || p.Rows != 1 {
		t.Fatalf("Read when the replica has caught up: %v", err)
	}
	p.Release()
}

func TestARestoredDatabaseIsAForkedHistory(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	backup, err := l.Control().Backup("")
	if err != nil {
		t.Fatal(err)
	}
	l.exec("INSERT dbo.a VALUES (2)")
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if err := r.Verify(t.Context(), p.Next); err != nil {
		t.Fatalf("before the restore: %v", err)
	}
	if err := l.Control().Restore("", backup); err != nil {
		t.Fatal(err)
	}
	l.conn = l.open(l.ConnString())
	r.Use(l.conn)
	var behind *changetable.BehindError
	if err := r.Verify(t.Context(), p.Next); !errors.As(err, &behind) {
		t.Errorf("right after the restore: %v", err)
	}
	for i := range 5 {
		l.exec(fmt.Sprintf("INSERT dbo.a VALUES (%d)", 10+i))
	}
	l.scan()
	var fork *changetable.ForkError
	if err := r.Verify(t.Context(), p.Next); !errors.As(err, &fork) || fork.Table != "dbo.a" {
		t.Errorf("when the new history has passed the position: %v", err)
	}
}

func TestACutConnectionIsAnErrorAndNotAnEnd(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY, v nvarchar(1000))")
	l.exec(fmt.Sprintf(enable, "a"))
	for i := range 40 {
		l.exec(fmt.Sprintf("INSERT dbo.a VALUES (%d, REPLICATE(N'x', 900))", i))
	}
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	from, high := l.earliest(r), l.high()
	for _, at := range []int64{1, 100, 5000, 30_000, 60_000} {
		remove := l.Control().Add(mssqltest.Rule{Kind: "rpc", Text: "[dbo_a_CT]", Times: 1, Cut: true, CutAfter: at})
		p, err := r.Read(t.Context(), from, high, changetable.Limits{})
		remove()
		if err == nil {
			t.Errorf("cut after %d bytes: a page of %d rows", at, p.Rows)
			p.Release()
		} else if !session.IsTransient(err) {
			t.Errorf("cut after %d bytes: %v is not transient", at, err)
		}
		l.conn = l.open(l.ConnString())
		r.Use(l.conn)
	}
	if got := l.all(r, from, changetable.Limits{}); len(got) != 40 {
		t.Errorf("%d changes afterwards", len(got))
	}
}

func TestACancelledReadLeavesNothingBehind(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)")
	l.exec(fmt.Sprintf(enable, "a"))
	l.exec("INSERT dbo.a VALUES (1)")
	l.scan()
	r := l.reader("dbo_a", changetable.Options{})
	from, high := l.earliest(r), l.high()
	ctx, cancel := context.WithCancel(t.Context())
	remove := l.Control().Add(mssqltest.Rule{Kind: "statement", Text: "[dbo_a_CT]", Times: 1, Before: func(mssqltest.Event) { cancel() }})
	defer remove()
	if p, err := r.Read(ctx, from, high, changetable.Limits{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Read: %+v, %v", p, err)
	}
	if l.conn.Broken() {
		l.conn = l.open(l.ConnString())
		r.Use(l.conn)
	}
	diff(t, l.all(r, from, changetable.Limits{}), []string{"I id=1"})
}
