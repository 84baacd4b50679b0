package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestModes(t *testing.T) {
	modes := []Mode{SchS, IS, S, U, IX, SIX, X, SchM, BU}
	// Rows and columns in the order of modes; y is compatible. From the lock compatibility table of the documentation.
	want := []string{
		"yyyyyyyny",
		"yyyyyynnn",
		"yyyynnnnn",
		"yyynnnnnn",
		"yynnynnnn",
		"yynnnnnnn",
		"ynnnnnnnn",
		"nnnnnnnnn",
		"ynnnnnnny",
	}
	for i, a := range modes {
		for j, b := range modes {
			if got := compatible(a, b); got != (want[i][j] == 'y') {
				t.Errorf("%v beside %v: %v", a, b, got)
			}
			if m := join(a, b); !m.covers(a) || !m.covers(b) || join(b, a) != m {
				t.Errorf("join(%v, %v) = %v", a, b, m)
			}
		}
	}
	if join(S, IX) != SIX || join(S, U) != U {
		t.Error("S and IX join to SIX, S and U to U")
	}
}

func TestLockTimeout(t *testing.T) {
	for _, timeout := range []time.Duration{0, 1500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			d := newTestDB(t, "1,10,x")
			w := d.begin(ReadCommitted)
			if err := d.setA(w, 1, 11); err != nil {
				t.Fatal(err)
			}
			r := d.in.Begin(TxOptions{LockTimeout: func() time.Duration { return timeout }})
			start := time.Now()
			_, err := d.read(r, byKey, Range{}, Access{})
			wantNumber(t, err, 1222)
			if took := time.Since(start); took != timeout {
				t.Fatalf("waited %v, want %v", took, timeout)
			}
			_, err = d.read(r, byKey, Range{}, Access{Hint: NoWait})
			wantNumber(t, err, 1222)
			w.Rollback()
			d.wantRows(r, 0, "1,10,x") // the transaction goes on
			r.Rollback()
			wantNoLocks(t, d.in)
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t, "1,10,x")
		w := d.begin(ReadCommitted)
		if err := d.setA(w, 1, 11); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(bg)
		r := d.begin(ReadCommitted)
		blocked, wait := pending(func() error {
			_, err := d.readCtx(ctx, r, byKey, Range{}, Access{})
			return err
		})
		if !blocked() {
			t.Fatal("did not wait")
		}
		if l := d.db.Locks(); !slices.ContainsFunc(l, func(l LockInfo) bool { return l.Status == "WAIT" && l.Mode == "S" && l.Type == "KEY" }) {
			t.Fatalf("the wait is not listed: %+v", l)
		}
		cancel()
		if err := wait(); !errors.Is(err, context.Canceled) {
			t.Fatalf("error is %v", err)
		}
		r.Rollback()
		w.Rollback()
		wantNoLocks(t, d.in)
	})
}

func TestDeadlock(t *testing.T) {
	for _, test := range []struct {
		name          string
		priority      [2]int
		victim        int
		oldestHasLess bool
	}{
		{"the youngest", [2]int{0, 0}, 1, false},
		{"the lowest priority", [2]int{-5, 0}, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newTestDB(t, "1,10,x", "2,20,y")
				var tx [2]*Tx
				for i := range tx {
					o := d.in.NewOwner(50 + i)
					defer d.in.ReleaseOwner(o)
					tx[i] = d.in.Begin(TxOptions{Session: o, DeadlockPriority: test.priority[i]})
					if err := d.setA(tx[i], i+1, 100+i); err != nil {
						t.Fatal(err)
					}
				}
				var wait [2]func() error
				for i := range tx {
					_, wait[i] = pending(func() error {
						err := d.setA(tx[i], 2-i, 200+i)
						if err != nil {
							tx[i].Rollback()
						}
						return err
					})
					synctest.Wait()
				}
				for i := range tx {
					if err := wait[i](); i == test.victim {
						wantNumber(t, err, 1205)
					} else if err != nil {
						t.Fatal(err)
					}
				}
				d.commit(tx[1-test.victim])
				wantNoLocks(t, d.in)
				d.checkTrees()
			})
		})
	}
}

// Two readers that both want to change what they have read.
func TestConversionDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t, "1,10,x")
		a, b := d.begin(RepeatableRead), d.begin(RepeatableRead)
		d.wantRows(a, 0, "1,10,x")
		d.wantRows(b, 0, "1,10,x")
		_, wait := pending(func() error { return d.setA(a, 1, 11) })
		synctest.Wait()
		wantNumber(t, d.setA(b, 1, 12), 1205)
		b.Rollback()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		d.commit(a)
		d.wantCommitted("1,11,x")
	})
}

// A cycle through an applock of a session and a row of a transaction.
func TestDeadlockAcrossOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t, "1,10,x")
		s1, s2 := d.in.NewOwner(51), d.in.NewOwner(52)
		if got, err := d.in.AppLock(bg, s1, d.db, "job", "Exclusive", -1); got != AppLockGranted || err != nil {
			t.Fatal(got, err)
		}
		tx2 := d.in.Begin(TxOptions{Session: s2})
		if err := d.setA(tx2, 1, 11); err != nil {
			t.Fatal(err)
		}
		tx1 := d.in.Begin(TxOptions{Session: s1, DeadlockPriority: 5})
		_, wait := pending(func() error { return d.setA(tx1, 1, 12) })
		synctest.Wait()
		if got, err := d.in.AppLock(bg, s2, d.db, "job", "Shared", -1); got != AppLockDeadlock || err != nil {
			t.Fatalf("got %d, %v", got, err)
		}
		tx2.Rollback()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		tx1.Rollback()
		d.in.ReleaseOwner(s1)
		d.in.ReleaseOwner(s2)
		wantNoLocks(t, d.in)
	})
}

func TestAppLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t)
		a, b := d.in.NewOwner(51), d.in.NewOwner(52)
		lock := func(o LockOwner, mode string, timeout time.Duration) int {
			got, err := d.in.AppLock(bg, o, d.db, "r", mode, timeout)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := lock(a, "Nonsense", 0); got != AppLockInvalid {
			t.Fatal(got)
		}
		if lock(a, "Shared", 0) != 0 || lock(b, "Shared", 0) != 0 || lock(a, "Shared", 0) != 0 {
			t.Fatal("shared locks go together")
		}
		if got := lock(b, "Exclusive", time.Second); got != AppLockTimeout {
			t.Fatal(got)
		}
		if d.in.ReleaseAppLock(a, d.db, "r") != 0 {
			t.Fatal("release")
		}
		if got := lock(b, "Exclusive", 0); got != AppLockTimeout {
			t.Fatalf("a was counted twice and released once: %d", got)
		}
		_, wait := pending(func() error {
			if got := lock(b, "Exclusive", -1); got != AppLockWaited {
				return fmt.Errorf("got %d", got)
			}
			return nil
		})
		synctest.Wait()
		if d.in.ReleaseAppLock(a, d.db, "r") != 0 {
			t.Fatal("release")
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if d.in.ReleaseAppLock(a, d.db, "r") != AppLockInvalid || d.in.AppLockMode(b, d.db, "r") != "Exclusive" {
			t.Fatal("a holds nothing, b an exclusive lock")
		}
		tx := d.in.Begin(TxOptions{Session: b})
		if got := lock(tx, "Shared", 0); got != 0 {
			t.Fatalf("locks of one session do not conflict: %d", got)
		}
		tx.Rollback()
		d.in.ReleaseOwner(b)
		wantNoLocks(t, d.in)
	})
}

// Requests are served in the order of arrival: a reader does not overtake a writer that waits.
func TestLocksAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLockManager()
		res := resource{key: "k"}
		var order []string
		first := m.newOwner(nil, nil, 0)
		m.try(first, res, S)
		var waits []func() error
		for i, mode := range []Mode{X, S, X, S} {
			o := m.newOwner(nil, nil, 0)
			_, wait := pending(func() error {
				_, err := m.acquire(bg, o, res, mode, -1)
				order = append(order, fmt.Sprintf("%v%d", mode, i))
				m.releaseAll(o, nil)
				return err
			})
			waits = append(waits, wait)
			synctest.Wait()
		}
		m.release(first, res)
		for _, w := range waits {
			if err := w(); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(order, []string{"X0", "S1", "X2", "S3"}) {
			t.Fatal(order)
		}
		if len(m.locks) != 0 || len(m.waiting) != 0 {
			t.Fatal("something is left in the lock manager")
		}
	})
}

// A wait that is given up lets those behind it through.
func TestTimeoutFreesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLockManager()
		res := resource{key: "k"}
		a, b, c := m.newOwner(nil, nil, 0), m.newOwner(nil, nil, 0), m.newOwner(nil, nil, 0)
		m.try(a, res, S)
		_, waitB := pending(func() error { _, err := m.acquire(bg, b, res, X, time.Second); return err })
		synctest.Wait()
		_, waitC := pending(func() error { _, err := m.acquire(bg, c, res, S, -1); return err })
		wantNumber(t, waitB(), 1222)
		if err := waitC(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEscalation(t *testing.T) {
	d := newTestDB(t)
	var rows []string
	for i := range 2 * escalationRows {
		rows = append(rows, fmt.Sprintf("%d,%d,x", i, i))
	}
	tx := d.begin(ReadCommitted)
	d.insert(tx, rows...)
	if l := d.db.Locks(); len(l) != 1 || l[0].Mode != "X" {
		t.Fatalf("%d locks, the first %+v", len(l), l[0])
	}
	d.commit(tx)

	// Somebody in the table: row locks stay.
	other := d.begin(RepeatableRead)
	if _, err := d.read(other, byKey, d.key(0), Access{}); err != nil {
		t.Fatal(err)
	}
	tx = d.begin(ReadCommitted)
	def := d.t.Def()
	most := Range{From: def.Indexes[0].AppendKey(nil, def, num(1))}
	if err := d.update(bg, tx, most, func(v []value.Value) []value.Value { v[2] = text("y"); return v }); err != nil {
		t.Fatal(err)
	}
	if l := d.db.Locks(); len(l) < 2*escalationRows {
		t.Fatalf("%d locks beside a reader", len(l))
	}
	d.commit(other)
	d.commit(tx)

	// One by one: statements that are small each do not add up.
	tx = d.begin(ReadCommitted)
	for i := range escalationRows + 100 {
		if err := d.setA(tx, i, -i-1); err != nil {
			t.Fatal(err)
		}
	}
	if l := d.db.Locks(); len(l) < escalationRows {
		t.Fatalf("%d locks after small statements", len(l))
	}
	d.commit(tx)
	wantNoLocks(t, d.in)
	d.checkTrees()
}

// A row that turns out not to be a target is free at once, others wait until the statement's or transaction's end.
func TestUnlock(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,20,y")
	tx := d.begin(ReadCommitted)
	if err := d.update(bg, tx, Range{}, func(v []value.Value) []value.Value {
		if v[0].Int() == 1 {
			v[1] = num(11)
		}
		return v
	}); err != nil {
		t.Fatal(err)
	}
	other := d.in.Begin(TxOptions{LockTimeout: func() time.Duration { return 0 }})
	if err := d.setA(other, 2, 21); err != nil {
		t.Fatal(err)
	}
	wantNumber(t, d.setA(other, 1, 12), 1222)
	other.Rollback()
	d.commit(tx)
	wantNoLocks(t, d.in)
}

// TestSchemaLocksPassWaitingWriters: what reads versions does not wait behind a writer that waits for somebody else.
func TestSchemaLocksPassWaitingWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t, "1,10,x")
		holder := d.begin(ReadCommitted)
		if _, err := d.read(holder, byKey, Range{}, Access{Hint: TabLock | HoldLock}); err != nil {
			t.Fatal(err)
		}
		writer := d.begin(ReadCommitted)
		blocked, wait := pending(func() error { return d.setA(writer, 1, 11) })
		synctest.Wait()
		if !blocked() {
			t.Fatal("the writer does not wait")
		}
		r := d.in.Begin(TxOptions{Isolation: Snapshot, LockTimeout: func() time.Duration { return 0 }})
		d.wantRows(r, 0, "1,10,x")
		r.Rollback()
		holder.Rollback()
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		writer.Rollback()
		wantNoLocks(t, d.in)
	})
}
