package capture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// A change table of the old kind has no command ids: its pages never end inside of a transaction, whatever the limits are, and
// neither does a position.
func TestOldChangeTable(t *testing.T) {
	orderings(t, func(t *testing.T, global bool) {
		bubble(t, mssqltest.Config{}, func(r *rig) {
			r.cfg.Global = global
			r.exec("EXEC sys.sp_cdc_enable_db")
			if err := r.ctl.OldChangeTables("", true); err != nil {
				t.Fatal(err)
			}
			r.tables("a")
			if n := r.query("SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID(N'cdc.dbo_a_CT') AND name = N'__$command_id'"); n[0][0] != "0" {
				t.Fatal("the change table has command ids")
			}
			r.insert("a", 1, 100, 25)
			r.insert("a", 101, 110, 1)
			r.exec("UPDATE dbo.a SET v = v + 1 WHERE id <= 33")
			r.exec("UPDATE dbo.a SET v = v + 1 WHERE id <= 8; DELETE dbo.a WHERE id > 50")
			r.scan()
			want := r.changes("dbo_a", true)
			f := r.start()
			f.set(func() {
				f.look = func(run Run) {
					p := run.Page
					if !global && (run.From != 0 || run.To != p.Rows || p.Next.Done == false) {
						t.Errorf("a page of %d rows ends inside of a transaction, at %+v", p.Rows, p.Next)
					}
				}
			})
			r.until(time.Minute, "everything", func() bool { return len(f.of("a")) >= len(want) })
			if d := difference(f.of("a"), want); d != "" {
				t.Fatal(d)
			}
			pass(2 * time.Second)
			for _, s := range r.store.all() {
				if p := s.changed["dbo.a"]; !p.Done {
					t.Errorf("position %s inside of a transaction was saved", p)
				}
			}
			f.crash()
			r.insert("a", 201, 230, 15)
			r.scan()
			g := r.start()
			more := r.changes("dbo_a", true)[len(want):]
			r.until(time.Minute, "the rest", func() bool { return len(g.of("a")) >= len(more) })
			if d := difference(g.of("a"), more); d != "" {
				t.Fatal(d)
			}
		})
	})
}

// The mask of an update tells each column that it set, in tables of 9, 17 and 65 columns, and no other.
func TestUpdateMasks(t *testing.T) {
	for _, columns := range []int{9, 17, 65} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.exec("EXEC sys.sp_cdc_enable_db")
				var list, values []string
				for i := range columns - 1 {
					list = append(list, fmt.Sprintf("c%d int NULL", i+1))
					values = append(values, "0")
				}
				r.exec("CREATE TABLE dbo.w (id int NOT NULL PRIMARY KEY, %s)", strings.Join(list, ", "))
				r.enable("w", "dbo_w")
				r.exec("INSERT dbo.w VALUES (1, %s)", strings.Join(values, ", "))
				var updates strings.Builder
				var sets [][]int
				for i := 1; i < columns; i++ {
					fmt.Fprintf(&updates, "UPDATE dbo.w SET c%d = c%d + 1;\n", i, i)
					sets = append(sets, []int{i})
				}
				for _, set := range [][]int{{1, columns - 1}, {1, 7, 8}, {columns - 2, columns - 1}} {
					var parts []string
					for _, i := range set {
						parts = append(parts, fmt.Sprintf("c%d = c%d + 1", i, i))
					}
					fmt.Fprintf(&updates, "UPDATE dbo.w SET %s;\n", strings.Join(parts, ", "))
					sets = append(sets, set)
				}
				r.exec("%s", updates.String())
				f := r.start()
				n := 0
				f.set(func() {
					f.look = func(run Run) {
						p := run.Page
						for row := run.From; row < run.To; row++ {
							if p.Operation(row) != changetable.After {
								continue
							}
							for col := range columns {
								want := false
								for _, i := range sets[n] {
									want = want || i == col
								}
								if got := p.Changed(row, col); got != want {
									t.Errorf("update %d of columns %v: column %d changed: %t", n, sets[n], col, got)
								}
							}
							n++
						}
					}
				})
				r.until(time.Minute, "every update", func() bool { return len(f.of("w")) >= 1+2*len(sets) })
				f.set(func() {
					if n != len(sets) {
						t.Errorf("%d updates, want %d", n, len(sets))
					}
				})
			})
		})
	}
}
