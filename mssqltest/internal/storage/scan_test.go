package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// pairDB is a table with a clustered key of two columns: (g, n) for g 0..9, n 0..9.
func pairDB(t *testing.T, unique bool) (*testDB, *IndexDef) {
	t.Helper()
	d := newTestDB(t)
	def := tableDef("pairs")
	def.Indexes = []*IndexDef{{Name: "c", Unique: unique, Clustered: true, Columns: []IndexColumn{{Column: 0}, {Column: 1}}}}
	tx := d.begin(ReadCommitted)
	var err error
	if d.t, err = tx.CreateTable(d.db, def); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for g := range 10 {
		for n := range 10 {
			rows = append(rows, fmt.Sprintf("%d,%d", g, n))
		}
	}
	d.insert(tx, rows...)
	d.commit(tx)
	return d, def.Indexes[0]
}

func TestRanges(t *testing.T) {
	d, x := pairDB(t, true)
	key := func(n ...int) []byte {
		var vals []value.Value
		for _, v := range n {
			vals = append(vals, num(v))
		}
		return x.AppendKey(nil, d.t.Def(), vals...)
	}
	for _, test := range []struct {
		name        string
		r           Range
		first, last string
		rows        int
	}{
		{"all", Range{}, "0,0", "9,9", 100},
		{"prefix", Prefix(key(3)), "3,0", "3,9", 10},
		{"full key", Prefix(key(3, 4)), "3,4", "3,4", 1},
		{"nothing", Prefix(key(3, 14)), "", "", 0},
		{"from", Range{From: key(7)}, "7,0", "9,9", 30},
		{"after a prefix", Range{From: key(7), FromExcl: true}, "8,0", "9,9", 20},
		{"to", Range{To: key(2)}, "0,0", "1,9", 20},
		{"to, inclusive", Range{To: key(2), ToIncl: true}, "0,0", "2,9", 30},
		{"the seek of a page", Range{From: key(4, 6), FromExcl: true, To: key(4), ToIncl: true}, "4,7", "4,9", 3},
		{"between", Range{From: key(4, 6), To: key(5, 1)}, "4,6", "5,0", 5},
		{"empty", Range{From: key(5), To: key(4)}, "", "", 0},
	} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprint(test.name, reverse), func(t *testing.T) {
				tx := d.begin(ReadCommitted)
				defer tx.Rollback()
				test.r.Reverse = reverse
				got, err := d.read(tx, byKey, test.r, Access{})
				if err != nil || len(got) != test.rows {
					t.Fatalf("%d rows (%v), want %d", len(got), err, test.rows)
				}
				if tx.Examined != int64(test.rows) {
					t.Fatalf("examined %d rows for %d", tx.Examined, test.rows)
				}
				if reverse {
					slices.Reverse(got)
				}
				if test.rows > 0 && (got[0] != trim(test.first) || got[len(got)-1] != trim(test.last)) {
					t.Fatalf("from %s to %s", got[0], got[len(got)-1])
				}
			})
		}
	}
}

func trim(s string) string { return show(&Row{Vals: parse(s)[:2]}) }

// A loop that stops early has touched what it has seen and no more.
func TestScanStopsEarly(t *testing.T) {
	d, _ := pairDB(t, true)
	tx := d.begin(ReadCommitted)
	tx.BeginStatement()
	n := 0
	for _, err := range tx.Scan(bg, d.t, -1, Range{}, Access{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 7 {
			break
		}
	}
	if tx.StatementExamined() != 7 {
		t.Fatalf("examined %d", tx.StatementExamined())
	}
	tx.EndStatement(true)
	d.commit(tx)
	wantNoLocks(t, d.in)
}

// A caller that blocks in the loop holds nobody up: writers, their commits and other readers go on.
func TestSlowReader(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,20,y")
	r := d.begin(ReadCommitted)
	r.BeginStatement()
	for row, err := range r.Scan(bg, d.t, byKey, Range{}, Access{}) {
		if err != nil {
			t.Fatal(err)
		}
		w := d.begin(ReadCommitted)
		if err := d.setA(w, int(row.Vals[0].Int()), 100+int(row.Vals[0].Int())); err != nil {
			t.Fatal(err)
		}
		d.commit(w)
	}
	r.EndStatement(true)
	d.commit(r)
	d.wantCommitted("1,101,x", "2,102,y")
}

func TestScanCancelled(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	var rows []string
	for i := range 3000 {
		rows = append(rows, fmt.Sprintf("%d,%d", i, i))
	}
	d.insert(tx, rows...)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := d.readCtx(ctx, tx, byKey, Range{}, Access{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	tx.Rollback()
}

// Duplicates of a clustered key that is not unique, and rows of a heap, come in the order in which they were inserted.
func TestNonUniqueClusteredAndHeap(t *testing.T) {
	for _, heap := range []bool{false, true} {
		d := newTestDB(t)
		def := tableDef("h")
		def.Indexes = nil
		if !heap {
			def.Indexes = []*IndexDef{{Name: "c", Clustered: true, Columns: []IndexColumn{{Column: 0}}}}
		}
		tx := d.begin(ReadCommitted)
		var err error
		if d.t, err = tx.CreateTable(d.db, def); err != nil {
			t.Fatal(err)
		}
		d.insert(tx, "1,1,a", "1,2,b", "1,1,a")
		d.commit(tx)
		tx = d.begin(ReadCommitted)
		if err := d.update2(tx, -1, func(v []value.Value) []value.Value {
			if v[2].Str() == "b" {
				v[2] = text("B")
			}
			return v
		}); err != nil {
			t.Fatal(err)
		}
		d.commit(tx)
		d.wantCommitted("1,1,a", "1,2,B", "1,1,a")
		if got := d.logText(); len(got) != 2 || got[0] != "c1 s1 before 1,2,b #2" {
			t.Fatalf("log %q", got)
		}
	}
}

// update2 is update over another index.
func (d *testDB) update2(tx *Tx, index int, f func(v []value.Value) []value.Value) error {
	var ch []Change
	for row, err := range tx.Scan(bg, d.t, index, Range{}, Access{ForUpdate: true}) {
		if err != nil {
			return err
		}
		if n := f(slices.Clone(row.Vals)); !slices.Equal(n, row.Vals) {
			ch = append(ch, Change{Old: row, New: n})
		}
	}
	return d.apply(tx, ch)
}

func TestScanUnknownIndex(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	defer tx.Rollback()
	for _, i := range []int{-2, 3} {
		if _, err := d.read(tx, i, Range{}, Access{}); err == nil {
			t.Errorf("index %d could be read", i)
		}
	}
}
