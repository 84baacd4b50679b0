package mssqlcdc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// sizes reads batches until so many changes came, and gives their sizes.
func sizes(run *cdcRun, changes int) (out []int) {
	run.rig.t.Helper()
	for changes > 0 {
		n := len(run.batch())
		out = append(out, n)
		changes -= n
	}
	return out
}

// count is the most changes of a batch. The first page of a table is small, because the size of its rows is not known before;
// under ordering global batches are made of what the tables have.
func TestCDCBatchingCount(t *testing.T) {
	for fields, want := range map[string]string{
		"":                        "[256 1000 1000 244]",
		"batching: {count: 700}":  "[256 700 700 700 144]",
		"batching: {count: 2500}": "[256 2244]",
		"batching: {count: 100}":  "[100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100 100]",
		"ordering: global":        "[1000 1000 500]",
		"ordering: global\nbatching: {count: 700}": "[700 700 700 400]",
	} {
		t.Run(fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
				for i := range 25 {
					r.sql("INSERT dbo.a VALUES " + rows(100*i, 100*i+99))
				}
				if got := fmt.Sprint(sizes(r.start(fields), 2500)); got != want {
					t.Errorf("batches of %v, want %s", got, want)
				}
			})
		})
	}
}

func TestCDCBatchingByteSize(t *testing.T) {
	for fields, most := range map[string]int{"": 900_000, "batching: {byte_size: 100000}": 100_000, "batching: {byte_size: 3000000, count: 5000}": 3_000_000} {
		t.Run(fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY, v nvarchar(max) NULL")
				const row, n = 10_000, 400
				for i := range n / 20 {
					var b strings.Builder
					for j := range 20 {
						fmt.Fprintf(&b, ", (%d, REPLICATE(CONVERT(nvarchar(max), N'x'), %d))", 20*i+j, row)
					}
					r.sql("INSERT dbo.a VALUES " + strings.TrimPrefix(b.String(), ", "))
				}
				run := r.start(fields)
				largest := 0
				for _, n := range sizes(run, n) {
					largest = max(largest, n)
				}
				// The row that reaches the bound is in the batch.
				if got := largest * row; got > most+2*row || got < most/2 {
					t.Errorf("the largest batch has %d bytes, want about %d", got, most)
				}
			})
		})
	}
}

// period lets the changes of a table gather before the next batch.
func TestCDCBatchingPeriod(t *testing.T) {
	for fields, most := range map[string]int{"poll_interval: 100ms": 40, "poll_interval: 100ms\nbatching: {period: 5s, count: 1000}": 6} {
		t.Run(fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
				run := r.start(fields)
				done := make(chan []int)
				go func() { done <- sizes(run, 40) }()
				for i := range 40 {
					pass(500 * time.Millisecond)
					if err := r.srv.Exec(fmt.Sprintf("INSERT dbo.a VALUES (%d, 1)", i)); err != nil {
						t.Error(err)
					}
				}
				got := <-done
				if len(got) > most || most == 40 && len(got) < 30 {
					t.Errorf("40 changes, one each 500 ms, came in %d batches: %v", len(got), got)
				}
			})
		})
	}
}

// processors run on each batch, may drop messages and whole batches, and what they drop counts as delivered.
func TestCDCBatchingProcessors(t *testing.T) {
	onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
		r.table("a", "id int NOT NULL PRIMARY KEY, v int NULL")
		r.sql("INSERT dbo.a VALUES " + rows(1, 100))
		const fields = "batching:\n  count: 10\n  processors:\n    - mapping: 'root = if this.id > 40 && this.id <= 60 { deleted() } else { this.merge({\"n\": batch_size()}) }'\ncheckpoint_limit: 30"
		run := r.start(fields)
		all := run.take(80)
		for _, m := range all {
			if !strings.Contains(m.body, `"n":10`) || strings.Contains(m.body, `"id":50,`) {
				t.Errorf("the processors did not run on each batch: %s", m.body)
			}
		}
		run.nothing(cdcQuiet)
		run.stop()
		r.sql("INSERT dbo.a VALUES " + rows(101, 101))
		if m := r.start(fields).one(); !strings.Contains(m.body, `"id":101`) {
			t.Errorf("after a restart came %v", m)
		}
	})
}
