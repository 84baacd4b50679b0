package mssqlcdc

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// registration is a call that makes a component known under a name.
var registration = regexp.MustCompile(`service\.MustRegister(?:Batch)?(Input|Output)\(\s*"([a-z_0-9]+)"`)

// TestNamesDoNotClashWithConnect compares what importing this package registers with the components of Redpanda Connect: a name
// that is taken twice ends a process at its start.
func TestNamesDoNotClashWithConnect(t *testing.T) {
	text, err := os.ReadFile("testdata/connect-components.txt")
	if err != nil {
		t.Fatal(err)
	}
	taken := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(taken) < 150 || !slices.Contains(taken, "input microsoft_sql_server_cdc") || !slices.Contains(taken, "output redpanda") {
		t.Fatalf("the list of Connect's components has %d lines", len(taken))
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range registration.FindAllStringSubmatch(string(source), -1) {
			ours = append(ours, strings.ToLower(m[1])+" "+m[2])
		}
	}
	slices.Sort(ours)
	if want := []string{"input mssql_cdc", "output mssql_bulk"}; !slices.Equal(ours, want) {
		t.Errorf("registered are %q, want %q", ours, want)
	}
	for _, name := range ours {
		if slices.Contains(taken, name) {
			t.Errorf("Redpanda Connect has an %s, too", name)
		}
	}
}

// connectConfig has every field of Connect's SQL Server input.
const connectConfig = `input:
  microsoft_sql_server_cdc:
    connection_string: sqlserver://user:password@host?database=shop
    stream_snapshot: true
    max_parallel_snapshot_tables: 2
    snapshot_max_batch_size: 5000
    include: [ 'dbo\.orders', 'dbo\.customers' ]
    exclude: [ 'dbo\.old_.*' ]
    checkpoint_cache: positions
    checkpoint_cache_table_name: dbo.positions
    checkpoint_cache_connection_string: ""
    checkpoint_cache_key: shop
    checkpoint_limit: 1024
    stream_backoff_interval: 5s
    auto_replay_nacks: true
    batching: { count: 100, period: 1s }
pipeline:
  threads: 1
output:
  stdout: {}
cache_resources:
  - label: positions
    memory: {}
`

// TestAConfigOfConnectRuns makes the change that docs/from-redpanda.md asks for.
func TestAConfigOfConnectRuns(t *testing.T) {
	ours := strings.Replace(connectConfig, "  microsoft_sql_server_cdc:\n", "  mssql_cdc:\n    before_image: message\n", 1)
	for _, l := range lint(t, ours) {
		if !strings.Contains(l, "stream_backoff_interval") { // deprecated, and taken all the same
			t.Error(l)
		}
	}
}
