package main

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// The metrics exporter `prometheus`. Plain Benthos has none, and Redpanda Connect has its own, so only this binary
// registers it; its field names are the ones that Connect's users know.
const (
	promFieldBuckets = "histogram_buckets"
	promFieldProcess = "add_process_metrics"
	promFieldGo      = "add_go_metrics"
)

func prometheusSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Summary("Serves metrics in the Prometheus text format at /metrics of the HTTP server.").
		Fields(
			service.NewFloatListField(promFieldBuckets).
				Description("Upper bounds, in seconds, of the histograms that timings become. Empty is the client library's default.").
				Default([]any{}).Advanced(),
			service.NewBoolField(promFieldProcess).Description("Add CPU, memory and file handles of the process.").Default(false).Advanced(),
			service.NewBoolField(promFieldGo).Description("Add figures of the Go runtime.").Default(false).Advanced(),
		)
}

func init() {
	service.MustRegisterMetricsExporter("prometheus", prometheusSpec(), func(conf *service.ParsedConfig, log *service.Logger) (service.MetricsExporter, error) {
		return newPromExporter(conf, log)
	})
}

type promExporter struct {
	reg     *prometheus.Registry
	log     *service.Logger
	buckets []float64

	mu     sync.Mutex
	counts map[string]*prometheus.CounterVec
	gauges map[string]*prometheus.GaugeVec
	timers map[string]*prometheus.HistogramVec
	labels map[string][]string
}

func newPromExporter(conf *service.ParsedConfig, log *service.Logger) (*promExporter, error) {
	buckets, err := conf.FieldAnyList(promFieldBuckets)
	if err != nil {
		return nil, err
	}
	p := &promExporter{
		reg: prometheus.NewRegistry(), log: log, buckets: prometheus.DefBuckets,
		counts: map[string]*prometheus.CounterVec{}, gauges: map[string]*prometheus.GaugeVec{},
		timers: map[string]*prometheus.HistogramVec{}, labels: map[string][]string{},
	}
	if len(buckets) > 0 {
		p.buckets = nil
		for _, b := range buckets {
			v, err := b.FieldFloat()
			if err != nil {
				return nil, err
			}
			p.buckets = append(p.buckets, v)
		}
		slices.Sort(p.buckets)
	}
	if on, err := conf.FieldBool(promFieldProcess); err != nil {
		return nil, err
	} else if on {
		p.reg.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if on, err := conf.FieldBool(promFieldGo); err != nil {
		return nil, err
	} else if on {
		p.reg.MustRegister(collectors.NewGoCollector())
	}
	return p, nil
}

// HandlerFunc is what Benthos serves at /metrics.
func (p *promExporter) HandlerFunc() http.HandlerFunc {
	return promhttp.HandlerFor(p.reg, promhttp.HandlerOpts{}).ServeHTTP
}

// Close has nothing to free: the registry goes with the exporter.
func (p *promExporter) Close(context.Context) error { return nil }

// vec finds or makes the metric of a name. Two components that use one name with different labels cannot share a
// Prometheus metric; the second one is dropped with a log line, not a panic.
func vec[V prometheus.Collector](p *promExporter, known map[string]V, name string, labels []string, make func() V) (V, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := known[name]; ok && slices.Equal(p.labels[name], labels) {
		return v, true
	}
	v := make()
	if err := p.reg.Register(v); err != nil {
		p.log.Warnf("metric %s is left out: %v", name, err)
		return v, false
	}
	known[name], p.labels[name] = v, labels
	return v, true
}

func (p *promExporter) NewCounterCtor(name string, labels ...string) service.MetricsExporterCounterCtor {
	v, _ := vec(p, p.counts, name, labels, func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "Counter " + name + "."}, labels)
	})
	return func(values ...string) service.MetricsExporterCounter {
		return promCounter{v.WithLabelValues(values...)}
	}
}

func (p *promExporter) NewGaugeCtor(name string, labels ...string) service.MetricsExporterGaugeCtor {
	v, _ := vec(p, p.gauges, name, labels, func() *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "Gauge " + name + "."}, labels)
	})
	return func(values ...string) service.MetricsExporterGauge { return promGauge{v.WithLabelValues(values...)} }
}

func (p *promExporter) NewTimerCtor(name string, labels ...string) service.MetricsExporterTimerCtor {
	v, _ := vec(p, p.timers, name, labels, func() *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: "Timing " + name + ", in seconds.", Buckets: p.buckets}, labels)
	})
	return func(values ...string) service.MetricsExporterTimer { return promTimer{v.WithLabelValues(values...)} }
}

type promCounter struct{ c prometheus.Counter }

func (c promCounter) Incr(n int64)          { c.c.Add(float64(n)) }
func (c promCounter) IncrFloat64(n float64) { c.c.Add(n) }

type promGauge struct{ g prometheus.Gauge }

func (g promGauge) Set(v int64)          { g.g.Set(float64(v)) }
func (g promGauge) SetFloat64(v float64) { g.g.Set(v) }

type promTimer struct{ h prometheus.Observer }

// Timing takes nanoseconds.
func (t promTimer) Timing(ns int64) { t.h.Observe(float64(ns) / 1e9) }
