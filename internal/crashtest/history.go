//go:build unix

package crashtest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// History is a server with one table, without a key, that takes each change as a row: mssql_cdc, and mssql_bulk in mode insert with
// exactly_once. A trigger writes the event id of each row into a heap.
type History struct {
	Target
}

// HistoryTo makes the target. Changes are read from the first one on, without a snapshot, whose rows have no order.
func (l *Lab) HistoryTo() *History {
	l.t.Helper()
	h := &History{Target{lab: l}}
	var err error
	if h.srv, err = mssqltest.New(mssqltest.Config{Database: "target"}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(h.srv.Close)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	h.gate = &gate{Listener: tcp}
	if err := h.srv.Listen(h.gate); err != nil {
		l.t.Fatal(err)
	}
	if err := h.srv.Exec(`CREATE TABLE dbo.history (source nvarchar(300) NOT NULL, event nvarchar(300) NOT NULL, operation varchar(20) NOT NULL, body nvarchar(max) NULL);
CREATE TABLE dbo.audit (source nvarchar(300) NOT NULL, event nvarchar(300) NOT NULL);
GO
CREATE TRIGGER dbo.watch ON dbo.history AFTER INSERT AS SET NOCOUNT ON; INSERT dbo.audit SELECT source, event FROM inserted`); err != nil {
		l.t.Fatal(err)
	}
	l.history = h
	return h
}

func (h *History) config() string {
	l := h.lab
	return fmt.Sprintf(`http: {enabled: false}
logger: {level: WARN}
input:
  mssql_cdc:
    connection_string: %q
    checkpoint_file: %q
    poll_interval: 50ms
    batching: {count: %d, period: 100ms}
pipeline:
  threads: 1
  processors:
    - mapping: 'root = {"source": @database_schema + "." + @table, "event": @event_id, "operation": @operation, "body": content().string()}'
output:
  mssql_bulk: { connection_string: %q, table: dbo.history, exactly_once: {enabled: true}, backoff: {initial_interval: 50ms, max_interval: 200ms} }
`, l.srv.ConnString(), l.file(), 1+len(l.processes)*7%40, h.srv.ConnString())
}

// Settle runs a last process until every change is there, and stops it in order.
func (h *History) Settle(stopWriting func()) {
	l := h.lab
	l.t.Helper()
	p := l.Start(0)
	stopWriting()
	l.last()
	want := 0
	for i := range l.workload.Tables {
		want += len(h.events(i))
	}
	timer, ticker := time.NewTimer(bound), time.NewTicker(50*time.Millisecond)
	defer timer.Stop()
	defer ticker.Stop()
	for got := ""; got != fmt.Sprint(want); {
		select {
		case <-ticker.C:
		case <-p.ended:
			l.t.Fatalf("the last process has ended: %s\n%s", p.Wait(time.Second), p.log.String())
		case <-timer.C:
			l.t.Fatalf("within %s there are %s of %d changes\n%s", bound, got, want, p.log.String())
		}
		rows, err := h.srv.Query("SELECT COUNT(DISTINCT event) FROM dbo.history")
		if err != nil {
			l.t.Fatal(err)
		}
		got = rows[0][0]
	}
	p.Terminate()
	if end := p.Wait(20 * time.Second); end != "stopped" {
		l.t.Errorf("told to stop, the last process has %s\n%s", end, p.log.String())
	}
}

// events are those of the changes of a table that a message is made of.
func (h *History) events(i int) []string {
	return slices.DeleteFunc(h.lab.truth(i), func(e string) bool { return strings.HasSuffix(e, "-3") })
}

// Verify checks that the trigger has seen each change of each table once, and nothing else. It returns how many.
func (h *History) Verify() (changes int) {
	l := h.lab
	l.t.Helper()
	want := map[string]int{}
	for i, n := range l.workload.Tables {
		for _, e := range h.events(i) {
			want[n.String()+" "+e]++
		}
	}
	rows, err := h.srv.Query("SELECT source, event FROM dbo.audit")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range rows {
		want[r[0]+" "+r[1]]--
	}
	for _, e := range slices.Sorted(maps.Keys(want)) {
		switch n := want[e]; {
		case n > 0:
			l.t.Errorf("%s was left out", e)
		case n < 0:
			l.t.Errorf("%s was written %d times too often", e, -n)
		}
	}
	return len(rows)
}
