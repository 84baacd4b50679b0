package positions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// Inputs are found at any depth, with labels and numbers, in configs whose other components this program does not know.
func TestPipelineInputs(t *testing.T) {
	r := newRig(t)
	r.insert("dbo.t1", 1)
	r.scan()
	t.Setenv("POSITIONS_DSN", r.dsn)
	field := func(key, include string) string {
		return fmt.Sprintf(`{connection_string: "${POSITIONS_DSN}", checkpoint_cache_key: "%s", include: ["%s"], checkpoint_file: "${POSITIONS_NO_DIR:%s}/%s"}`, key, include, r.dir, key)
	}
	r.pipeline = r.write("nested.yaml", `
http: {enabled: false}
input:
  label: all
  broker:
    inputs:
      - label: first
        mssql_cdc: `+field("k1", `dbo\\.t1`)+`
        processors:
          - mapping: 'root = this # mssql_cdc: {}'
      - sequence:
          inputs:
            - resource: second
            - a_component_of_another_build: {mssql: 1}
            - mssql_cdc: `+field("k2", `dbo\\.t2`)+`
output:
  redpanda_of_another_build: {seed_brokers: ["${{NOT_A_VARIABLE}}"]}
`)
	more := r.write("resources.yaml", `
input_resources:
  - label: second
    mssql_cdc: `+field("k3", "dbo.*")+`
`)
	r.must([]string{"list", r.pipeline}, "first: file", "key k1", "key k2", "dbo.t2")
	if out := r.must([]string{"list", r.pipeline, "--label", "first"}, "dbo.t1"); strings.Contains(out, "dbo.t2") {
		t.Errorf("a table that include leaves out is listed:\n%s", out)
	}
	r.must([]string{"list", r.pipeline, "-r", r.dir + "/res*.yaml", "--label", "second", "--json"}, `"input": "second"`, "dbo.[odd.t]")
	r.must([]string{"list", r.pipeline, "--resources=" + more, "--index", "2"}, "second", "key k3")
	set := []string{"set", r.pipeline, "--to", "latest", "--all"}
	r.refuse(set, "choose one mssql_cdc input with --label or --index: 0: label first, at input.broker.inputs.0; 1: no label, at input.broker.inputs.1.sequence.inputs.2")
	r.refuse(append(set, "--label", "third"), "choose one")
	r.refuse(append(set, "--index", "2"), "choose one")
	r.refuse(append(set, "--index", "0", "-r", r.dir+"/none*.yaml"), "there is no such file")
	r.must(append(set, "--index", "1"), "dbo.t2", "written")
	r.must(append(set, "--label", "first"), "dbo.t1", "written")
	if got := r.stored(); len(got) != 1 || got["dbo.t1"].IsZero() {
		t.Errorf("stored under the first: %v", got)
	}
	r.write("none.yaml", "input: {stdin: {}}\n")
	r.refuse([]string{"list", r.dir + "/none.yaml"}, "no mssql_cdc input")
	r.write("bad.yaml", "input: {mssql_cdc: {include: [a]}}\n")
	r.refuse([]string{"list", r.dir + "/bad.yaml"}, "input.mssql_cdc", "connection_string")
	r.write("broken.yaml", "input: [\n")
	r.refuse([]string{"list", r.dir + "/broken.yaml"}, "broken.yaml")
	r.refuse([]string{"list", "--connection", "sqlserver://:0"}, "connection_string")
	r.refuse([]string{"list", r.pipeline, "dbo.t1"}, "no tables")
}

// What is read of the input has the names and defaults that the input has.
func TestInputSpecIsTheInputs(t *testing.T) {
	view, ok := service.GlobalEnvironment().GetInputConfig("mssql_cdc")
	if !ok {
		t.Fatal("there is no mssql_cdc")
	}
	type fields struct {
		Name     string            `json:"name"`
		Type     string            `json:"type"`
		Kind     string            `json:"kind"`
		Default  json.RawMessage   `json:"default"`
		Children []json.RawMessage `json:"children"`
	}
	read := func(text []byte, err error) map[string]fields {
		t.Helper()
		var spec struct {
			Config struct {
				Children []fields `json:"children"`
			} `json:"config"`
		}
		if err := json.Unmarshal(text, &spec); err != nil || len(spec.Config.Children) == 0 {
			t.Fatalf("reading a spec: %v", err)
		}
		out := map[string]fields{}
		for _, f := range spec.Config.Children {
			out[f.Name] = f
		}
		return out
	}
	theirs := read(view.FormatJSON())
	env := service.GlobalEnvironment().Clone()
	if err := env.RegisterBatchInput("positions_fields", inputSpec, func(*service.ParsedConfig, *service.Resources) (service.BatchInput, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	var ours *service.ConfigView
	env.WalkInputs(func(name string, config *service.ConfigView) {
		if name == "positions_fields" {
			ours = config
		}
	})
	for name, f := range read(ours.FormatJSON()) {
		if got := theirs[name]; got.Type != f.Type || got.Kind != f.Kind || string(got.Default) != string(f.Default) {
			t.Errorf("field %s is %s %s %s, and the input's %s %s %s", name, f.Type, f.Kind, f.Default, got.Type, got.Kind, got.Default)
		}
	}
}
