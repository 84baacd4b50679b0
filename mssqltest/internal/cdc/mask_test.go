package cdc

import (
	"encoding/hex"
	"testing"
)

func TestMask(t *testing.T) {
	for _, tc := range []struct {
		name    string
		columns int
		set     []int
		full    string
		want    string
	}{
		{"one column", 1, []int{1}, "01", "01"},
		{"eight columns fill a byte", 8, []int{1, 8}, "ff", "81"},
		{"nine columns need two bytes", 9, []int{9}, "01ff", "0100"},
		{"ordinal one is the low end", 9, []int{1}, "01ff", "0001"},
		{"seventeen columns", 17, []int{1, 8, 9, 16, 17}, "01ffff", "018181"},
		{"sixty-five columns", 65, []int{2, 64, 65}, "01ffffffffffffffff", "018000000000000002"},
		{"ordinals outside are ignored", 9, []int{0, -1, 17, 300}, "01ff", "0000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := hex.EncodeToString(FullMask(tc.columns)); got != tc.full {
				t.Errorf("FullMask(%d) = %s, want %s", tc.columns, got, tc.full)
			}
			m := NewMask(tc.columns)
			for _, o := range tc.set {
				m.Set(o)
			}
			if got := hex.EncodeToString(m); got != tc.want {
				t.Errorf("mask of %v in %d columns = %s, want %s", tc.set, tc.columns, got, tc.want)
			}
			set := map[int]bool{}
			for _, o := range tc.set {
				set[o] = o >= 1 && o <= tc.columns
			}
			for o := -1; o <= tc.columns+8; o++ {
				if m.Has(o) != set[o] {
					t.Errorf("Has(%d) = %v, want %v", o, m.Has(o), set[o])
				}
			}
		})
	}
}

func TestMaskOr(t *testing.T) {
	m := Mask{0x01, 0x80}
	m.Or(Mask{0x00, 0x01})
	if got := hex.EncodeToString(m); got != "0181" {
		t.Errorf("or of two masks = %s, want 0181", got)
	}
	short := Mask{0x02}
	short.Or(Mask{0x01, 0x01})
	if got := hex.EncodeToString(short); got != "03" {
		t.Errorf("or with a longer mask = %s, want 03: masks are aligned at their low end", got)
	}
}
