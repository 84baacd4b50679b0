package cdc

import (
	"slices"
	"testing"
)

func TestSplitNames(t *testing.T) {
	for _, tc := range []struct {
		name, list string
		want       []string
		bad        bool
	}{
		{"plain names", "id,v", []string{"id", "v"}, false},
		{"blanks around", "  id ,  v  ", []string{"id", "v"}, false},
		{"a blank inside a plain name", "my col, v", []string{"my col", "v"}, false},
		{"bracketed", "[id], [my, col]", []string{"id", "my, col"}, false},
		{"doubled bracket", "[a]]b]", []string{"a]b"}, false},
		{"quoted", `"a""b",c`, []string{`a"b`, "c"}, false},
		{"not ascii", "名前,id", []string{"名前", "id"}, false},
		{"empty", "", nil, true},
		{"empty name", "a,,b", nil, true},
		{"trailing comma", "a,", nil, true},
		{"open bracket", "[a", nil, true},
		{"text after a bracket", "[a] b", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := splitNames(tc.list)
			if ok == tc.bad || !slices.Equal(got, tc.want) {
				t.Errorf("splitNames(%q) = %q, %v, want %q", tc.list, got, ok, tc.want)
			}
		})
	}
	if got := quoteName("a]b"); got != "[a]]b]" {
		t.Errorf("quoteName = %s", got)
	}
}
