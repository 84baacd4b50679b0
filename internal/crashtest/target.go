//go:build unix

package crashtest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// Target is a server into which the processes of a Lab write their messages with mssql_bulk, instead of into the journal.
type Target struct {
	lab    *Lab
	srv    *mssqltest.Server
	gate   *gate
	fields string // of mssql_bulk, as YAML lines
	seen   string // the number of the last row that is in the journal
	rows   map[batchID]*written
}

type batchID struct{ run, batch int }

// written is what the target has of a batch.
type written struct{ size, rows int }

// WriteTo makes the lab's processes write into a server of its own, with these fields of mssql_bulk.
func (l *Lab) WriteTo(fields string) *Target {
	l.t.Helper()
	t := &Target{lab: l, fields: fields, seen: "0", rows: map[batchID]*written{}}
	var err error
	if t.srv, err = mssqltest.New(mssqltest.Config{Database: "target"}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(t.srv.Close)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	t.gate = &gate{Listener: tcp}
	if err := t.srv.Listen(t.gate); err != nil {
		l.t.Fatal(err)
	}
	if err := t.srv.Exec(`CREATE TABLE dbo.messages (n bigint IDENTITY, [run] int NOT NULL, [batch] int NOT NULL, [size] int NOT NULL, [Operation] varchar(20) NOT NULL,
[Schema] nvarchar(128) NOT NULL, [Table] nvarchar(128) NOT NULL, [LSN] varchar(30) NOT NULL, [Event] nvarchar(200) NOT NULL, [Key] nvarchar(1000) NOT NULL,
[Snapshot] varchar(100) NOT NULL, [Body] nvarchar(max) NOT NULL)`); err != nil {
		l.t.Fatal(err)
	}
	l.target = t
	return t
}

// config is the part of a stream behind the input.
func (t *Target) config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pipeline: {threads: 1, processors: [{numbered: {}}]}\noutput:\n  mssql_bulk:\n    connection_string: %q\n    table: messages\n    backoff: {initial_interval: 50ms, max_interval: 200ms}\n", t.srv.ConnString())
	for line := range strings.Lines(t.fields) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// Cut breaks every connection.
func (t *Target) Cut() { t.srv.Control().Cut(nil) }

// Gone makes the server go away, or come back.
func (t *Target) Gone(gone bool) {
	t.gate.down.Store(gone)
	if gone {
		t.Cut()
	}
}

// gather puts the rows that have come since the last time into the lab's journal, in the order in which they are in the table.
func (t *Target) gather() {
	t.lab.t.Helper()
	rows, err := t.srv.Query("SELECT n, [run], [batch], [size], [Operation], [Schema], [Table], [LSN], [Event], [Key], [Snapshot], [Body] FROM dbo.messages WHERE n > " + t.seen + " ORDER BY n")
	if err != nil {
		t.lab.t.Fatal(err)
	}
	for _, r := range rows {
		var number [3]int
		for i := range number {
			if number[i], err = strconv.Atoi(r[1+i]); err != nil {
				t.lab.t.Fatal(err)
			}
		}
		id := batchID{number[0], number[1]}
		if t.rows[id] == nil {
			t.rows[id] = &written{size: number[2]}
		}
		t.rows[id].rows++
		t.lab.journal.add(id.run, []Message{{Operation: r[4], Schema: r[5], Table: r[6], LSN: r[7], Event: r[8], Key: r[9], Snapshot: r[10], Body: r[11]}}, false, false)
		t.seen = r[0]
	}
}

// Settle runs a last process until everything is in the target, and stops it in order.
func (t *Target) Settle(stopWriting func()) {
	l := t.lab
	l.t.Helper()
	p := l.Start(0)
	missing := map[string]bool{}
	for _, n := range l.workload.Tables { // those whose rows this process has to read; of a table without a key, that is until its handover is stored
		if pos, stored := l.starts[p.Run][n.stored()]; !stored || pos.Snapshot != nil {
			missing[n.String()+" snapshot_end"] = true
		}
	}
	t.await(p, missing, func(e Entry) string {
		if e.Run != p.Run {
			return ""
		}
		return e.Operation
	})
	stopWriting()
	for _, event := range l.last() {
		missing[event] = true
	}
	t.await(p, missing, func(e Entry) string { return e.Event })
	p.Terminate()
	if end := p.Wait(20 * time.Second); end != "stopped" {
		l.t.Errorf("told to stop, the last process has %s", end)
	}
	t.gather()
}

// await waits until something of each of these tables is in the target.
func (t *Target) await(p *Process, missing map[string]bool, of func(Entry) string) {
	l := t.lab
	l.t.Helper()
	timer, ticker := time.NewTimer(bound), time.NewTicker(50*time.Millisecond)
	defer timer.Stop()
	defer ticker.Stop()
	for seen := 0; ; {
		t.gather()
		entries, _ := l.journal.Entries()
		for ; seen < len(entries); seen++ {
			delete(missing, entries[seen].Schema+"."+entries[seen].Table+" "+of(entries[seen]))
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-p.ended:
			l.t.Fatalf("the last process has ended: %s\n%s", p.Wait(time.Second), p.log.String())
		case <-timer.C:
			l.t.Fatalf("within %s these did not come: %v\n%s", bound, slices.Sorted(maps.Keys(missing)), p.log.String())
		}
	}
}

// Verify is that of the lab, with the target as the journal. Also, no batch is there in part, and at most so many were written twice as
// answers to a commit can have been lost. It returns the numbers of messages and of those batches.
func (t *Target) Verify(lost int) (messages, twice int) {
	t.lab.t.Helper()
	twice = t.whole(lost)
	return t.lab.Verify(), twice
}

// whole checks the batches, and counts those that were written twice.
func (t *Target) whole(lost int) (twice int) {
	t.lab.t.Helper()
	for id, w := range t.rows {
		if w.rows%w.size != 0 {
			t.lab.t.Errorf("batch %d of process %d has %d rows, and the target %d of them", id.batch, id.run, w.size, w.rows)
		}
		twice += w.rows/w.size - 1
	}
	if twice > lost {
		t.lab.t.Errorf("%d batches are there twice, though at most %d answers to commits were lost", twice, lost)
	}
	return twice
}
