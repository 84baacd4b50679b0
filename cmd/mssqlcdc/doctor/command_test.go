package doctor

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// twoInputs is a pipeline with a database that is well, and one that is not.
func twoInputs(t *testing.T) (r *rig, file string) {
	t.Helper()
	well := newRig(t, good)
	well.scan()
	const o = "CREATE TABLE sales.[it's] (id int NOT NULL CONSTRAINT pk PRIMARY KEY, v int NULL, w int NULL);"
	r = newRig(t, "CREATE SCHEMA sales")
	r.exec(o + bob + "EXEC sys.sp_cdc_enable_db; GRANT VIEW DEFINITION TO bob; GRANT SELECT ON SCHEMA::cdc TO bob;" +
		"EXEC sys.sp_cdc_enable_table @source_schema = N'sales', @source_name = N'it''s', @capture_instance = N'its', @role_name = N'readers', @captured_column_list = N'id, v', @supports_net_changes = 1;")
	r.scan()
	r.as("bob")
	t.Setenv("DOCTOR_WELL", well.dsn)
	t.Setenv("DOCTOR_ILL", r.dsn)
	return r, r.write("two.yaml", `
input:
  broker:
    inputs:
      - label: well
        mssql_cdc: {connection_string: "${DOCTOR_WELL}"}
      - mssql_cdc: {connection_string: "${DOCTOR_ILL}", include: ["sales\\..*", "dbo\\.o\\$1"]}
output: {drop: {}}
`)
}

func TestReport(t *testing.T) {
	r, file := twoInputs(t)
	for name, args := range map[string][]string{"report.json": {file, "--json"}, "report.txt": {file}} {
		t.Run(name, func(t *testing.T) {
			got, code := r.doctor(t.Context(), args...)
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("it prints\n%s\nand %s is\n%s", got, golden, want)
			}
		})
	}
	if out, code := r.doctor(t.Context(), file, "--label", "well"); code != 0 || !strings.Contains(out, "well: database shop, 1 table\n") || strings.Contains(out, "sales") {
		t.Errorf("the input that is well: exit code %d\n%s", code, out)
	}
	if out, code := r.doctor(t.Context(), "--index=1", file); code != 1 || !strings.Contains(out, "sales") || strings.Contains(out, "well") {
		t.Errorf("the other: exit code %d\n%s", code, out)
	}
}

func TestUsage(t *testing.T) {
	r, file := twoInputs(t)
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing to examine", nil, "name a pipeline's YAML"},
		{"both", []string{file, "--connection", r.dsn}, "give one of them"},
		{"two pipelines", []string{file, file}, "one pipeline"},
		{"tables beside a pipeline", []string{file, "--include", "a"}, "go with --connection"},
		{"no such file", []string{file + ".no"}, "two.yaml.no"},
		{"no such input", []string{file, "--label", "x"}, "0: label well, at input.broker.inputs.0; 1: no label"},
		{"no such flag", []string{file, "--labell", "x"}, "there is no flag --labell"},
		{"no such flag before the file", []string{"--labell", "x", file}, "labell"},
		{"a flag without a value", []string{file, "--label"}, "needs a value"},
		{"no time", []string{file, "--timeout", "0s"}, "--timeout"},
		{"a timeout that is none", []string{file, "--timeout", "soon"}, "flag --timeout"},
		{"a pattern that is none", []string{"--connection", r.dsn, "--include", "("}, "include"},
		{"a connection string that is none", []string{"--connection", "sqlserver://sa:" + password + "%@x"}, "URL is malformed"},
		{"a pipeline without an input", []string{r.write("a.yaml", "input: {stdin: {}}")}, "no mssql_cdc input"},
		{"an input without a server", []string{r.write("b.yaml", "input: {mssql_cdc: {include: [a]}}")}, "connection_string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if out, code := r.doctor(t.Context(), tt.args...); code != exitUsage || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, want 2 and %q in\n%s", code, tt.want, out)
			}
		})
	}
}

// A server that does not answer keeps neither doctor beyond its timeout nor the other inputs from being examined.
func TestTimeout(t *testing.T) {
	r, _ := twoInputs(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing is sent on it
	file := r.write("silent.yaml", fmt.Sprintf("input: {broker: {inputs: [{mssql_cdc: {connection_string: 'sqlserver://sa:%s@%s?database=shop'}}, {mssql_cdc: {connection_string: '${DOCTOR_WELL}'}}]}}", password, l.Addr()))
	start := time.Now()
	out, code := r.doctor(t.Context(), file, "--timeout", "1s")
	if code != 1 || !strings.Contains(out, "did not come to an end within 1s") || !strings.Contains(out, "the server did not answer in time") || strings.Count(out, "All is well.") != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if out, code := r.doctor(ctx, file); code != 1 || !strings.Contains(out, "The checks were interrupted.") {
		t.Errorf("interrupted: exit code %d\n%s", code, out)
	}
}
