package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func benchSession(b *testing.B) *Session {
	b.Helper()
	st := storage.NewInstance(storage.Options{})
	in := New(st, NewRegistry())
	if _, err := st.CreateDatabase("db", nil); err != nil {
		b.Fatal(err)
	}
	s, err := in.NewSession(SessionOptions{Database: "db"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s
}

func must(b *testing.B, s *Session, sql string) {
	b.Helper()
	sink := &textSink{}
	if err := s.Batch(context.Background(), sql, sink); err != nil || len(sink.errs) > 0 {
		b.Fatal(err, sink.errs)
	}
}

// BenchmarkInsert is a prepared INSERT of one row.
func BenchmarkInsert(b *testing.B) {
	s := benchSession(b)
	must(b, s, "CREATE TABLE t (id int PRIMARY KEY, a nvarchar(50), b decimal(10,2))")
	h, err := s.Prepare(context.Background(), "@id int, @a nvarchar(50), @b int", "INSERT t (id, a, b) VALUES (@id, @a, @b)")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		n++
		args := []Param{intParam("", n), {Type: nvarcharType(50, nil), Value: value.NewNVarChar("hello")}, intParam("", 7)}
		if _, err := s.Execute(context.Background(), h, args, discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInsertText is an INSERT whose text is new each time.
func BenchmarkInsertText(b *testing.B) {
	s := benchSession(b)
	must(b, s, "CREATE TABLE t (id int PRIMARY KEY, a nvarchar(50), b decimal(10,2))")
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		if err := s.Batch(context.Background(), fmt.Sprintf("INSERT t (id, a, b) VALUES (%d, N'hello', 7)", n), discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInsertRows is one INSERT … SELECT of 1000 rows.
func BenchmarkInsertRows(b *testing.B) {
	s := benchSession(b)
	must(b, s, "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a nvarchar(50), b decimal(10,2))")
	b.ReportAllocs()
	for b.Loop() {
		must(b, s, "INSERT t (a, b) SELECT N'hello', value FROM GENERATE_SERIES(1, 1000)")
	}
}

// BenchmarkPage reads 1000 rows of a change table by seek.
func BenchmarkPage(b *testing.B) {
	s := benchSession(b)
	must(b, s, strings.ReplaceAll(strings.ReplaceAll(changeTable, "@c <= 30", "@c <= 1000"), "@l <= 20", "@l <= 5"))
	params := []Param{named(lsn(1), "@lo"), intParam("@c", 100), intParam("@n", 1000)}
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.ExecuteSQL(context.Background(), "SELECT TOP (@n) [__$start_lsn], [__$command_id], [__$seqval], [__$operation], id FROM ct WHERE [__$start_lsn] = @lo AND [__$command_id] > @c ORDER BY [__$start_lsn], [__$command_id], [__$seqval], [__$operation]", params, discard{})
		if err != nil {
			b.Fatal(err)
		}
	}
}
