package mssqlcdc

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// Where rows are read directly, the server is asked something both ways on each connection first. Rows are the same.
func TestCDCRawTDS(t *testing.T) {
	t.Setenv(session.RawEnv, "")
	for _, tt := range []struct {
		mode  string
		raw   float64
		probe bool // the server is asked in both ways
	}{{"auto", 1, true}, {"off", 0, false}, {"require", 1, true}} {
		t.Run(tt.mode, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				var probes atomic.Int32
				r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "0x0102", Before: func(mssqltest.Event) { probes.Add(1) }})
				r.table("t", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
				r.sql("INSERT dbo.t VALUES (1, N'é😀'), (2, NULL)")
				run := r.start("raw_tds: " + tt.mode)
				run.take(2)
				if got := run.metrics.get("mssql_cdc_raw_tds", ""); got != tt.raw {
					t.Errorf("the gauge is %v, want %v", got, tt.raw)
				}
				run.stop()
				if (probes.Load() > 0) != tt.probe {
					t.Errorf("%d connections were taken", probes.Load())
				}
			})
		})
	}
}

// Where a connection cannot be taken, auto reads through the driver and says so once, and require fails.
func TestCDCRawTDSFallsBack(t *testing.T) {
	t.Setenv(session.RawEnv, "")
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.ctl.Add(mssqltest.Rule{Kind: "batch", Text: "0x0102", Error: 50000})
		r.table("t", "id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL")
		r.sql("INSERT dbo.t VALUES (1, N'é😀'), (2, NULL)")
		run := r.start("raw_tds: auto")
		run.take(2)
		if got := run.metrics.get("mssql_cdc_raw_tds", ""); got != 0 {
			t.Errorf("the gauge is %v", got)
		}
		if n := run.log.count("rows go through the driver"); n != 1 {
			t.Errorf("it is said %d times", n)
		}
		run.stop()
		conf, err := cdcSpec().ParseYAML(fmt.Sprintf("connection_string: %q\ncheckpoint_file: %q\nraw_tds: require", r.dsn(), r.file), nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := newCDCInput(conf, service.MockResources())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Close(t.Context()) }()
		if err := in.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "probing the connection") {
			t.Errorf("Connect with require: %v", err)
		}
	})
}
