//go:build unix

package crashtest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// bound of waits for what has to come. Long runs are made beside other work.
var bound = map[bool]time.Duration{false: time.Minute, true: 5 * time.Minute}[os.Getenv("MSSQLCDC_LONG") != ""]

// Settle runs a last process until everything has come, and stops it in order. It stops the writer when all snapshots are complete:
// that of a table without a key needs changes to know where it was.
func (l *Lab) Settle(stopWriting func()) {
	l.t.Helper()
	p := l.Start(0)
	p.Kind.Store(true) // or it could be stopped before what follows a refused batch has come again
	missing := map[string]bool{}
	for _, n := range l.workload.Tables {
		if pos, stored := l.starts[p.Run][n.stored()]; !stored || pos.Snapshot != nil {
			missing[n.String()+" snapshot_end"] = true
		}
	}
	l.await(p, missing, func(e Entry) string { return e.Operation })
	stopWriting()
	for _, event := range l.last() {
		missing[event] = true
	}
	l.await(p, missing, func(e Entry) string { return e.Event })
	p.Terminate()
	if end := p.Wait(20 * time.Second); end != "stopped" {
		l.t.Errorf("told to stop, the last process has %s", end)
	}
}

// last changes each table once more, and names the last change of each.
func (l *Lab) last() (events []string) {
	l.t.Helper()
	l.exec("BEGIN TRANSACTION;\n" + l.workload.Last + "\nCOMMIT;")
	if err := l.srv.Control().CaptureScan(l.t.Context(), ""); err != nil {
		l.t.Fatal(err)
	}
	for i, n := range l.workload.Tables {
		all := l.truth(i)
		if len(all) == 0 {
			l.t.Fatalf("table %s has no change", n)
		}
		events = append(events, n.String()+" "+all[len(all)-1])
	}
	return events
}

// await waits until a process has given out, and been told that it is kept, something of each of these tables.
func (l *Lab) await(p *Process, missing map[string]bool, of func(Entry) string) {
	l.t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for seen := 0; ; {
		entries, more := l.journal.Entries()
		for ; seen < len(entries); seen++ {
			if e := entries[seen]; e.Run == p.Run && e.Acked {
				delete(missing, e.Schema+"."+e.Table+" "+of(e))
			}
		}
		if len(missing) == 0 {
			return
		}
		select {
		case <-more:
		case <-p.ended:
			l.t.Fatalf("the last process has ended: %s\n%s", p.Wait(time.Second), p.log.String())
		case <-timer.C:
			l.t.Fatalf("within %s these did not come: %v", bound, slices.Sorted(maps.Keys(missing)))
		}
	}
}

// truth lists the changes of table number i as event_id names them, in their order.
func (l *Lab) truth(i int) (out []string) {
	l.t.Helper()
	for _, r := range l.query(fmt.Sprintf(`SELECT LOWER(CONVERT(varchar(30), __$start_lsn, 2)), CONVERT(varchar(20), __$command_id),
LOWER(CONVERT(varchar(30), __$seqval, 2)), CONVERT(varchar(20), __$operation) FROM cdc.%s_CT ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation`, instance(i))) {
		var command uint32
		if _, err := fmt.Sscan(r[1], &command); err != nil {
			l.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s-%08x-%s-%s", r[0], command, r[2], r[3]))
	}
	return out
}

// Verify compares the journal with the server:
//
//   - every change after a table's handover is in the journal, and no change that the server does not have;
//   - the last occurrences of a table's changes are in order;
//   - the journal applied from its first message to its last gives the source's rows, each value exact; rows of a table without
//     a key are counted, each message once, from its last complete snapshot on;
//   - what a stored position covers at the start of a process is not given out by it: neither finished parts of a snapshot, nor
//     changes; nor is anything that was acknowledged before a process was stopped in order.
//
// It returns the number of messages.
func (l *Lab) Verify() int {
	l.t.Helper()
	entries, _ := l.journal.Entries()
	byTable := map[string][]Entry{}
	for _, e := range entries {
		name := e.Schema + "." + e.Table
		byTable[name] = append(byTable[name], e)
	}
	for i, n := range l.workload.Tables {
		all := byTable[n.String()]
		delete(byTable, n.String())
		v := &verifier{lab: l, name: n, given: all, entries: slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Lost })}
		v.handover()
		v.changes(l.truth(i))
		v.state(l.source(n))
		v.resumed()
	}
	for name := range byTable {
		if name != "dbo.mssql_cdc_checkpoint" {
			l.t.Errorf("messages of %q, which is no table", name)
		}
	}
	return len(entries)
}

// verifier judges the messages of one table.
type verifier struct {
	lab     *Lab
	name    Name
	given   []Entry // all of the table
	entries []Entry // those that are kept
	lsn     string  // the handover of the last complete snapshot
	id      string  // of that
	keyless bool
}

func (v *verifier) errorf(format string, args ...any) {
	v.lab.t.Helper()
	v.lab.t.Errorf("table %s: %s", v.name, fmt.Sprintf(format, args...))
}

// change tells whether an entry is a change rather than of a snapshot.
func (e Entry) change() bool {
	return e.Operation != "read" && !strings.HasPrefix(e.Operation, "snapshot_") && !strings.HasPrefix(e.Operation, "incremental_")
}

func (v *verifier) handover() {
	v.keyless = true
	for _, e := range v.entries {
		if e.Operation == "snapshot_end" {
			v.lsn, v.id = e.LSN, e.Snapshot
		}
		v.keyless = v.keyless && e.Key == ""
	}
	if v.id == "" {
		v.errorf("no snapshot came to its end")
	}
}

// changes checks that they are all there, and their order.
func (v *verifier) changes(truth []string) {
	last := map[string]int{}
	for i, e := range v.entries {
		if e.change() {
			last[e.Event] = i
		}
	}
	known := map[string]bool{}
	lost := 0
	for _, event := range truth {
		known[event] = true
		if _, ok := last[event]; !ok && "0x"+event[:20] > strings.ToLower(v.lsn) {
			if lost++; lost <= 3 {
				v.errorf("change %s after the handover %s never came", event, v.lsn)
			}
		}
	}
	for event := range last {
		if !known[event] {
			v.errorf("change %s came, which the server does not have", event)
		}
	}
	events := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return last[a] - last[b] })
	if !slices.IsSorted(events) {
		for i := range events[1:] {
			if events[i] > events[i+1] {
				v.errorf("change %s came for the last time after %s", events[i+1], events[i])
				break
			}
		}
	}
}

// state applies the messages and compares the rows.
func (v *verifier) state(source []string) {
	var rows []string
	if v.keyless {
		rows = v.counted()
	} else {
		rows = v.applied()
	}
	slices.Sort(rows)
	slices.Sort(source)
	if !slices.Equal(rows, source) {
		only := func(a, b []string) (out []string) {
			count := map[string]int{}
			for _, r := range b {
				count[r]++
			}
			for _, r := range a {
				if count[r]--; count[r] < 0 {
					out = append(out, r)
				}
			}
			return out
		}
		extra, missing := only(rows, source), only(source, rows)
		v.errorf("the copy has %d rows and the source %d; %d only in the copy, %d only in the source\ncopy:\n%s\nsource:\n%s", len(rows), len(source), len(extra), len(missing),
			strings.Join(extra[:min(2, len(extra))], "\n"), strings.Join(missing[:min(2, len(missing))], "\n"))
	}
}

// applied is the copy after all messages, whose rows are told apart by their key.
func (v *verifier) applied() (rows []string) {
	copied := map[string]string{}
	for _, e := range v.entries {
		switch e.Operation {
		case "read", "insert", "update_after":
			copied[e.Key] = e.Body
		case "delete":
			delete(copied, e.Key)
		}
	}
	for key, body := range copied {
		row, err := canonical(body)
		if err != nil {
			v.errorf("%v", err)
		}
		parts, err := canonical(key)
		if err != nil {
			v.errorf("%v", err)
		}
		for line := range strings.Lines(parts) {
			if !strings.Contains(row, line) {
				v.errorf("the key %s is not that of the row %s", key, body)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// counted are the rows of a table without a key.
func (v *verifier) counted() (rows []string) {
	seen, count := map[string]bool{}, map[string]int{}
	for _, e := range v.entries {
		counts := e.change() && strings.ToLower(e.LSN) > strings.ToLower(v.lsn) || e.Operation == "read" && e.Snapshot == v.id
		if seen[e.Event] || !counts {
			continue
		}
		seen[e.Event] = true
		row, err := canonical(e.Body)
		if err != nil {
			v.errorf("%v", err)
		}
		switch e.Operation {
		case "read", "insert", "update_after":
			count[row]++
		case "delete", "update_before":
			count[row]--
		}
	}
	for row, n := range count {
		if n < 0 {
			v.errorf("a row is deleted %d times more often than it came: %s", -n, row)
		}
		for range n {
			rows = append(rows, row)
		}
	}
	return rows
}

// resumed checks what each process gave out against the position that it began at.
func (v *verifier) resumed() {
	run := -1
	var delivered map[string]bool // acknowledged before an orderly end
	order := &readOrder{places: map[string]int{}}
	for _, e := range v.given {
		pos, stored := v.lab.starts[e.Run][v.name.stored()]
		if e.Run != run {
			run = e.Run
			order.restart(pos)
			delivered = nil
			if v.lab.stoppedBefore(run) {
				delivered = v.lab.covered(run-1, v.name)
			}
		}
		switch {
		case delivered[e.Event] && !(v.keyless && e.Operation == "read"):
			v.errorf("process %d gives out %s again, which was acknowledged before the process before it was stopped", run, e.Event)
			return
		case e.change() && stored && pos.Snapshot == nil && pos.Done && strings.ToLower(e.LSN) <= pos.LSN:
			v.errorf("process %d began after %s and gives out %s", run, pos.LSN, e.Event)
			return
		case e.Operation == "read" && stored && pos.Snapshot == nil:
			v.errorf("process %d reads a row again, though the snapshot was finished: %s", run, e.Event)
			return
		case e.Operation == "read" && !v.keyless:
			if place, ok := order.add(e); !ok {
				v.errorf("process %d began after %d rows of snapshot %s, and gives out row %d again: %s", run, order.saved, order.id, place, e.Event)
				return
			}
		}
	}
}

// readOrder is the order of a snapshot's rows, as they were given out for the first time. A refused batch and all after it come again
// in that order.
type readOrder struct {
	id     string
	rows   []string
	places map[string]int
	saved  int // so many were done when the present process began
}

// restart forgets the rows that a new process reads again.
func (o *readOrder) restart(pos Position) {
	o.saved = 0
	if pos.Snapshot != nil && pos.Snapshot.ID == o.id {
		o.saved = min(pos.Snapshot.Rows, len(o.rows))
	}
	for _, event := range o.rows[o.saved:] {
		delete(o.places, event)
	}
	o.rows = o.rows[:o.saved]
}

// add takes a row that was given out. It is not ok when the row was done before the process began.
func (o *readOrder) add(e Entry) (place int, ok bool) {
	if e.Snapshot != o.id {
		o.id, o.rows, o.saved = e.Snapshot, nil, 0
		clear(o.places)
	}
	place, known := o.places[e.Event]
	if !known {
		place = len(o.rows)
		o.places[e.Event] = place
		o.rows = append(o.rows, e.Event)
	}
	return place, place >= o.saved
}

// covered are the events of a table that a process had acknowledged at its end, with everything before them in their lane.
func (l *Lab) covered(run int, n Name) map[string]bool {
	entries, _ := l.journal.Entries()
	first, open := map[string]int{}, map[string]bool{}
	for i, e := range entries {
		if e.Run != run || !l.global() && (e.Schema != n.Schema || e.Table != n.Table) {
			continue
		}
		if _, known := first[e.Event]; !known {
			first[e.Event] = i
		}
		if open[e.Event] = true; e.Acked {
			delete(open, e.Event)
		}
	}
	end := len(entries)
	for event := range open {
		end = min(end, first[event])
	}
	out := map[string]bool{}
	for event, i := range first {
		if i < end && entries[i].Schema == n.Schema && entries[i].Table == n.Table {
			out[event] = true
		}
	}
	return out
}

// global tells whether all tables share a lane.
func (l *Lab) global() bool { return strings.Contains(l.opts.Fields, "ordering: global") }

// stoppedBefore tells whether the process before a run was stopped in order.
func (l *Lab) stoppedBefore(run int) bool { return run > 0 && l.processes[run-1].err == nil }
