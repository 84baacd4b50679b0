package compat

import (
	"fmt"
	"strings"
	"testing"
)

// numbers is T-SQL that inserts rows 1 to n into a table (id int, v char) in one statement.
func numbers(table string, n int, width int) string {
	return fmt.Sprintf(`WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS x(v)),
 n AS (SELECT 1 + a.v + 10 * b.v + 100 * c.v + 1000 * e.v AS i FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c CROSS JOIN d AS e)
INSERT %s SELECT i, REPLICATE('x', %d) FROM n WHERE i <= %d`, table, width, n)
}

// distinct counts the ids of changes.
func distinct(t *testing.T, all []*received) int {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range all {
		ids[text(m.meta, "key")] = true
	}
	return len(ids)
}

// redpanda-data/connect PR #4677: a crash after half of a transaction was acknowledged lost its other half, because the
// position was the transaction's own LSN and reading went on above it.
func TestCrashInsideATransactionLosesNothing(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(100))")
		r.enable("t")
		r.sql(numbers("dbo.t", 2500, 10))
		r.scan()
		r.config = "batching: { count: 1000 }\n"
		r.start(r.config)
		r.hold()
		before := r.take(2500)
		if err := r.ack(1); err != nil {
			r.t.Fatal(err)
		}
		acked := 0
		for _, m := range before {
			if m.batch == 1 {
				acked++
			}
		}
		r.saved()
		r.crash()
		r.restart()
		after := r.take(2500 - acked)
		if n := distinct(t, append(before[:acked:acked], after...)); n != 2500 {
			t.Errorf("%d of 2500 rows came: %d acknowledged before the crash, %d after it", n, acked, len(after))
		}
		if err := r.expectNone(); err != nil {
			t.Error(err)
		}
	})
}

// DBZ-8557, DBZ-3486; apache/seatunnel#10481; airbyte#21498, #28895; jcustenborder/kafka-connect-cdc-mssql#8, in a small form: the
// work of reading one large transaction is linear, whether it is read at once or goes on in its middle after each crash.
func TestLargeTransactionIsReadInLinearWork(t *testing.T) {
	const rows = 6000
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(1000))")
		r.enable("t")
		r.sql(numbers("dbo.t", rows, 1000))
		r.scan()
		r.control().RecordStatements(true)
		r.start("batching: { count: 500 }\n")
		r.hold()
		first := r.take(rows)
		if err := r.ack(4); err != nil {
			r.t.Fatal(err)
		}
		var acked int
		for _, m := range first {
			if m.batch <= 4 {
				acked++
			}
		}
		r.saved()
		checkWork(t, r, rows)
		r.crash()
		r.control().RecordStatements(true)
		r.restart()
		second := r.take(rows - acked)
		if n := distinct(t, append(first[:acked:acked], second...)); n != rows {
			t.Errorf("%d of %d rows came", n, rows)
		}
		checkWork(t, r, rows-acked)
	})
}

// checkWork holds the rows that reads of the change table examined against those that they returned.
func checkWork(t *testing.T, r *rig, least int) {
	t.Helper()
	var examined, returned int64
	for _, s := range r.control().Statements() {
		if strings.Contains(s.Text, "dbo_t_CT") && strings.Contains(s.Text, "TOP (@n)") {
			examined += s.RowsExamined
			returned += s.RowsReturned
		}
	}
	if returned < int64(least) {
		t.Errorf("reads of the change table returned %d rows, want at least %d", returned, least)
	}
	if float64(examined) > 1.1*float64(returned) {
		t.Errorf("reads of the change table examined %d rows and returned %d, want at most 1.1 times as many", examined, returned)
	}
}

// Found in Redpanda's input (a sort where an ordered seek was possible), airbyte#84356: one more change behind a long history of a
// table costs the work of one change.
func TestOneChangeBehindALongHistoryIsASeek(t *testing.T) {
	onStandIn(t, databaseOptions{}, func(r *rig) {
		r.sql("CREATE TABLE dbo.t (id int PRIMARY KEY, v varchar(10))\nCREATE TABLE dbo.idle (id int PRIMARY KEY)")
		r.enable("t")
		r.enable("idle")
		r.sql(numbers("dbo.t", 3000, 1) + "\nINSERT dbo.idle VALUES (1), (2), (3)")
		r.scan()
		r.start("")
		r.take(3003)
		r.control().RecordStatements(true)
		r.sql("UPDATE dbo.t SET v = 'y' WHERE id = 1500")
		r.scan()
		r.expect(`dbo.t update {"id":1500,"v":"y"}`)
		var examined int64
		for _, s := range r.control().Statements() {
			if strings.Contains(s.Text, "_CT]") && !strings.Contains(s.Text, "lsn_time_mapping ") {
				examined += s.RowsExamined
			}
		}
		if examined > 50 {
			t.Errorf("%d rows examined for one change", examined)
		}
	})
}
