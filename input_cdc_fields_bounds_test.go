package mssqlcdc

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// rows gives values clauses for rows from-to of a table with the columns id and v.
func rows(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, ", (%d, %d)", i, i)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

// max_connections bounds the connections that read; one more watches the database, and one more keeps the positions.
func TestCDCMaxConnections(t *testing.T) {
	for _, n := range []int{1, 3, 16} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				const tables = 8
				for i := range tables {
					r.table(fmt.Sprintf("t%d", i), "id int NOT NULL PRIMARY KEY, v int NULL")
					r.sql(fmt.Sprintf("INSERT dbo.t%d VALUES %s", i, rows(1, 20)))
				}
				var mu sync.Mutex
				most := 0
				r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "_CT]", Delay: 50 * time.Millisecond, Before: func(mssqltest.Event) {
					mu.Lock()
					defer mu.Unlock()
					most = max(most, len(r.ctl.Connections()))
				}})
				run := r.start(fmt.Sprintf("checkpoint_cache_table_name: dbo.positions\nmax_connections: %d", n))
				run.take(20 * tables)
				mu.Lock()
				defer mu.Unlock()
				if want := min(n, tables) + 2; most != want {
					t.Errorf("%d connections at most, want %d that read and 2 more", most, want-2)
				}
			})
		})
	}
}

// checkpoint_limit bounds what is given out or read ahead and not acknowledged, all tables together.
func TestCDCCheckpointLimit(t *testing.T) {
	for _, limit := range []int{20, 50} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				for _, table := range []string{"a", "b", "c"} {
					r.table(table, "id int NOT NULL PRIMARY KEY, v int NULL")
					r.sql(fmt.Sprintf("INSERT dbo.%s VALUES %s", table, rows(1, 100)))
				}
				run := r.start(fmt.Sprintf("checkpoint_limit: %d\nbatching: {count: 10}", limit))
				var answers []func(error)
				for range limit / 10 {
					batch, answer := run.read()
					if len(batch) != 10 {
						t.Fatalf("a batch of %d", len(batch))
					}
					answers = append(answers, answer)
				}
				run.nothing(cdcQuiet)
				for range 5 { // one for one
					answers[0](nil)
					_, answer := run.read()
					answers = append(answers[1:], answer)
					run.nothing(cdcQuiet)
				}
				read := run.metrics.get("mssql_cdc_changes", "dbo.a") + run.metrics.get("mssql_cdc_changes", "dbo.b") + run.metrics.get("mssql_cdc_changes", "dbo.c")
				// Each table may hold one page that waits for its turn.
				if allowed := float64(limit + 5*10 + 3*10); read > allowed {
					t.Errorf("%v changes were read, want at most %v", read, allowed)
				}
			})
		})
	}
}

// max_in_flight bounds the batches of one table, or of all under ordering global, that are not acknowledged.
func TestCDCMaxInFlight(t *testing.T) {
	for _, tt := range []struct {
		fields string
		out    int
	}{
		{"max_in_flight: 1", 2}, // one of each table
		{"max_in_flight: 3", 6},
		{"max_in_flight: 0", 20},
		{"max_in_flight: 1\nordering: global", 1},
		{"max_in_flight: 4\nordering: global", 4},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				for _, table := range []string{"a", "b"} {
					r.table(table, "id int NOT NULL PRIMARY KEY, v int NULL")
					for i := range 10 {
						r.sql(fmt.Sprintf("INSERT dbo.%s VALUES %s", table, rows(10*i, 10*i+9)))
					}
				}
				run := r.start("batching: {count: 10}\n" + tt.fields)
				var answer func(error)
				for range tt.out {
					_, answer = run.read()
				}
				run.nothing(cdcQuiet)
				if tt.out < 20 {
					answer(nil)
					if !strings.Contains(tt.fields, "3") && !strings.Contains(tt.fields, "4") {
						run.read() // the next one is free now
					}
				}
			})
		})
	}
}

// poll_interval is how often the database is looked at when nothing is behind; stream_backoff_interval is its old name.
func TestCDCPollInterval(t *testing.T) {
	for fields, want := range map[string]int{"": 300, "poll_interval: 1s": 60, "poll_interval: 5s": 12, "stream_backoff_interval: 2s": 30} {
		t.Run(fields, func(t *testing.T) {
			onCDC(t, mssqltest.Config{}, func(t *testing.T, r *cdcRig) {
				r.table("a", "id int NOT NULL PRIMARY KEY")
				run := r.start(fields)
				run.nothing(cdcQuiet)
				r.ctl.RecordStatements(true)
				polls := run.metrics.get("mssql_cdc_polls", "")
				run.nothing(time.Minute)
				polls = run.metrics.get("mssql_cdc_polls", "") - polls
				if int(polls) < want-1 || int(polls) > want+1 {
					t.Errorf("%v polls in a minute, want %d", polls, want)
				}
				asked := 0
				for _, s := range r.ctl.Statements() {
					if strings.HasPrefix(s.Text, "SELECT TOP (1) m.start_lsn") {
						asked++
					}
				}
				asked /= 2 // the request has two statements
				if asked < want-1 || asked > want+1 {
					t.Errorf("the server was asked %d times in a minute, want %d", asked, want)
				}
				if others := len(r.ctl.Statements()) - 2*asked; others > 10 {
					t.Errorf("%d other statements in a minute without a change", others)
				}
			})
		})
	}
}
