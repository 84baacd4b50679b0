package changetable_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
)

// TestReplayGivesTheTable runs random transactions, some of them with keys that
// change or come back, and applies what is read, in order, to an empty table.
func TestReplayGivesTheTable(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old change table %v", old), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.k (id int PRIMARY KEY, v int)")
			if err := l.Control().OldChangeTables("", old); err != nil {
				t.Fatal(err)
			}
			l.exec(fmt.Sprintf(enable, "k"))
			l.scan()
			statements := []func() string{
				func() string {
					return fmt.Sprintf("IF NOT EXISTS (SELECT 1 FROM dbo.k WHERE id = %d) INSERT dbo.k VALUES (%[1]d, %d)", rnd.IntN(20), rnd.IntN(100))
				},
				func() string {
					return fmt.Sprintf("UPDATE dbo.k SET v = v + %d WHERE id < %d", rnd.IntN(5), rnd.IntN(20))
				},
				func() string { return fmt.Sprintf("DELETE dbo.k WHERE id = %d", rnd.IntN(20)) },
				func() string { return "UPDATE dbo.k SET id = 19 - id" },
				func() string {
					return fmt.Sprintf("UPDATE dbo.k SET id = id + 1 WHERE id >= %d AND NOT EXISTS (SELECT 1 FROM dbo.k WHERE id = 19)", rnd.IntN(19))
				},
			}
			r := l.reader("dbo_k", changetable.Options{})
			from := l.earliest(r)
			got := make(map[string]string)
			for range 30 {
				var batch []string
				for range 1 + rnd.IntN(4) {
					batch = append(batch, statements[rnd.IntN(len(statements))]())
				}
				l.exec("BEGIN TRAN; " + strings.Join(batch, "; ") + "; COMMIT")
				if rnd.IntN(3) > 0 {
					continue
				}
				l.scan()
				from = l.apply(t, r, from, changetable.Limits{Rows: 1 + rnd.IntN(10)}, got)
			}
			l.scan()
			l.apply(t, r, from, changetable.Limits{Rows: 3}, got)
			rows, err := l.Query("SELECT id, v FROM dbo.k")
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[string]string)
			for _, row := range rows {
				want[row[0]] = row[1]
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if len(want) == 0 {
				t.Error("the table is empty, which proves nothing")
			}
		})
	}
}

// apply reads to the watermark and applies the changes; a change that does not
// fit what is there is an error.
func (l *lab) apply(t *testing.T, r *changetable.Reader, from checkpoint.Position, limits changetable.Limits, table map[string]string) checkpoint.Position {
	t.Helper()
	high := l.high()
	for {
		p, err := r.Read(t.Context(), from, high, limits)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Rows {
			id, v := p.Record.Column(0).ValueStr(i), p.Record.Column(1).ValueStr(i)
			have, there := table[id]
			switch op := p.Operation(i); {
			case op == changetable.Insert && !there:
				table[id] = v
			case op == changetable.Delete && there && have == v:
				delete(table, id)
			case op == changetable.Before && there && have == v:
			case op == changetable.After && there:
				table[id] = v
			default:
				t.Fatalf("change %q at %s does not fit %v", row(p, i), p.Position(i), table)
			}
		}
		from = p.Next
		p.Release()
		if p.AtHigh {
			return from
		}
	}
}

func TestAnInstanceTakesOverFromAnother(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.s (id int PRIMARY KEY, v int)")
	l.exec("EXEC sys.sp_cdc_enable_table N'dbo', N's', @capture_instance = N'v1', @role_name = NULL")
	for i := range 5 {
		l.exec(fmt.Sprintf("INSERT dbo.s VALUES (%d, 0)", i))
	}
	l.exec("ALTER TABLE dbo.s ADD c2 int NULL")
	l.exec("EXEC sys.sp_cdc_enable_table N'dbo', N's', @capture_instance = N'v2', @role_name = NULL")
	for i := range 5 {
		l.exec(fmt.Sprintf("INSERT dbo.s VALUES (%d, 0, %[1]d)", 5+i))
	}
	l.scan()
	v1, v2 := l.reader("v1", changetable.Options{}), l.reader("v2", changetable.Options{})
	boundary := l.earliest(v2).LSN
	var got []string
	from := l.earliest(v1)
	for {
		p, err := v1.Read(t.Context(), from, boundary, changetable.Limits{Rows: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Rows {
			got = append(got, row(p, i))
		}
		from = p.Next
		p.Release()
		if p.AtHigh {
			break
		}
	}
	if err := v2.Verify(t.Context(), from); err != nil {
		t.Fatalf("Verify(%s) by the second instance: %v", from, err)
	}
	got = append(got, l.all(v2, from, changetable.Limits{Rows: 2})...)
	want := []string{"I id=0 v=0", "I id=1 v=0", "I id=2 v=0", "I id=3 v=0", "I id=4 v=0"}
	for i := 5; i < 10; i++ {
		want = append(want, fmt.Sprintf("I id=%d v=0 c2=%[1]d", i))
	}
	diff(t, got, want)
	if !slices.Equal(v2.Key(), []int{0}) {
		t.Errorf("key of the second instance %v", v2.Key())
	}
}
