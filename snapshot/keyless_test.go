package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// resolve scans until the mark has a position.
func (l *lab) resolve(r *snapshot.Reader, m snapshot.Mark) checkpoint.Position {
	l.t.Helper()
	for i := 0; ; i++ {
		pos, ok, err := r.Resolve(l.t.Context(), m)
		if err != nil {
			l.t.Fatal(err)
		}
		if ok {
			return pos
		}
		if i == 3 {
			l.t.Fatal("the mark has no position")
		}
		l.exec("INSERT dbo.other VALUES (1)")
		l.scan()
	}
}

// pass reads a table without a key.
func (l *lab) pass(r *snapshot.Reader, guard snapshot.Conn, limits snapshot.Limits, each func(page int)) (out []string, m snapshot.Mark) {
	l.t.Helper()
	n := 0
	m, err := r.ReadAll(l.t.Context(), guard, limits, func(p *snapshot.Page) error {
		defer p.Release()
		out = append(out, bodies(l.t, p.Record)...)
		if each != nil {
			each(n)
		}
		n++
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out, m
}

// settled waits until a connection that was cut has lost its lock on a table: a
// writer waits for that.
func (l *lab) settled(table string) {
	l.t.Helper()
	name, column, _ := strings.Cut(strings.TrimSuffix(table, ")"), " (")
	l.exec("INSERT " + table + " VALUES (-1); DELETE " + name + " WHERE " + column + " = -1")
}

const other = "CREATE TABLE dbo.other (a int)"

// TestDuplicatesOfAHeapAreCountedExactly writes to a heap all the time while it
// is read: what the snapshot has and what the stream adds is what the table has.
func TestDuplicatesOfAHeapAreCountedExactly(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, other, fmt.Sprintf(enable, "other"), "CREATE TABLE dbo.h (a int, b nvarchar(10))", fmt.Sprintf(enable, "h"))
	for range 20 {
		l.exec("INSERT dbo.h VALUES (1, N'x'), (1, N'x'), (2, NULL)")
	}
	l.scan()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				script := "INSERT dbo.h VALUES (1, N'x'), (3, N'y')"
				if i%3 == 2 {
					script = "DELETE TOP (1) FROM dbo.h WHERE a = " + fmt.Sprint(1+w)
				}
				if err := l.Exec(script); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	r := l.reader("dbo_h", snapshot.Options{})
	guard := l.open(l.ConnString())
	var got []string
	var m snapshot.Mark
	for range 3 { // the last one counts
		got, m = l.pass(r, guard, snapshot.Limits{Rows: 7}, nil)
		if open := l.Control().OpenRequests(); open > 2 {
			t.Errorf("%d requests are open", open)
		}
	}
	cancel()
	wg.Wait()
	l.scan()
	from := l.resolve(r, m)
	count := make(map[string]int)
	for _, b := range got {
		count[b]++
	}
	changes := l.changes("dbo_h", from)
	for _, c := range changes {
		switch c.op {
		case changetable.Delete:
			count[c.body]--
		case changetable.Insert:
			count[c.body]++
		}
	}
	for b, where := range map[string]string{`{"a":1,"b":"x"}`: "a = 1", `{"a":2,"b":null}`: "a = 2", `{"a":3,"b":"y"}`: "a = 3"} {
		if want := l.query("SELECT COUNT(*) FROM dbo.h WHERE " + where)[0][0]; fmt.Sprint(count[b]) != want {
			t.Errorf("%d times %s, want %s", count[b], b, want)
		}
	}
	if len(changes) == 0 || len(got) < 40 {
		t.Errorf("%d rows and %d changes, which proves nothing", len(got), len(changes))
	}
	l.quiet()
}

func TestWritersWaitForTheBeginOfAPassAlone(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, other, fmt.Sprintf(enable, "other"), "CREATE TABLE dbo.h (a int, b nvarchar(100))", fmt.Sprintf(enable, "h"))
	l.exec(digits + "INSERT dbo.h SELECT a.v, REPLICATE(N'x', 100) FROM d a CROSS JOIN d b CROSS JOIN d c")
	l.scan()
	r := l.reader("dbo_h", snapshot.Options{})
	guard := l.open(l.ConnString())
	got, m := l.pass(r, guard, snapshot.Limits{Rows: 100}, func(page int) {
		for _, s := range l.Control().Locks() {
			if strings.HasPrefix(s, "S GRANT OBJECT") {
				t.Errorf("page %d: %s", page, s)
			}
		}
		l.exec("INSERT dbo.h VALUES (10, N'new')") // would time out against a lock
	})
	if len(got) != 1000 {
		t.Errorf("%d rows", len(got))
	}
	l.scan()
	if changes := l.changes("dbo_h", l.resolve(r, m)); len(changes) != 10 {
		t.Errorf("%d changes, want those of the 10 pages", len(changes))
	}
	l.quiet()

	// A writer that does not come to an end: the lock is given up, and writers
	// that wait behind it go on.
	writer := l.open(l.ConnString())
	exec := func(text string) {
		t.Helper()
		if _, err := writer.Exec(t.Context(), text, ""); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN TRAN; INSERT dbo.h VALUES (11, N'open')")
	start := time.Now()
	_, err := r.ReadAll(t.Context(), guard, snapshot.Limits{}, func(p *snapshot.Page) error { p.Release(); return nil })
	if !session.IsTransient(err) || !strings.Contains(err.Error(), "locking the table for the moment in which its snapshot begins") || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	exec("ROLLBACK")
	l.quiet()
}

func TestAPassIsNotTornByItsConsumerOrConnection(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, other, fmt.Sprintf(enable, "other"), "CREATE TABLE dbo.h (a int, b nvarchar(100))", fmt.Sprintf(enable, "h"))
	l.exec(digits + "INSERT dbo.h SELECT a.v, REPLICATE(N'x', 100) FROM d a CROSS JOIN d b CROSS JOIN d c")
	r := l.reader("dbo_h", snapshot.Options{})
	guard := l.open(l.ConnString())
	enough := errors.New("enough")
	_, err := r.ReadAll(t.Context(), guard, snapshot.Limits{Rows: 10}, func(p *snapshot.Page) error { p.Release(); return enough })
	if !errors.Is(err, enough) {
		t.Errorf("the consumer's error: %v", err)
	}
	l.quiet()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = r.ReadAll(ctx, guard, snapshot.Limits{Rows: 10}, func(p *snapshot.Page) error { p.Release(); cancel(); return nil })
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if l.conn.Broken() {
		l.conn = l.open(l.ConnString())
		r.Use(l.conn)
	}
	l.quiet()
	// The lock is lost: the snapshot is not exact, and says so.
	remove := l.Control().Add(mssqltest.Rule{Text: "@@TRANCOUNT; IF", Cut: true, Times: 1})
	_, err = r.ReadAll(t.Context(), guard, snapshot.Limits{}, func(p *snapshot.Page) error { p.Release(); return nil })
	remove()
	if err == nil || !strings.Contains(err.Error(), "releasing the lock") {
		t.Errorf("the lock is lost: %v", err)
	}
	l.settled("dbo.h (a)")
	l.quiet()
	// And again, without a guard.
	if got, m := l.pass(r, nil, snapshot.Limits{}, nil); len(got) != 1000 || !m.IsZero() {
		t.Errorf("%d rows, mark %v", len(got), m)
	}
}

func TestAKeylessTableNeedsSnapshotIsolation(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.h (a int)", fmt.Sprintf(enable, "h"))
	_, err := snapshot.Open(t.Context(), l.conn, "dbo_h", snapshot.Options{})
	if !as[*snapshot.KeylessError](err) || !strings.Contains(err.Error(), "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON, or give the table a key, or exclude it") {
		t.Errorf("Open: %v", err)
	}
	l.exec(snapshotOn)
	r := l.reader("dbo_h", snapshot.Options{})
	l.exec(strings.Replace(snapshotOn, " ON", " OFF", 1))
	_, err = r.ReadAll(t.Context(), l.open(l.ConnString()), snapshot.Limits{}, func(p *snapshot.Page) error { p.Release(); return nil })
	if !as[*snapshot.KeylessError](err) {
		t.Errorf("ReadAll: %v", err)
	}
	l.quiet()
}

func TestAKeylessTableIsReadFromThePrimary(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.h (a int)", fmt.Sprintf(enable, "h"), "INSERT dbo.h VALUES (1)")
	replica, err := l.AddReplica("second", "127.0.0.1:1434")
	if err != nil {
		t.Fatal(err)
	}
	r := l.reader("dbo_h", snapshot.Options{})
	each := func(p *snapshot.Page) error { p.Release(); return nil }
	if _, err := r.ReadAll(t.Context(), l.open(replica.ConnString()), snapshot.Limits{}, each); err == nil || !strings.Contains(err.Error(), "ApplicationIntent=ReadOnly") {
		t.Errorf("the guard is on a replica: %v", err)
	}
	r.Use(l.open(replica.ConnString()))
	if _, err := r.ReadAll(t.Context(), l.conn, snapshot.Limits{}, each); err == nil || !strings.Contains(err.Error(), "ApplicationIntent=ReadOnly") {
		t.Errorf("the reader is on a replica: %v", err)
	}
	l.quiet()
}

func TestTextOfAKeylessTableIsExact(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.h (n int, a nvarchar(20), b varchar(20) COLLATE Latin1_General_CI_AS, c ntext, d sql_variant)", fmt.Sprintf(enable, "h"),
		"INSERT dbo.h VALUES (1, N'😀\uFFFD', CHAR(129) + 'é', N'c\uFFFD', N'd\uFFFD'), (2, N'a', 'b', N'c', 5), (3, NULL, NULL, NULL, 0x01)")
	r := l.reader("dbo_h", snapshot.Options{})
	got, _ := l.pass(r, nil, snapshot.Limits{Rows: 1}, nil)
	slices.Sort(got)
	diff(t, got, []string{
		"{\"n\":1,\"a\":\"😀\uFFFD\",\"b\":\"\u0081é\",\"c\":\"c\uFFFD\",\"d\":{\"type\":\"nvarchar\",\"value\":\"d\uFFFD\"}}",
		`{"n":2,"a":"a","b":"b","c":"c","d":{"type":"int","value":5}}`,
		`{"n":3,"a":null,"b":null,"c":null,"d":{"type":"varbinary","value":"AQ=="}}`,
	})
	l.exec("INSERT dbo.h (n, a) VALUES (4, N'x' + NCHAR(55357))")
	_, err := r.ReadAll(t.Context(), nil, snapshot.Limits{}, func(p *snapshot.Page) error { p.Release(); return nil })
	if !as[*snapshot.ValueError](err) || !strings.Contains(err.Error(), "column a (nvarchar(20)): code unit 1 is the lone surrogate U+D83D") {
		t.Errorf("a lone surrogate: %v", err)
	}
	r = l.reader("dbo_h", snapshot.Options{ReplaceInvalidText: true})
	if got, _ := l.pass(r, nil, snapshot.Limits{}, nil); len(got) != 4 {
		t.Errorf("%d rows", len(got))
	}
}

func TestAMarkWaitsForTheCaptureJob(t *testing.T) {
	zone := time.FixedZone("", -5*60*60)
	l := newLab(t, mssqltest.Config{Location: zone}, snapshotOn, other, fmt.Sprintf(enable, "other"), "CREATE TABLE dbo.h (a int)", fmt.Sprintf(enable, "h"), "INSERT dbo.h VALUES (1)")
	r := l.reader("dbo_h", snapshot.Options{})
	l.exec("INSERT dbo.h VALUES (2)") // committed, not yet captured
	got, m := l.pass(r, l.open(l.ConnString()), snapshot.Limits{}, nil)
	if len(got) != 2 || m.IsZero() || m.OffsetMinutes != -300 {
		t.Errorf("rows %v, mark %+v", got, m)
	}
	if _, ok, err := r.Resolve(t.Context(), m); ok || err != nil {
		t.Errorf("nothing was captured: %v, %v", ok, err)
	}
	l.scan() // the row 2, which the snapshot has
	if _, ok, err := r.Resolve(t.Context(), m); ok || err != nil {
		t.Errorf("nothing later was captured: %v, %v", ok, err)
	}
	l.exec("INSERT dbo.h VALUES (3)")
	l.scan()
	pos := l.resolve(r, m)
	if changes := l.changes("dbo_h", pos); !slices.Equal(changes, []change{{changetable.Insert, `{"a":3}`}}) {
		t.Errorf("changes %v", changes)
	}
	m.OffsetMinutes = -240
	if _, _, err := r.Resolve(t.Context(), m); err == nil || !strings.Contains(err.Error(), "read the table anew") {
		t.Errorf("the clock changed: %v", err)
	}
}
