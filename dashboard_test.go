package mssqlcdc

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what the test looks at of a Grafana dashboard.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

// Each metric in config/grafana/dashboard.json is one that the code makes, with the suffix and the labels that its kind has in
// Prometheus, and each one that the code makes is on a panel.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("config/grafana/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{"$__rate_interval": true}
	for _, v := range d.Templating.List {
		variables["$"+v.Name] = true
	}
	made := metricsOfCode(t)
	shown := map[string]bool{}
	metric := regexp.MustCompile(`(mssql_[a-z_]+)(?:\{([^}]*)\})?`)
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is another panel's", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s stands over the edge", p.Title)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$\w+`).FindAllString(target.Expr, -1) {
				if !variables[v] {
					t.Errorf("%s: there is no variable %s", p.Title, v)
				}
			}
			for _, m := range metric.FindAllStringSubmatch(target.Expr, -1) {
				name, bucket := strings.CutSuffix(m[1], "_bucket")
				shown[name] = true
				kind, labels, _ := strings.Cut(made[name], " ")
				if kind == "" {
					t.Errorf("%s: the code makes no metric %s", p.Title, name)
					continue
				}
				if bucket != (kind == "timer") {
					t.Errorf("%s: %s is a %s", p.Title, m[1], kind)
				}
				if counted := regexp.MustCompile(`(rate|increase)\(` + m[1] + `\b`).MatchString(target.Expr); counted != (kind != "gauge") {
					t.Errorf("%s: %s is a %s: %s", p.Title, m[1], kind, target.Expr)
				}
				if strings.Contains(m[2], "table=") && !strings.Contains(labels, "table") {
					t.Errorf("%s: %s has no label table", p.Title, m[1])
				}
			}
		}
	}
	// Positions are numbers without a meaning of their own; the lag is drawn in their place.
	for _, name := range []string{"mssql_cdc_position_lsn", "mssql_cdc_watermark_lsn"} {
		shown[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// The status page names metrics that the code makes.
func TestStatusPageNames(t *testing.T) {
	text, err := os.ReadFile("cmd/mssqlcdc/status.html")
	if err != nil {
		t.Fatal(err)
	}
	made := metricsOfCode(t)
	_, script, _ := strings.Cut(string(text), "function draw(")
	input, output, _ := strings.Cut(script, `now.get("mssql_bulk_")]`)
	for prefix, part := range map[string]string{"mssql_cdc_": input, "mssql_bulk_": output} {
		found := regexp.MustCompile(`\b(?:v|all)\.([a-z_]+)|, "([a-z_]+)"\)`).FindAllStringSubmatch(part, -1)
		if len(found) < 5 {
			t.Errorf("only %d metrics %s were found in the page", len(found), prefix)
		}
		for _, m := range found {
			if name := prefix + m[1] + m[2]; made[name] == "" {
				t.Errorf("the page shows %s, and the code makes no such metric", name)
			}
		}
	}
}
