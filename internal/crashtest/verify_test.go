//go:build unix

package crashtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// noted is a test that only remembers its errors.
type noted struct {
	testing.TB
	errors []string
}

func (n *noted) Helper() {}
func (n *noted) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

// TestVerifierCanFail spoils a good journal in every way that Verify is there to see.
func TestVerifierCanFail(t *testing.T) {
	l := NewLab(t, Odd(16), Options{Store: InFile, Fields: "batching: {count: 5}"})
	stop := l.Write(5 * time.Millisecond)
	defer stop()
	first := l.Start(0)
	first.Kind.Store(true)
	ends := map[string]bool{}
	for _, n := range l.workload.Tables {
		ends[n.String()+" snapshot_end"] = true
	}
	l.await(first, ends, func(e Entry) string { return e.Operation })
	first.Terminate()
	first.Wait(bound)
	l.Settle(stop)
	l.Verify()
	if t.Failed() {
		return
	}
	good := l.journal.entries
	find := func(table string, ok func(Entry) bool) int {
		t.Helper()
		for i := len(good) - 1; i >= 0; i-- {
			if e := good[i]; e.Table == table && !e.Lost && ok(e) {
				return i
			}
		}
		t.Fatalf("the journal has no such message of %s", table)
		return 0
	}
	is := func(op string) func(Entry) bool { return func(e Entry) bool { return e.Operation == op } }
	spoil := func(i int, f func(*Entry)) []Entry {
		out := slices.Clone(good)
		f(&out[i])
		return out
	}
	last := find("guid", Entry.change)
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"a change is lost", slices.Delete(slices.Clone(good), last, last+1), "never came"},
		{"a row is lost", slices.DeleteFunc(slices.Clone(good), func(e Entry) bool { // the last one, which nobody deletes
			return e.Table == "heap" && e.Event == good[find("heap", is("insert"))].Event
		}), "only in the source"},
		{"a change that never was", spoil(last, func(e *Entry) { e.Event = strings.Replace(e.Event, "-", "-f", 1) }), "which the server does not have"},
		{"changes change places", append(slices.Clone(good), good[find("guid", func(e Entry) bool { return e.change() && e.Event != good[last].Event })]), "came for the last time after"},
		{"a digit is lost", spoil(find("at", is("insert")), func(e *Entry) { e.Body = strings.Replace(e.Body, ".1234567", ".123456", 1) }), "only in the copy"},
		{"a number becomes text", spoil(find("text_sql", is("insert")), func(e *Entry) { e.Body = strings.Replace(e.Body, `"n":29000`, `"n":"29000"`, 1) }), "only in the copy"},
		{"the key is another's", spoil(find("text_win", is("insert")), func(e *Entry) { e.Key = `{"k":"other"}` }), "is not that of the row"},
		{"no end of a snapshot", slices.DeleteFunc(slices.Clone(good), func(e Entry) bool { return e.Table == "flags" && e.Operation == "snapshot_end" }), "no snapshot came to its end"},
		{"a finished row comes again", append(slices.Clone(good), func() Entry {
			e := good[find("amount", is("read"))]
			e.Run = 1
			return e
		}()), "again"},
		{"an acknowledged change comes again", append(slices.Clone(good), func() Entry {
			e := good[find("text_tr", func(e Entry) bool { return e.Operation == "read" && e.Run == 0 })]
			e.Run = 1
			return e
		}()), "again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &noted{TB: t}
			spoilt := &Lab{t: n, workload: l.workload, opts: l.opts, seed: l.seed, srv: l.srv, dir: l.dir, starts: l.starts, processes: l.processes}
			spoilt.journal = &Journal{entries: tt.entries, changed: make(chan struct{})}
			spoilt.Verify()
			if !strings.Contains(strings.Join(n.errors, "\n"), tt.want) {
				t.Errorf("the verifier says %q, want %q", n.errors, tt.want)
			}
		})
	}
}
