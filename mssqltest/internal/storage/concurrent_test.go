package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Many sessions move amounts between rows; at every level that promises it a reader finds the same total, and in the end
// nothing is lost. The log, applied in order, gives the table.
func TestTransfers(t *testing.T) {
	const rows, total = 20, 20 * 1000
	var first []string
	for i := range rows {
		first = append(first, fmt.Sprintf("%d,-,1000", i))
	}
	d := newTestDB(t)
	tx := d.begin(ReadCommitted)
	var ch []Change
	for i := range rows {
		ch = append(ch, Change{New: []value.Value{num(i), {}, text("1000")}})
	}
	if err := d.apply(tx, ch); err != nil {
		t.Fatal(err)
	}
	d.commit(tx)

	amount := func(v []value.Value) (n int) {
		fmt.Sscan(v[2].Str(), &n)
		return n
	}
	transfer := func(tx *Tx, from, to, n int) error {
		for _, x := range [][2]int{{from, -n}, {to, n}} {
			if err := d.update(bg, tx, d.key(x[0]), func(v []value.Value) []value.Value {
				v[2] = text(fmt.Sprint(amount(v) + x[1]))
				return v
			}); err != nil {
				return err
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	var writers, conflicts, deadlocks atomic.Int64
	for w := range 4 {
		writers.Add(1)
		wg.Go(func() {
			defer writers.Add(-1)
			rnd := rand.New(rand.NewPCG(1, uint64(w)))
			for range 200 {
				level := []Isolation{ReadCommitted, Snapshot}[w%2]
				tx := d.begin(level)
				if err := transfer(tx, rnd.IntN(rows), rnd.IntN(rows), rnd.IntN(50)); err != nil {
					switch wantNumberQuiet(err) {
					case 1205:
						deadlocks.Add(1)
					case 3960:
						conflicts.Add(1)
					default:
						t.Error(err)
					}
					tx.Rollback()
					continue
				}
				if rnd.IntN(5) == 0 {
					tx.Rollback()
				} else if _, err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, level := range []Isolation{Snapshot, Serializable} {
		wg.Go(func() {
			for writers.Load() > 0 {
				tx := d.begin(level)
				got, err := d.read(tx, byKey, Range{}, Access{})
				tx.Rollback()
				if err != nil {
					if wantNumberQuiet(err) != 1205 {
						t.Error(err)
					}
					continue
				}
				sum := 0
				for _, r := range got {
					var id, n int
					fmt.Sscanf(r, "%d,-,%d", &id, &n)
					sum += n
				}
				if sum != total {
					t.Errorf("level %d: total %d", level, sum)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d deadlocks, %d conflicts", deadlocks.Load(), conflicts.Load())
	d.checkTrees()
	wantNoLocks(t, d.in)

	replayed := map[int64]string{}
	for _, rec := range d.db.LogRecords(LSN{}, 0) {
		for _, c := range rec.Changes {
			switch id := c.Row[0].Int(); c.Op {
			case OpInsert, OpAfter:
				replayed[id] = show(&Row{Vals: c.Row})
			case OpBefore, OpDelete:
				if replayed[id] != show(&Row{Vals: c.Row}) {
					t.Fatalf("row %d was %s, the log's before image is %s", id, replayed[id], show(&Row{Vals: c.Row}))
				}
			}
		}
	}
	var got []string
	for r := range d.db.Root().Rows(d.t) {
		got = append(got, show(r))
		if replayed[r.Vals[0].Int()] != show(r) {
			t.Fatalf("the log gives %s, the table %s", replayed[r.Vals[0].Int()], show(r))
		}
	}
	if slices.Equal(got, first) {
		t.Fatal("nothing has changed")
	}
}
