package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// exporter makes one from YAML, with its log.
func exporter(t *testing.T, yaml string) (*promExporter, *lockedBuffer, error) {
	t.Helper()
	conf, err := prometheusSpec().ParseYAML(yaml, nil)
	if err != nil {
		return nil, nil, err
	}
	log := &lockedBuffer{}
	p, err := newPromExporter(conf, service.NewLoggerFromSlog(slog.New(slog.NewTextHandler(log, nil))))
	return p, log, err
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func scrape(t *testing.T, h http.Handler, path string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s gives %d\n%s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

func TestPrometheusKinds(t *testing.T) {
	p, log, err := exporter(t, "histogram_buckets: [5, 0.5, 1, 1]\nadd_process_metrics: true\nadd_go_metrics: true\n")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // components of one kind share their metrics
		p.NewCounterCtor("c", "table")("dbo.t").Incr(2)
	}
	p.NewGaugeCtor("g")().Set(7)
	timer := p.NewTimerCtor("t", "table")("dbo.t")
	timer.Timing((700 * time.Millisecond).Nanoseconds())
	text := scrape(t, p.HandlerFunc(), "/metrics")
	for _, want := range []string{`c{table="dbo.t"} 4`, "\ng 7\n", `t_bucket{table="dbo.t",le="0.5"} 0`, `t_bucket{table="dbo.t",le="1"} 1`, `t_sum{table="dbo.t"} 0.7`, "go_goroutines", "# TYPE c counter", "# TYPE t histogram"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if log.String() != "" {
		t.Errorf("it logs %s", log)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Two components that use a name differently, or a name that Prometheus cannot have, cost a log line and nothing else.
func TestPrometheusNamesThatClash(t *testing.T) {
	p, log, err := exporter(t, "")
	if err != nil {
		t.Fatal(err)
	}
	p.NewCounterCtor("rows", "table")("dbo.t").Incr(1)
	p.NewCounterCtor("rows", "schema", "name")("dbo", "t").Incr(1)
	p.NewGaugeCtor("rows", "table")("dbo.t").Set(5)
	p.NewTimerCtor("rows")().Timing(1)
	p.NewCounterCtor("")().Incr(1)
	p.NewCounterCtor("labels", "not-a-label")("x").Incr(1)
	p.NewGaugeCtor("labels", "__name__")("x").Set(1)
	p.NewTimerCtor("bucketed", "le")("x").Timing(1)
	counter := p.NewCounterCtor("bytes", "table")
	for range 2 {
		counter("\xff").Incr(1) // not valid UTF-8
	}
	if n := strings.Count(log.String(), "is left out"); n != 7 {
		t.Errorf("%d log lines:\n%s", n, log)
	}
	if text := scrape(t, p.HandlerFunc(), "/metrics"); !strings.Contains(text, `rows{table="dbo.t"} 1`) {
		t.Errorf("the first metric is gone:\n%s", text)
	}
}

func TestPrometheusBuckets(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"none", "", ""},
		{"infinity", "histogram_buckets: [1, .inf]", ""},
		{"not a number", "histogram_buckets: [1, .nan]", "NaN"},
		{"text", "histogram_buckets: [fast]", "histogram_buckets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, err := exporter(t, tt.yaml)
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q in it", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p.NewTimerCtor("t")().Timing(math.MaxInt64)
			if text := scrape(t, p.HandlerFunc(), "/metrics"); !strings.Contains(text, `t_bucket{le="+Inf"} 1`) {
				t.Error(text)
			}
		})
	}
}

// mux keeps the endpoints that a stream registers.
type mux struct{ *http.ServeMux }

func (m mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.ServeMux.HandleFunc(pattern, h)
}

// runShop runs a pipeline that reads the tables of the stand-in, with its metrics at the endpoints, until the changes have come. stop ends it.
func runShop(t *testing.T) (endpoints mux, stop func()) {
	t.Helper()
	_, dsn := standIn(t)
	endpoints = mux{http.NewServeMux()}
	b := service.NewStreamBuilder()
	b.SetHTTPMux(endpoints)
	b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(fmt.Sprintf("input:\n  label: shop\n  mssql_cdc:\n    connection_string: %q\n    checkpoint_file: %s\nmetrics:\n  prometheus: {}\noutput:\n  drop: {}\n", dsn, filepath.Join(t.TempDir(), "p"))); err != nil {
		t.Fatal(err)
	}
	come := make(chan struct{}, 16)
	if err := b.AddConsumerFunc(func(context.Context, *service.Message) error {
		come <- struct{}{}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	for range 3 {
		select {
		case <-come:
		case <-time.After(20 * time.Second):
			t.Fatal("the changes have not come")
		}
	}
	return endpoints, func() {
		if err := s.StopWithin(10 * time.Second); err != nil {
			t.Error(err)
		}
		<-ended
	}
}

// A scrape of a pipeline shows the metrics of mssql_cdc with their labels.
func TestPrometheusScrape(t *testing.T) {
	endpoints, stop := runShop(t)
	stop()
	text := scrape(t, endpoints, "/metrics")
	for _, want := range []string{
		`mssql_cdc_changes{label="shop",path="root.input",table="dbo.t1"} 2`,
		`mssql_cdc_changes{label="shop",path="root.input",table="dbo.t2"} 1`,
		`mssql_cdc_table_state{label="shop",path="root.input",table="dbo.t1"} 0`,
		"mssql_cdc_polls{", "mssql_cdc_watermark_lsn{", "mssql_cdc_tables{", "mssql_cdc_page_ns_bucket{", "input_received{",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
