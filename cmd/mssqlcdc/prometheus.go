package main

import (
	"context"
	"fmt"
	"math"
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
		Summary("Serves metrics in the Prometheus text format at /metrics of the HTTP server, and a status page for browsers at /stats.").
		Fields(
			service.NewFloatListField(promFieldBuckets).
				Description("Upper bounds, in seconds, of the histograms that timings become. Their order does not matter. Empty is the client library's default.").
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
			if math.IsNaN(v) {
				return nil, fmt.Errorf("%s: NaN is not a bound", promFieldBuckets)
			}
			p.buckets = append(p.buckets, v)
		}
		slices.Sort(p.buckets)
		p.buckets = slices.Compact(p.buckets)
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

// HandlerFunc is what Benthos serves at /metrics and /stats.
func (p *promExporter) HandlerFunc() http.HandlerFunc {
	return orStatusPage(promhttp.HandlerFor(p.reg, promhttp.HandlerOpts{}))
}

// Close has nothing to free: the registry goes with the exporter.
func (p *promExporter) Close(context.Context) error { return nil }

// vec finds or makes the metric of a name, or gives nil. Two components that use one name with different labels cannot share a
// Prometheus metric; the second one is left out with a log line, not a panic.
func vec[V interface {
	comparable
	prometheus.Collector
}](p *promExporter, known map[string]V, name string, labels []string, make func() V) (none V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := known[name]; ok && slices.Equal(p.labels[name], labels) {
		return v
	}
	v := make()
	if v == none {
		return none
	}
	if err := p.reg.Register(v); err != nil {
		p.log.Warnf("metric %s is left out: %v", name, err)
		return none
	}
	known[name], p.labels[name] = v, labels
	return v
}

// one is the metric of some label values, or the one that counts nothing. Values that Prometheus cannot have are logged once.
func one[M, T any](p *promExporter, name string, exists bool, get func(...string) (M, error), wrap func(M) T, nothing T) func(...string) T {
	var told sync.Once
	return func(values ...string) T {
		if !exists {
			return nothing
		}
		m, err := get(values...)
		if err != nil {
			told.Do(func() { p.log.Warnf("metric %s is left out for some label values: %v", name, err) })
			return nothing
		}
		return wrap(m)
	}
}

func (p *promExporter) NewCounterCtor(name string, labels ...string) service.MetricsExporterCounterCtor {
	v := vec(p, p.counts, name, labels, func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "Counter " + name + "."}, labels)
	})
	return one(p, name, v != nil, v.GetMetricWithLabelValues,
		func(c prometheus.Counter) service.MetricsExporterCounter { return promCounter{c} }, service.MetricsExporterCounter(noMetric{}))
}

func (p *promExporter) NewGaugeCtor(name string, labels ...string) service.MetricsExporterGaugeCtor {
	v := vec(p, p.gauges, name, labels, func() *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: "Gauge " + name + "."}, labels)
	})
	return one(p, name, v != nil, v.GetMetricWithLabelValues,
		func(g prometheus.Gauge) service.MetricsExporterGauge { return promGauge{g} }, service.MetricsExporterGauge(noMetric{}))
}

func (p *promExporter) NewTimerCtor(name string, labels ...string) service.MetricsExporterTimerCtor {
	v := vec(p, p.timers, name, labels, func() *prometheus.HistogramVec {
		if slices.Contains(labels, "le") {
			p.log.Warnf("metric %s is left out: a histogram has the label le already", name)
			return nil
		}
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: "Timing " + name + ", in seconds.", Buckets: p.buckets}, labels)
	})
	return one(p, name, v != nil, v.GetMetricWithLabelValues,
		func(h prometheus.Observer) service.MetricsExporterTimer { return promTimer{h} }, service.MetricsExporterTimer(noMetric{}))
}

// noMetric stands for a metric that is left out.
type noMetric struct{}

func (noMetric) Incr(int64)          {}
func (noMetric) IncrFloat64(float64) {}
func (noMetric) Set(int64)           {}
func (noMetric) SetFloat64(float64)  {}
func (noMetric) Timing(int64)        {}

type promCounter struct{ c prometheus.Counter }

func (c promCounter) Incr(n int64)          { c.c.Add(float64(n)) }
func (c promCounter) IncrFloat64(n float64) { c.c.Add(n) }

type promGauge struct{ g prometheus.Gauge }

func (g promGauge) Set(v int64)          { g.g.Set(float64(v)) }
func (g promGauge) SetFloat64(v float64) { g.g.Set(v) }

type promTimer struct{ h prometheus.Observer }

// Timing takes nanoseconds.
func (t promTimer) Timing(ns int64) { t.h.Observe(float64(ns) / 1e9) }
