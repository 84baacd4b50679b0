package storage

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

func names(c Catalog) []string {
	var out []string
	for _, o := range c.Objects() {
		out = append(out, o.Header().QualifiedName())
	}
	slices.Sort(out)
	return out
}

func TestDDLIsTransactional(t *testing.T) {
	for _, commit := range []bool{true, false} {
		d := newTestDB(t, "1,10,x", "2,20,y")
		old := d.db.Root()
		tx := d.begin(ReadCommitted)
		if _, err := tx.CreateSchema(d.db, "s"); err != nil {
			t.Fatal(err)
		}
		_, err := tx.CreateSchema(d.db, "S")
		wantNumber(t, err, 2714)
		def := tableDef("u")
		def.Schema = "S" // by the collation
		u, err := tx.CreateTable(d.db, def)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tx.CreateTable(d.db, tableDef("T"))
		wantNumber(t, err, 2714)
		_, err = tx.CreateTable(d.db, &TableDef{ObjectHeader: ObjectHeader{Schema: "nowhere", Name: "x"}})
		wantNumber(t, err, 2760)
		if _, err := tx.Apply(bg, u, []Change{{New: parse("1,1,u")}}); err != nil {
			t.Fatal(err)
		}
		m := &Module{ObjectHeader: ObjectHeader{Schema: "dbo", Name: "v", Type: "V"}, Text: "1"}
		if err := tx.CreateModule(d.db, m); err != nil {
			t.Fatal(err)
		}
		m2 := &Module{ObjectHeader: ObjectHeader{Name: "v", Type: "V"}, Text: "2"}
		if err := tx.AlterModule(d.db, m, m2); err != nil {
			t.Fatal(err)
		}
		// Rows change before and after an ALTER that adds a column in front of b.
		if err := d.setA(tx, 1, 11); err != nil {
			t.Fatal(err)
		}
		n := d.t.Def().Clone()
		n.Columns = append(n.Columns, &Column{Name: "c", Type: value.Type{ID: value.Int}})
		if err := tx.AlterTable(bg, d.t, n, func(old []value.Value) ([]value.Value, error) {
			return append(slices.Clone(old), num(7)), nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := d.delete(tx, 2); err != nil {
			t.Fatal(err)
		}
		if err := tx.RenameObject(bg, d.db, d.t, "t2"); err != nil {
			t.Fatal(err)
		}
		wantNumber(t, tx.DropSchema(d.db, "s"), 3729)

		if got := names(d.db.Root()); !slices.Equal(got, []string{"dbo.t"}) {
			t.Fatalf("uncommitted objects in the Root: %q", got)
		}
		if !commit {
			tx.Rollback()
			if got := names(d.db); !slices.Equal(got, []string{"dbo.t"}) {
				t.Fatalf("objects %q", got)
			}
			if len(d.t.Def().Columns) != 3 || d.db.Table("DBO", "T") != d.t || d.db.Schema("s") != nil {
				t.Fatal("the definition did not come back")
			}
			d.wantCommitted("1,10,x", "2,20,y")
			wantNoLocks(t, d.in)
			continue
		}
		d.commit(tx)
		if got := names(d.db.Root()); !slices.Equal(got, []string{"dbo.t2", "dbo.v", "s.u"}) || !slices.Equal(got, names(d.db)) {
			t.Fatalf("objects %q", got)
		}
		if d.db.Table("dbo", "t2") != d.t || d.db.ObjectByID(m.ID).(*Module).Text != "2" || m2.ID != m.ID {
			t.Fatal("objects have changed their identity")
		}
		d.wantCommitted("1,11,x,7")
		if got := d.db.Root().RowCount(u); got != 1 || u.RowCount() != 1 {
			t.Fatalf("%d rows in u", got)
		}
		// The old Root still has the old definition, name and rows.
		ot, _ := old.Object("dbo", "t").(*Table)
		if ot == nil || len(ot.Def().Columns) != 3 || ot.Live() != d.t || old.RowCount(d.t) != 2 {
			t.Fatal("the old Root has changed")
		}
		wantNoLocks(t, d.in)
	}
}

func TestIndexes(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,-,x", "3,-,y")
	tx := d.begin(ReadCommitted)
	err := tx.CreateIndex(bg, d.t, &IndexDef{Name: "ub", Unique: true, Columns: []IndexColumn{{Column: 2}}})
	wantNumber(t, err, 1505)
	if len(d.t.Def().Indexes) != 3 {
		t.Fatal("the failed index is there")
	}
	if err := d.delete(tx, 2); err != nil {
		t.Fatal(err)
	}
	x := &IndexDef{Name: "ub", Unique: true, Columns: []IndexColumn{{Column: 2}}}
	if err := tx.CreateIndex(bg, d.t, x); err != nil {
		t.Fatal(err)
	}
	if x.ID != 4 {
		t.Fatalf("index_id %d", x.ID)
	}
	got, err := d.read(tx, 3, Range{Reverse: true}, Access{})
	if err != nil || !slices.Equal(got, []string{"3,-,y", "1,10,x"}) {
		t.Fatalf("%q, %v", got, err)
	}
	wantNumber(t, d.tryInsert(tx, "4,40,y"), 2601)
	if err := tx.DropIndex(bg, d.t, 4); err != nil {
		t.Fatal(err)
	}
	wantNumber(t, tx.DropIndex(bg, d.t, 4), 3701)
	d.insert(tx, "4,40,y")
	d.commit(tx)
	d.wantCommitted("1,10,x", "3,-,y", "4,40,y")

	// Without the clustered index the table is a heap; with another one it is in that order.
	tx = d.begin(ReadCommitted)
	if err := tx.DropIndex(bg, d.t, 1); err != nil {
		t.Fatal(err)
	}
	d.insert(tx, "1,99,a")
	if err := tx.CreateIndex(bg, d.t, &IndexDef{Name: "c", Clustered: true, Columns: []IndexColumn{{Column: 2}}}); err != nil {
		t.Fatal(err)
	}
	d.commit(tx)
	d.wantCommitted("1,99,a", "1,10,x", "3,-,y", "4,40,y")
}

// A failed ALTER leaves the transaction as it was.
func TestAlterFails(t *testing.T) {
	d := newTestDB(t, "1,10,x", "2,20,y")
	tx := d.begin(ReadCommitted)
	if err := d.delete(tx, 1); err != nil {
		t.Fatal(err)
	}
	err := tx.AlterTable(bg, d.t, d.t.Def().Clone(), func(old []value.Value) ([]value.Value, error) { return nil, errEnded })
	if err == nil {
		t.Fatal("no error")
	}
	d.wantRows(tx, 0, "2,20,y")
	tx.Rollback()
	d.wantCommitted("1,10,x", "2,20,y")
}

func TestTruncateAndDrop(t *testing.T) {
	for _, commit := range []bool{true, false} {
		d := newTestDB(t, "1,10,x")
		tx := d.begin(ReadCommitted)
		if err := d.setA(tx, 1, 11); err != nil {
			t.Fatal(err)
		}
		if err := tx.TruncateTable(bg, d.t); err != nil {
			t.Fatal(err)
		}
		d.insert(tx, "2,20,y")
		if commit {
			d.commit(tx)
			d.wantCommitted("2,20,y")
		} else {
			tx.Rollback()
			d.wantCommitted("1,10,x")
		}
		tx = d.begin(ReadCommitted)
		if err := tx.DropTable(bg, d.t); err != nil {
			t.Fatal(err)
		}
		if d.db.Table("dbo", "t") != nil {
			t.Fatal("the dropped table is found")
		}
		_, err := d.read(tx, byKey, Range{}, Access{})
		wantNumber(t, err, 208)
		again, err := tx.CreateTable(d.db, tableDef("t"))
		if err != nil {
			t.Fatal(err)
		}
		if !commit {
			tx.Rollback()
			if d.db.Table("dbo", "t") != d.t {
				t.Fatal("the table did not come back")
			}
			d.wantCommitted("1,10,x")
			wantNoLocks(t, d.in)
			continue
		}
		d.commit(tx)
		if d.db.Table("dbo", "t") != again || d.db.Root().RowCount(again) != 0 || d.db.Root().Object("dbo", "t").(*Table).Live() != again {
			t.Fatal("the new table is not there")
		}
		wantNoLocks(t, d.in)
	}
}

// Nobody sees a table between ALTER and commit, NOLOCK and row versions included; an open reader keeps ALTER waiting.
func TestDDLWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t, "1,10,x")
		d.db.UpdateProps(func(p *Props) { p.ReadCommittedSnapshot = true })
		r := d.begin(ReadCommitted)
		r.BeginStatement()
		if _, err := r.Bind(bg, d.t); err != nil {
			t.Fatal(err)
		}
		w := d.begin(ReadCommitted)
		blocked, wait := pending(func() error {
			return w.AlterTable(bg, d.t, d.t.Def().Clone(), nil)
		})
		if !blocked() {
			t.Fatal("ALTER did not wait for the statement")
		}
		r.EndStatement(true)
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		for _, hint := range []Hint{0, NoLock} {
			short := d.in.Begin(TxOptions{LockTimeout: func() time.Duration { return time.Second }})
			_, err := d.read(short, byKey, Range{}, Access{Hint: hint})
			wantNumber(t, err, 1222)
			short.Rollback()
		}
		d.commit(w)
		d.wantRows(r, 0, "1,10,x")
		d.commit(r)
		wantNoLocks(t, d.in)
	})
}

func TestUncommittedTableWaits(t *testing.T) {
	for _, commit := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newTestDB(t)
			w := d.begin(ReadCommitted)
			u, err := w.CreateTable(d.db, tableDef("u"))
			if err != nil {
				t.Fatal(err)
			}
			r := d.begin(ReadCommitted)
			blocked, wait := pending(func() error {
				for _, err := range r.Scan(bg, u, -1, Range{}, Access{}) {
					return err
				}
				return nil
			})
			if !blocked() {
				t.Fatal("did not wait")
			}
			if commit {
				d.commit(w)
			} else {
				w.Rollback()
			}
			if err := wait(); !commit {
				wantNumber(t, err, 208)
			} else if err != nil {
				t.Fatal(err)
			}
			r.Rollback()
			wantNoLocks(t, d.in)
		})
	}
}

func TestIdentity(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	def := tableDef("i")
	def.Columns[0].Identity = &Identity{Seed: 10, Increment: 5}
	u, err := tx.CreateTable(d.db, def)
	if err != nil {
		t.Fatal(err)
	}
	want := func(n int64) {
		t.Helper()
		if got, err := u.NextIdentity(); err != nil || got != n {
			t.Fatalf("identity %d, %v; want %d", got, err, n)
		}
	}
	if last, used := u.IdentityCurrent(); last != 10 || used {
		t.Fatal(last, used)
	}
	want(10)
	want(15)
	u.NoteIdentity(12)
	want(20)
	u.NoteIdentity(100)
	want(105)
	u.ReseedIdentity(0)
	want(5)
	if err := tx.TruncateTable(bg, u); err != nil {
		t.Fatal(err)
	}
	want(10)
	d.commit(tx)
	a, b := d.db.NextRowVersion(), d.db.NextRowVersion()
	if slices.Compare(a[:], b[:]) >= 0 || d.db.LastRowVersion() != b {
		t.Fatal("row versions do not grow")
	}
}
