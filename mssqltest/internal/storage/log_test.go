package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// logText shows the changes of the newest record: command, sequence (numbered from 1 in order of value), operation, row,
// changed ordinals.
func (d *testDB) logText() []string {
	d.Helper()
	recs := d.db.LogRecords(LSN{}, 0)
	rec := recs[len(recs)-1]
	var seqs []LSN
	for _, c := range rec.Changes {
		seqs = append(seqs, c.Seq)
		if c.Seq.Compare(rec.Begin) <= 0 || c.Seq.Compare(rec.Commit) >= 0 {
			d.Fatalf("seqval %v is not between begin %v and commit %v", c.Seq, rec.Begin, rec.Commit)
		}
	}
	slices.SortFunc(seqs, LSN.Compare)
	seqs = slices.Compact(seqs)
	var out []string
	for _, c := range rec.Changes {
		n := slices.Index(seqs, c.Seq) + 1
		s := fmt.Sprintf("c%d s%d %s %s", c.CommandID, n, [...]string{"", "del", "ins", "before", "after"}[c.Op], show(&Row{Vals: c.Row}))
		for i := range 3 {
			if c.Changed.Has(i) {
				s += fmt.Sprintf(" #%d", i)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestLogContents(t *testing.T) {
	set := func(i int, f func(v value.Value) value.Value) func(v []value.Value) []value.Value {
		return func(v []value.Value) []value.Value { v[i] = f(v[i]); return v }
	}
	add := func(n int) func(value.Value) value.Value {
		return func(v value.Value) value.Value { return num(int(v.Int()) + n) }
	}
	to := func(v value.Value) func(value.Value) value.Value { return func(value.Value) value.Value { return v } }
	for _, test := range []struct {
		name string
		do   func(d *testDB, tx *Tx) error
		want string
	}{
		{"inserts of one statement", func(d *testDB, tx *Tx) error { return d.tryInsert(tx, "8,80,p", "7,70,q") },
			"c1 s1 ins 8,80,p/c1 s2 ins 7,70,q"},
		{"delete", func(d *testDB, tx *Tx) error { return d.delete(tx, 1) }, "c1 s1 del 1,10,x"},
		{"update of one column", func(d *testDB, tx *Tx) error { return d.update(bg, tx, d.key(1), set(2, to(text("X")))) },
			"c1 s1 before 1,10,x #2/c1 s1 after 1,10,X #2"},
		{"update of many rows", func(d *testDB, tx *Tx) error { return d.update(bg, tx, Range{}, set(2, to(text("n")))) },
			"c1 s1 before 1,10,x #2/c1 s1 after 1,10,n #2/c1 s2 before 2,20,y #2/c1 s2 after 2,20,n #2"},
		{"update that changes nothing", func(d *testDB, tx *Tx) error {
			ch := []Change{}
			for r := range tx.Scan(bg, d.t, byKey, d.key(1), Access{ForUpdate: true}) {
				ch = append(ch, Change{Old: r, New: slices.Clone(r.Vals)})
			}
			if err := d.apply(tx, ch); err != nil {
				return err
			}
			return d.delete(tx, 2)
		}, "c2 s1 del 2,20,y"},
		{"key update of one row", func(d *testDB, tx *Tx) error { return d.update(bg, tx, d.key(1), set(0, add(4))) },
			"c1 s1 del 1,10,x/c2 s1 ins 5,10,x"},
		{"unique index update of one row", func(d *testDB, tx *Tx) error { return d.setA(tx, 1, 11) },
			"c1 s1 del 1,10,x/c2 s1 ins 1,11,x"},
		{"key update of many rows", func(d *testDB, tx *Tx) error { return d.update(bg, tx, Range{}, set(0, add(1))) },
			"c1 s1 del 1,10,x/c1 s2 del 2,20,y/c2 s3 ins 2,10,x/c2 s4 ins 3,20,y"},
		{"some rows change their key", func(d *testDB, tx *Tx) error {
			return d.update(bg, tx, Range{}, func(v []value.Value) []value.Value {
				if v[0].Int() == 2 {
					v[0] = num(9)
				}
				v[2] = text("n")
				return v
			})
		}, "c1 s1 del 2,20,y/c1 s2 before 1,10,x #2/c1 s2 after 1,10,n #2/c2 s3 ins 9,20,n"},
		{"command ids count statements with changes", func(d *testDB, tx *Tx) error {
			if err := d.tryInsert(tx, "5,50,p"); err != nil {
				return err
			}
			if _, err := d.read(tx, byKey, Range{}, Access{}); err != nil {
				return err
			}
			if err := d.update(bg, tx, d.key(5), set(0, add(1))); err != nil {
				return err
			}
			return d.delete(tx, 6)
		}, "c1 s1 ins 5,50,p/c2 s2 del 5,50,p/c3 s2 ins 6,50,p/c4 s3 del 6,50,p"},
		{"several sets of one statement", func(d *testDB, tx *Tx) error {
			tx.BeginStatement()
			defer tx.EndStatement(true)
			for _, row := range []string{"5,50,p", "6,60,q"} {
				if _, err := tx.Apply(bg, d.t, []Change{{New: parse(row)}}); err != nil {
					return err
				}
			}
			return nil
		}, "c1 s1 ins 5,50,p/c1 s2 ins 6,60,q"},
		{"a failed statement and a savepoint leave nothing", func(d *testDB, tx *Tx) error {
			if err := d.tryInsert(tx, "5,50,p"); err != nil {
				return err
			}
			tx.Savepoint("s")
			if err := d.tryInsert(tx, "6,60,p"); err != nil {
				return err
			}
			if err := tx.RollbackTo("s"); err != nil {
				return err
			}
			wantNumber(d.T, d.tryInsert(tx, "7,70,p", "7,71,p"), 2627)
			return d.delete(tx, 1)
		}, "c1 s1 ins 5,50,p/c2 s2 del 1,10,x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newTestDB(t, "1,10,x", "2,20,y")
			tx := d.begin(ReadCommitted)
			if err := test.do(d, tx); err != nil {
				t.Fatal(err)
			}
			d.commit(tx)
			if got := strings.Join(d.logText(), "/"); got != test.want {
				t.Fatalf("log\n got %s\nwant %s", got, test.want)
			}
			d.checkTrees()
		})
	}
}

func TestLogOrder(t *testing.T) {
	d := newTestDB(t, "1,10,x")
	watch := d.db.LogWatch()
	a, b := d.begin(ReadCommitted), d.begin(ReadCommitted)
	d.insert(a, "2,20,a")
	d.insert(b, "3,30,b")
	before := d.db.LastLSN()
	lb := d.commit(b)
	la := d.commit(a)
	select {
	case <-watch:
	default:
		t.Fatal("the watch did not fire")
	}
	recs := d.db.LogRecords(before, 0)
	if len(recs) != 2 || recs[0].Commit != lb || recs[1].Commit != la || lb.Compare(la) >= 0 {
		t.Fatalf("records %v, commits %v, %v", recs, lb, la)
	}
	if recs[0].TranID == recs[1].TranID || recs[0].Begin.Compare(recs[1].Begin) <= 0 {
		t.Fatal("ids are equal, or the begins are not in order of begin")
	}
	if got := d.db.LogRecords(lb, 5); len(got) != 1 || got[0].Commit != la {
		t.Fatal("records after an LSN")
	}
	if got := d.db.LogRecords(LSN{}, 1); len(got) != 1 {
		t.Fatal("max")
	}
	d.db.TruncateLog(lb)
	if got := d.db.LogRecords(LSN{}, 0); len(got) != 1 || got[0].Commit != la {
		t.Fatal("truncate")
	}
	if next := d.db.NextLSN(); next.Compare(la) <= 0 {
		t.Fatal("NextLSN is not above the last commit")
	}
}

func TestLogOnlyTracked(t *testing.T) {
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	def := tableDef("u")
	def.TrackedByCDC = false
	u, err := tx.CreateTable(d.db, def)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Apply(bg, u, []Change{{New: parse("1,1,u")}}); err != nil {
		t.Fatal(err)
	}
	d.commit(tx)
	if recs := d.db.LogRecords(LSN{}, 0); len(recs) != 0 {
		t.Fatalf("%d records", len(recs))
	}
	tx = d.begin(ReadCommitted)
	if err := tx.LogDDL(d.db, LogDDL{Table: u, Text: "ALTER", Marker: 7}); err != nil {
		t.Fatal(err)
	}
	d.commit(tx)
	if recs := d.db.LogRecords(LSN{}, 0); len(recs) != 1 || recs[0].DDL[0].Marker != 7 || recs[0].DDL[0].LSN.IsZero() {
		t.Fatalf("records %+v", recs)
	}
}

func TestLSN(t *testing.T) {
	l := NewLSN(0x25, 0x1a8, 3)
	if l.String() != "00000025:000001a8:0003" {
		t.Fatal(l)
	}
	back, err := ParseLSN(l.String())
	if err != nil || back != l {
		t.Fatal(back, err)
	}
	for _, bad := range []string{"", "25:1a8:3", "00000025:000001a8:0003x", "zz000025:000001a8:0003"} {
		if _, err := ParseLSN(bad); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
	c := newLSNClock()
	last := c.next()
	for i := range 3 * slotsPerBlock * blocksPerVLF / blockStep / 4 {
		n := c.next()
		if i%7 == 0 {
			n = c.nextBlock()
		}
		if n.Compare(last) <= 0 {
			t.Fatalf("%v after %v", n, last)
		}
		last = n
	}
}
