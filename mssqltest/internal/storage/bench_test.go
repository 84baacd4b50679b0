package storage

import (
	"fmt"
	"testing"
)

func benchDB(b *testing.B, rows int) *testDB {
	b.Helper()
	in := NewInstance(Options{})
	db, err := in.CreateDatabase("test", nil)
	if err != nil {
		b.Fatal(err)
	}
	d := &testDB{in: in, db: db}
	tx := in.Begin(TxOptions{})
	if d.t, err = tx.CreateTable(db, tableDef("t")); err != nil {
		b.Fatal(err)
	}
	var ch []Change
	for i := range rows {
		ch = append(ch, Change{New: parse(fmt.Sprintf("%d,%d,x", i, i))})
	}
	if _, err := tx.Apply(bg, d.t, ch); err != nil {
		b.Fatal(err)
	}
	if _, err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	db.TruncateLog(db.LastLSN())
	return d
}

func BenchmarkInsertOne(b *testing.B) {
	d := benchDB(b, 10000)
	b.ReportAllocs()
	i := 10000
	for b.Loop() {
		tx := d.begin(ReadCommitted)
		tx.BeginStatement()
		if _, err := tx.Apply(bg, d.t, []Change{{New: parse(fmt.Sprintf("%d,%d,x", i, i))}}); err != nil {
			b.Fatal(err)
		}
		tx.EndStatement(true)
		if _, err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkUpdateOne(b *testing.B) {
	d := benchDB(b, 10000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tx := d.begin(ReadCommitted)
		if err := d.setA(tx, i%10000, 20000+i); err != nil {
			b.Fatal(err)
		}
		if _, err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkScan reads 10,000 rows; locked while another transaction has changes in the table.
func BenchmarkScan(b *testing.B) {
	for _, writer := range []bool{false, true} {
		b.Run(fmt.Sprintf("writer=%v", writer), func(b *testing.B) {
			d := benchDB(b, 10001)
			if writer {
				w := d.begin(ReadCommitted)
				if err := d.setA(w, 10000, -1); err != nil {
					b.Fatal(err)
				}
				defer w.Rollback()
			}
			r := Range{To: d.key(10000).From}
			b.ReportAllocs()
			for b.Loop() {
				tx := d.begin(ReadCommitted)
				for _, err := range tx.Scan(bg, d.t, byKey, r, Access{}) {
					if err != nil {
						b.Fatal(err)
					}
				}
				tx.Rollback()
			}
		})
	}
}
