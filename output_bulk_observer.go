package mssqlcdc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/catalog"
)

// bulkObserver counts what mssql_bulk does. docs/metrics.md lists the metrics.
type bulkObserver struct {
	rows, bytes, loads, refused *service.MetricCounter
	retries, splits, unknown    *service.MetricCounter
	dropped, rejected           *service.MetricCounter
	connections                 *service.MetricGauge
	loadTime                    *service.MetricTimer

	log  *service.Logger
	open atomic.Int64 // connections
	slow sync.Once    // the first connection whose rows go through the driver is logged
}

func newBulkObserver(mgr *service.Resources) *bulkObserver {
	m := mgr.Metrics()
	return &bulkObserver{
		log:         mgr.Logger(),
		rows:        m.NewCounter("mssql_bulk_rows", "table"),
		bytes:       m.NewCounter("mssql_bulk_bytes", "table"),
		loads:       m.NewCounter("mssql_bulk_loads", "table"),
		refused:     m.NewCounter("mssql_bulk_refused", "table"),
		retries:     m.NewCounter("mssql_bulk_retries"),
		splits:      m.NewCounter("mssql_bulk_splits"),
		unknown:     m.NewCounter("mssql_bulk_unknown_commits"),
		dropped:     m.NewCounter("mssql_bulk_dropped", "table"),
		rejected:    m.NewCounter("mssql_bulk_rejected", "table"),
		connections: m.NewGauge("mssql_bulk_connections"),
		loadTime:    m.NewTimer("mssql_bulk_batch_ns"),
	}
}

func (o *bulkObserver) loaded(table catalog.Name, rows, bytes int64) {
	o.loads.Incr(1, table.String())
	o.rows.Incr(rows, table.String())
	o.bytes.Incr(bytes, table.String())
}

func (o *bulkObserver) connected(n int64) { o.connections.Set(o.open.Add(n)) }

// throughDriver notes that a connection cannot be written to directly.
func (o *bulkObserver) throughDriver(err error) {
	o.slow.Do(func() { o.log.Warnf("rows go through the driver, which is slower and has the same result: %v", err) })
}

func (o *bulkObserver) batch(began time.Time) { o.loadTime.Timing(time.Since(began).Nanoseconds()) }
