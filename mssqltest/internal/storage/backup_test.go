package storage

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRestoreForksTheLog(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	b := d.db.Backup()
	at := d.db.LastLSN()
	tx := d.begin(ReadCommitted)
	d.insert(tx, "2,20,lost")
	lost := d.commit(tx)

	open := d.begin(ReadCommitted)
	d.insert(open, "9,90,o")
	wantNumber(t, d.db.Restore(b), 3101)
	open.Rollback()

	before := d.t
	if err := d.db.Restore(b); err != nil {
		t.Fatal(err)
	}
	_, err := d.read(d.begin(ReadCommitted), byKey, Range{}, Access{})
	wantNumber(t, err, 208)
	d.t = d.db.Table("dbo", "t")
	if d.t == nil || d.t == before || d.t.ID() != before.ID() {
		t.Fatal("the table is not a new one with the old id")
	}
	d.wantCommitted("1,10,x")
	if d.db.LastLSN() != at {
		t.Fatalf("LSN %v, want that of the backup %v", d.db.LastLSN(), at)
	}
	tx = d.begin(ReadCommitted)
	d.insert(tx, "2,20,new")
	if again := d.commit(tx); again != lost {
		t.Fatalf("commit %v, want the LSN that the lost one had: %v", again, lost)
	}
	recs := d.db.LogRecords(LSN{}, 0)
	if len(recs) != 2 || recs[0].Changes[0].Table != d.t {
		t.Fatalf("%d records", len(recs))
	}
	d.wantCommitted("1,10,x", "2,20,new")

	// Once more, from the same backup: it has not changed.
	if err := d.db.Restore(b); err != nil {
		t.Fatal(err)
	}
	d.t = d.db.Table("dbo", "t")
	d.wantCommitted("1,10,x")
}

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDB(t)
		sub := d.db.Subscribe(10 * time.Second)
		start := time.Now()
		for i := range 30 {
			<-time.After(time.Second)
			tx := d.begin(ReadCommitted)
			if err := d.tryInsert(tx, []string{"0,0", "1,1", "2,2"}[i%3]+",x"); err != nil {
				wantNumber(t, err, 2627)
			}
			tx.BeginStatement()
			if i >= 3 {
				if err := d.setA(tx, i%3, 100+i); err != nil {
					t.Fatal(err)
				}
			}
			tx.EndStatement(true)
			d.commit(tx)
		}
		for lag := range 11 {
			r := d.db.RootAt(time.Now().Add(-time.Duration(lag) * time.Second))
			if want := start.Add(time.Duration(30-lag) * time.Second); !r.Time.Equal(want) {
				t.Fatalf("lag %d s: root of %v, want %v", lag, r.Time.Sub(start), want.Sub(start))
			}
		}
		r := d.db.RootAt(time.Now().Add(-5 * time.Second))
		tx := d.in.BeginAt(TxOptions{}, r)
		d.wantRows(tx, 0, "0,124,x", "1,122,x", "2,123,x")
		d.commit(tx)
		if n := len(d.db.history.roots); n > 25 {
			t.Fatalf("%d roots are kept for 10 s", n)
		}
		sub.Close()
		if d.db.RootAt(start) != d.db.Root() {
			t.Fatal("the history is still there")
		}
		wantNoLocks(t, d.in)
	})
}

// A replica's transaction waits for nobody, and finds only what its Root has.
func TestReplica(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	root := d.db.Root()
	w := d.begin(ReadCommitted)
	if err := d.setA(w, 1, 11); err != nil {
		t.Fatal(err)
	}
	u, err := w.CreateTable(d.db, tableDef("u"))
	if err != nil {
		t.Fatal(err)
	}
	r := d.in.BeginAt(TxOptions{Isolation: Serializable}, root)
	d.wantRows(r, TabLockX, "1,10,x")
	if r.Catalog(d.db).Object("dbo", "u") != nil || w.Catalog(d.db).Object("dbo", "u") == nil {
		t.Fatal("the replica sees the new table, or its maker does not")
	}
	_, err = r.Bind(bg, u)
	wantNumber(t, err, 208)
	if def, err := r.Bind(bg, d.t); err != nil || def != d.t.Def() {
		t.Fatal(err)
	}
	w.Rollback()
	d.commit(r)
	wantNoLocks(t, d.in)
}

func TestDatabases(t *testing.T) {
	in := NewInstance(Options{})
	for i, name := range []string{"master", "tempdb", "model", "msdb"} {
		if db := in.Database(name); db == nil || db.ID != i+1 || in.DatabaseByID(i+1) != db {
			t.Fatalf("no %s", name)
		}
	}
	db, err := in.CreateDatabase("Shop", nil)
	if err != nil || db.ID != FirstUserDatabase {
		t.Fatal(err)
	}
	_, err = in.CreateDatabase("SHOP", nil)
	wantNumber(t, err, 1801)
	wantNumber(t, in.RenameDatabase("nope", "x"), 911)
	wantNumber(t, in.RenameDatabase("shop", "msdb"), 1801)
	if err := in.RenameDatabase("shop", "store"); err != nil || db.Name() != "store" || in.Database("STORE") != db {
		t.Fatal(err)
	}
	tx := in.Begin(TxOptions{})
	if _, err := tx.CreateTable(db, tableDef("t")); err != nil {
		t.Fatal(err)
	}
	if o := in.OpenTransactions(); len(o) != 1 || len(o[0].Databases) != 1 || o[0].Databases[0] != db.ID {
		t.Fatalf("open: %+v", o)
	}
	wantNumber(t, in.DropDatabase("store"), 3702)
	tx.Rollback()
	wantNumber(t, in.DropDatabase("master"), 3708)
	if err := in.DropDatabase("store"); err != nil || in.Database("store") != nil {
		t.Fatal(err)
	}
	wantNumber(t, in.DropDatabase("store"), 3701)
}

// One transaction over two databases.
func TestTwoDatabases(t *testing.T) {
	d := newTestDB(t)
	other, err := d.in.CreateDatabase("other", nil)
	if err != nil {
		t.Fatal(err)
	}
	tx := d.begin(ReadCommitted)
	u, err := tx.CreateTable(other, tableDef("u"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Apply(bg, u, []Change{{New: parse("1,1,u")}}); err != nil {
		t.Fatal(err)
	}
	d.insert(tx, "1,1,t")
	d.commit(tx)
	if other.Root().RowCount(u) != 1 || d.db.Root().RowCount(d.t) != 1 || len(other.LogRecords(LSN{}, 0)) != 1 {
		t.Fatal("not everything is committed")
	}
}

// A failover to a replica that lags: what it has stays, with the log that it had not captured; the rest is lost.
func TestRootBackup(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	tx := d.begin(ReadCommitted)
	d.insert(tx, "2,20,kept")
	kept := d.commit(tx)
	root := d.db.Root()
	tx = d.begin(ReadCommitted)
	d.insert(tx, "3,30,lost")
	lost := d.commit(tx)
	d.db.TruncateLog(lost)
	if err := d.db.Restore(root.Backup()); err != nil {
		t.Fatal(err)
	}
	d.t = d.db.Table("dbo", "t")
	d.wantCommitted("1,10,x", "2,20,kept")
	if recs := d.db.LogRecords(LSN{}, 0); len(recs) != 2 || recs[1].Commit != kept || d.db.LastLSN() != kept {
		t.Fatalf("%d log records, last LSN %v", len(recs), d.db.LastLSN())
	}
	tx = d.begin(ReadCommitted)
	d.insert(tx, "3,30,new")
	if d.commit(tx).Compare(kept) <= 0 {
		t.Fatal("LSNs do not go on")
	}
}

// All statements of a replica's transaction see one state, however the replica goes on.
func TestReplicaTransaction(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	r := d.in.Begin(TxOptions{ReadOnlyReplica: true, Roots: (*Database).Root})
	d.wantRows(r, 0, "1,10,x")
	tx := d.begin(ReadCommitted)
	d.insert(tx, "2,20,y")
	d.commit(tx)
	d.wantRows(r, 0, "1,10,x")
	d.commit(r)
	r = d.in.Begin(TxOptions{ReadOnlyReplica: true, Roots: (*Database).Root})
	d.wantRows(r, 0, "1,10,x", "2,20,y")
	d.commit(r)
}
