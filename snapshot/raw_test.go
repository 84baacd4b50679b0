package snapshot_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
	"example.com/mssqlcdc/snapshot"
)

// openMode opens a session that speaks TDS itself, or one through the driver.
func (l *lab) openMode(encryption string, mode session.RawMode) *session.Conn {
	l.t.Helper()
	dsn := l.ConnString("encrypt=disable")
	if encryption == "required" {
		dsn = l.ConnString("encrypt=true", "TrustServerCertificate=true")
	}
	conn, err := session.Open(l.t.Context(), session.Config{ConnectionString: dsn, Dial: l.DialContext, RawTDS: mode})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// readings are the records of a table by every way of reading it.
func (l *lab) readings(conn *session.Conn, capture string, replace bool) map[string]arrow.RecordBatch {
	l.t.Helper()
	out := map[string]arrow.RecordBatch{}
	keep := func(name string, rec arrow.RecordBatch) {
		rec.Retain()
		l.t.Cleanup(rec.Release)
		out[name] = rec
	}
	s, err := snapshot.Open(l.t.Context(), conn, capture, snapshot.Options{ReplaceInvalidText: replace})
	if err != nil {
		l.t.Fatal(err)
	}
	page, err := s.Read(l.t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(s).LSN, snapshot.Limits{Bytes: 64 << 20})
	if err != nil {
		l.t.Fatal(err)
	}
	keep("snapshot", page.Record)
	page.Release()
	if _, err := s.ReadAll(l.t.Context(), nil, snapshot.Limits{Bytes: 64 << 20}, func(p *snapshot.Page) error {
		defer p.Release()
		keep("pass", p.Record)
		return nil
	}); err != nil {
		l.t.Fatal(err)
	}
	c, err := changetable.Open(l.t.Context(), conn, capture, changetable.Options{ReplaceInvalidText: replace})
	if err != nil {
		l.t.Fatal(err)
	}
	start, err := c.Earliest(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	changes, err := c.Read(l.t.Context(), start, l.handover(s).LSN, changetable.Limits{Bytes: 64 << 20})
	if err != nil {
		l.t.Fatal(err)
	}
	keep("stream", changes.Record)
	changes.Release()
	return out
}

// TestRawRowsAreTheDriversRows reads every type with its edge values, and NULL, past the driver and through it: the record
// batches are the same, in clear and over TLS, with texts replaced or not.
func TestRawRowsAreTheDriversRows(t *testing.T) {
	var columns, names []string
	rows := 0
	for i, tt := range everyType {
		columns = append(columns, fmt.Sprintf("c%d %s", i, tt.decl))
		names = append(names, fmt.Sprintf("c%d", i))
		rows = max(rows, len(tt.literals))
	}
	for _, encryption := range []string{"off", "required"} {
		t.Run(encryption, func(t *testing.T) {
			l := newLab(t, mssqltest.Config{Encryption: encryption}, snapshotOn,
				"CREATE TABLE dbo.ty (id int NOT NULL PRIMARY KEY, computed AS (id * 2), rv rowversion, n tinyint NOT NULL, x nvarchar(20) NOT NULL, "+strings.Join(columns, ", ")+")", fmt.Sprintf(enable, "ty"))
			for row := range rows + 1 {
				values := []string{fmt.Sprint(row), "1", "N'é'"}
				for _, tt := range everyType {
					v := "NULL"
					if row < len(tt.literals) {
						v = tt.literals[row]
					}
					values = append(values, v)
				}
				l.exec("INSERT dbo.ty (id, n, x, " + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")")
			}
			l.scan()
			for _, replace := range []bool{false, true} {
				raw := l.readings(l.openMode(encryption, session.RawRequire), "dbo_ty", replace)
				through := l.readings(l.openMode(encryption, session.RawOff), "dbo_ty", replace)
				for name, want := range through {
					got := raw[name]
					if got.NumRows() != int64(rows+1) || !got.Schema().Equal(want.Schema()) {
						t.Fatalf("%s: %d rows, schema %v, want %d and %v", name, got.NumRows(), got.Schema(), rows+1, want.Schema())
					}
					for i := range int(got.NumCols()) {
						if !array.Equal(got.Column(i), want.Column(i)) {
							t.Errorf("replace %v, %s, column %s: raw\n%v\nthrough the driver\n%v", replace, name, got.Schema().Field(i), got.Column(i), want.Column(i))
						}
					}
				}
			}
		})
	}
}

// TestRawTextIsLookedAt finds a lone surrogate without a second statement, with the same error as through the driver.
func TestRawTextIsLookedAt(t *testing.T) {
	for _, column := range []struct{ decl, literal string }{
		{"nvarchar(40)", "N'😀' + NCHAR(56832)"},
		{"nvarchar(max)", "N'ab' + NCHAR(55357)"},
		{"ntext", "N'ab' + NCHAR(55357) + N'c'"},
		{"sql_variant", "N'a' + NCHAR(56832)"},
	} {
		t.Run(column.decl, func(t *testing.T) {
			l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.x (k int NOT NULL PRIMARY KEY, v "+column.decl+")", fmt.Sprintf(enable, "x"))
			l.exec("INSERT dbo.x VALUES (1, N'ok�'), (2, " + column.literal + ")")
			l.scan()
			var texts []string
			for _, mode := range []session.RawMode{session.RawRequire, session.RawOff} {
				var statements atomic.Int32
				remove := l.Control().Add(mssqltest.Rule{Kind: "rpc", Text: "CONVERT(varbinary(", Before: func(mssqltest.Event) { statements.Add(1) }})
				conn := l.openMode("off", mode)
				s, err := snapshot.Open(t.Context(), conn, "dbo_x", snapshot.Options{})
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Read(t.Context(), snapshot.Key{}, snapshot.Key{}, l.handover(s).LSN, snapshot.Limits{})
				var value *snapshot.ValueError
				if !as[*snapshot.ValueError](err) {
					t.Fatalf("%s: %v, want %T", mode, err, value)
				}
				texts = append(texts, err.Error())
				remove()
				if mode == session.RawRequire && statements.Load() > 0 {
					t.Errorf("%d statements asked for the text again", statements.Load())
				}
				raw := l.readings(conn, "dbo_x", true)
				for name, rec := range raw {
					if got := rec.Column(1).ValueStr(1); !strings.Contains(got, "�") {
						t.Errorf("%s: %s replaced: %q", mode, name, got)
					}
				}
			}
			if texts[0] != texts[1] {
				t.Errorf("raw: %s\nthrough the driver: %s", texts[0], texts[1])
			}
		})
	}
}

// TestRawReadingIsCancelled ends a page that is being read; the next one reads it whole on the same session.
func TestRawReadingIsCancelled(t *testing.T) {
	l := newLab(t, mssqltest.Config{}, snapshotOn, "CREATE TABLE dbo.x (k int NOT NULL PRIMARY KEY, v nvarchar(400))", fmt.Sprintf(enable, "x"))
	l.exec("DECLARE @i int = 0; BEGIN TRAN; WHILE @i < 300 BEGIN INSERT dbo.x VALUES (@i, REPLICATE(N'x', 300)); SET @i += 1 END; COMMIT")
	conn := l.openMode("off", session.RawRequire)
	s, err := snapshot.Open(t.Context(), conn, "dbo_x", snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	remove := l.Control().Add(mssqltest.Rule{Kind: "statement", Text: "SELECT TOP (@n)", Times: 1, Before: func(mssqltest.Event) { cancel() }})
	defer remove()
	if _, err := s.Read(ctx, snapshot.Key{}, snapshot.Key{}, l.handover(s).LSN, snapshot.Limits{}); ctx.Err() == nil || err == nil {
		t.Fatalf("a cancelled read: %v", err)
	}
	if conn.Broken() {
		t.Fatal("the cancellation was confirmed, and the connection is given up")
	}
	if got := l.chunk(s, snapshot.Key{}, snapshot.Key{}, l.handover(s).LSN, snapshot.Limits{}); len(got) != 300 {
		t.Errorf("%d rows afterwards", len(got))
	}
}
