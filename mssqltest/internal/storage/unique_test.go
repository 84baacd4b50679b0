package storage

import (
	"errors"
	"testing"
	"testing/synctest"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestUnique(t *testing.T) {
	for _, test := range []struct {
		name   string
		rows   []string
		number int32
		text   string
	}{
		{"primary key", []string{"3,30,z", "1,40,z"}, 2627, "Violation of PRIMARY KEY constraint 'pk'. Cannot insert duplicate key in object 'dbo.t'. The duplicate key value is (1)."},
		{"index", []string{"3,20,z"}, 2601, "Cannot insert duplicate key row in object 'dbo.t' with unique index 'ua'. The duplicate key value is (20)."},
		{"within the set", []string{"5,50,z", "5,51,z"}, 2627, ""},
		{"left out by the filter", []string{"5,-,z", "6,-,z"}, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newTestDB(t, "1,10,x", "2,20,y")
			tx := d.begin(ReadCommitted)
			err := d.tryInsert(tx, test.rows...)
			if test.number == 0 {
				if err != nil {
					t.Fatal(err)
				}
				d.commit(tx)
				d.checkTrees()
				return
			}
			wantNumber(t, err, test.number)
			var se *sqlerr.Error
			if errors.As(err, &se); test.text != "" && se.Message != test.text {
				t.Fatalf("message %q, want %q", se.Message, test.text)
			}
			d.wantRows(tx, 0, "1,10,x", "2,20,y")
			d.commit(tx)
			d.wantCommitted("1,10,x", "2,20,y")
		})
	}
}

// Uniqueness is judged when all changes of a statement are in.
func TestUniqueBySet(t *testing.T) {
	shift := func(by int) func(v []value.Value) []value.Value {
		return func(v []value.Value) []value.Value {
			v[0], v[1] = num(int(v[0].Int())+by), num(int(v[1].Int())+10*by)
			return v
		}
	}
	for _, by := range []int{1, -1} {
		d := newTestDB(t, "1,10,x", "2,20,y", "3,30,z")
		other := d.begin(ReadCommitted) // makes the commit replay
		d.insert(other, "100,1000,o")
		tx := d.begin(ReadCommitted)
		r := Range{To: d.key(50).From}
		if err := d.update(bg, tx, r, shift(by)); err != nil {
			t.Fatal(err)
		}
		d.commit(tx)
		other.Rollback()
		if by > 0 {
			d.wantCommitted("2,20,x", "3,30,y", "4,40,z")
		} else {
			d.wantCommitted("0,0,x", "1,10,y", "2,20,z")
		}
		tx = d.begin(ReadCommitted)
		if err := d.update(bg, tx, Range{}, shift(by)); err != nil {
			t.Fatal(err)
		}
		tx.Rollback()
		d.checkTrees()
	}
}

// An insert of a key that another transaction has deleted or inserted waits for its outcome.
func TestUniqueWaits(t *testing.T) {
	for _, test := range []struct {
		name   string
		first  func(d *testDB, tx *Tx) error
		row    string
		commit bool
		want   int32
	}{
		{"key inserted, committed", func(d *testDB, tx *Tx) error { return d.tryInsert(tx, "5,50,v") }, "5,51,w", true, 2627},
		{"key inserted, rolled back", func(d *testDB, tx *Tx) error { return d.tryInsert(tx, "5,50,v") }, "5,51,w", false, 0},
		{"index key inserted, committed", func(d *testDB, tx *Tx) error { return d.tryInsert(tx, "5,50,v") }, "6,50,w", true, 2601},
		{"key deleted, committed", func(d *testDB, tx *Tx) error { return d.delete(tx, 1) }, "1,51,w", true, 0},
		{"key deleted, rolled back", func(d *testDB, tx *Tx) error { return d.delete(tx, 1) }, "1,51,w", false, 2627},
		{"index key freed, rolled back", func(d *testDB, tx *Tx) error { return d.setA(tx, 1, 12) }, "6,10,w", false, 2601},
		{"index key freed, committed", func(d *testDB, tx *Tx) error { return d.setA(tx, 1, 12) }, "6,10,w", true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newTestDB(t, "1,10,x")
				a, b := d.begin(ReadCommitted), d.begin(ReadCommitted)
				if err := test.first(d, a); err != nil {
					t.Fatal(err)
				}
				blocked, wait := pending(func() error { return d.tryInsert(b, test.row) })
				if !blocked() {
					t.Fatal("did not wait")
				}
				if test.commit {
					d.commit(a)
				} else {
					a.Rollback()
				}
				if err := wait(); test.want != 0 {
					wantNumber(t, err, test.want)
				} else if err != nil {
					t.Fatal(err)
				}
				d.commit(b)
				d.checkTrees()
				wantNoLocks(t, d.in)
			})
		})
	}
}
