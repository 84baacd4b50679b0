package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

const wide = "WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3)) AS x(v)) INSERT dbo.a SELECT a.v + 4*b.v + 16*c.v, REPLICATE(N'x', 900) FROM d a CROSS JOIN d b CROSS JOIN d c WHERE c.v < 3"

// TestACutConnectionIsAnErrorAndNotAnEnd cuts the answer of each kind of request
// at several bytes; the same call on another connection then gives everything.
func TestACutConnectionIsAnErrorAndNotAnEnd(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.a (n int PRIMARY KEY, v nvarchar(1000))", fmt.Sprintf(enable, "a"), wide,
		"CREATE TABLE dbo.h (n int, v nvarchar(1000))", fmt.Sprintf(enable, "h"), strings.Replace(wide, "dbo.a", "dbo.h", 1))
	l.scan()
	const rows = 48
	for _, call := range []struct {
		name, text string
		capture    string
		do         func(r *snapshot.Reader) error
	}{
		{"open", "cdc.captured_columns", "dbo_a", func(*snapshot.Reader) error {
			_, err := snapshot.Open(t.Context(), l.conn, "dbo_a", snapshot.Options{})
			return err
		}},
		{"describe", "sys.security_predicates", "dbo_a", func(*snapshot.Reader) error {
			_, err := snapshot.Open(t.Context(), l.conn, "dbo_a", snapshot.Options{})
			return err
		}},
		{"handover", "tran_id FROM cdc.lsn_time_mapping", "dbo_a", func(r *snapshot.Reader) error { _, err := r.Handover(t.Context()); return err }},
		{"bound", "OFFSET @n - 1", "dbo_a", func(r *snapshot.Reader) error {
			_, _, err := r.Bound(t.Context(), snapshot.Key{}, 5, l.handover(r).LSN)
			return err
		}},
		{"page", "SELECT TOP (@n)", "dbo_a", func(r *snapshot.Reader) error {
			p, err := r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(r).LSN, snapshot.Limits{})
			if err == nil {
				p.Release()
			}
			return err
		}},
		{"lock", "TABLOCK", "dbo_h", func(r *snapshot.Reader) error { return l.twoConnections(r) }},
		{"pass", "RAISERROR", "dbo_h", func(r *snapshot.Reader) error { return l.twoConnections(r) }},
	} {
		t.Run(call.name, func(t *testing.T) {
			r := l.reader(call.capture, snapshot.Options{})
			l.handover(r)
			for _, at := range []int64{0, 1, 40, 90, 5000, 60_000} {
				met := 0
				remove := l.Control().Add(mssqltest.Rule{Kind: "rpc", Text: call.text, Times: 1, Cut: true, CutAfter: at, Before: func(mssqltest.Event) { met++ }})
				err := call.do(r)
				remove()
				long := call.name == "page" || call.name == "pass"
				if err == nil && (long || at < 90) || met == 0 {
					t.Errorf("cut after %d bytes, %d times: no error", at, met)
				}
				if err != nil && !session.IsTransient(err) {
					t.Errorf("cut after %d bytes: %v is not transient", at, err)
				}
				l.conn = l.open(l.ConnString())
				r.Use(l.conn)
			}
			if r.Keyless() {
				l.settled("dbo.h (n)")
				if got, _ := l.pass(r, l.open(l.ConnString()), snapshot.Limits{Rows: 7}, nil); len(got) != rows {
					t.Errorf("%d rows afterwards", len(got))
				}
			} else if got := l.all(r, 10, snapshot.Limits{}); len(got) != rows {
				t.Errorf("%d rows afterwards", len(got))
			}
			l.quiet()
		})
	}
}

// twoConnections reads a table without a key to its end.
func (l *lab) twoConnections(r *snapshot.Reader) error {
	_, err := r.ReadAll(l.t.Context(), l.open(l.ConnString()), snapshot.Limits{}, func(p *snapshot.Page) error { p.Release(); return nil })
	return err
}

// TestTransientErrorsComeOut and the same read made again gives everything.
func TestTransientErrorsComeOut(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.a (n int PRIMARY KEY, v nvarchar(1000))", fmt.Sprintf(enable, "a"), wide)
	l.scan()
	r := l.reader("dbo_a", snapshot.Options{})
	handover := l.handover(r).LSN
	for _, number := range []int32{1205, 1222, 3960, 3961, 3947, 1219, 1204, 701, 8645, 976, 983, 40197, 40501, 40613, 49918, 10928} {
		for _, text := range []string{"SELECT TOP (@n)", "OFFSET @n - 1"} {
			remove := l.Control().Add(mssqltest.Rule{Kind: "statement", Text: text, Times: 1, Error: number, ErrorMessage: "made up"})
			var err error
			if strings.HasPrefix(text, "SELECT") {
				_, err = r.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{})
			} else {
				_, _, err = r.Bound(t.Context(), snapshot.Key{}, 5, handover)
			}
			remove()
			if !session.HasNumber(err, number) || !session.IsTransient(err) || !strings.Contains(err.Error(), "dbo.a") {
				t.Errorf("%s: error %d came out as %v", text, number, err)
			}
		}
	}
	if got := l.all(r, 10, snapshot.Limits{Rows: 6}); len(got) != 48 {
		t.Errorf("%d rows afterwards", len(got))
	}
	l.quiet()
}

func TestACancelledReadLeavesNothingBehind(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.a (n int PRIMARY KEY, v nvarchar(1000))", fmt.Sprintf(enable, "a"), wide)
	l.scan()
	r := l.reader("dbo_a", snapshot.Options{})
	handover := l.handover(r).LSN
	for _, text := range []string{"SELECT TOP (@n)", "OFFSET @n - 1"} {
		ctx, cancel := context.WithCancel(t.Context())
		remove := l.Control().Add(mssqltest.Rule{Kind: "statement", Text: text, Times: 1, Before: func(mssqltest.Event) { cancel() }})
		var err error
		if strings.HasPrefix(text, "SELECT") {
			_, err = r.Read(ctx, snapshot.Key{}, snapshot.Key{}, handover, snapshot.Limits{})
		} else {
			_, _, err = r.Bound(ctx, snapshot.Key{}, 5, handover)
		}
		remove()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", text, err)
		}
		if l.conn.Broken() {
			l.conn = l.open(l.ConnString())
			r.Use(l.conn)
		}
	}
	if got := l.all(r, 10, snapshot.Limits{}); len(got) != 48 {
		t.Errorf("%d rows afterwards", len(got))
	}
	l.quiet()
}
