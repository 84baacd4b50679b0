package mssqlcdc

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

const (
	latin1 = " COLLATE SQL_Latin1_General_CP1_CI_AS"
	utf8   = " COLLATE Latin1_General_100_CI_AS_SC_UTF8"
	cp932  = " COLLATE Japanese_CI_AS"
)

// bulkValues are messages' values of every type, as mssql_cdc writes them: all of them come back the same.
var bulkValues = []struct {
	decl   string
	values []string
}{
	{"bit", []string{`true`, `false`}},
	{"tinyint", []string{`0`, `255`}},
	{"smallint", []string{`-32768`, `32767`}},
	{"int", []string{`-2147483648`, `2147483647`}},
	{"bigint", []string{`-9223372036854775808`, `9223372036854775807`, `9007199254740993`}},
	{"decimal(10,2)", []string{`"1.50"`, `"-99999999.99"`, `"0.00"`}},
	{"decimal(38,0)", []string{`"99999999999999999999999999999999999999"`, `"-99999999999999999999999999999999999999"`}},
	{"decimal(38,38)", []string{`"0.00000000000000000000000000000000000001"`}},
	{"numeric(5,5)", []string{`"-0.99999"`}},
	{"decimal(9,0)", []string{`"999999999"`}},
	{"decimal(19,4)", []string{`"-999999999999999.9999"`}},
	{"decimal(28,10)", []string{`"999999999999999999.9999999999"`}},
	{"money", []string{`"922337203685477.5807"`, `"-922337203685477.5808"`}},
	{"smallmoney", []string{`"214748.3647"`, `"-214748.3648"`}},
	{"real", []string{`0.1`, `-3.4028235e+38`, `1.1754944e-38`}},
	{"float", []string{`0.1`, `1.7976931348623157e+308`, `2.2250738585072014e-308`, `-0.30000000000000004`}},
	{"date", []string{`"0001-01-01"`, `"9999-12-31"`, `"1582-10-10"`}},
	{"time(0)", []string{`"23:59:59"`, `"00:00:00"`}},
	{"time(3)", []string{`"23:59:59.999"`}},
	{"time(7)", []string{`"23:59:59.9999999"`, `"00:00:00.0000001"`}},
	{"datetime2(0)", []string{`"0001-01-01T00:00:00"`, `"9999-12-31T23:59:59"`}},
	{"datetime2(4)", []string{`"2024-02-29T12:34:56.1234"`}},
	{"datetime2(7)", []string{`"9999-12-31T23:59:59.9999999"`, `"0001-01-01T00:00:00.0000001"`}},
	{"datetime", []string{`"1753-01-01T00:00:00.000"`, `"9999-12-31T23:59:59.997"`, `"2024-02-29T12:34:56.790"`, `"1899-12-31T23:59:59.997"`}},
	{"smalldatetime", []string{`"1900-01-01T00:00:00"`, `"2079-06-06T23:59:00"`}},
	{"datetimeoffset(0)", []string{`"2024-02-29T23:59:59+14:00"`}},
	{"datetimeoffset(7)", []string{`"2024-02-29T23:59:59.1234567+09:00"`, `"0001-01-01T00:00:00.0000000+00:00"`, `"2024-12-31T23:59:59.9999999-13:30"`}},
	{"char(5)" + latin1, []string{`"ab   "`, `"é€   "`}},
	{"varchar(20)" + latin1, []string{`""`, `"español €"`, `"12345678901234567890"`}},
	{"varchar(3)" + utf8, []string{`"€"`, `"abc"`}},
	{"varchar(1)" + utf8, []string{`"a"`}},
	{"varchar(10)" + cp932, []string{`"表ソ"`}},
	{"varchar(max)" + latin1, []string{`""`, `"a"`, `"` + strings.Repeat("é", 8001) + `"`}},
	{"varchar(max)" + utf8, []string{`"` + strings.Repeat("表", 3000) + `"`}},
	{"nchar(3)", []string{`"名  "`}},
	{"nvarchar(10)", []string{`""`, `"名前😀"`, `"a\u0000b"`, `"q \" \\"`}},
	{"nvarchar(max)", []string{`""`, `"a"`, `"` + strings.Repeat("名", 4001) + `"`}},
	{"ntext", []string{`"long 名"`, `""`}},
	{"text" + latin1, []string{`"long é"`}},
	{"sysname", []string{`"dbo"`}},
	{"xml", []string{`"<a>é&amp;</a>"`}},
	{"binary(4)", []string{`"3q2+7w=="`}},
	{"varbinary(20)", []string{`""`, `"3q2+7w=="`}},
	{"varbinary(max)", []string{`""`, `"AA=="`, `"` + strings.Repeat("AAAA", 4000) + `"`}},
	{"image", []string{`"3q2+7w=="`}},
	{"uniqueidentifier", []string{`"01234567-89AB-CDEF-0123-456789ABCDEF"`}},
}

// messagesOf reads a table through the driver, and gives its rows as messages.
func (r *bulkRig) messagesOf(table string) []string {
	r.t.Helper()
	ctx := context.Background()
	cfg := session.Config{ConnectionString: r.dsn()}
	cfg.Dial = session.InProcess(cfg)
	conn, err := session.Open(ctx, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	target, err := loadTargetForTest(ctx, conn, table)
	if err != nil {
		r.t.Fatal(err)
	}
	var columns []rowset.Column
	var list []string
	var all []int
	for i, c := range target {
		c.Type.Nullable = true
		columns = append(columns, c)
		list = append(list, c.Type.SelectList(catalog.Quote(c.Name))...)
		all = append(all, i)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(r.t, 0)
	pool := rowset.NewPool(mem, 0)
	defer pool.Close()
	b, err := rowset.NewBuilder(table, columns, rowset.Options{Pool: pool})
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := conn.Query(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+table+" ORDER BY id", "")
	if err != nil {
		r.t.Fatal(err)
	}
	for {
		row := make([]driver.Value, len(rows.Columns()))
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = b.AppendDriverRow(row)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	if err := rows.Close(); err != nil {
		r.t.Fatal(err)
	}
	for _, cell := range b.Suspects() {
		r.t.Fatalf("a cell cannot be read: %+v", cell)
	}
	rec, err := b.Finish()
	if err != nil {
		r.t.Fatal(err)
	}
	defer rec.Release()
	j, err := body.NewJSON(table, rec.Schema(), all, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	bound, err := j.Bind(rec)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for i := range bound.Len() {
		text, err := bound.AppendRow(nil, i, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

func loadTargetForTest(ctx context.Context, conn *session.Conn, table string) (out []rowset.Column, err error) {
	w := &bulkWorker{conn: conn, cfg: &bulkConfig{}, tables: map[catalog.Name]*bulkTable{}}
	name, err := catalog.ParseName(table)
	if err != nil {
		return nil, err
	}
	t, err := w.table(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, c := range t.target.Columns {
		if c.Err == nil {
			out = append(out, rowset.Column{Name: c.Name, Type: c.Type})
		}
	}
	return out, nil
}

// Every type and every edge value that mssql_cdc writes is stored as it was, by each way, and NULL with it.
func TestBulkEveryValue(t *testing.T) {
	for way, fields := range bulkWays {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			for n, tt := range bulkValues {
				table := fmt.Sprintf("dbo.t%d", n)
				r.sql("CREATE TABLE " + table + " (id int, c " + tt.decl + " NULL)")
				var rows, structured []string
				for i, v := range append(tt.values, "null") {
					rows = append(rows, fmt.Sprintf(`{"id":%d,"c":%s}`, i, v))
					structured = append(structured, fmt.Sprintf(`{"id":%d,"c":%s}`, 100+i, v))
				}
				out := r.start(strings.Replace(fields, "table: t\n", "table: "+table+"\n", 1))
				out.lands(rows...)
				batch := bulkBatch(structured...)
				for _, m := range batch { // as a mapping leaves it
					v, err := m.AsStructuredMut()
					if err != nil {
						t.Fatal(err)
					}
					m.SetStructuredMut(v)
				}
				if !strings.HasPrefix(tt.decl, "bigint") && !strings.HasPrefix(tt.decl, "float") { // Benthos' numbers are doubles
					out.refuses(batch, nil)
					rows = append(rows, structured...)
				}
				wantTexts(t, way+" "+tt.decl, r.messagesOf(table), rows...)
			}
		})
	}
}

// What does not fit is refused by itself, with column and value, and the row beside it lands.
func TestBulkRefusedValues(t *testing.T) {
	for _, tt := range []struct{ decl, value, want string }{
		{"tinyint", `300`, "300"},
		{"smallint", `40000`, "40000"},
		{"int", `2147483648`, "2147483648"},
		{"int", `1.9`, "1.9"},
		{"float", `"NaN"`, "NaN"},
		{"real", `1e39`, "1e39"},
		{"decimal(5,2)", `"1000"`, "1000"},
		{"varchar(20)" + latin1, `"你好"`, "你"},
		{"varchar(3)" + utf8, `"€a"`, "€a"},
		{"varchar(3)" + latin1, `"abcd"`, "abcd"},
		{"nvarchar(3)", `"ab😀"`, "ab😀"},
		{"char(2)" + latin1, `"abc"`, "abc"},
		{"varbinary(2)", `"3q2+7w=="`, "4 bytes"},
		{"datetime", `"1752-12-31"`, "range"},
		{"time(0)", `"12:00:00.5"`, "12:00:00.5"},
		{"sql_variant", `1`, "cannot be bulk loaded"},
		{"int NOT NULL", `null`, "NOT NULL"},
	} {
		onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
			null := " NULL"
			if strings.HasSuffix(tt.decl, "NOT NULL") {
				null = " DEFAULT 7"
			}
			r.sql("CREATE TABLE dbo.t (id int, c " + tt.decl + null + ")")
			for way, fields := range bulkWays {
				r.start(fields).refuses(bulkBatch(`{"id":1}`, `{"id":2,"c":`+tt.value+`}`, `{"id":3}`), map[int][]string{1: {"dbo.t", "row 2", "column c", tt.want}})
				wantTexts(t, way, r.rows("SELECT id FROM dbo.t ORDER BY id"), "1", "3")
				r.sql("TRUNCATE TABLE dbo.t")
			}
		})
	}
}

// arrowMessage writes a record batch as an Arrow IPC stream.
func arrowMessage(t *testing.T, fields []arrow.Field, json string) *service.Message {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), schema, strings.NewReader(json))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return service.NewMessage(b.Bytes())
}

// An Arrow message is stored or refused as a whole, beside JSON in the same batch.
func TestBulkArrow(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (id int, s varchar(3), x AS id * 2)")
		fields := []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "S", Type: arrow.BinaryTypes.LargeString, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Int32}}
		for way, config := range bulkWays {
			out := r.start(config)
			batch := service.MessageBatch{
				arrowMessage(t, fields, `[{"id":1,"S":"a","x":0},{"id":2,"S":null,"x":0}]`),
				arrowMessage(t, fields, `[{"id":3,"S":"b","x":0},{"id":4,"S":"four","x":0}]`),
				service.NewMessage([]byte(`{"id":5,"s":"c"}`)),
				arrowMessage(t, []arrow.Field{{Name: "y", Type: arrow.PrimitiveTypes.Int64}}, `[{"y":1}]`),
				arrowMessage(t, fields, `[{"id":6,"S":"d","x":0}]`),
				service.NewMessage([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0}),
			}
			out.refuses(batch, map[int][]string{1: {"its row 2", "column s", "four"}, 3: {"column y", "no such column"}, 5: {"Arrow"}})
			wantTexts(t, way, r.rows("SELECT id, s, x FROM dbo.t ORDER BY id"), "1|a|2", "2|NULL|4", "5|c|10", "6|d|12")
			r.sql("TRUNCATE TABLE dbo.t")
		}
		r.start("table: t\non_unknown_field: ignore").refuses(service.MessageBatch{arrowMessage(t, append(fields, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64}), `[{"id":7,"S":"e","x":0,"y":1}]`)}, nil)
		r.want("SELECT id FROM dbo.t", "7")
	})
}

// on_lossy holds for Arrow as well.
func TestBulkArrowLossy(t *testing.T) {
	onBulk(t, mssqltest.Config{}, func(t *testing.T, r *bulkRig) {
		r.sql("CREATE TABLE dbo.t (s varchar(3), n decimal(5,1), d datetime2(0), f float)")
		for _, tt := range []struct {
			choice string
			field  arrow.Field
			value  string
			got    string
		}{
			{"text: truncate", arrow.Field{Name: "s", Type: arrow.BinaryTypes.StringView}, `"abcd"`, "abc"},
			{"number: round", arrow.Field{Name: "n", Type: &arrow.Decimal256Type{Precision: 40, Scale: 2}}, `"1.25"`, "1.3"},
			{"time: round", arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Timestamp_ms}, `"2024-01-15 10:30:45.723"`, "2024-01-15 10:30:46"},
		} {
			row := `[{"` + tt.field.Name + `":` + tt.value + `}]`
			r.start("table: t").refuses(service.MessageBatch{arrowMessage(t, []arrow.Field{tt.field}, row)}, map[int][]string{0: {"column " + tt.field.Name, "on_lossy"}})
			r.start("table: t\non_lossy:\n  "+tt.choice).refuses(service.MessageBatch{arrowMessage(t, []arrow.Field{tt.field}, row)}, nil)
			r.want("SELECT "+tt.field.Name+" FROM dbo.t", tt.got)
			r.sql("TRUNCATE TABLE dbo.t")
		}
	})
}
