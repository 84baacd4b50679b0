package compat

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scenario is one "== name" of a file.
type scenario struct {
	name     string
	file     string
	standIn  bool // only there
	real     bool // only there
	database databaseOptions
	steps    []step
}

// step is one line and its block.
type step struct {
	line  int
	verb  string
	rest  string
	block string
}

// needs are the lines that may stand before the first step.
func (s *scenario) need(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "only standin":
		s.standIn = true
	case line == "only real":
		s.real = true
	case verb == "collation":
		s.database.collation = rest
	case verb == "timezone":
		s.database.timezone = rest
	case line == "without cdc":
		s.database.withoutCDC = true
	case line == "without snapshot":
		s.database.withoutSnapshot = true
	default:
		return false
	}
	return true
}

// loadScenarios reads every file of testdata.
func loadScenarios(t *testing.T) []*scenario {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding scenarios: %d files, %v", len(files), err)
	}
	var all []*scenario
	for _, f := range files {
		list, err := parseScenarios(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

func parseScenarios(file string) (all []*scenario, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	base := strings.TrimSuffix(filepath.Base(file), ".txt")
	seen := map[string]bool{}
	var s *scenario
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimRight(lines.Text(), " \t")
		bad := func(what string) error { return fmt.Errorf("%s:%d: %s: %q", file, n, what, text) }
		indented := strings.HasPrefix(text, "\t") || strings.HasPrefix(text, " ")
		switch {
		case text == "" && (s == nil || len(s.steps) == 0), strings.HasPrefix(text, "#"):
		case strings.HasPrefix(text, "== "):
			s = &scenario{name: base + "/" + strings.TrimPrefix(text, "== "), file: file}
			if seen[s.name] {
				return nil, bad("a second scenario of this name")
			}
			seen[s.name] = true
			all = append(all, s)
		case s == nil:
			return nil, bad("a line before the first scenario")
		case text == "" || indented:
			if len(s.steps) == 0 {
				return nil, bad("a block without a step")
			}
			s.steps[len(s.steps)-1].block += strings.TrimPrefix(strings.TrimPrefix(text, "\t"), "    ") + "\n"
		case len(s.steps) == 0 && s.need(text):
		default:
			verb, rest, _ := strings.Cut(text, " ")
			if steps[verb] == nil {
				return nil, bad("an unknown step")
			}
			s.steps = append(s.steps, step{line: n, verb: verb, rest: rest})
		}
	}
	return all, lines.Err()
}
