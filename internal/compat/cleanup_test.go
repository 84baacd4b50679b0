package compat

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// Cleanup raises an instance's start first and deletes then, at any moment: between two pages, between the check and the read,
// between the read and the check after it. What comes is then a stretch of the changes from their beginning, and if something is
// missing after it, that is told. Flink-cdc#1291, rivet#50: it was skipped.
func TestCleanupAtAnyMomentIsNeverSkippedOver(t *testing.T) {
	if os.Getenv(dsnVariable) != "" {
		t.Skip("only on the stand-in: cleanup comes between two given statements")
	}
	const rows = 12
	lost, whole := 0, 0
	for at := range 28 {
		t.Run(fmt.Sprintf("before statement %d", at), func(t *testing.T) {
			onStandIn(t, databaseOptions{}, func(r *rig) {
				r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY)")
				r.enable("t")
				for i := range rows {
					r.sql(fmt.Sprintf("INSERT dbo.t VALUES (%d)", i))
				}
				r.scan()
				low, err := r.db.server.Query("USE [" + r.db.name + "]; SELECT CONVERT(varchar(30), MAX(start_lsn), 1) FROM cdc.lsn_time_mapping")
				if err != nil {
					r.t.Fatal(err)
				}
				var met atomic.Int64
				r.control().Add(mssqltest.Rule{App: reading, Kind: "statement", Match: func(e mssqltest.Event) bool {
					return strings.Contains(e.Text, "dbo_t_CT") || strings.Contains(e.Text, "cdc.change_tables") && strings.Contains(e.Text, "@instance")
				}, Before: func(mssqltest.Event) {
					if met.Add(1) == int64(at+1) {
						if err := r.control().Cleanup(r.db.name, "dbo_t", low[0][0], 5000); err != nil {
							t.Error(err)
						}
					}
				}})
				r.start("batching: { count: 2 }\nmax_in_flight: 1\n")
				r.pass(quiet)
				got := r.takeAll()
				first := -1
				for i, m := range got {
					var id int
					if _, err := fmt.Sscanf(string(m.body), `{"id":%d}`, &id); err != nil {
						r.t.Fatal(err)
					}
					if i == 0 {
						first = id // what was gone before anything was read is not "earliest"
					}
					if id != first+i {
						r.t.Fatalf("change %d is %d, want %d: changes before it were skipped\n%s\nlog:\n%s", i+1, id, first+i, list(got), r.p.log)
					}
				}
				told := r.p.log.count("changes in between are lost") > 0
				switch {
				case first >= 0 && first+len(got) == rows:
					whole++
				case !told:
					t.Errorf("%d changes from %d on came of %d, and nothing was said\nlog:\n%s", len(got), first, rows, r.p.log)
				case first == 0:
					lost++
				}
			})
		})
	}
	if whole == 0 {
		t.Error("no reading was whole")
	}
	if lost == 0 {
		t.Errorf("cleanup never came between two pages: %d readings were whole", whole)
	}
}
