package snapshot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is a server with change data capture, scanned by hand, and a session.
type lab struct {
	*mssqltest.Server
	t    *testing.T
	conn *session.Conn
}

const (
	snapshotOn = "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON"
	enable     = "EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL"
)

func newLab(t *testing.T, cfg mssqltest.Config, script ...string) *lab {
	t.Helper()
	cfg.CaptureStopped = true
	l := &lab{Server: mssqltest.Start(t, cfg), t: t}
	l.exec("EXEC sys.sp_cdc_enable_db")
	for _, s := range script {
		l.exec(s)
	}
	l.scan()
	l.conn = l.open(l.ConnString())
	return l
}

func (l *lab) open(dsn string) *session.Conn {
	l.t.Helper()
	conn, err := session.Open(l.t.Context(), session.Config{ConnectionString: dsn, Dial: l.DialContext})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (l *lab) exec(script string) {
	l.t.Helper()
	if err := l.Exec(script); err != nil {
		l.t.Fatalf("%v\n%s", err, script)
	}
}

func (l *lab) query(script string) [][]string {
	l.t.Helper()
	rows, err := l.Query(script)
	if err != nil {
		l.t.Fatalf("%v\n%s", err, script)
	}
	return rows
}

func (l *lab) scan() {
	l.t.Helper()
	if err := l.Control().CaptureScan(l.t.Context(), ""); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) reader(capture string, opts snapshot.Options) *snapshot.Reader {
	l.t.Helper()
	r, err := snapshot.Open(l.t.Context(), l.conn, capture, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *lab) handover(r *snapshot.Reader) checkpoint.Position {
	l.t.Helper()
	pos, err := r.Handover(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return pos
}

func (l *lab) bound(r *snapshot.Reader, after snapshot.Key, n int, handover checkpoint.LSN) (snapshot.Key, bool) {
	l.t.Helper()
	key, last, err := r.Bound(l.t.Context(), after, n, handover)
	if err != nil {
		l.t.Fatal(err)
	}
	return key, last
}

// stored is a key as a checkpoint would give it back.
func (l *lab) stored(k snapshot.Key) snapshot.Key {
	l.t.Helper()
	back, err := snapshot.ParseKey(k.String())
	if err != nil {
		l.t.Fatal(err)
	}
	if !back.Equal(k) {
		l.t.Errorf("key %s came back as %s", k, back)
	}
	return back
}

// chunk reads the rows between two keys as JSON.
func (l *lab) chunk(r *snapshot.Reader, after, upto snapshot.Key, handover checkpoint.LSN, limits snapshot.Limits) (out []string) {
	l.t.Helper()
	for {
		p, err := r.Read(l.t.Context(), after, upto, handover, limits)
		if err != nil {
			l.t.Fatal(err)
		}
		if limits.Rows > 0 && p.Rows > limits.Rows {
			l.t.Errorf("a page of %d rows, the limit is %d", p.Rows, limits.Rows)
		}
		out = append(out, bodies(l.t, p.Record)...)
		after = l.stored(p.Next)
		p.Release()
		if p.Done {
			return out
		}
	}
}

// all reads a table in chunks of n rows. Every key goes through its text form.
func (l *lab) all(r *snapshot.Reader, n int, limits snapshot.Limits) (out []string) {
	l.t.Helper()
	handover := l.handover(r).LSN
	var after snapshot.Key
	for range 1000 { // chunks that go round are a failure, not a test without an end
		upto, last := l.bound(r, after, n, handover)
		upto = l.stored(upto)
		out = append(out, l.chunk(r, after, upto, handover, limits)...)
		after = upto
		if last {
			return out
		}
	}
	l.t.Fatal("the chunks have no end")
	return nil
}

// bodies renders the captured columns of a record as messages have them.
func bodies(t *testing.T, rec arrow.RecordBatch) (out []string) {
	t.Helper()
	if rec == nil {
		return nil
	}
	var columns []int
	for i, f := range rec.Schema().Fields() {
		if !strings.HasPrefix(f.Name, "__$") {
			columns = append(columns, i)
		}
	}
	j, err := body.NewJSON("dbo.test", rec.Schema(), columns, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := j.Bind(rec)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(rec.NumRows()) {
		b, err := rows.AppendRow(nil, i, body.Set{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func diff(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// quiet checks that nothing is left open on the server.
func (l *lab) quiet() {
	l.t.Helper()
	if n := l.Control().OpenRequests(); n > 0 {
		l.t.Errorf("%d requests are open", n)
	}
	if n := l.Control().OpenTransactions(); n > 0 {
		l.t.Errorf("%d transactions are open", n)
	}
	for _, s := range l.Control().Locks() {
		if !strings.Contains(s, "DATABASE") {
			l.t.Errorf("lock left: %s", s)
		}
	}
}

func numbers(prefix string, from, to int) (out []string) {
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}
