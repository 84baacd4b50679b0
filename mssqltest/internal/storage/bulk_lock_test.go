package storage

import (
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// TestBulkUpdateLocks: loads of a heap go beside each other, everything else waits for them.
func TestBulkUpdateLocks(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	def := tableDef("heap")
	def.Indexes = nil
	heap, err := tx.CreateTable(d.db, def)
	if err != nil {
		t.Fatal(err)
	}
	d.commit(tx)
	row := func(s string) []Change { return []Change{{New: parse(s)}} }
	a, b := d.begin(ReadCommitted), d.begin(ReadCommitted)
	for i, tx := range []*Tx{a, b} {
		if err := tx.LockTable(bg, heap, BU); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Apply(bg, heap, row([]string{"1,1,x", "2,2,y"}[i])); err != nil {
			t.Fatal(err)
		}
	}
	if l := d.db.Locks(); len(l) != 2 || l[0].Mode != "BU" || l[1].Mode != "BU" {
		t.Errorf("locks of two loads: %+v", l)
	}
	other := d.in.Begin(TxOptions{LockTimeout: func() time.Duration { return 0 }})
	defer other.Rollback()
	for _, err := range other.Scan(bg, heap, -1, Range{}, Access{}) {
		if !sqlerr.Is(err, 1222) {
			t.Errorf("reading beside loads: %v", err)
		}
	}
	if _, err := other.Apply(bg, heap, row("3,3,z")); !sqlerr.Is(err, 1222) {
		t.Errorf("inserting beside loads: %v", err)
	}
	b.Rollback()
	d.commit(a)
	got := ""
	for r, err := range other.Scan(bg, heap, -1, Range{}, Access{}) {
		if err != nil {
			t.Fatal(err)
		}
		got += show(r) + ";"
	}
	if got != "1,1,x;" {
		t.Errorf("rows %q", got)
	}
}

func TestNoEscalation(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	def := d.t.Def().Clone()
	def.NoEscalation = true
	if err := tx.AlterTable(bg, d.t, def, nil); err != nil {
		t.Fatal(err)
	}
	d.commit(tx)
	var changes []Change
	for i := range escalationRows {
		changes = append(changes, Change{New: parse("")})
		changes[i].New[0] = num(i)
	}
	tx = d.begin(ReadCommitted)
	defer tx.Rollback()
	if _, err := tx.Apply(bg, d.t, changes); err != nil {
		t.Fatal(err)
	}
	if n := len(d.db.Locks()); n <= escalationRows {
		t.Errorf("%d locks", n)
	}
}
