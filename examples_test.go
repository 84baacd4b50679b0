package mssqlcdc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// exampleBound is how long an example may take to give out the changes that are there.
const exampleBound = 30 * time.Second

// exampleWorld is where an example runs: servers with the tables of seed.sql, and the environment that leads to them.
type exampleWorld struct {
	srv *mssqltest.Server
	env map[string]string
}

// exampleChecks says of each example how many messages it makes of the changes of seed.sql, and what they look like.
var exampleChecks = map[string]struct {
	messages int
	check    func(t *testing.T, w *exampleWorld, run func(n int) []got, all []got)
}{
	"cdc-to-stdout.yaml": {7, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		wantField(t, all, "table", map[string]int{"dbo.customers": 4, "dbo.orders": 3})
		wantField(t, all, "operation", map[string]int{"insert": 3, "update": 2, "delete": 2})
		orders := slices.DeleteFunc(slices.Clone(all), func(g got) bool { return g.field("table") != "dbo.orders" })
		if want := []string{"insert", "update", "delete"}; !slices.Equal(texts(orders, "operation"), want) {
			t.Errorf("the changes of dbo.orders are %q, want %q", texts(orders, "operation"), want)
		}
		for _, g := range all {
			ms, err := strconv.ParseInt(g.field("committed"), 10, 64)
			if err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Hour {
				t.Errorf("commit time %q: %v", g.field("committed"), err)
			}
		}
		if !strings.Contains(all[0].body, `"row":`) {
			t.Errorf("no row in %s", all[0].body)
		}
	}},
	"cdc-global-order.yaml": {7, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		if ids := texts(all, "event_id"); !slices.IsSorted(ids) {
			t.Errorf("not in commit order: %q", ids)
		}
		if want := []string{"customers", "customers", "orders", "customers", "orders", "orders", "customers"}; !slices.Equal(texts(all, "table"), want) {
			t.Errorf("tables %q, want %q", texts(all, "table"), want)
		}
	}},
	"cdc-checkpoint-file.yaml": {3, func(t *testing.T, w *exampleWorld, run func(int) []got, all []got) {
		if want := []string{"insert", "update", "delete"}; !slices.Equal(texts(all, "operation"), want) {
			t.Errorf("operations %q, want %q", texts(all, "operation"), want)
		}
		if _, err := os.Stat(w.env["POSITIONS_FILE"]); err != nil {
			t.Fatal(err)
		}
		if err := w.srv.Exec("INSERT dbo.orders (id, customer_id, total, state) VALUES (2, 1, 1, 'placed')"); err != nil {
			t.Fatal(err)
		}
		if again := run(1); again[0].field("operation") != "insert" || !strings.Contains(again[0].body, `"id":2`) {
			t.Errorf("the second run began with %s", again[0].body)
		}
	}},
	"cdc-masking.yaml": {7, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		masked, plain := 0, 0
		for _, g := range all {
			if strings.Contains(g.body, "ana@example.com") || strings.Contains(g.body, "Ana") || strings.Contains(g.body, "letters") {
				t.Errorf("not masked: %s", g.body)
			}
			if len(g.field("email")) == 64 && g.field("name") == "A." {
				masked++
			}
			if g.field("id") == "9007199254740993" && g.field("total") == "32.90" && !strings.Contains(g.body, "name") && !strings.Contains(g.body, "email") {
				plain++
			}
		}
		if masked != 2 || plain != 3 {
			t.Errorf("%d rows with a hashed address, want 2; %d orders with all digits, want 3: %v", masked, plain, all)
		}
	}},
	"cdc-before-image.yaml": {7, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		seen := 0
		for _, g := range all {
			if g.field("operation") != "update" || g.field("table") != "orders" {
				continue
			}
			seen++
			var m struct {
				Before, After struct {
					ID    json.Number
					State string
				}
				Changed []string
			}
			if err := json.Unmarshal([]byte(g.body), &m); err != nil {
				t.Fatal(err)
			}
			if m.Before.State != "placed" || m.After.State != "paid" || m.Before.ID != "9007199254740993" || !slices.Equal(m.Changed, []string{"state"}) {
				t.Errorf("the update of the order is %s", g.body)
			}
		}
		if seen != 1 {
			t.Errorf("%d updates of the order", seen)
		}
	}},
	"cdc-tombstones.yaml": {9, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		stones := 0
		for i, g := range all {
			if g.body != "" {
				continue
			}
			stones++
			if g.meta["message_key"] == "" || i == 0 || all[i-1].meta["operation"] != "delete" || all[i-1].meta["message_key"] != g.meta["message_key"] {
				t.Errorf("message %d has no body and metadata %v", i, g.meta)
			}
		}
		if stones != 2 {
			t.Errorf("%d messages without a body, want 2", stones)
		}
	}},
	"cdc-arrow.yaml": {2, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) { // one for each table
		have := map[string]int{}
		for _, g := range all {
			records, err := body.ReadArrow([]byte(g.body), nil)
			if err != nil || len(records) != 1 {
				t.Fatalf("%d record batches: %v", len(records), err)
			}
			operations := records[0].Column(records[0].Schema().FieldIndices("__$operation")[0])
			for i := range operations.Len() {
				have[g.meta["table"]+" "+operations.ValueStr(i)]++
			}
			if !strings.HasPrefix(g.meta["path"], "dbo."+g.meta["table"]+"/0x") {
				t.Errorf("the path is %s", g.meta["path"])
			}
			records[0].Release()
		}
		if want := map[string]int{"customers insert": 2, "customers update": 1, "customers delete": 1, "orders insert": 1, "orders update": 1, "orders delete": 1}; !maps.Equal(have, want) {
			t.Errorf("rows %v, want %v", have, want)
		}
	}},
	"cdc-debezium.yaml": {9, func(t *testing.T, _ *exampleWorld, _ func(int) []got, all []got) {
		wantField(t, all, "op", map[string]int{"c": 3, "u": 2, "d": 2, "": 2})
		for _, g := range all {
			if g.meta["message_key"] == "" || g.body != "" && (!strings.Contains(g.body, `"name":"shop"`) || !strings.HasPrefix(g.meta["topic"], "shop.dbo.")) {
				t.Errorf("%s with metadata %v", g.body, g.meta)
			}
		}
	}},
	"cdc-signals.yaml": {7, func(t *testing.T, w *exampleWorld, run func(int) []got, all []got) {
		wantField(t, all, "operation", map[string]int{"insert": 3, "update": 2, "delete": 2})
		if err := w.srv.Exec(`INSERT dbo.mssql_cdc_signals VALUES ('1', 'execute-snapshot', '{"data-collections": ["dbo.customers"]}')`); err != nil {
			t.Fatal(err)
		}
		again := run(3)
		wantTexts(t, "operations after the signal", texts(again, "operation"), "incremental_begin", "read", "incremental_end")
		if !strings.Contains(again[1].body, `"id":1`) || again[1].field("event_id") <= all[6].field("event_id") {
			t.Errorf("the row after the signal is %s", again[1].body)
		}
	}},
	"cdc-read-replica.yaml": {7, func(t *testing.T, w *exampleWorld, _ func(int) []got, _ []got) {
		rows, err := w.srv.Query("SELECT COUNT(*) FROM sys.tables WHERE name = N'mssql_cdc_checkpoint'")
		if err != nil {
			t.Fatal(err)
		}
		if rows[0][0] != "0" {
			t.Error("positions are kept in the source database")
		}
	}},
}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("config/examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name := range exampleChecks {
		if !slices.Contains(files, filepath.Join("config/examples", name)) {
			t.Errorf("%s is checked and does not exist", name)
		}
	}
	for _, file := range files {
		if exampleTables[filepath.Base(file)].query != "" {
			continue // TestBulkExamples
		}
		if brokerExamples[filepath.Base(file)] != nil {
			continue // TestBrokerExamples
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c, ok := exampleChecks[filepath.Base(file)]
			if !ok {
				t.Fatal("there is no check of this example")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newExampleWorld(t)
			run := func(n int) []got { return runExample(t, w, string(text), n) }
			c.check(t, w, run, run(c.messages))
		})
	}
}

func newExampleWorld(t *testing.T) *exampleWorld {
	t.Helper()
	seed, err := os.ReadFile("config/examples/seed.sql")
	if err != nil {
		t.Fatal(err)
	}
	w := &exampleWorld{srv: mssqltest.Start(t, mssqltest.Config{Database: "shop"})}
	if err := w.srv.Exec(string(seed)); err != nil {
		t.Fatal(err)
	}
	if err := w.srv.Control().CaptureScan(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	replica, err := w.srv.AddReplica("replica", "127.0.0.1:1434")
	if err != nil {
		t.Fatal(err)
	}
	other := mssqltest.Start(t, mssqltest.Config{Database: "positions"})
	w.env = map[string]string{
		"MSSQL_DSN":      inProcess(t, w.srv, w.srv.Addr(), w.srv.ConnString()),
		"REPLICA_DSN":    inProcess(t, w.srv, replica.Addr(), replica.ConnString("ApplicationIntent=ReadOnly")),
		"POSITIONS_DSN":  inProcess(t, other, other.Addr(), other.ConnString()),
		"POSITIONS_FILE": filepath.Join(t.TempDir(), "positions.json"),
	}
	return w
}

// inProcess gives a listener in memory a host name of its own, and returns the connection string with it.
func inProcess(t *testing.T, srv *mssqltest.Server, addr, dsn string) string {
	t.Helper()
	host := strings.ToLower(strings.NewReplacer("/", "-", ".", "-").Replace(t.Name())) + "-" + fmt.Sprintf("%p", srv)[2:] + "-" + addr[strings.LastIndex(addr, ":")+1:]
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) }))
	return strings.Replace(dsn, addr, host, 1)
}

// got is a message that an example gave to its output.
type got struct {
	body string
	meta map[string]string
}

// field is a top-level field of a JSON body, as text.
func (g got) field(name string) string {
	d := json.NewDecoder(strings.NewReader(g.body))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil || m[name] == nil {
		return ""
	}
	return fmt.Sprint(m[name])
}

func texts(all []got, field string) []string {
	out := make([]string, len(all))
	for i, g := range all {
		out[i] = g.field(field)
	}
	return out
}

// wantField compares how often each value of a field came.
func wantField(t *testing.T, all []got, field string, want map[string]int) {
	t.Helper()
	have := map[string]int{}
	for _, v := range texts(all, field) {
		have[v]++
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("field %s: %v, want %v", field, have, want)
	}
}

// runExample runs a pipeline with its output replaced, until n messages came, and stops it.
func runExample(t *testing.T, w *exampleWorld, yaml string, n int) []got {
	t.Helper()
	messages := make(chan got)
	stopped := make(chan struct{})
	env := service.GlobalEnvironment().Clone()
	err := env.RegisterBatchOutput("collect", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		return collector{messages, stopped}, service.BatchPolicy{}, 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := env.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	b.SetEnvVarLookupFunc(func(name string) (string, bool) {
		v, ok := w.env[name]
		return v, ok
	})
	if err := b.SetYAML(withOutput(t, yaml, "  collect: {}\n")); err != nil {
		t.Fatal(err)
	}
	stream, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(context.Background()) }()
	var all []got
	timeout := time.NewTimer(exampleBound)
	defer timeout.Stop()
collect:
	for len(all) < n {
		select {
		case g := <-messages:
			all = append(all, g)
		case <-timeout.C:
			t.Errorf("only %d of %d messages came in %s", len(all), n, exampleBound)
			break collect
		case err := <-ended:
			t.Errorf("the pipeline ended after %d of %d messages: %v", len(all), n, err)
			ended <- err
			break collect
		}
	}
	close(stopped)
	if err := stream.StopWithin(10 * time.Second); err != nil {
		t.Errorf("stopping: %v", err)
	}
	<-ended
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// withOutput replaces the section output of a config.
func withOutput(t *testing.T, yaml, output string) string {
	t.Helper()
	before, rest, ok := strings.Cut(yaml, "\noutput:")
	if !ok {
		t.Fatal("the example has no output")
	}
	for line := range strings.Lines(rest[strings.Index(rest, "\n")+1:]) {
		if line[0] != ' ' && line[0] != '\n' {
			t.Fatalf("the output is not the last section: %q follows", line)
		}
	}
	return before + "\noutput:\n" + output
}

// collector is an output that hands every message to the test.
type collector struct {
	messages chan<- got
	stopped  <-chan struct{}
}

func (collector) Connect(context.Context) error { return nil }

func (c collector) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	for _, m := range batch {
		body, err := m.AsBytes()
		if err != nil {
			return err
		}
		g := got{body: string(body), meta: map[string]string{}}
		if err := m.MetaWalk(func(k, v string) error { g.meta[k] = v; return nil }); err != nil {
			return err
		}
		select {
		case c.messages <- g:
		case <-c.stopped:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (collector) Close(context.Context) error { return nil }
