package mssqlcdc

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// What has gone wrong in bulk writers elsewhere, with the public reports. The other files of this output's tests have the rest.

// Columns that are NOT NULL, and dates without a scale, leave the columns behind them where they are.
// mssql-jdbc#1599, #1756, #2151 (a length byte is needed all the same); tiberius#234, #373, #410 (DATE has no scale byte: error 4816 on the next).
func TestBulkNotNullTimesInFrontOfOtherColumns(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (d date NOT NULL, t time(3) NOT NULL, x datetime2(0) NOT NULL, n int, b bit NOT NULL, g uniqueidentifier NOT NULL, m smallmoney NOT NULL)")
			r.start(fields).lands(`{"d":"2024-02-29","t":"12:34:56.789","x":"2024-02-29T12:34:56","n":7,"b":true,"g":"01234567-89AB-CDEF-0123-456789ABCDEF","m":"-1.2345"}`,
				`{"d":"0001-01-01","t":"00:00:00.000","x":"9999-12-31T23:59:59","n":null,"b":false,"g":"01234567-89AB-CDEF-0123-456789ABCDEF","m":"0.0000"}`)
			wantTexts(t, way, r.rows("SELECT CONVERT(varchar(10), d, 23), CONVERT(varchar(20), t), CONVERT(varchar(30), x, 121), n, b, CONVERT(char(36), g), CONVERT(varchar(20), m, 2) FROM dbo.t ORDER BY b DESC"),
				"2024-02-29|12:34:56.789|2024-02-29 12:34:56|7|1|01234567-89AB-CDEF-0123-456789ABCDEF|-1.2345",
				"0001-01-01|00:00:00.000|9999-12-31 23:59:59|NULL|0|01234567-89AB-CDEF-0123-456789ABCDEF|0.0000")
		})
	}
}

// One instant in each unit of Arrow, with and without a time zone, is one instant in the table.
// hugr-lab#231 (milliseconds taken for microseconds: 1970-01-20); arrow-odbc-py#148 (time zones were refused or became text).
func TestBulkArrowInstants(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int, x datetime2(7), z datetimeoffset(7))")
		const seconds, nanos = 1_705_314_645, 123_000_000 // 2024-01-15T10:30:45.123Z
		id := 0
		var want []string
		for _, unit := range []struct {
			unit  arrow.TimeUnit
			value int64
			shown string
		}{
			{arrow.Second, seconds, "2024-01-15 10:30:45.0000000"},
			{arrow.Millisecond, seconds*1e3 + nanos/1e6, "2024-01-15 10:30:45.1230000"},
			{arrow.Microsecond, seconds*1e6 + nanos/1e3, "2024-01-15 10:30:45.1230000"},
			{arrow.Nanosecond, seconds*1e9 + nanos, "2024-01-15 10:30:45.1230000"},
		} {
			for _, zone := range []string{"", "UTC", "+09:00"} {
				id++
				stamp := &arrow.TimestampType{Unit: unit.unit, TimeZone: zone}
				message := func(columns ...string) service.MessageBatch {
					fields := []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}}
					for _, c := range columns {
						fields = append(fields, arrow.Field{Name: c, Type: stamp})
					}
					b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema(fields, nil))
					b.Field(0).(*array.Int32Builder).Append(int32(id))
					for i := range columns {
						b.Field(1 + i).(*array.TimestampBuilder).Append(arrow.Timestamp(unit.value))
					}
					return service.MessageBatch{arrowStream(t, b)}
				}
				out, shown := r.start("table: t"), unit.shown
				if zone == "" { // which instant it is, is not known
					out.refuses(message("x", "z"), map[int][]string{0: {"dbo.t", "column z", "time zone"}})
					out.refuses(message("x"), nil)
					shown = "NULL"
				} else {
					out.refuses(message("x", "z"), nil)
				}
				want = append(want, fmt.Sprintf("%d|%s|%s", id, unit.shown, shown))
			}
		}
		wantTexts(t, "instants", r.rows("SELECT id, CONVERT(varchar(40), x, 121), CONVERT(varchar(27), SWITCHOFFSET(z, '+00:00'), 121) FROM dbo.t ORDER BY id"), want...)
	})
}

// arrowStream writes what a builder has as a message in Arrow's format.
func arrowStream(t *testing.T, b *array.RecordBuilder) *service.Message {
	t.Helper()
	defer b.Release()
	rec := b.NewRecordBatch()
	defer rec.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return service.NewMessage(out.Bytes())
}

// A GUID is the same whether it comes as text, as 16 bytes or as Arrow's extension: the server's order of bytes is not that of its text.
func TestBulkGUIDs(t *testing.T) {
	const text = "01234567-89AB-CDEF-0123-456789ABCDEF"
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (c uniqueidentifier)")
			out := r.start(fields)
			out.lands(`{"c":"`+text+`"}`, `{"c":"`+strings.ToLower(text)+`"}`)
			id := [16]byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF}
			for _, typ := range []arrow.DataType{&arrow.FixedSizeBinaryType{ByteWidth: 16}, extensions.NewUUIDType()} {
				b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil))
				switch f := b.Field(0).(type) {
				case *array.FixedSizeBinaryBuilder:
					f.Append(id[:])
				case *extensions.UUIDBuilder:
					f.AppendBytes(id)
				}
				out.refuses(service.MessageBatch{arrowStream(t, b)}, nil)
			}
			wantTexts(t, way, r.rows("SELECT CONVERT(char(36), c) FROM dbo.t"), text, text, text, text)
		})
	}
}

// Large values of every length class, in packets of any size: a value of no length ends like any other, and none is cut.
// hugr-lab#39 (the end of a message came too early).
func TestBulkLargeValuesInAnyPacketSize(t *testing.T) {
	for _, size := range []int{512, 4096, 32767} {
		for way, fields := range bulkWays {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (id int, n nvarchar(max), v varchar(max), b varbinary(max))")
				out := r.start(fmt.Sprintf("%s\nconnection_string: %q", fields, r.dsn(fmt.Sprintf("packet size=%d", size))))
				var rows, want []string
				for i, n := range []int{0, 1, 8000, 8001, 300_000} {
					text := strings.Repeat("x", n)
					rows = append(rows, fmt.Sprintf(`{"id":%d,"n":"%s","v":"%[2]s","b":"%s"}`, i, text, base64.StdEncoding.EncodeToString([]byte(text))))
					want = append(want, fmt.Sprintf("%d|%d|%d|%d|1", i, 2*n, n, n))
				}
				out.lands(append(rows, `{"id":9,"n":null,"v":null,"b":null}`)...)
				wantTexts(t, fmt.Sprint(way, " ", size), r.rows("SELECT id, DATALENGTH(n), DATALENGTH(v), DATALENGTH(b), CASE WHEN REPLACE(n, 'x', '') = '' AND n = v THEN 1 END FROM dbo.t ORDER BY id"),
					append(want, "9|NULL|NULL|NULL|NULL")...)
			})
		}
	}
}

// By default a load does what INSERT does: triggers fire, constraints are checked and stay trusted. Without the hints they do not.
// tedious#1143, #589; go-mssqldb#343 (what triggers answer).
func TestBulkTriggersAndConstraints(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql(`CREATE TABLE dbo.p (id int PRIMARY KEY); INSERT dbo.p VALUES (1);
CREATE TABLE dbo.audit (id int);
CREATE TABLE dbo.t (id int, p int CONSTRAINT fk REFERENCES dbo.p (id), v int CONSTRAINT ck CHECK (v < 10));
GO
CREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS BEGIN INSERT dbo.audit SELECT id FROM inserted; SELECT COUNT(*) FROM inserted; END`)
			r.start(fields+"\nmax_retries: 0").refuses(bulkBatch(`{"id":1,"p":1,"v":1}`, `{"id":2,"p":2,"v":1}`, `{"id":3,"p":1,"v":10}`, `{"id":4}`),
				map[int][]string{1: {"dbo.t", "row 2", "FOREIGN KEY"}, 2: {"dbo.t", "row 3", "CHECK"}})
			wantTexts(t, way+": rows", r.rows("SELECT id FROM dbo.t ORDER BY id"), "1", "4")
			wantTexts(t, way+": what the trigger saw", r.rows("SELECT id FROM dbo.audit ORDER BY id"), "1", "4")
			trusted := "SELECT (SELECT is_not_trusted FROM sys.foreign_keys), (SELECT is_not_trusted FROM sys.check_constraints)"
			wantTexts(t, way+": trust", r.rows(trusted), "0|0")
			r.start("table: t\nhints: []").lands(`{"id":5,"p":5,"v":50}`)
			wantTexts(t, way+": what the trigger saw without hints", r.rows("SELECT COUNT(*) FROM dbo.audit"), "2")
			wantTexts(t, way+": trust without hints", r.rows(trusted), "1|1")
		})
	}
}

// Four writers at the same time, into tables of each shape: none waits for ever for another, with TABLOCK or without.
// hugr-lab PR #348, sql-spark-connector#49, dmt#377.
func TestBulkWritersAtTheSameTime(t *testing.T) {
	for _, shape := range []string{"id int", "id int PRIMARY KEY NONCLUSTERED", "id int PRIMARY KEY", "id int PRIMARY KEY, v AS id % 7, INDEX i (id DESC)"} {
		for _, hints := range []string{"", "hints: [TABLOCK, CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS]"} {
			onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
				r.sql("CREATE TABLE dbo.t (" + shape + ")")
				out := r.start("table: t\nmax_in_flight: 4\nbackoff: {initial_interval: 1s, max_interval: 1s}\n" + hints)
				var wg sync.WaitGroup
				for n := range 4 {
					wg.Go(func() {
						for i := range 10 {
							var rows []string
							for k := range 20 {
								rows = append(rows, fmt.Sprintf(`{"id":%d}`, n+4*(20*i+k)))
							}
							if err := out.output.WriteBatch(t.Context(), bulkBatch(rows...)); err != nil {
								t.Errorf("%s, %s: %v", shape, hints, err)
							}
						}
					})
				}
				wg.Wait()
				wantTexts(t, shape+" "+hints, r.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM dbo.t"), "800|800")
			})
		}
	}
}

// A value that is refused in the second batch leaves the connection as it was: the next request on it is answered, and none is opened.
// arrow-sql-server (the connection hung after NaN).
func TestBulkGoesOnAfterARefusedValue(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			r.sql("CREATE TABLE dbo.t (id int, x float)")
			logins := 0
			r.ctl.Add(mssqltest.Rule{Kind: "login", Match: func(e mssqltest.Event) bool { return e.App != "" }, Before: func(mssqltest.Event) { logins++ }})
			out := r.start(fields)
			out.lands(`{"id":1,"x":1}`)
			out.refuses(bulkBatch(`{"id":2,"x":"NaN"}`, `{"id":3,"x":3}`), map[int][]string{0: {"dbo.t", "row 1", "column x", "NaN"}})
			out.refuses(bulkBatch(`{"id":4,"x":"Infinity"}`), map[int][]string{0: {"column x"}})
			out.lands(`{"id":5,"x":5}`)
			wantTexts(t, way, r.rows("SELECT id FROM dbo.t ORDER BY id"), "1", "3", "5")
			if logins != 1 {
				t.Errorf("%s: %d logins", way, logins)
			}
		})
	}
}

// A server that does not encrypt is told from one that is not there. arrow-sql-server's driver panicked.
func TestBulkEncryptionThatTheServerDoesNotHave(t *testing.T) {
	onBulk(t, mssqltest.Config{Encryption: "off"}, func(t *testing.T, r *bulkRig) {
		out := r.make(fmt.Sprintf("table: t\nconnection_string: %q", strings.Replace(r.dsn(), "encrypt=disable", "encrypt=true", 1)))
		if err := out.output.Connect(context.Background()); err == nil || !strings.Contains(err.Error(), "does not encrypt") || !strings.Contains(err.Error(), "encrypt=disable") {
			t.Errorf("Connect: %v", err)
		}
	})
}
