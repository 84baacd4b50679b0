package cdc

import (
	"fmt"
	"slices"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// TestNetChanges folds rows (lsn, operation, mask, key, value) by their key.
func TestNetChanges(t *testing.T) {
	type row struct {
		lsn  byte
		op   byte
		mask byte
		key  int64
		val  int64
	}
	for _, tc := range []struct {
		name   string
		rows   []row
		option string
		want   []string // lsn operation mask key value
	}{
		{"insert", []row{{1, 2, 3, 1, 10}}, "all", []string{"1 2 NULL 1 10"}},
		{"insert and update is an insert", []row{{1, 2, 3, 1, 10}, {2, 3, 2, 1, 10}, {2, 4, 2, 1, 11}}, "all", []string{"2 2 NULL 1 11"}},
		{"insert and delete cancel", []row{{1, 2, 3, 1, 10}, {2, 1, 3, 1, 10}}, "all", nil},
		{"update", []row{{1, 3, 2, 1, 10}, {1, 4, 2, 1, 11}}, "all", []string{"1 4 NULL 1 11"}},
		{"update with mask", []row{{1, 3, 2, 1, 10}, {1, 4, 2, 1, 11}}, "all with mask", []string{"1 4 02 1 11"}},
		{"masks of updates add up", []row{{1, 4, 1, 1, 10}, {2, 4, 2, 1, 11}}, "all with mask", []string{"2 4 03 1 11"}},
		{"an insert has no mask", []row{{1, 2, 3, 1, 10}}, "all with mask", []string{"1 2 NULL 1 10"}},
		{"update and delete is a delete", []row{{1, 4, 2, 1, 11}, {2, 1, 3, 1, 11}}, "all", []string{"2 1 NULL 1 11"}},
		{"delete and insert is an update", []row{{1, 1, 3, 1, 10}, {2, 2, 3, 1, 12}}, "all", []string{"2 4 NULL 1 12"}},
		{"merge", []row{{1, 2, 3, 1, 10}, {2, 4, 2, 2, 20}, {3, 1, 3, 3, 30}}, "all with merge", []string{"1 5 NULL 1 10", "2 5 NULL 2 20", "3 1 NULL 3 30"}},
		{"a key update is a delete and an insert", []row{{1, 1, 3, 1, 10}, {1, 2, 3, 2, 10}}, "all", []string{"1 1 NULL 1 10", "1 2 NULL 2 10"}},
		{"rows come by their last change", []row{{1, 2, 3, 1, 10}, {2, 2, 3, 2, 20}, {3, 4, 2, 1, 11}}, "all", []string{"2 2 NULL 2 20", "3 2 NULL 1 11"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNetChanges([]int{ctCaptured}, []value.Type{intType})
			for _, r := range tc.rows {
				n.add([]value.Value{
					lsnValue(storage.LSN{9: r.lsn}), {}, {}, value.NewInt(value.Int, int64(r.op)), value.NewVarBinary([]byte{r.mask}),
					value.NewInt(value.Int, r.key), value.NewInt(value.Int, r.val),
				})
			}
			f := &changeFunction{i: &instance{columns: make([]captured, 2)}}
			var got []string
			for i, k := range n.order {
				c := n.byKey[k]
				if op := c.operation(); n.last[k] == i && op != 0 {
					r := f.netRow(c, op, tc.option)
					mask := "NULL"
					if !r[2].IsNull() {
						mask = fmt.Sprintf("%x", r[2].Bytes())
					}
					got = append(got, fmt.Sprintf("%d %d %s %d %d", r[0].Bytes()[9], r[1].Int(), mask, r[3].Int(), r[4].Int()))
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
