package bulkload_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/mssqltest"
)

func TestVariants(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{})
	exec(t, srv, "CREATE TABLE dbo.v (id int IDENTITY, v sql_variant NULL)")
	conn := open(t, srv, "off", session.RawRequire)
	typ := sqltype.Type{Name: "sql_variant", Nullable: true}
	for _, tt := range []struct{ form, base, want string }{
		{`{"type":"bit","value":true}`, "bit", "1"},
		{`{"type":"int","value":-5}`, "int", "-5"},
		{`{"type":"bigint","value":9223372036854775807}`, "bigint", "9223372036854775807"},
		{`{"type":"decimal(5,2)","value":"-1.50"}`, "decimal", "-1.50"},
		{`{"type":"numeric(9,1)","value":"1.5"}`, "numeric", "1.5"},
		{`{"type":"money","value":"-1.2300"}`, "money", "-1.23"},
		{`{"type":"float","value":0.5}`, "float", "0.5"},
		{`{"type":"nvarchar(10)","value":"é名"}`, "nvarchar", "é名"},
		{`{"type":"varchar(10)","value":"é"}`, "varchar", "é"},
		{`{"type":"nvarchar","value":"é名"}`, "nvarchar", "é名"},
		{`{"type":"varchar","value":"é"}`, "varchar", "é"},
		{`{"type":"nchar","value":"é名"}`, "nchar", "é名"},
		{`{"type":"char","value":"é"}`, "char", "é"},
		{`{"type":"varbinary","value":"QUI="}`, "varbinary", "\u4241"},
		{`{"type":"binary","value":"QUI="}`, "binary", "\u4241"},
		{`{"type":"date","value":"2024-02-29"}`, "date", "2024-02-29"},
		{`{"type":"time(3)","value":"23:59:59.123"}`, "time", "23:59:59.123"},
		{`{"type":"datetime2(7)","value":"2024-02-29T12:00:00.1234567"}`, "datetime2", "2024-02-29 12:00:00.1234567"},
		{`{"type":"uniqueidentifier","value":"00112233-4455-6677-8899-AABBCCDDEEFF"}`, "uniqueidentifier", "00112233-4455-6677-8899-AABBCCDDEEFF"},
		{`{"type":"int","value":"x"}`, "", "!reading a sql_variant of int"},
		{`{"type":"xml","value":"x"}`, "", "!no (max) type"},
		{`{"type":"nvarchar","value":1}`, "", "!reading a sql_variant of nvarchar"},
		{`{"type":"nchar","value":1}`, "", "!reading a sql_variant"},
		{`{"type":"tinyint","value":256}`, "", "!out of the range"},
		{`nonsense`, "", "!is no sql_variant"},
	} {
		t.Run(tt.form, func(t *testing.T) {
			mem := checked(t)
			b := array.NewStringBuilder(mem)
			defer b.Release()
			b.Append(tt.form)
			a := b.NewArray()
			defer a.Release()
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{typ.Field("v")}, nil), []arrow.Array{a}, 1)
			defer rec.Release()
			res, err := load(t, conn, "v", rec, bulkload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if text, bad := strings.CutPrefix(tt.want, "!"); bad {
				if len(res.Bad) != 1 || !strings.Contains(res.Bad[0].Error(), text) {
					t.Errorf("bad %v, want %q", res.Bad, text)
				}
				return
			}
			want := tt.base + "|" + tt.want
			got := texts(t, conn, "SELECT CAST(SQL_VARIANT_PROPERTY(v, 'BaseType') AS nvarchar(30)), CONVERT(nvarchar(60), v) FROM dbo.v")
			if len(got) != 1 || got[0] != want {
				t.Errorf("stored %q, want %q (%v)", got, want, res.Bad)
			}
			exec(t, srv, "DELETE FROM dbo.v")
		})
	}
}
