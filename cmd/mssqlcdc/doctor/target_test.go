package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Outputs are examined beside the inputs, at any depth; what is printed mends their tables.
func TestTargets(t *testing.T) {
	r := newRig(t, good)
	r.scan()
	sink := newRig(t, "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NULL);"+bob+"GRANT SELECT ON dbo.t TO bob;")
	sink.as("bob")
	t.Setenv("DOCTOR_SOURCE", r.dsn)
	t.Setenv("DOCTOR_SINK", sink.dsn)
	const outputs = `
output:
  broker:
    outputs:
      - label: all
        mssql_bulk: {connection_string: "${DOCTOR_SINK}", mode: apply}
      - switch:
          cases:
            - output:
                label: one
                mssql_bulk: {connection_string: "${DOCTOR_SINK}", table: dbo.t, mode: upsert}
`
	both := r.write("both.yaml", `input: {label: in, mssql_cdc: {connection_string: "${DOCTOR_SOURCE}"}}`+outputs)
	run := func(args ...string) (*report, int) {
		t.Helper()
		out, code := r.doctor(t.Context(), append(args, "--json")...)
		got := &report{}
		if err := json.Unmarshal([]byte(out), got); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		return got, code
	}
	got, code := run(both)
	if code != 1 || len(got.Inputs) != 1 || len(got.Outputs) != 2 || !got.Outputs[0].OK || got.Outputs[0].Output != "all" || got.Outputs[1].OK || got.Outputs[1].Output != "one" {
		t.Fatalf("exit code %d\n%s", code, text(got))
	}
	if all := got.Outputs[1].Findings; len(all) != 1 || all[0].Check != "rights" || all[0].Table != "dbo.t" || !strings.Contains(all[0].Message, "may not INSERT, UPDATE.") {
		t.Errorf("findings %v", all)
	}
	if got, code := run(both, "--label", "in"); code != 0 || len(got.Outputs) != 0 {
		t.Errorf("one input: exit code %d\n%s", code, text(got))
	}
	sink.exec(got.Outputs[1].Findings[0].SQL)
	if got, code := run(both); code != 0 || !strings.Contains(text(got), "one: database shop, 1 table\n  All is well.") {
		t.Errorf("after the grant: exit code %d\n%s", code, text(got))
	}
	if got, code := run(r.write("out.yaml", "input: {stdin: {}}"+outputs)); code != 0 || len(got.Inputs) != 0 || len(got.Outputs) != 2 {
		t.Errorf("a pipeline without an mssql_cdc input: exit code %d\n%s", code, text(got))
	}
	for bad, want := range map[string]string{"table: a.b.c.d.e": "table", "mode: merge": `mode must be insert, upsert or apply, and is "merge"`} {
		file := r.write("bad.yaml", fmt.Sprintf("input: {stdin: {}}\noutput: {mssql_bulk: {connection_string: '${DOCTOR_SINK}', %s}}", bad))
		if out, code := r.doctor(t.Context(), file); code != exitUsage || !strings.Contains(out, "output.mssql_bulk: ") || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d\n%s", bad, code, out)
		}
	}
}
