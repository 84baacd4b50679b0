package changetable_test

import (
	"fmt"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// BenchmarkRead reads a change table of 20,000 rows of about 1.2 KB over an
// in-memory connection; the server's share of the time is in the number.
func BenchmarkRead(b *testing.B) {
	srv := mssqltest.Start(b, mssqltest.Config{CaptureStopped: true})
	for _, s := range []string{
		"EXEC sys.sp_cdc_enable_db", "CREATE TABLE dbo.g (id int PRIMARY KEY, a int, b bigint, c datetime2(7), d decimal(18,4), v nvarchar(600))", fmt.Sprintf(enable, "g"),
		"WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS x(v)) " +
			"INSERT dbo.g SELECT a.v + 10*b.v + 100*c.v + 1000*e.v + 10000*f.v, a.v, b.v, SYSDATETIME(), 1.5, REPLICATE(N'x', 550) FROM d a CROSS JOIN d b CROSS JOIN d c CROSS JOIN d e CROSS JOIN (VALUES (0),(1)) AS f(v)",
	} {
		if err := srv.Exec(s); err != nil {
			b.Fatal(err)
		}
	}
	if err := srv.Control().CaptureScan(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
	conn, err := session.Open(b.Context(), session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r, err := changetable.Open(b.Context(), conn, "dbo_g", changetable.Options{})
	if err != nil {
		b.Fatal(err)
	}
	state, err := catalog.LoadState(b.Context(), conn)
	if err != nil {
		b.Fatal(err)
	}
	start, err := r.Earliest(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		from, rows, size := start, 0, 0
		for {
			p, err := r.Read(b.Context(), from, state.High.LSN, changetable.Limits{Rows: 1000, Bytes: 4 << 20})
			if err != nil {
				b.Fatal(err)
			}
			from = p.Next
			rows += p.Rows
			size += p.Bytes
			p.Release()
			if p.AtHigh {
				break
			}
		}
		if rows != 20_000 {
			b.Fatalf("%d rows", rows)
		}
		b.SetBytes(int64(size))
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
