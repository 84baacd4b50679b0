package capture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// last keeps the newest value of each key as a consumer does that applies what comes in order. Everything is acknowledged.
type last struct {
	mu     sync.Mutex
	marks  []string
	values map[string]map[int32]int32 // by table
	done   chan struct{}
}

// keepLast starts a flow that last consumes, and ends it with the function that it returns.
func (r *rig) keepLast() (*last, func()) {
	r.t.Helper()
	f, err := Start(r.t.Context(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	l := &last{values: map[string]map[int32]int32{}, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			b, err := f.Next(context.Background())
			if err != nil {
				if !errors.Is(err, session.ErrClosed) {
					r.t.Errorf("the flow ended with: %v", err)
				}
				return
			}
			for _, run := range b.Runs {
				l.take(run)
			}
			b.Ack(nil)
		}
	}()
	return l, sync.OnceFunc(func() {
		if err := f.Close(context.Background()); err != nil {
			r.t.Errorf("closing the flow: %v", err)
		}
		<-l.done
	})
}

func (l *last) count(table string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.values[table])
}

func (l *last) marked() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.marks, ", ")
}

func (l *last) take(run Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	table := run.Table.Name.Object
	if l.values[table] == nil {
		l.values[table] = map[int32]int32{}
	}
	if run.Snapshot != nil && run.Snapshot.Mark != "" {
		l.marks = append(l.marks, table+" "+run.Snapshot.Mark)
		return
	}
	var rec arrow.RecordBatch
	if run.Snapshot != nil {
		rec = run.Snapshot.Page.Record
	} else {
		rec = run.Page.Record
	}
	ids, vs := rec.Column(0).(*array.Int32), rec.Column(1).(*array.Int32)
	for row := run.From; row < run.To; row++ {
		l.values[table][ids.Value(row)] = vs.Value(row)
	}
}

// A retention gap in the middle of a window of global order: changes of the table that were read before it are given out before
// its rows are read anew. Behind them they would undo what the rows say.
func TestGapInTheMiddleOfAWindow(t *testing.T) {
	for _, skip := range []int{3, 5, 9} {
		t.Run(fmt.Sprintf("before seek %d", skip), func(t *testing.T) {
			bubble(t, mssqltest.Config{}, func(r *rig) {
				r.cfg.Global = true
				r.cfg.Snapshots = Snapshots{OnGap: true, ChunkRows: 100, Tables: 1}
				r.tables("a", "b")
				r.insert("a", 1, 10, 1)
				for i := range 40 {
					r.exec("UPDATE dbo.a SET v = %d WHERE id = %d", i, 1+i%10)
				}
				r.insert("b", 1, 50, 1)
				r.scan()
				lsns := r.lsns("dbo_a")
				r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "FROM [cdc].[dbo_a_CT] AS t", App: "mssqlcdc", Skip: skip, Times: 1, Before: func(mssqltest.Event) {
					r.cleanup("dbo_a", lsns[len(lsns)-1])
				}})
				l, end := r.keepLast()
				defer end()
				r.until(time.Minute, "read anew", func() bool { return strings.HasSuffix(l.marked(), SnapshotEnd) && l.count("b") == 50 })
				pass(2 * time.Second)
				end()
				for id := range int32(10) {
					if got, want := l.values["a"][id+1], 30+id; got != want {
						t.Errorf("row %d of a ends as %d, want %d", id+1, got, want)
					}
				}
				if got, want := l.marked(), "a snapshot_begin, a snapshot_end"; got != want {
					t.Errorf("marks %s, want %s", got, want)
				}
				if p := r.position("a"); p.Snapshot != nil {
					t.Errorf("the stored position of a is %s", p)
				}
			})
		})
	}
}

// The connection that fixes the handover of a table that is read anew leads to a replica which has not even reached the table's
// position. That is waited for: such a handover could never be stored.
func TestHandoverOnAReplicaThatIsBehind(t *testing.T) {
	bubble(t, mssqltest.Config{}, func(r *rig) {
		r.cfg.Snapshots = Snapshots{OnGap: true, ChunkRows: 100, Tables: 1}
		r.cfg.MaxConnections = 1
		r.tables("a")
		r.insert("a", 1, 5, 5)
		r.scan()
		rep, err := r.srv.AddReplica("r1", "127.0.0.1:1434")
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		rep.Freeze()
		l, end := r.keepLast()
		defer end()
		r.insert("a", 6, 8, 1)
		r.until(10*time.Second, "8 rows", func() bool { return l.count("a") == 8 })
		pass(3 * time.Second) // the position is stored
		end()
		r.insert("a", 9, 12, 1)
		r.scan()
		lsns := r.lsns("dbo_a")
		r.cleanup("dbo_a", lsns[len(lsns)-1])
		// The first reading meets the gap on the primary; its connection is closed then, and the next ones lead to the replica.
		r.ctl.Add(mssqltest.Rule{Kind: "statement", Text: "WHERE m.start_lsn = @proof", App: "mssqlcdc", Times: 1, Before: func(mssqltest.Event) {
			r.mu.Lock()
			r.addrs = []string{rep.Addr()}
			r.mu.Unlock()
		}})
		l, end = r.keepLast()
		defer end()
		r.until(time.Minute, "a waits", func() bool { s, _ := r.seen.is("a"); return s == Waiting })
		pass(20 * time.Second)
		if marks := l.marked(); marks != "" {
			t.Errorf("marks %s before the replica has caught up", marks)
		}
		rep.Thaw()
		r.until(time.Minute, "12 rows", func() bool { return l.count("a") == 12 })
		r.until(time.Minute, "stored", func() bool { p := r.position("a"); return p.Snapshot == nil && p.Done })
		end()
		if text := l.marked(); text != "a snapshot_begin, a snapshot_end" {
			t.Errorf("marks %s", text)
		}
	})
}

// A flow that only takes snapshots does not wait for a table that has gone.
func TestSnapshotOnlyOfATableThatGoes(t *testing.T) {
	bubble(t, mssqltest.Config{CaptureStopped: true}, func(r *rig) {
		r.cfg.Snapshots = Snapshots{On: true, Only: true, ChunkRows: 100, Tables: 1}
		r.tables("a")
		f, err := Start(context.Background(), r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.until(10*time.Second, "waiting for the capture job", func() bool { s, _ := r.seen.is("a"); return s == Waiting })
		r.disable("a", "dbo_a")
		bounded, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if b, err := f.Next(bounded); !errors.Is(err, ErrSnapshotsDone) {
			t.Errorf("%v, %v; want the end", b, err)
		}
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
