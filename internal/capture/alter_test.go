package capture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// The type of a captured column changes while changes stream, with the change table's, so the description that a reader has is
// stale. No row is lost and no value is damaged, whenever the change meets the reader; the flow may stop on table errors, and
// this is none.
func TestAlterColumnWhileStreaming(t *testing.T) {
	for _, c := range []struct{ name, from, to, before, after string }{
		{"int to bigint", "int", "bigint", "7", "5000000000"},
		{"scale", "decimal(10,2)", "decimal(18,6)", "1.25", "123456.123456"},
		{"length", "varchar(5)", "varchar(60)", "'abc'", "'" + strings.Repeat("long ", 10) + "'"},
		{"to unicode", "varchar(20)", "nvarchar(40)", "'abc'", "N'Ωμέγα'"},
		{"to max", "nvarchar(20)", "nvarchar(max)", "N'abc'", "REPLICATE(CONVERT(nvarchar(max), N'x'), 9000)"},
		{"datetime to datetime2", "datetime", "datetime2(7)", "'2020-01-02T03:04:05'", "'2020-01-02T03:04:05.1234567'"},
		{"tinyint to int", "tinyint", "int", "255", "-1"},
	} {
		for _, strict := range []bool{false, true} {
			for _, at := range []int{0, 1, 2} {
				t.Run(fmt.Sprintf("%s/stop on error=%t/%d", c.name, strict, at), func(t *testing.T) {
					bubble(t, mssqltest.Config{}, func(r *rig) {
						r.cfg.StopOnTableError = strict
						r.exec("EXEC sys.sp_cdc_enable_db")
						r.exec("CREATE TABLE dbo.a (id int NOT NULL PRIMARY KEY, v %s NULL)", c.from)
						r.enable("a", "dbo_a")
						add := func(from, to int, v string) {
							for id := from; id <= to; id++ {
								r.exec("INSERT dbo.a (id, v) VALUES (%d, %s)", id, v)
							}
						}
						add(1, 25, c.before)
						f := r.start()
						alter := fmt.Sprintf("ALTER TABLE dbo.a ALTER COLUMN v %s NULL", c.to)
						if at < 2 { // just before the rows of a page are read
							r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "FROM [cdc].[dbo_a_CT] AS t", Skip: at, Times: 1, Before: func(mssqltest.Event) {
								if err := r.srv.Exec(alter); err != nil {
									t.Error(err)
								}
								if err := r.srv.Exec(fmt.Sprintf("INSERT dbo.a (id, v) VALUES (1000, %s)", c.after)); err != nil {
									t.Error(err)
								}
								if err := r.ctl.CaptureScan(r.t.Context(), ""); err != nil {
									t.Error(err)
								}
							}})
							pass(time.Second)
						} else {
							r.until(time.Minute, "the first rows", func() bool { return len(f.of("a")) == 25 })
							pass(time.Second)
							r.exec("%s", alter)
						}
						add(26, 40, c.after)
						r.scan()
						total := 40
						if at < 2 {
							total++
						}
						r.until(2*time.Minute, "all rows", func() bool { return len(f.of("a")) >= total })
						// The same values as a flow that begins now gives out.
						r.cfg.Store = newMemoryStore()
						g := r.start()
						r.until(time.Minute, "all rows again", func() bool { return len(g.of("a")) >= total })
						got, fresh := f.of("a"), g.of("a")
						strip := func(s string) string { return strings.TrimRight(strings.TrimRight(s, "0"), ".") }
						for i := range fresh {
							if i < 25 && c.name == "datetime to datetime2" {
								continue // read with the type of before, which has another form
							}
							if strip(got[i]) != strip(fresh[i]) {
								t.Errorf("row %d: got %q, want %q", i, cut(got[i]), cut(fresh[i]))
							}
						}
						if len(got) != total || !slices.IsSorted(got) {
							t.Errorf("%d rows, want %d", len(got), total)
						}
					})
				})
			}
		}
	}
}

func cut(s string) string { return s[:min(len(s), 140)] }
