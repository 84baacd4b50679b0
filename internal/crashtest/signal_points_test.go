//go:build unix

package crashtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// signalCrashes are the deaths while signals have tables read. Those at marks come behind the last window, so that the mark is the end's.
var signalCrashes = []crash{
	at(crashpoint.SignalTaken), at(crashpoint.SignalTaken, crashpoint.Saving), at(crashpoint.SignalTaken, crashpoint.Saved),
	at(crashpoint.WindowOpened), at(crashpoint.WindowRead), at(crashpoint.WindowClosed), at(crashpoint.IncrementGiven),
	at(crashpoint.WindowGiven), {steps: []crashpoint.Point{crashpoint.WindowGiven}, skip: 3},
	at(crashpoint.WindowAcked), at(crashpoint.WindowAcked, crashpoint.Saving), at(crashpoint.WindowAcked, crashpoint.Saved, crashpoint.WindowOpened),
	at(crashpoint.IncrementRead), at(crashpoint.IncrementRead, crashpoint.IncrementGiven), at(crashpoint.IncrementRead, crashpoint.IncrementAcked),
	at(crashpoint.IncrementRead, crashpoint.IncrementAcked, crashpoint.Saved),
}

// signalLab is a lab with a signal table, in which every snapshot of the start is complete.
func signalLab(t *testing.T, w Workload, o Options) *Lab {
	t.Helper()
	o.Fields += "\nsnapshot_max_batch_size: 20\nbatching: {count: 10}\ncheckpoint_limit: 200\nsignal_table: dbo.signals\nexclude: [ 'dbo\\.heap', 'dbo\\.visits' ]"
	w.Tables = slices.DeleteFunc(w.Tables, func(n Name) bool { return n.Table == "heap" || n.Table == "visits" })
	l := NewLab(t, w, o)
	l.exec("CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)")
	l.exec("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'signals', @capture_instance = N'signals', @role_name = NULL, @supports_net_changes = 0")
	p := l.Start(0)
	ends := map[string]bool{}
	for _, n := range w.Tables {
		ends[n.String()+" snapshot_end"] = true
	}
	l.await(p, ends, func(e Entry) string { return e.Operation })
	p.Terminate()
	p.Wait(bound)
	return l
}

// signal has tables read that match a pattern. The condition tells the request from others.
func (l *Lab) signal(n int, pattern string) {
	l.exec(fmt.Sprintf(`INSERT dbo.signals VALUES ('s%d', 'execute-snapshot', '{"data-collections": ["%s"], "additional-condition": "%d = %d"}')`, n, pattern, n, n))
}

// A process dies at every step of snapshots by signal, while rows change; the copy is the source, and nothing finished is read again.
func TestEveryCrashPointOfSignals(t *testing.T) {
	if !fuller() {
		t.Skip("18 processes: set CI=true or MSSQLCDC_LONG=1")
	}
	for _, ordering := range []string{"table", "global"} {
		if ordering == "global" && !longest() {
			continue
		}
		t.Run(ordering, func(t *testing.T) {
			t.Parallel()
			l := signalLab(t, Odd(60), Options{Seed: 11, Store: InFile, Fields: "ordering: " + ordering})
			stop := l.Write(30 * time.Millisecond)
			defer stop()
			for i, c := range signalCrashes {
				if i < 3 || len(l.Positions()["dbo.signals"].Signals.Queue) < 2 {
					l.signal(i, []string{"dbo.at", "dbo.(guid|text_sql)", "my schema.*", "dbo.composite"}[i%4])
				}
				p := l.Start(c.skip, c.steps...)
				if end := p.Wait(bound); end != "crashed" {
					last, made := p.Last()
					t.Fatalf("waiting for the step %q: the process has %s; its last step was %q of %v\n%s", c.steps, end, last, made, p.log.String())
				}
			}
			l.settleSignals(stop)
			l.verifySignals()
		})
	}
}

// settleSignals has every table read once more, by a process that lives, and ends as Settle does.
func (l *Lab) settleSignals(stop func()) {
	l.t.Helper()
	l.signal(1000, ".*")
	p := l.Start(0)
	p.Kind.Store(true)
	ends := map[string]bool{}
	for _, n := range l.workload.Tables {
		ends[n.String()+" incremental_end"] = true
	}
	l.await(p, ends, func(e Entry) string { return e.Operation })
	p.Terminate()
	p.Wait(bound)
	l.Settle(stop)
}

// verifySignals compares the journal with the server: the changes are all there and in order, the journal applied from its first
// message gives the source, and no process reads a row again that was done by the stored progress at its start.
func (l *Lab) verifySignals() {
	l.t.Helper()
	entries, _ := l.journal.Entries()
	byTable := map[string][]Entry{}
	for _, e := range entries {
		byTable[e.Schema+"."+e.Table] = append(byTable[e.Schema+"."+e.Table], e)
	}
	reads := 0
	for i, n := range l.workload.Tables {
		all := byTable[n.String()]
		delete(byTable, n.String())
		v := &verifier{lab: l, name: n, given: all, entries: slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Lost })}
		v.handover()
		v.changes(l.truth(i))
		v.state(l.source(n))
		reads += v.windows()
	}
	for name := range byTable {
		l.t.Errorf("messages of %q, which is not read", name)
	}
	l.t.Logf("%d processes, %d messages, %d rows by signal", len(l.processes), len(entries), reads)
	if reads == 0 {
		l.t.Error("no row was read by a signal")
	}
}

// windows checks the rows that signals have asked for against the progress that was stored at the start of each process.
func (v *verifier) windows() (reads int) {
	run := -1
	orders := map[string]*readOrder{}
	waited, ended := map[string]bool{}, map[string]bool{} // snapshots that were stored as wanted, and then not any more
	for _, e := range v.given {
		if e.Run != run {
			run = e.Run
			for id, o := range orders {
				if rows, queued := v.lab.progress(run, id); queued {
					o.restart(Position{Snapshot: &struct {
						ID   string `json:"id"`
						Rows int    `json:"rows"`
					}{id, rows}})
					waited[id] = true
				} else {
					o.restart(Position{})
					ended[id] = waited[id]
				}
			}
		}
		if e.Operation != "read" || !v.signalled(e) {
			continue
		}
		reads++
		o := orders[e.Snapshot]
		if o == nil {
			o = &readOrder{places: map[string]int{}}
			orders[e.Snapshot] = o
		}
		if ended[e.Snapshot] {
			v.errorf("process %d reads a row of snapshot %s, which was finished: %s", run, e.Snapshot, e.Event)
			return reads
		}
		e.Event = e.Key
		if place, ok := o.add(e); !ok {
			v.errorf("process %d began after %d rows of snapshot %s, and gives out row %d again: %s", run, o.saved, o.id, place, e.Key)
			return reads
		}
	}
	return reads
}

// signalled tells whether a row is of a snapshot that a signal has asked for.
func (v *verifier) signalled(e Entry) bool {
	return !slices.ContainsFunc(v.given, func(o Entry) bool { return o.Operation == "snapshot_begin" && o.Snapshot == e.Snapshot })
}

// progress is how many rows of a snapshot were stored as done when a process began, if it was not finished.
func (l *Lab) progress(run int, id string) (rows int, queued bool) {
	for _, r := range l.starts[run]["dbo.signals"].Signals.Queue {
		if r.ID == id {
			return r.Rows, true
		}
	}
	return 0, false
}
