package doctor

import (
	"encoding/json"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc"
)

// The fields that are read of mssql_bulk are those that it has, with its defaults.
func TestOutputFields(t *testing.T) {
	type fields struct {
		Name, Type, Kind string
		Default          json.RawMessage
	}
	env := service.GlobalEnvironment().Clone()
	if err := env.RegisterOutput("doctor_fields", outputSpec, func(*service.ParsedConfig, *service.Resources) (service.Output, int, error) { return nil, 0, nil }); err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]fields{}
	env.WalkOutputs(func(name string, config *service.ConfigView) {
		if name != "doctor_fields" && name != "mssql_bulk" {
			return
		}
		text, err := config.FormatJSON()
		if err != nil {
			t.Fatal(err)
		}
		var spec struct {
			Config struct {
				Children []fields `json:"children"`
			} `json:"config"`
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		all[name] = map[string]fields{}
		for _, f := range spec.Config.Children {
			all[name][f.Name] = f
		}
	})
	if len(all["doctor_fields"]) < 6 {
		t.Fatalf("the fields are %v", all["doctor_fields"])
	}
	for name, f := range all["doctor_fields"] {
		if got := all["mssql_bulk"][name]; got.Type != f.Type || got.Kind != f.Kind || string(got.Default) != string(f.Default) {
			t.Errorf("field %s is %s %s %s, and the output's %s %s %s", name, f.Type, f.Kind, f.Default, got.Type, got.Kind, got.Default)
		}
	}
}
