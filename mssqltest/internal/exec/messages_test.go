package exec

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// TestMessages checks that every error number in this package has its text, with as many arguments as the text takes.
func TestMessages(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`sqlerr\.New\((\d+)((?:, (?:[^()]|\((?:[^()]|\([^()]*\))*\))+)?)\)`)
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllSubmatch(src, -1) {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			if !sqlerr.Has(int32(n)) {
				t.Errorf("%s: %s: no text", f, m[0])
				continue
			}
			args := 0
			if len(m[2]) > 0 {
				args = topLevelCommas(string(m[2]))
			}
			_, text, _ := sqlerr.Text(int32(n))
			if want := placeholders(text); want != args {
				t.Errorf("%s: %s: %d arguments for %q", f, m[0], args, text)
			}
		}
	}
}

func topLevelCommas(s string) int {
	depth, n, quoted := 0, 0, false
	for _, c := range s {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			n++
		}
	}
	return n
}

func placeholders(s string) int {
	return strings.Count(strings.ReplaceAll(s, "%%", ""), "%")
}
