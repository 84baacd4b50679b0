package mssqltest_test

import (
	"io"
	"net"
	"testing"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest"
)

// BenchmarkScan is what one connection gets out of the server: rows of about 1.4 KB over a socket, read and thrown away.
func BenchmarkScan(b *testing.B) {
	s, err := mssqltest.New(mssqltest.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Listen(l); err != nil {
		b.Fatal(err)
	}
	const rows = 20_000
	if err := s.Exec(`CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, n bigint NULL, d decimal(18,4) NULL, at datetime2(7) NULL, s nvarchar(700) NULL);
		DECLARE @i int = 0;
		BEGIN TRAN;
		WHILE @i < 20000 BEGIN INSERT dbo.t VALUES (@i, @i, @i, SYSUTCDATETIME(), REPLICATE(N'x', 650)); SET @i = @i + 1 END;
		COMMIT`); err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	rd := tds.NewMessageReader(c, 0)
	ask := func(m []byte) (n int64) {
		if _, err := c.Write(m); err != nil {
			b.Fatal(err)
		}
		if _, err := rd.Next(); err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, rd)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	ask(prelogin())
	ask(login())
	query := tds.SQLBatch{Text: "SELECT id, n, d, at, s FROM dbo.t ORDER BY id"}
	batch := message(tds.PacketSQLBatch, query.Append(nil))
	b.ReportAllocs()
	var n int64
	for b.Loop() {
		n = ask(batch)
	}
	if n < rows*1300 {
		b.Fatalf("%d bytes for %d rows", n, rows)
	}
	b.SetBytes(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
