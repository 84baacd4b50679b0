package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// countingOutput counts the messages of each batch, and says when all have come.
type countingOutput struct {
	all chan struct{}

	mu    sync.Mutex
	sizes []int
	left  int
}

func (*countingOutput) Connect(context.Context) error { return nil }
func (*countingOutput) Close(context.Context) error   { return nil }

func (o *countingOutput) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sizes = append(o.sizes, len(batch))
	if o.left -= len(batch); o.left == 0 {
		close(o.all)
	}
	return nil
}

// TestOutputBatching gathers batches of 10,000 at the output over the input's batches of 1,000, with the default
// checkpoint_limit. The output's period is an hour, so the test ends only when every batch fills by its count. What came is
// printed by
//
//	go test -count=1 -v -run TestOutputBatching .
func TestOutputBatching(t *testing.T) {
	const tables, rows, full = 4, 10_000, 10_000
	srv := mssqltest.Start(t, mssqltest.Config{Database: "shop"})
	script := "EXEC sys.sp_cdc_enable_db;\n"
	for i := range tables {
		script += fmt.Sprintf(`CREATE TABLE dbo.t%d (id int NOT NULL PRIMARY KEY, v int NOT NULL);
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't%d', @role_name = NULL, @supports_net_changes = 0;
`, i, i)
	}
	const digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
	for start := 0; start < rows; start += 500 {
		for i := range tables {
			script += fmt.Sprintf("INSERT dbo.t%d SELECT %d + a.n * 100 + b.n * 10 + c.n, a.n FROM (VALUES (0),(1),(2),(3),(4)) AS a (n) CROSS JOIN %s AS b (n) CROSS JOIN %s AS c (n);\n", i, start, digits, digits)
		}
	}
	if err := srv.Exec(script); err != nil {
		t.Fatal(err)
	}
	dsn := inProcess(t, srv, srv.Addr(), srv.ConnString())
	for _, ordering := range []string{"table", "global"} {
		for _, include := range []string{`dbo\.t0`, `.*`} {
			t.Run(ordering+" "+include, func(t *testing.T) {
				out := &countingOutput{all: make(chan struct{}), left: rows}
				if include == ".*" {
					out.left = tables * rows
				}
				batches := out.left / full
				runCounting(t, out, fmt.Sprintf(`
input:
  mssql_cdc: {connection_string: %q, include: [%q], ordering: %s, checkpoint_file: %q}
pipeline: {threads: 1}
output:
  counting:
    batching: {count: %d, period: 1h}
`, dsn, include, ordering, filepath.Join(t.TempDir(), "positions.json"), full))
				t.Logf("batches of %v", out.sizes)
				if len(out.sizes) != batches || out.sizes[0] != full {
					t.Errorf("batches of %v, want %d of %d", out.sizes, batches, full)
				}
			})
		}
	}
}

// runCounting runs a pipeline until the output has everything.
func runCounting(t *testing.T, out *countingOutput, yaml string) {
	t.Helper()
	env := service.GlobalEnvironment().Clone()
	spec := service.NewConfigSpec().Field(service.NewBatchPolicyField("batching"))
	if err := env.RegisterBatchOutput("counting", spec, func(conf *service.ParsedConfig, _ *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		policy, err := conf.FieldBatchPolicy("batching")
		return out, policy, 1, err
	}); err != nil {
		t.Fatal(err)
	}
	b := env.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(yaml); err != nil {
		t.Fatal(err)
	}
	stream, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(context.Background()) }()
	select {
	case <-out.all:
	case <-time.After(orderBound):
		t.Errorf("not everything came in %s", orderBound)
	}
	if err := errors.Join(stream.StopWithin(10*time.Second), <-ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("stopping: %v", err)
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.left != 0 {
		t.Fatalf("%d messages are missing; batches of %v", out.left, out.sizes)
	}
}
