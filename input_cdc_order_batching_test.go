package mssqlcdc

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// countingOutput counts the messages of each batch, and says when enough batches have come.
type countingOutput struct {
	want   int
	enough chan struct{}

	mu    sync.Mutex
	sizes []int
}

func (*countingOutput) Connect(context.Context) error { return nil }
func (*countingOutput) Close(context.Context) error   { return nil }

func (o *countingOutput) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sizes = append(o.sizes, len(batch))
	if len(o.sizes) == o.want {
		close(o.enough)
	}
	return nil
}

// TestOutputBatching gathers batches of 10,000 at the output over the input's batches of 1,000, with the default
// checkpoint_limit. The output's period is an hour, so the test ends only when the batches fill by their count. What came is
// printed by
//
//	go test -count=1 -v -run TestOutputBatching .
func TestOutputBatching(t *testing.T) {
	const tables, rows, full = 4, 10_000, 10_000
	srv := mssqltest.Start(t, mssqltest.Config{Database: "shop"})
	script := "EXEC sys.sp_cdc_enable_db;\n"
	for i := range tables {
		script += fmt.Sprintf(`CREATE TABLE dbo.t%d (id int NOT NULL PRIMARY KEY, v int NOT NULL);
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't%d', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
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
				out := &countingOutput{enough: make(chan struct{}), want: 1}
				if include == ".*" {
					out.want = 3 // a batch of the output is full when an input batch takes it to 10,000 or above
				}
				runCounting(t, out, fmt.Sprintf(`
input:
  mssql_cdc: {connection_string: %q, include: [%q], ordering: %s, checkpoint_file: %q}
pipeline: {threads: 1}
output:
  counting:
    batching: {count: %d, period: 1h}
`, dsn, include, ordering, filepath.Join(t.TempDir(), "positions.json"), full))
				sizes := out.sizes[:min(out.want, len(out.sizes))]
				t.Logf("batches of %v", sizes)
				if len(sizes) != out.want || slices.Min(sizes) < full || slices.Max(sizes) >= full+naturalRows {
					t.Errorf("batches of %v, want %d of %d", sizes, out.want, full)
				}
			})
		}
	}
}

// runCounting runs a pipeline until the output has enough.
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
	case <-out.enough:
	case <-time.After(orderBound):
		t.Errorf("only batches of %v came in %s", out.sizes, orderBound)
	}
	_ = stream.StopWithin(time.Second) // it would like to wait for the batch that never fills
	<-ended
}
