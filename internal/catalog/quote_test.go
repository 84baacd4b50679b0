package catalog

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "orders", "[orders]"},
		{"closing bracket", "Or'der ]$1.x", "[Or'der ]]$1.x]"},
		{"only brackets", "]]", "[]]]]]"},
		{"opening bracket", "[a", "[[a]"},
		{"not ASCII", "名前", "[名前]"},
		{"empty", "", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Quote(tt.in); got != tt.want {
				t.Errorf("Quote(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// FuzzQuote reads a quoted name back as the server's scanner does: it begins
// with a bracket, a closing bracket ends it unless it is doubled, and nothing is
// left over.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "]", "]]", "a]b", "[", "a].[b]; DROP TABLE x --", "'", "\x00", "名"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		q := Quote(name)
		if q[0] != '[' {
			t.Fatalf("Quote(%q) = %q", name, q)
		}
		var b strings.Builder
		i := 1
		for ; i < len(q); i++ {
			if q[i] == ']' {
				if i+1 < len(q) && q[i+1] == ']' {
					i++
				} else {
					break
				}
			}
			b.WriteByte(q[i])
		}
		if i != len(q)-1 {
			t.Errorf("Quote(%q) = %q ends at %d, with %q left over", name, q, i, q[i+1:])
		}
		if b.String() != name {
			t.Errorf("Quote(%q) reads back as %q", name, b.String())
		}
	})
}

func TestParseName(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Name
		err      bool
	}{
		{"two parts", "dbo.orders", Name{"dbo", "orders"}, false},
		{"one part", "orders", Name{"dbo", "orders"}, false},
		{"brackets", "[my schema].[Or'der ]]$1.x]", Name{"my schema", "Or'der ]$1.x"}, false},
		{"quotes", `"a""b".c`, Name{`a"b`, "c"}, false},
		{"dot in brackets", "[a.b]", Name{"dbo", "a.b"}, false},
		{"three parts", "a.b.c", Name{}, true},
		{"empty", "", Name{}, true},
		{"empty part", "a.", Name{}, true},
		{"empty brackets", "a.[]", Name{}, true},
		{"not closed", "[a", Name{}, true},
		{"text after brackets", "[a]b", Name{}, true},
		{"bracket inside", "a]b", Name{}, true},
		{"too long", strings.Repeat("x", 129), Name{}, true},
		{"just long enough", strings.Repeat("名", 128), Name{"dbo", strings.Repeat("名", 128)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseName(tt.in)
			if (err != nil) != tt.err || got != tt.want {
				t.Errorf("ParseName(%q) = %+v, %v, want %+v, error %v", tt.in, got, err, tt.want, tt.err)
			}
		})
	}
}

func FuzzNameRoundTrip(f *testing.F) {
	f.Add("dbo", "orders")
	f.Add("my schema", "a.b]c\"")
	f.Add("x ", " y")
	f.Fuzz(func(t *testing.T, schema, object string) {
		n := Name{schema, object}
		if schema == "" || object == "" || len(schema) > maxName || len(object) > maxName {
			t.Skip()
		}
		for _, text := range []string{n.String(), n.Quoted()} {
			got, err := ParseName(text)
			if err != nil || got != n {
				t.Errorf("ParseName(%q) = %+v, %v, want %+v", text, got, err, n)
			}
		}
	})
}

func TestQuoteList(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "[a]": {"a"}, "[a], [b]]c], [ ]": {"a", "b]c", " "}} {
		if got := QuoteList(names); got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
	}
}
