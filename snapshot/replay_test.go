package snapshot_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// TestChunksAndStreamGiveTheTable changes a table between any two pages of its
// snapshot, reads the chunks on several readers in turns, and then applies the
// stream from the handover on.
func TestChunksAndStreamGiveTheTable(t *testing.T) {
	for _, tt := range []struct {
		name, key, table string
		value            func(i int) string
	}{
		{"int", "k", "k int NOT NULL PRIMARY KEY", func(i int) string { return fmt.Sprint(i) }},
		{"text", "k", "k varchar(10) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL PRIMARY KEY", func(i int) string {
			return fmt.Sprintf("'%c%c%d'", "aZ-eÉ "[i%6], "-bB"[i%3], i)
		}},
		{"uniqueidentifier", "k", "k uniqueidentifier NOT NULL PRIMARY KEY", func(i int) string {
			return fmt.Sprintf("'%08X-%04X-0000-0000-%012X'", i*7919%64, i*31, i*104729%97)
		}},
		{"descending datetime", "k", "k datetime NOT NULL PRIMARY KEY (k DESC)", func(i int) string {
			return fmt.Sprintf("DATEADD(ms, %d, '2024-02-29T23:59:59')", i*10)
		}},
	} {
		for _, on := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, SNAPSHOT %v", tt.name, on), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(3, 4))
				l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.k ("+tt.table+", v int)", fmt.Sprintf(enable, "k"))
				if on {
					l.exec(snapshotOn)
				}
				const keys = 60
				change := func() string {
					k, other := tt.value(rnd.IntN(keys)), tt.value(rnd.IntN(keys))
					switch rnd.IntN(4) {
					case 0:
						return fmt.Sprintf("DELETE dbo.k WHERE k = %s", k)
					case 1:
						return fmt.Sprintf("UPDATE dbo.k SET k = %s WHERE k = %s AND NOT EXISTS (SELECT 1 FROM dbo.k WHERE k = %[1]s)", other, k)
					case 2:
						return fmt.Sprintf("UPDATE dbo.k SET v = v + 1 WHERE k >= %s", k)
					}
					return fmt.Sprintf("IF NOT EXISTS (SELECT 1 FROM dbo.k WHERE k = %s) INSERT dbo.k VALUES (%[1]s, %d)", k, rnd.IntN(100))
				}
				meanwhile := func() {
					l.exec("BEGIN TRAN; " + change() + "; " + change() + "; COMMIT")
					if rnd.IntN(3) == 0 {
						l.scan()
					}
				}
				for range 120 {
					l.exec(change())
				}
				l.scan()
				first := l.reader("dbo_k", snapshot.Options{})
				handover := l.handover(first)
				second, err := first.Clone(l.open(l.ConnString()))
				if err != nil {
					t.Fatal(err)
				}
				readers := []*snapshot.Reader{first, second}
				meanwhile()

				// Chunks are cut ahead of the reading, and read in any order.
				type chunk struct{ after, upto snapshot.Key }
				var chunks []chunk
				for after := (snapshot.Key{}); ; {
					upto, last := l.bound(first, after, 7, handover.LSN)
					chunks = append(chunks, chunk{after, l.stored(upto)})
					meanwhile()
					if after = upto; last {
						break
					}
				}
				rnd.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
				got := make(map[string]string)
				for i, c := range chunks {
					r := readers[i%2]
					for {
						p, err := r.Read(t.Context(), c.after, c.upto, handover.LSN, snapshot.Limits{Rows: 3})
						if err != nil {
							t.Fatal(err)
						}
						for _, b := range bodies(t, p.Record) {
							k, v, _ := strings.Cut(b, `,"v":`)
							got[k] = v
						}
						c.after = p.Next
						p.Release()
						meanwhile()
						if p.Done {
							break
						}
					}
				}
				l.scan()
				l.replay("dbo_k", handover, got)
				want := make(map[string]string)
				r := l.reader("dbo_k", snapshot.Options{})
				for _, b := range l.all(r, 1000, snapshot.Limits{}) {
					k, v, _ := strings.Cut(b, `,"v":`)
					want[k] = v
				}
				if n := l.query("SELECT COUNT(*) FROM dbo.k")[0][0]; n != fmt.Sprint(len(want)) || len(want) < 10 {
					t.Fatalf("%d rows of %s", len(want), n)
				}
				if !maps.Equal(got, want) {
					t.Errorf("got %v\nwant %v", got, want)
				}
				l.quiet()
			})
		}
	}
}

// replay applies the changes after a position to rows by key.
func (l *lab) replay(capture string, from checkpoint.Position, table map[string]string) {
	l.t.Helper()
	for _, c := range l.changes(capture, from) {
		k, v, _ := strings.Cut(c.body, `,"v":`)
		switch c.op {
		case changetable.Delete:
			delete(table, k)
		case changetable.Insert, changetable.After:
			table[k] = v
		}
	}
}

type change struct {
	op   int32
	body string
}

// changes reads the stream from a position to the watermark.
func (l *lab) changes(capture string, from checkpoint.Position) (out []change) {
	l.t.Helper()
	r, err := changetable.Open(l.t.Context(), l.conn, capture, changetable.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := r.Verify(l.t.Context(), from); err != nil {
		l.t.Fatal(err)
	}
	high := l.handover(l.reader(capture, snapshot.Options{})).LSN
	for {
		p, err := r.Read(l.t.Context(), from, high, changetable.Limits{Rows: 100})
		if err != nil {
			l.t.Fatal(err)
		}
		for i, b := range bodies(l.t, p.Record) {
			out = append(out, change{p.Operation(i), b})
		}
		from = p.Next
		p.Release()
		if p.AtHigh {
			return out
		}
	}
}

// TestTheHandoverOfATableThatWasJustEnabled is below the first transaction of the
// mapping, and the stream accepts it.
func TestTheHandoverOfATableThatWasJustEnabled(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.a (k int PRIMARY KEY, v int)", "INSERT dbo.a VALUES (1, 1)", fmt.Sprintf(enable, "a"))
	r := l.reader("dbo_a", snapshot.Options{})
	handover := l.handover(r)
	if !handover.Done || handover.Instance != "dbo_a" || handover.IsZero() {
		t.Errorf("handover %s", handover)
	}
	l.exec("INSERT dbo.a VALUES (2, 2)")
	got := l.all(r, 10, snapshot.Limits{})
	l.scan()
	if changes := l.changes("dbo_a", handover); len(got) != 2 || !slices.Equal(changes, []change{{changetable.Insert, `{"k":2,"v":2}`}}) {
		t.Errorf("snapshot %v, changes %v", got, changes)
	}
}
