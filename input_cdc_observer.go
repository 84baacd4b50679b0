package mssqlcdc

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/progress"
	"example.com/mssqlcdc/internal/session"
)

// patience is how many saves in a row may fail with an error that passes before it is said.
const patience = 4

// cdcObserver turns what a flow tells into metrics and a few log lines. docs/metrics.md lists the metrics.
type cdcObserver struct {
	log    *service.Logger
	global bool // ordering global: tables wait for each other

	rows, bytes, polls, pages, redelivered, saves, saveErrors *service.MetricCounter
	lag, position, watermark, age, state, connections         *service.MetricGauge
	tables, behind, raw                                       *service.MetricGauge
	snapshotRows, snapshotTotal, signalQueue, signalPaused    *service.MetricGauge
	signals, windows, windowRows, windowDropped               *service.MetricCounter
	readTime                                                  *service.MetricTimer

	slow sync.Once // the first connection whose rows go through the driver is logged

	mu      sync.Mutex
	states  map[string]capture.State
	held    map[string]int   // connections by table
	tenths  map[string]int64 // of the snapshot of each table, as last logged
	unsaved int              // saves that failed since the last that did not
}

func newCDCObserver(mgr *service.Resources) *cdcObserver {
	m := mgr.Metrics()
	return &cdcObserver{
		log:           mgr.Logger(),
		rows:          m.NewCounter("mssql_cdc_changes", "table"),
		bytes:         m.NewCounter("mssql_cdc_bytes", "table"),
		pages:         m.NewCounter("mssql_cdc_pages", "table"),
		polls:         m.NewCounter("mssql_cdc_polls"),
		redelivered:   m.NewCounter("mssql_cdc_redelivered_changes", "table"),
		saves:         m.NewCounter("mssql_cdc_checkpoint_saves"),
		saveErrors:    m.NewCounter("mssql_cdc_checkpoint_errors"),
		lag:           m.NewGauge("mssql_cdc_lag_seconds", "table"),
		position:      m.NewGauge("mssql_cdc_position_lsn", "table"),
		watermark:     m.NewGauge("mssql_cdc_watermark_lsn"),
		age:           m.NewGauge("mssql_cdc_watermark_age_seconds"),
		state:         m.NewGauge("mssql_cdc_table_state", "table"),
		connections:   m.NewGauge("mssql_cdc_connections", "table"),
		tables:        m.NewGauge("mssql_cdc_tables"),
		behind:        m.NewGauge("mssql_cdc_tables_behind"),
		raw:           m.NewGauge("mssql_cdc_raw_tds"),
		snapshotRows:  m.NewGauge("mssql_cdc_snapshot_rows", "table"),
		snapshotTotal: m.NewGauge("mssql_cdc_snapshot_rows_estimate", "table"),
		signals:       m.NewCounter("mssql_cdc_signals", "fate"),
		signalQueue:   m.NewGauge("mssql_cdc_signal_queue"),
		signalPaused:  m.NewGauge("mssql_cdc_signal_paused"),
		windows:       m.NewCounter("mssql_cdc_windows", "table"),
		windowRows:    m.NewCounter("mssql_cdc_window_rows", "table"),
		windowDropped: m.NewCounter("mssql_cdc_window_dropped_rows", "table"),
		readTime:      m.NewTimer("mssql_cdc_page_ns", "table"),
		states:        map[string]capture.State{},
		held:          map[string]int{},
		tenths:        map[string]int64{},
	}
}

// lsnGauge is the upper 8 bytes of an LSN, its log file sequence number and block. It grows with the log, so differences
// show progress; the last two bytes, the slot in a block, are left out.
func lsnGauge(l checkpoint.LSN) int64 { return int64(binary.BigEndian.Uint64(l[:8]) &^ (1 << 63)) }

// taken notes whether rows of a connection are read directly.
func (o *cdcObserver) taken(err error) {
	if err == nil {
		o.raw.Set(1)
		return
	}
	o.raw.Set(0)
	if !errors.Is(err, session.ErrRawOff) {
		o.slow.Do(func() { o.log.Warnf("rows go through the driver, which is slower and has the same result: %v", err) })
	}
}

func (o *cdcObserver) Polled(high checkpoint.LSN, age time.Duration, tables, behind int) {
	o.polls.Incr(1)
	o.watermark.Set(lsnGauge(high))
	o.age.SetFloat64(age.Seconds())
	o.tables.Set(int64(tables))
	o.behind.Set(int64(behind))
}

func (o *cdcObserver) Read(table string, rows int, bytes int64, took time.Duration) {
	o.pages.Incr(1, table)
	o.rows.Incr(int64(rows), table)
	o.bytes.Incr(bytes, table)
	o.readTime.Timing(took.Nanoseconds(), table)
}

func (o *cdcObserver) Position(table string, pos checkpoint.Position, lag time.Duration) {
	o.position.Set(lsnGauge(pos.LSN), table)
	o.mu.Lock()
	if o.states[table] == capture.Gone {
		lag = 0 // nothing is waited for
	}
	o.mu.Unlock()
	o.lag.SetFloat64(lag.Seconds(), table)
}

func (o *cdcObserver) State(table string, s capture.State, cause error) {
	o.state.Set(int64(s), table)
	o.mu.Lock()
	old, known := o.states[table]
	o.states[table] = s
	o.mu.Unlock()
	if known && old == s && s != capture.Parked { // parked again means for another reason
		return
	}
	switch s {
	case capture.Streaming:
		if known && old != capture.Retrying {
			o.log.Infof("table %s goes on", table)
		}
	case capture.Parked:
		others := "the others go on"
		if o.global {
			others = "under ordering global the others wait for it"
		}
		o.log.Errorf("table %s is parked and tried again from time to time; %s: %v", table, others, cause)
	case capture.Stopped:
		o.log.Errorf("table %s stands still until a restart: %v", table, cause)
	case capture.Gone:
		o.log.Warnf("table %s is no longer read: %v", table, cause)
	case capture.Waiting:
		o.log.Infof("table %s waits: %v", table, cause)
	case capture.Retrying:
		o.log.Debugf("table %s is read again after: %v", table, cause)
	}
}

func (o *cdcObserver) Snapshot(table string, rows, total int64, finished bool) {
	o.snapshotRows.Set(rows, table)
	o.snapshotTotal.Set(max(rows, total), table)
	shown := progress.Report(table, rows, total, finished)
	if finished {
		o.log.Infof("the snapshot of table %s is complete: %d rows", table, rows)
		return
	}
	// One line for every tenth of the table.
	tenth := int64(0)
	if total > 0 {
		tenth = min(9, 10*rows/total)
	}
	o.mu.Lock()
	last, known := o.tenths[table]
	o.tenths[table] = tenth
	o.mu.Unlock()
	if !shown && (!known || tenth > last) {
		o.log.Infof("the snapshot of table %s has %d of about %d rows", table, rows, total)
	}
}

func (o *cdcObserver) Connections(table string, n int) {
	o.mu.Lock()
	o.held[table] += n
	held := o.held[table]
	o.mu.Unlock()
	o.connections.Set(int64(held), table)
}

func (o *cdcObserver) Redelivered(table string, rows int, cause error) {
	o.redelivered.Incr(int64(rows), table)
	o.log.Debugf("a batch of %d changes of %s was refused and goes out again in order: %v", rows, table, cause)
}

func (o *cdcObserver) Saved(_ int, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, checkpoint.ErrLeaseLost) {
		return // the end interrupted it, and what is left is saved when the flow closes; or the flow ends, and that is told
	}
	// A connection that broke while it was idle is opened anew with the next save: that is not worth a line.
	o.mu.Lock()
	was := o.unsaved
	if err == nil {
		o.unsaved = 0
	} else if o.unsaved++; !session.IsTransient(err) {
		o.unsaved = max(o.unsaved, patience)
	}
	now := o.unsaved
	o.mu.Unlock()
	if err != nil {
		o.saveErrors.Incr(1)
		if was < patience && now >= patience {
			o.log.Errorf("positions could not be saved, and are tried again every second; after a restart, changes since the last save are repeated: %v", err)
		}
		return
	}
	o.saves.Incr(1)
	if was >= patience {
		o.log.Info("positions are saved again")
	}
}

func (o *cdcObserver) Signal(fate, text string) {
	o.signals.Incr(1, fate)
	if fate == capture.Obeyed {
		o.log.Info(text)
		return
	}
	o.log.Warn(text)
}

func (o *cdcObserver) Queue(tables int, paused bool) {
	o.signalQueue.Set(int64(tables))
	rests := int64(0)
	if paused {
		rests = 1
	}
	o.signalPaused.Set(rests)
}

func (o *cdcObserver) Window(table string, given, dropped int) {
	o.windows.Incr(1, table)
	o.windowRows.Incr(int64(given), table)
	o.windowDropped.Incr(int64(dropped), table)
}

func (o *cdcObserver) Note(table, text string) {
	if table != "" {
		text = "table " + table + ": " + text
	}
	o.log.Warn(text)
}
