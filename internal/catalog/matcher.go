package catalog

import (
	"fmt"
	"regexp"
	"strings"
)

// Matcher chooses tables by patterns over "schema.table".
type Matcher struct {
	include []pattern
	exclude []pattern
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

// NewMatcher compiles include and exclude patterns. A pattern is a regular
// expression (RE2) that must match the whole of schema.table as the server
// spells it, unquoted, case included. No include pattern means every table; an
// exclude pattern wins. All malformed patterns are reported together.
func NewMatcher(include, exclude []string) (*Matcher, error) {
	m := &Matcher{}
	var bad []string
	compile := func(field string, texts []string) (out []pattern) {
		for _, text := range texts {
			re, err := regexp.Compile(`\A(?s:` + text + `)\z`)
			if err == nil {
				// The wrapped form may accept what the pattern alone is not, such
				// as an unbalanced parenthesis.
				_, err = regexp.Compile(text)
			}
			switch {
			case text == "":
				bad = append(bad, field+": a pattern is empty")
			case err != nil:
				bad = append(bad, fmt.Sprintf("%s: pattern %q: %v", field, text, err))
			default:
				out = append(out, pattern{text, re})
			}
		}
		return out
	}
	m.include = compile("include", include)
	m.exclude = compile("exclude", exclude)
	if len(bad) > 0 {
		return nil, fmt.Errorf("compiling table patterns: %s", strings.Join(bad, "; "))
	}
	return m, nil
}

// Match tells whether a table is chosen.
func (m *Matcher) Match(n Name) bool {
	text := n.Schema + "." + n.Object
	for _, p := range m.exclude {
		if p.re.MatchString(text) {
			return false
		}
	}
	for _, p := range m.include {
		if p.re.MatchString(text) {
			return true
		}
	}
	return len(m.include) == 0
}

// Unmatched returns the include patterns that none of the tables matches. A
// table that is excluded counts as matched: the user did mean it.
func (m *Matcher) Unmatched(tables []Name) []string {
	var out []string
next:
	for _, p := range m.include {
		for _, n := range tables {
			if p.re.MatchString(n.Schema + "." + n.Object) {
				continue next
			}
		}
		out = append(out, p.text)
	}
	return out
}
