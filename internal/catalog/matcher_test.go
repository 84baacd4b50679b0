package catalog

import (
	"slices"
	"strings"
	"testing"
)

func TestMatcher(t *testing.T) {
	for _, tt := range []struct {
		name             string
		include, exclude []string
		table            Name
		want             bool
	}{
		{"no patterns", nil, nil, Name{"dbo", "a"}, true},
		{"exact", []string{`dbo\.orders`}, nil, Name{"dbo", "orders"}, true},
		{"a pattern is not a prefix", []string{`dbo.products`}, nil, Name{"dbo", "products_old"}, false},
		{"a pattern is not a suffix", []string{`dbo.products`}, nil, Name{"xdbo", "products"}, false},
		{"alternatives are anchored too", []string{`dbo.a|dbo.b`}, nil, Name{"dbo", "bc"}, false},
		{"case counts", []string{`dbo.Orders`}, nil, Name{"dbo", "orders"}, false},
		{"case can be waived", []string{`(?i)dbo.Orders`}, nil, Name{"dbo", "orders"}, true},
		{"exclude wins", []string{`dbo\..*`}, []string{`dbo.secret`}, Name{"dbo", "secret"}, false},
		{"exclude alone", nil, []string{`dbo.secret`}, Name{"dbo", "other"}, true},
		{"odd names", []string{`my schema\.Or'der \]\$1\.x`}, nil, Name{"my schema", "Or'der ]$1.x"}, true},
		{"a line break in a name", []string{`dbo\.a.b`}, nil, Name{"dbo", "a\nb"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := NewMatcher(tt.include, tt.exclude)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Match(tt.table); got != tt.want {
				t.Errorf("include %q, exclude %q: Match(%s) = %v, want %v", tt.include, tt.exclude, tt.table, got, tt.want)
			}
		})
	}
}

func TestMatcherReportsAllMalformedPatterns(t *testing.T) {
	_, err := NewMatcher([]string{"a(", "", "a)(b"}, []string{"["})
	if err == nil {
		t.Fatal("NewMatcher accepted malformed patterns")
	}
	for _, want := range []string{`"a("`, "empty", `"a)(b"`, `exclude: pattern "["`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("NewMatcher: %v, want it to name %s", err, want)
		}
	}
}

func TestUnmatched(t *testing.T) {
	m, err := NewMatcher([]string{`dbo\.a`, `dbo\.zzz`}, []string{`dbo\.a`})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Unmatched([]Name{{"dbo", "a"}}); !slices.Equal(got, []string{`dbo\.zzz`}) {
		t.Errorf("Unmatched = %q", got)
	}
}
