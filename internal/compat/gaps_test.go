package compat

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// entryScenario is the name at the end of an entry of UNSUPPORTED.md.
var entryScenario = regexp.MustCompile(`\[([^\]]+)\]$`)

// TestGapsHaveScenarios: each entry of mssqltest/UNSUPPORTED.md names a scenario for real servers alone, and each of those is
// named once.
func TestGapsHaveScenarios(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "mssqltest", "UNSUPPORTED.md"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseScenarios(filepath.Join("testdata", "gaps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for _, s := range list {
		if !s.real {
			t.Errorf("%s is not for real servers alone", s.name)
		}
		named[strings.TrimPrefix(s.name, "gaps/")] = 0
	}
	entries := 0
	for _, e := range entriesOf(string(text)) {
		entries++
		m := entryScenario.FindStringSubmatch(e)
		if m == nil {
			t.Errorf("this entry names no scenario: %.100s", e)
			continue
		}
		if _, ok := named[m[1]]; !ok {
			t.Errorf("there is no scenario %q in gaps.txt: %.100s", m[1], e)
		}
		named[m[1]]++
	}
	if entries < 40 {
		t.Errorf("%d entries were found", entries)
	}
	for name, n := range named {
		if n != 1 {
			t.Errorf("scenario %q is named %d times", name, n)
		}
	}
}

// entriesOf joins the lines of each entry of a list.
func entriesOf(text string) []string {
	var out []string
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "- "):
			out, open = append(out, line), true
		case open && strings.HasPrefix(line, "  "):
			out[len(out)-1] += " " + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	return out
}
