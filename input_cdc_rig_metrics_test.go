package mssqlcdc

import (
	"context"
	"slices"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// cdcMetrics is a metrics exporter that keeps the values, by name and the label table in braces.
type cdcMetrics struct {
	mu     sync.Mutex
	values map[string]float64
	most   map[string]float64 // the highest value that a metric had
	kinds  map[string]string
}

func newCDCMetrics() *cdcMetrics {
	return &cdcMetrics{values: map[string]float64{}, most: map[string]float64{}, kinds: map[string]string{}}
}

// get is the value of a metric; table is "" for a metric without the label.
func (m *cdcMetrics) get(name, table string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[name+"{"+table+"}"]
}

func (m *cdcMetrics) highest(name, table string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most[name+"{"+table+"}"]
}

// cdcMetric is one metric with its labels.
type cdcMetric struct {
	m   *cdcMetrics
	key string
}

func (c cdcMetric) change(f func(float64) float64) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	v := f(c.m.values[c.key])
	c.m.values[c.key], c.m.most[c.key] = v, max(v, c.m.most[c.key])
}

func (c cdcMetric) Incr(n int64)                  { c.change(func(v float64) float64 { return v + float64(n) }) }
func (c cdcMetric) IncrFloat64(n float64)         { c.change(func(v float64) float64 { return v + n }) }
func (c cdcMetric) Set(n int64)                   { c.change(func(float64) float64 { return float64(n) }) }
func (c cdcMetric) SetFloat64(n float64)          { c.change(func(float64) float64 { return n }) }
func (c cdcMetric) Timing(n int64)                { c.change(func(v float64) float64 { return v + float64(n) }) }
func (m *cdcMetrics) Close(context.Context) error { return nil }

func (m *cdcMetrics) metric(name, kind string, labels []string) func(values ...string) cdcMetric {
	m.mu.Lock()
	m.kinds[name] = kind
	m.mu.Unlock()
	at := slices.Index(labels, "table")
	return func(values ...string) cdcMetric {
		table := ""
		if at >= 0 {
			table = values[at]
		}
		return cdcMetric{m, name + "{" + table + "}"}
	}
}

func (m *cdcMetrics) NewCounterCtor(name string, labels ...string) service.MetricsExporterCounterCtor {
	f := m.metric(name, "counter", labels)
	return func(values ...string) service.MetricsExporterCounter { return f(values...) }
}

func (m *cdcMetrics) NewTimerCtor(name string, labels ...string) service.MetricsExporterTimerCtor {
	f := m.metric(name, "timer", labels)
	return func(values ...string) service.MetricsExporterTimer { return f(values...) }
}

func (m *cdcMetrics) NewGaugeCtor(name string, labels ...string) service.MetricsExporterGaugeCtor {
	f := m.metric(name, "gauge", labels)
	return func(values ...string) service.MetricsExporterGauge { return f(values...) }
}
