package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// ofConnect are components that Redpanda Connect brings and this build does not have.
var ofConnect = []string{"redpanda"}

func uses(text, component string) bool { return strings.Contains(text, " "+component+":") }

// TestExamples lints every example with what is built here. Those with components that only Redpanda Connect has must fail, and for
// no other reason.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../config/examples/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	linter := service.GlobalEnvironment().FullConfigSchema("", "").NewStreamConfigLinter().
		SetRejectDeprecated(true).
		SetEnvVarLookupFunc(func(context.Context, string) (string, bool) { return "", false })
	here := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		missing := ""
		for _, c := range ofConnect {
			if uses(string(text), c) {
				missing = c
			}
		}
		lints, err := linter.LintYAML(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if missing == "" {
			here++
		}
		for _, l := range lints {
			if missing == "" || !strings.Contains(l.Error(), missing) {
				t.Errorf("%s: %v", file, l)
			}
		}
		if missing != "" && len(lints) == 0 {
			t.Errorf("%s needs %s, which this build does not have, and nothing says so", file, missing)
		}
	}
	t.Logf("%d of %d examples need nothing else; the others use %v", here, len(files), ofConnect)
	if here < 8 {
		t.Errorf("only %d examples parse here", here)
	}
}
