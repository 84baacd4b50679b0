package catalog

import (
	"context"
	"fmt"
	"time"
)

// Agent says whether the SQL Server Agent of an instance is known and running.
type Agent struct {
	Known   bool
	Running bool
}

// LoadAgent reads sys.dm_server_services, which needs VIEW SERVER STATE.
func LoadAgent(ctx context.Context, q Querier) (a Agent, err error) {
	err = query(ctx, q, sqlAgent, "", nil, func(c *cells) {
		a.Known = c.int() > 0
		a.Running = c.int() > 0
	})
	if err != nil {
		return Agent{}, fmt.Errorf("reading the state of the SQL Server Agent: %w", err)
	}
	return a, nil
}

// ScanError is a row of sys.dm_cdc_errors.
type ScanError struct {
	Time    time.Time // server's wall clock
	Number  int32
	Message string
}

// LoadScanErrors reads the latest errors of the capture job, newest first. The
// view is empty on secondaries and needs VIEW DATABASE STATE.
func LoadScanErrors(ctx context.Context, q Querier) ([]ScanError, error) {
	var out []ScanError
	err := query(ctx, q, sqlScanErrors, "", nil, func(c *cells) {
		out = append(out, ScanError{Time: c.clock(), Number: int32(c.int()), Message: c.text()})
	})
	if err != nil {
		return nil, fmt.Errorf("reading sys.dm_cdc_errors: %w", err)
	}
	return out, nil
}

// Scan is the latest session of the capture job.
type Scan struct {
	Latency    time.Duration
	Errors     int
	EmptyScans int
	Phase      string
}

// LoadScan reads the latest row of sys.dm_cdc_log_scan_sessions; found is false
// where there is none, as on secondaries.
func LoadScan(ctx context.Context, q Querier) (s Scan, found bool, err error) {
	err = query(ctx, q, sqlScanLatency, "", nil, func(c *cells) {
		s = Scan{Latency: time.Duration(c.int()) * time.Second, Errors: int(c.int()), EmptyScans: int(c.int()), Phase: c.text()}
		found = true
	})
	if err != nil {
		return Scan{}, false, fmt.Errorf("reading sys.dm_cdc_log_scan_sessions: %w", err)
	}
	return s, found, nil
}
