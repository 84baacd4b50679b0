package mssqlcdc

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// BenchmarkCDCFormats writes the messages of a first batch of rows of about 200 bytes: inserts, and updates, whose old rows are left out.
func BenchmarkCDCFormats(b *testing.B) {
	srv := mssqltest.Start(b, mssqltest.Config{})
	err := srv.Exec(`EXEC sys.sp_cdc_enable_db
GO
CREATE TABLE dbo.k (id int NOT NULL PRIMARY KEY, n bigint NULL, d decimal(12,2) NULL, at datetime2(3) NULL, g uniqueidentifier NULL, name nvarchar(40) NULL, note varchar(200) NULL)
CREATE TABLE dbo.u (id int NOT NULL PRIMARY KEY, n bigint NULL, d decimal(12,2) NULL, at datetime2(3) NULL, g uniqueidentifier NULL, name nvarchar(40) NULL, note varchar(200) NULL)
GO
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'k', @role_name = NULL
GO
SET NOCOUNT ON; BEGIN TRAN; DECLARE @i int = 0; WHILE @i < 1000 BEGIN INSERT dbo.k VALUES (@i, @i, 1.5, '2024-01-02T03:04:05.678', NEWID(), N'a name of some length', REPLICATE('x', 120)); SET @i += 1 END; COMMIT
INSERT dbo.u SELECT * FROM dbo.k WHERE id < 500
GO
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'u', @role_name = NULL
GO
UPDATE dbo.u SET n = n + 1`)
	if err != nil {
		b.Fatal(err)
	}
	if err := srv.Control().CaptureScan(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
	host := "cdc-formats.invalid"
	b.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", srv.Addr()) }))
	dsn := strings.Replace(srv.ConnString(), srv.Addr(), host, 1)
	for _, table := range []string{"k", "u"} {
		for _, format := range []string{formatJSON, formatArrow, formatDebezium} {
			b.Run(map[string]string{"k": "insert ", "u": "update "}[table]+format, func(b *testing.B) {
				yaml := fmt.Sprintf("connection_string: %q\ncheckpoint_file: %q\nformat: %s\ninclude: ['dbo\\.%s']", dsn, filepath.Join(b.TempDir(), "positions"), format, table)
				benchmarkFormat(b, yaml)
			})
		}
	}
}

func benchmarkFormat(b *testing.B, yaml string) {
	conf, err := cdcSpec().ParseYAML(yaml, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, err := (&cdcParser{conf: conf, mgr: service.MockResources()}).parse()
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := in.Connect(ctx); err != nil {
		b.Fatal(err)
	}
	batch, err := in.flow.Next(ctx)
	if err != nil {
		b.Fatal(err)
	}
	bytes := 0
	messages, err := in.writer.write(batch)
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range messages {
		body, err := m.AsBytes()
		if err != nil {
			b.Fatal(err)
		}
		bytes += len(body)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.writer.write(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch.Rows), "ns/row")
	batch.Ack(nil)
	if err := in.Close(ctx); err != nil {
		b.Error(err)
	}
}
