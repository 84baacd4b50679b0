package bulkload_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// scenario is one of the shapes that bulk writers are compared by.
type scenario struct {
	name, table string
	schema      *arrow.Schema
	fill        func(b *array.RecordBuilder, r int)
	values      func(r int) []any // the same row for the driver's Bulk
}

func nullable(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

var categories = []string{"alpha", "beta", "gamma", "delta", "epsilon"}

var scenarios = []scenario{
	{
		"narrow_numeric", "id32 int NOT NULL, id64 bigint NOT NULL, score float NOT NULL",
		arrow.NewSchema([]arrow.Field{{Name: "id32", Type: arrow.PrimitiveTypes.Int32}, {Name: "id64", Type: arrow.PrimitiveTypes.Int64}, {Name: "score", Type: arrow.PrimitiveTypes.Float64}}, nil),
		func(b *array.RecordBuilder, r int) {
			id := int32((uint64(r)*1103515245 + 12345) % 1e6)
			b.Field(0).(*array.Int32Builder).Append(id)
			b.Field(1).(*array.Int64Builder).Append(int64(id) * 1000)
			b.Field(2).(*array.Float64Builder).Append(float64((37*r+17)%100000) / 100)
		},
		func(r int) []any {
			id := int64((uint64(r)*1103515245 + 12345) % 1e6)
			return []any{id, id * 1000, float64((37*r+17)%100000) / 100}
		},
	},
	{
		"mixed_nullable", "id32 int NOT NULL, maybe_id64 bigint NULL, maybe_score float NULL, category nvarchar(20) NULL",
		arrow.NewSchema([]arrow.Field{{Name: "id32", Type: arrow.PrimitiveTypes.Int32}, nullable("maybe_id64", arrow.PrimitiveTypes.Int64), nullable("maybe_score", arrow.PrimitiveTypes.Float64), nullable("category", arrow.BinaryTypes.String)}, nil),
		func(b *array.RecordBuilder, r int) {
			id := int32((uint64(r)*1103515245 + 12345) % 1e6)
			b.Field(0).(*array.Int32Builder).Append(id)
			if r%7 == 0 {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.Int64Builder).Append(int64(id) * 10)
			}
			if r%11 == 0 {
				b.Field(2).AppendNull()
			} else {
				b.Field(2).(*array.Float64Builder).Append(float64((37*r+17)%100000) / 100)
			}
			if r%5 == 0 {
				b.Field(3).AppendNull()
			} else {
				b.Field(3).(*array.StringBuilder).Append(categories[r%5])
			}
		},
		func(r int) []any {
			id := int64((uint64(r)*1103515245 + 12345) % 1e6)
			out := []any{id, id * 10, float64((37*r+17)%100000) / 100, categories[r%5]}
			if r%7 == 0 {
				out[1] = nil
			}
			if r%11 == 0 {
				out[2] = nil
			}
			if r%5 == 0 {
				out[3] = nil
			}
			return out
		},
	},
	{
		"decimal_temporal", "transaction_id bigint NOT NULL, account_id int NOT NULL, amount decimal(18,4) NOT NULL, fee decimal(12,4) NULL, trade_date date NOT NULL, posted_at datetime2(7) NOT NULL, approved bit NULL",
		arrow.NewSchema([]arrow.Field{
			{Name: "transaction_id", Type: arrow.PrimitiveTypes.Int64}, {Name: "account_id", Type: arrow.PrimitiveTypes.Int32},
			{Name: "amount", Type: &arrow.Decimal128Type{Precision: 18, Scale: 4}}, nullable("fee", &arrow.Decimal128Type{Precision: 12, Scale: 4}),
			{Name: "trade_date", Type: arrow.FixedWidthTypes.Date32}, {Name: "posted_at", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
			nullable("approved", arrow.FixedWidthTypes.Boolean),
		}, nil),
		func(b *array.RecordBuilder, r int) {
			b.Field(0).(*array.Int64Builder).Append(5e8 + int64(r))
			b.Field(1).(*array.Int32Builder).Append(1e4 + int32(r%2e5))
			amount := 1e6 + int64(r%5e7)
			if r%13 == 0 {
				amount = -amount
			}
			b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(amount))
			if r%11 == 0 {
				b.Field(3).AppendNull()
			} else {
				b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(25 + int64(r%1e4)))
			}
			b.Field(4).(*array.Date32Builder).Append(arrow.Date32(19723 + r%365))
			b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(1735689600000 + 17000*int64(r)))
			if r%17 == 0 {
				b.Field(6).AppendNull()
			} else {
				b.Field(6).(*array.BooleanBuilder).Append(r%3 != 0)
			}
		},
		func(r int) []any {
			amount := 1e6 + int64(r%5e7)
			sign := ""
			if r%13 == 0 {
				sign = "-"
			}
			fee := 25 + r%1e4
			out := []any{
				5e8 + int64(r), int64(1e4 + r%2e5), fmt.Sprintf("%s%d.%04d", sign, amount/1e4, amount%1e4), fmt.Sprintf("%d.%04d", fee/1e4, fee%1e4),
				time.Unix(int64(19723+r%365)*86400, 0).UTC(), time.UnixMilli(1735689600000 + 17000*int64(r)).UTC(), r%3 != 0,
			}
			if r%11 == 0 {
				out[3] = nil
			}
			if r%17 == 0 {
				out[6] = nil
			}
			return out
		},
	},
}

const benchRows = 8192

func (s *scenario) batch() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	for r := range benchRows {
		s.fill(b, r)
	}
	return b.NewRecordBatch()
}

// BenchmarkLoad loads into the stand-in in this process, whose own work is in the
// time per operation of both ways alike; BenchmarkEncode has the client's alone.
func BenchmarkLoad(b *testing.B) {
	for _, s := range scenarios {
		srv := mssqltest.Start(b, mssqltest.Config{})
		exec(b, srv, "CREATE TABLE dbo.b ("+s.table+")")
		b.Run(s.name+"/raw", func(b *testing.B) {
			conn := open(b, srv, "off", session.RawRequire)
			rec := s.batch()
			defer rec.Release()
			p, err := bulkload.NewPlan(target(b, conn, "b"), rec.Schema(), bulkload.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				inTransaction(b, conn, func() {
					if res, err := p.Load(b.Context(), conn, rec); err != nil || res.Rows != benchRows {
						b.Fatal(res, err)
					}
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
		b.Run(s.name+"/AddRow", func(b *testing.B) {
			conn := driverConn(b, srv)
			b.ReportAllocs()
			for b.Loop() {
				addRows(b, conn, &s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}

func inTransaction(b *testing.B, conn *session.Conn, f func()) {
	b.Helper()
	if err := conn.Batch(b.Context(), "BEGIN TRAN"); err != nil {
		b.Fatal(err)
	}
	f()
	if err := conn.Batch(b.Context(), "ROLLBACK"); err != nil {
		b.Fatal(err)
	}
}

type dialFunc func(context.Context, string, string) (net.Conn, error)

func (f dialFunc) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

func driverConn(b *testing.B, srv *mssqltest.Server) *mssql.Conn {
	b.Helper()
	connector, err := mssql.NewConnector(srv.ConnString("encrypt=disable"))
	if err != nil {
		b.Fatal(err)
	}
	connector.Dialer = dialFunc(srv.DialContext)
	c, err := connector.Connect(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c.(*mssql.Conn)
}

// addRows loads the batch through the driver's Bulk and takes it back.
func addRows(b *testing.B, conn *mssql.Conn, s *scenario) {
	b.Helper()
	run := func(text string) {
		stmt, err := conn.Prepare(text)
		if err == nil {
			_, err = stmt.(driver.StmtExecContext).ExecContext(b.Context(), nil)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	run("BEGIN TRAN;")
	names := make([]string, s.schema.NumFields())
	for i := range names {
		names[i] = s.schema.Field(i).Name
	}
	bulk := conn.CreateBulkContext(b.Context(), "dbo.b", names)
	bulk.Options = mssql.BulkOptions{CheckConstraints: true, FireTriggers: true, KeepNulls: true}
	for r := range benchRows {
		if err := bulk.AddRow(s.values(r)); err != nil {
			b.Fatal(err)
		}
	}
	if n, err := bulk.Done(); err != nil || n != benchRows {
		b.Fatal(n, err)
	}
	run("ROLLBACK TRAN;")
}

// BenchmarkEncode is the client's work without the network.
func BenchmarkEncode(b *testing.B) {
	srv := mssqltest.Start(b, mssqltest.Config{})
	conn := open(b, srv, "off", session.RawRequire)
	for _, s := range scenarios {
		exec(b, srv, "DROP TABLE IF EXISTS dbo.b; CREATE TABLE dbo.b ("+s.table+")")
		b.Run(s.name, func(b *testing.B) {
			rec := s.batch()
			defer rec.Release()
			p, err := bulkload.NewPlan(target(b, conn, "b"), rec.Schema(), bulkload.Options{})
			if err != nil {
				b.Fatal(err)
			}
			n, err := p.Encode(rec)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Encode(rec); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
