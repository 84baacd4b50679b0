package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"time"
)

// Defaults of the jobs, for servers that do not show them.
const (
	DefaultRetention = 4320 * time.Minute
	DefaultPolling   = 5 * time.Second
)

// Jobs are the capture and cleanup jobs of the database.
type Jobs struct {
	Capture, Cleanup bool // the job exists
	Retention        time.Duration
	Polling          time.Duration
	MaxTrans         int
	MaxScans         int
	Continuous       bool
}

// LoadJobs asks sys.sp_cdc_help_jobs, which needs db_owner. Values that a server
// does not report, or reports as zero, are the defaults. After an error the
// connection should be closed: the procedure's reply may have been cut short.
func LoadJobs(ctx context.Context, q Querier) (j *Jobs, err error) {
	rows, err := q.Query(ctx, sqlJobs, "")
	if err != nil {
		return nil, fmt.Errorf("reading the capture and cleanup jobs: %w", err)
	}
	defer func() {
		if closeErr := rows.Close(); err == nil && closeErr != nil {
			j, err = nil, fmt.Errorf("reading the capture and cleanup jobs: %w", closeErr)
		}
	}()
	j = &Jobs{Retention: DefaultRetention, Polling: DefaultPolling}
	columns := rows.Columns()
	row := make([]driver.Value, len(columns))
	for {
		switch err := rows.Next(row); {
		case err == io.EOF: //nolint:errorlint // the end of the rows is io.EOF itself
			return j, nil
		case err != nil:
			return nil, fmt.Errorf("reading the capture and cleanup jobs: %w", err)
		}
		j.add(columns, row)
	}
}

// add takes what it knows of one job; versions differ in their columns.
func (j *Jobs) add(columns []string, row []driver.Value) {
	values := make(map[string]driver.Value, len(columns))
	for i, name := range columns {
		values[strings.ToLower(name)] = row[i]
	}
	number := func(name string) int64 {
		n, ok := values[name].(int64)
		if !ok {
			return 0
		}
		return n
	}
	kind, ok := values["job_type"].(string)
	if !ok {
		return
	}
	switch strings.TrimSpace(strings.ToLower(kind)) {
	case "capture":
		j.Capture = true
		j.MaxTrans, j.MaxScans = int(number("maxtrans")), int(number("maxscans"))
		if on, ok := values["continuous"].(bool); ok {
			j.Continuous = on
		} else {
			j.Continuous = number("continuous") != 0
		}
		if n := number("pollinginterval"); n > 0 {
			j.Polling = time.Duration(n) * time.Second
		}
	case "cleanup":
		j.Cleanup = true
		if n := number("retention"); n > 0 {
			j.Retention = time.Duration(n) * time.Minute
		}
	}
}
