package storage

import (
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestSavepoints(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,20,y")
	tx := d.begin(ReadCommitted)
	d.insert(tx, "3,30,z")
	tx.Savepoint("a")
	if err := d.delete(tx, 1); err != nil {
		t.Fatal(err)
	}
	d.insert(tx, "1,11,again") // takes the place of its own ghost
	tx.Savepoint("b")
	if err := d.delete(tx, 1); err != nil {
		t.Fatal(err)
	}
	if err := d.delete(tx, 3); err != nil {
		t.Fatal(err)
	}
	d.wantRows(tx, 0, "2,20,y")
	if err := tx.RollbackTo("b"); err != nil {
		t.Fatal(err)
	}
	d.wantRows(tx, 0, "1,11,again", "2,20,y", "3,30,z")
	if err := tx.RollbackTo("a"); err != nil {
		t.Fatal(err)
	}
	d.wantRows(tx, 0, "1,10,x", "2,20,y", "3,30,z")
	wantNumber(t, tx.RollbackTo("b"), 6401)
	if err := tx.RollbackTo("a"); err != nil {
		t.Fatal("a savepoint can be used again:", err)
	}
	d.commit(tx)
	d.wantCommitted("1,10,x", "2,20,y", "3,30,z")
}

func TestRollback(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,20,y")
	tx := d.begin(ReadCommitted)
	for _, step := range []func() error{
		func() error { return d.delete(tx, 1) },
		func() error { return d.tryInsert(tx, "1,20,p", "7,70,q") }, // 20 is taken by row 2: fails and is undone
		func() error { return d.setA(tx, 2, 10) },                   // takes the place of row 1's ghost in the index
		func() error { return d.tryInsert(tx, "1,20,p", "7,70,q") },
		func() error {
			return d.update(bg, tx, Range{}, func(v []value.Value) []value.Value {
				return []value.Value{num(int(v[0].Int()) + 1), v[1], text("m")}
			})
		},
	} {
		if err := step(); err != nil {
			wantNumber(t, err, 2601)
		}
	}
	d.wantRows(tx, 0, "2,20,m", "3,10,m", "8,70,m")
	tx.Rollback()
	tx.Rollback()
	d.wantCommitted("1,10,x", "2,20,y")
	wantNoLocks(t, d.in)
	if recs := d.db.LogRecords(LSN{}, 0); len(recs) != 1 {
		t.Fatalf("%d log records, want the first insert's only", len(recs))
	}
}

func TestEndedTransaction(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	tx := d.begin(ReadCommitted)
	d.commit(tx)
	if err := d.tryInsert(tx, "2,20,y"); err == nil {
		t.Fatal("an ended transaction took a change")
	}
	if _, err := tx.CreateTable(d.db, tableDef("u")); err == nil {
		t.Fatal("an ended transaction made a table")
	}
	if _, err := d.read(tx, byKey, Range{}, Access{}); err == nil {
		t.Fatal("an ended transaction could read")
	}
	if lsn, err := tx.Commit(); err != nil || !lsn.IsZero() {
		t.Fatal(lsn, err)
	}
}

func TestReadOnly(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	d.db.UpdateProps(func(p *Props) { p.ReadOnly = true })
	tx := d.begin(ReadCommitted)
	wantNumber(t, d.setA(tx, 1, 11), 3906)
	_, err := tx.CreateTable(d.db, tableDef("u"))
	wantNumber(t, err, 3906)
	tx.Rollback()
	d.db.UpdateProps(func(p *Props) { p.ReadOnly = false })
	tx = d.in.BeginAt(TxOptions{}, d.db.Root())
	wantNumber(t, d.setA(tx, 1, 11), 3906)
	tx.Rollback()
}
