package mssqlcdc

import (
	"fmt"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// Batches in which no key comes twice are not folded; others are, whatever the order and the type of the key.
func TestBulkFoldsOnlyWhatComesTwice(t *testing.T) {
	for _, tt := range []struct {
		typ    string
		keys   []any
		folded bool
	}{
		{"int", []any{1, 2, 3}, false}, {"bigint", []any{3, 1, 2}, false}, {"smallint", []any{3, 1, 2, 1}, true}, {"tinyint", []any{1, 1}, true},
		{"int", []any{1, 2, 2}, true}, {"nvarchar(9)", []any{`"a"`, `"b"`}, true}, {"bigint", []any{2, 1, 4, 3, 2}, true},
	} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (k " + tt.typ + " NOT NULL PRIMARY KEY, n int)")
			folds := 0
			r.ctl.Add(mssqltest.Rule{Kind: "rpc", Text: "LEAD(", Before: func(mssqltest.Event) { folds++ }})
			out := r.start("table: t\nmode: upsert")
			var rows []string
			last := map[any]int{}
			for n, k := range tt.keys {
				rows = append(rows, fmt.Sprintf(`{"k":%v,"n":%d}`, k, n))
				last[k] = n
			}
			out.lands(rows...)
			sum := 0
			for _, n := range last {
				sum += n
			}
			r.want("SELECT COUNT(*), SUM(n) FROM dbo.t", fmt.Sprintf("%d|%d", len(last), sum))
			if (folds == 1) != tt.folded {
				t.Errorf("%s %v: folded %d times", tt.typ, tt.keys, folds)
			}
		})
	}
}
