package mssqlcdc

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// exampleTables says of each example that writes to a table what the table then has.
var exampleTables = map[string]struct {
	query string
	want  string
}{
	"cdc-to-table.yaml":         {"SELECT COUNT(*), MAX(id), MAX(total), MAX(state) FROM dbo.new_orders", "1|9007199254740993|32.90|placed"},
	"table-to-table.yaml":       {"SELECT (SELECT COUNT(*) FROM copy.orders), COUNT(*), MAX(name), MAX(notes) FROM copy.customers", "0|1|Ana Lima|prefers letters"},
	"table-to-table-arrow.yaml": {"SELECT (SELECT COUNT(*) FROM copy.orders), COUNT(*), MAX(name), MAX(notes) FROM copy.customers", "0|1|Ana Lima|prefers letters"},
	"generate-to-table.yaml":    {"SELECT COUNT(*), MIN(id), MAX(id), COUNT(stored_at) FROM dbo.measurements", "2000|1|2000|2000"},
}

func TestBulkExamples(t *testing.T) {
	for name, c := range exampleTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("config/examples", name))
			if err != nil {
				t.Fatal(err)
			}
			w := newExampleWorld(t)
			b := service.NewStreamBuilder()
			b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
			b.SetEnvVarLookupFunc(func(name string) (string, bool) {
				v, ok := w.env[name]
				return v, ok
			})
			if err := b.SetYAML(string(text)); err != nil {
				t.Fatal(err)
			}
			stream, err := b.Build()
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- stream.Run(context.Background()) }()
			var have []string
			for began := time.Now(); time.Since(began) < exampleBound/3 && !slices.Equal(have, []string{c.want}); pass(20 * time.Millisecond) {
				rows, err := w.srv.Query(c.query)
				if err != nil {
					t.Fatal(err)
				}
				have = nil
				for _, row := range rows {
					have = append(have, strings.Join(row, "|"))
				}
			}
			wantTexts(t, c.query, have, c.want)
			if err := stream.StopWithin(10 * time.Second); err != nil && !strings.Contains(err.Error(), "not running") {
				t.Errorf("stopping: %v", err)
			}
			if err := <-ended; err != nil {
				t.Errorf("the pipeline: %v", err)
			}
		})
	}
}
