package mssqlcdc

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/capture"
)

// pages are the documents that people read, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "config/*/*.md", "mssqltest/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = string(text)
		}
	}
	for _, f := range []string{"README.md", "docs/architecture.md", "docs/delivery.md", "docs/limits.md", "docs/glossary.md", "docs/metrics.md", "docs/fields.md", "docs/types.md", "docs/bulk.md", "docs/formats.md"} {
		if out[f] == "" {
			t.Errorf("there is no %s", f)
		}
	}
	return out
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(slugs(all[file]), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	}
}

// slugs are the anchors of a page's headings.
func slugs(text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

// lint says what is wrong with a config. No environment variable is set, so each must have a default.
func lint(t *testing.T, yaml string) (out []string) {
	t.Helper()
	lints, err := service.GlobalEnvironment().FullConfigSchema("", "").NewStreamConfigLinter().
		SetRejectDeprecated(true).
		SetEnvVarLookupFunc(func(context.Context, string) (string, bool) { return "", false }).
		LintYAML([]byte(yaml))
	if err != nil {
		return []string{err.Error()}
	}
	for _, l := range lints {
		out = append(out, l.Error())
	}
	return out
}

func TestConfigsInPages(t *testing.T) {
	found := 0
	for page, text := range pages(t) {
		for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
			found++
			for _, l := range lint(t, m[1]) {
				t.Errorf("%s: %s in\n%s", page, l, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page shows a config")
	}
}

func TestExampleConfigs(t *testing.T) {
	files, err := filepath.Glob("config/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	list, err := os.ReadFile("config/examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lint(t, string(text)) {
			t.Errorf("%s: %s", f, l)
		}
		if !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s does not begin with what it is for", f)
		}
		if !strings.Contains(string(text), "threads: 1") {
			t.Errorf("%s does not keep the order: it has no threads: 1", f)
		}
		if name := filepath.Base(f); !strings.Contains(string(list), "]("+name+")") {
			t.Errorf("config/examples/README.md does not list %s", name)
		}
	}
}

// TestMetricsPage compares docs/metrics.md with the metrics that the code makes: names, kinds and labels.
func TestMetricsPage(t *testing.T) {
	page := pages(t)["docs/metrics.md"]
	row := regexp.MustCompile("(?m)^\\| `(mssql_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]*?) ?\\|")
	told := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		told[m[1]] = m[2] + " " + m[3]
	}
	made := metricsOfCode(t)
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if told[name] != made[name] {
			t.Errorf("docs/metrics.md says of %s %q, the code makes it as %q", name, told[name], made[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(told)) {
		if made[name] == "" {
			t.Errorf("docs/metrics.md has %s, which the code does not make", name)
		}
	}
	for s := capture.Streaming; s <= capture.Gone; s++ {
		if want := fmt.Sprintf("\n| %d | %s |", s, s); !strings.Contains(page, want) {
			t.Errorf("docs/metrics.md lacks the value of mssql_cdc_table_state %q", want)
		}
	}
}

// metricsOfCode finds the metrics that the root package makes, with kind and labels.
func metricsOfCode(t *testing.T) map[string]string {
	t.Helper()
	kinds := map[string]string{"NewCounter": "counter", "NewGauge": "gauge", "NewTimer": "timer"}
	out := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || kinds[fun.Sel.Name] == "" {
				return true
			}
			var args []string
			for _, a := range call.Args {
				lit, ok := a.(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: a metric's name or label is not a literal", file)
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, text)
			}
			out[args[0]] = kinds[fun.Sel.Name] + " " + strings.Join(args[1:], ", ")
			return true
		})
	}
	if len(out) == 0 {
		t.Fatal("no metric was found in the code")
	}
	return out
}

// otherNames are the names with an underscore that pages may use and that are not ours, by where they come from.
var otherNames = map[string][]string{
	"components":             {"mssql_cdc", "mssql_bulk", "mssql_bulk_snapshots"},
	"mssql-python":           {"bulkcopy_arrow"},
	"operations of messages": {"update_before", "update_after", "snapshot_begin", "snapshot_end", "incremental_begin", "incremental_end"},
	"messages of Arrow":      {"first_lsn", "last_lsn"},
	"Debezium":               {"ts_ms", "ts_us", "ts_ns", "event_serial_no"},
	"values of fields":       {"snapshot_and_stream", "snapshot_only", "add_column", "insert_if_complete", "delete_missing"},
	"Redpanda Connect":       {"use_histogram_timing", "microsoft_sql_server_cdc", "sql_insert", "sql_raw", "kafka_franz", "unordered_processing", "multi_header", "timely_nacks_maximum_wait"},
	"Kafka": {"kafka_topic", "kafka_partition", "kafka_offset", "kafka_key", "kafka_timestamp_ms", "kafka_timestamp_unix", "kafka_tombstone_message", "kafka_lag", "redpanda_lag",
		"read_committed", "read_uncommitted", "murmur2_hash", "least_backup", "round_robin"},
	"Benthos": {"parquet_encode", "schema_registry_encode", "schema_metadata", "pipeline.threads", "threads", "http.address"},
	"SQL Server": {
		"sql_variant",
	},
}

// TestNamesInPages finds fields, metadata and metrics in pages that do not exist: every code span that looks like a name must be
// one, and every "field: value" must be accepted by the linter.
func TestNamesInPages(t *testing.T) {
	known := map[string]bool{}
	for _, names := range otherNames {
		for _, n := range names {
			known[n] = true
		}
	}
	top := map[string]bool{}
	var walk func(path string, fields []fieldDoc)
	walk = func(path string, fields []fieldDoc) {
		for _, f := range fields {
			known[f.Name], known[path+f.Name] = true, true
			top[f.Name] = top[f.Name] || path == ""
			walk(path+f.Name+".", f.Children)
		}
	}
	walk("", cdcDoc(t).Config.Children)
	input := maps.Clone(top)
	output := map[string]bool{}
	for _, f := range bulkDoc(t).Config.Children {
		output[f.Name] = true
	}
	walk("", bulkDoc(t).Config.Children)
	kafkaIn, _ := service.GlobalEnvironment().GetInputConfig("redpanda")
	kafkaOut, _ := service.GlobalEnvironment().GetOutputConfig("redpanda")
	for _, c := range []*service.ConfigView{kafkaIn, kafkaOut} {
		ours := maps.Clone(top) // their fields are not ours in "field: value"
		walk("", docOf(t, c).Config.Children)
		top = ours
	}
	for _, n := range slices.Concat(extraMetadata, []string{"operation", "database_schema", "table", "lsn", "commit_ts_ms", "event_id", "key", "schema", "unchanged_columns", "before"}) {
		known[n] = true
	}
	for n := range metricsOfCode(t) {
		known[n] = true
	}
	name := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)+$`)
	pair := regexp.MustCompile(`^([a-z][a-z0-9_.]*): (.+)$`)
	for page, text := range pages(t) {
		if strings.HasPrefix(page, standIn) || page == "CONTRIBUTING.md" {
			continue // they speak of other names
		}
		for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if name.MatchString(m[1]) && !known[m[1]] {
				t.Errorf("%s has `%s`, which is neither a field, nor metadata, nor a metric", page, m[1])
			}
			p := pair.FindStringSubmatch(m[1])
			switch {
			case p == nil:
			case top[p[1]] && p[2] != "…":
				config := "input:\n  mssql_cdc:\n    connection_string: x\n    " + m[1] + "\n"
				if !input[p[1]] || output[p[1]] && strings.HasSuffix(page, "bulk.md") {
					config = "output:\n  mssql_bulk:\n    connection_string: x\n    " + m[1] + "\n"
				}
				wrong := lint(t, config)
				if output[p[1]] && len(wrong) > 0 && len(lint(t, config+"    mode: apply\n")) == 0 {
					wrong = nil // some fields are for one mode
				}
				for _, l := range wrong {
					t.Errorf("%s has `%s`: %s", page, m[1], l)
				}
			case !known[p[1]]:
				t.Errorf("%s has `%s`, and there is no such field", page, m[1])
			}
		}
	}
}
