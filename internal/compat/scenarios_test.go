package compat

import (
	"os"
	"testing"
	"testing/synctest"
)

// TestScenarios runs testdata/*.txt, on the stand-in or on the server of MSSQL_TEST_DSN.
func TestScenarios(t *testing.T) {
	onReal := os.Getenv(dsnVariable) != ""
	for _, s := range loadScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			switch {
			case onReal && s.standIn:
				t.Skip("only on the stand-in: it turns knobs that a real server does not have")
			case !onReal && s.real:
				t.Skip("only on a real server: set " + dsnVariable)
			case onReal:
				play(newRig(t, realDatabase(t.Context(), t, s.database)), s)
				return
			}
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { play(newRig(t, standInDatabase(t.Context(), t, s.database)), s) })
		})
	}
}

// play runs the steps of a scenario.
func play(r *rig, s *scenario) {
	for _, step := range s.steps {
		if err := steps[step.verb](r, step); err != nil {
			r.t.Fatalf("%s:%d: %s %s: %v", s.file, step.line, step.verb, step.rest, err)
		}
		if r.t.Failed() {
			r.t.Fatalf("%s:%d: %s %s", s.file, step.line, step.verb, step.rest)
		}
	}
}
