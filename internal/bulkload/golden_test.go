package bulkload

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// column1252 is a nullable column of a declaration, text in code page 1252.
func column1252(t testing.TB, name, decl string) TargetColumn {
	t.Helper()
	typ, err := sqltype.Parse(decl)
	if err != nil {
		t.Fatal(err)
	}
	typ.Nullable = true
	c := TargetColumn{Name: name, Type: typ}
	if strings.Contains(decl, "char") || strings.Contains(decl, "text") {
		c.Type.Collation = "SQL_Latin1_General_CP1_CI_AS"
		c.collation = collation{codePage: 1252, lcid: 0x409, style: 0x30001}
	}
	return c
}

// encode gives the ROW tokens of a batch.
func (p *Plan) encode(t testing.TB, rec arrow.RecordBatch) ([]byte, []RowError) {
	t.Helper()
	defer p.release()
	if err := p.bind(rec); err != nil {
		t.Fatal(err)
	}
	e := newEncoder(p.cols, nil, int(rec.NumRows()))
	var out []byte
	for e.next < e.rows {
		e.fill()
		out = append(out, e.buf...)
	}
	return out, e.bad
}

// TestGoldenCells has the bytes that Microsoft's and other clients were seen to send.
func TestGoldenCells(t *testing.T) {
	ts := func(u arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: u} }
	for _, tt := range []struct {
		decl  string
		field arrow.DataType
		value string
		want  string
		lossy Lossy
	}{
		{"int", arrow.PrimitiveTypes.Int32, `-2`, "04 feffffff", Lossy{}},
		{"bigint", arrow.PrimitiveTypes.Int64, `258`, "08 0201000000000000", Lossy{}},
		{"smallint", arrow.PrimitiveTypes.Int16, `258`, "02 0201", Lossy{}},
		{"tinyint", arrow.PrimitiveTypes.Uint8, `200`, "01 c8", Lossy{}},
		{"bit", arrow.FixedWidthTypes.Boolean, `true`, "01 01", Lossy{}},
		{"float", arrow.PrimitiveTypes.Float64, `1`, "08 000000000000f03f", Lossy{}},
		{"real", arrow.PrimitiveTypes.Float32, `1`, "04 0000803f", Lossy{}},
		{"int", arrow.PrimitiveTypes.Int32, `null`, "00", Lossy{}},
		{"decimal(5,2)", &arrow.Decimal128Type{Precision: 5, Scale: 2}, `"-123.45"`, "05 0039300000", Lossy{}},
		{"decimal(18,4)", &arrow.Decimal128Type{Precision: 18, Scale: 4}, `"0.0001"`, "09 010100000000000000", Lossy{}},
		{"decimal(38,0)", &arrow.Decimal128Type{Precision: 38}, `"18446744073709551616"`, "11 01 0000000000000000 0100000000000000", Lossy{}},
		{"decimal(28,0)", &arrow.Decimal128Type{Precision: 28}, `"-1"`, "0d 00 0100000000000000 00000000", Lossy{}},
		{"money", &arrow.Decimal128Type{Precision: 19, Scale: 4}, `"-1.2345"`, "08 ffffffffc7cfffff", Lossy{}},
		{"smallmoney", &arrow.Decimal128Type{Precision: 19, Scale: 4}, `"1.2345"`, "04 39300000", Lossy{}},
		{"uniqueidentifier", arrow.BinaryTypes.String, `"00112233-4455-6677-8899-aabbccddeeff"`, "10 33221100554477668899aabbccddeeff", Lossy{}},
		{"datetime2(7)", ts(arrow.Microsecond), `"2024-02-29T12:34:56.789012"`, "08 c87cfd766980460b", Lossy{}},
		{"datetime2(7)", ts(arrow.Microsecond), `"1969-12-31T23:59:59.999999"`, "08 f6bf692ac939f90a", Lossy{}},
		{"datetime2(0)", ts(arrow.Second), `"2024-02-29T12:34:56"`, "06 f0b000 80460b", Lossy{}},
		{"datetime", ts(arrow.Millisecond), `"2024-02-29T12:34:56.789"`, "08 25b10000 2d5acf00", Lossy{Time: true}},
		{"smalldatetime", ts(arrow.Second), `"2024-02-29T12:34:29"`, "04 25b1 f202", Lossy{Time: true}},
		{"date", arrow.FixedWidthTypes.Date32, `"1970-01-01"`, "03 3af90a", Lossy{}},
		{"time(7)", arrow.FixedWidthTypes.Time64us, `"00:00:01"`, "05 8096980000", Lossy{}},
		{"time(3)", arrow.FixedWidthTypes.Time32ms, `"00:00:01"`, "04 e8030000", Lossy{}},
		{"datetimeoffset(0)", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+01:00"}, `"1970-01-01T00:00:00Z"`, "08 000000 3af90a 3c00", Lossy{}},
		{"nvarchar(10)", arrow.BinaryTypes.String, `"Aé"`, "0400 4100e900", Lossy{}},
		{"nvarchar(10)", arrow.BinaryTypes.String, `""`, "0000", Lossy{}},
		{"nvarchar(10)", arrow.BinaryTypes.String, `null`, "ffff", Lossy{}},
		{"nvarchar(max)", arrow.BinaryTypes.String, `"Aé😀"`, "feffffffffffffff 08000000 4100e9003dd800de 00000000", Lossy{}},
		{"nvarchar(max)", arrow.BinaryTypes.String, `""`, "feffffffffffffff 00000000", Lossy{}},
		{"nvarchar(max)", arrow.BinaryTypes.String, `null`, "ffffffffffffffff", Lossy{}},
		{"xml", arrow.BinaryTypes.String, `"<a/>"`, "feffffffffffffff 08000000 3c0061002f003e00 00000000", Lossy{}},
		{"varchar(10)", arrow.BinaryTypes.String, `"é€"`, "0200 e980", Lossy{}},
		{"varchar(max)", arrow.BinaryTypes.String, `"é"`, "feffffffffffffff 01000000 e9 00000000", Lossy{}},
		{"varbinary(4)", arrow.BinaryTypes.Binary, `"3q0="`, "0200 dead", Lossy{}},
		{"varbinary(max)", arrow.BinaryTypes.Binary, `""`, "feffffffffffffff 00000000", Lossy{}},
		{"image", arrow.BinaryTypes.Binary, `"3q0="`, "10" + strings.Repeat("ff", 24) + " 02000000 dead", Lossy{}},
		{"ntext", arrow.BinaryTypes.String, `null`, "00", Lossy{}},
	} {
		t.Run(tt.decl+" "+tt.value, func(t *testing.T) {
			c := column1252(t, "v", tt.decl)
			rec := single(t, tt.field, tt.value)
			defer rec.Release()
			p, err := NewPlan(&Target{Name: catalog.Name{Schema: "dbo", Object: "t"}, Columns: []TargetColumn{c}}, rec.Schema(), Options{Lossy: tt.lossy})
			if err != nil {
				t.Fatal(err)
			}
			got, bad := p.encode(t, rec)
			want, err := hex.DecodeString("d1" + strings.ReplaceAll(tt.want, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s of %s into %s:\n%x, want\n%x (%v)", tt.value, tt.field, tt.decl, got, want, bad)
			}
			// The decoder of the other side takes it as one row.
			meta := tds.ColMetaData{Columns: []tds.ColumnMeta{p.load.Columns[0].Meta}}
			body := append(meta.AppendBulk(nil), got...)
			r := tds.NewBulkReader(bytes.NewReader(body), tds.Limits{})
			if _, err := r.Next(); err != nil {
				t.Errorf("reading the row back: %v", err)
			}
			if _, err := r.Next(); err != io.EOF { //nolint:errorlint // the end of the load is io.EOF itself
				t.Errorf("after the row: %v", err)
			}
		})
	}
}

// single is a batch of one value in JSON.
func single(t testing.TB, dt arrow.DataType, value string) arrow.RecordBatch {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	if err := b.UnmarshalJSON([]byte("[" + value + "]")); err != nil {
		t.Fatal(err)
	}
	arr := b.NewArray()
	defer arr.Release()
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: dt, Nullable: true}}, nil), []arrow.Array{arr}, 1)
}

// TestGoldenDeclarations pins what INSERT BULK and COLMETADATA say of each type.
func TestGoldenDeclarations(t *testing.T) {
	for _, tt := range []struct{ decl, want, info string }{
		{"int", "int", "26 04"}, {"tinyint", "tinyint", "26 01"}, {"bit", "bit", "68 01"}, {"real", "real", "6d 04"},
		{"decimal(18,4)", "decimal(18,4)", "6a 09 12 04"}, {"numeric(18,4)", "numeric(18,4)", "6c 09 12 04"},
		{"money", "money", "6e 08"}, {"datetime", "datetime", "6f 08"}, {"smalldatetime", "smalldatetime", "6f 04"},
		{"date", "date", "28"}, {"time(3)", "time(3)", "29 03"}, {"datetime2(6)", "datetime2(6)", "2a 06"}, {"datetimeoffset(7)", "datetimeoffset(7)", "2b 07"},
		{"nvarchar(50)", "nvarchar(50)", "e7 6400 0904d00034"}, {"nvarchar(3000)", "nvarchar(3000)", "e7 7017 0904d00034"}, {"nvarchar(max)", "nvarchar(max)", "e7 ffff 0904d00034"},
		{"varchar(20)", "varchar(20) COLLATE SQL_Latin1_General_CP1_CI_AS", "a7 1400 0904d00034"},
		{"char(4)", "char(4) COLLATE SQL_Latin1_General_CP1_CI_AS", "af 0400 0904d00034"},
		{"binary(4)", "binary(4)", "ad 0400"}, {"varbinary(max)", "varbinary(max)", "a5 ffff"},
		{"uniqueidentifier", "uniqueidentifier", "24 10"}, {"xml", "xml", "e7 ffff 0904d00034"},
		{"geography", "varbinary(max)", "a5 ffff"},
	} {
		t.Run(tt.decl, func(t *testing.T) {
			c := column1252(t, "v", tt.decl)
			w, err := newWire(&c)
			if err != nil {
				t.Fatal(err)
			}
			if w.decl != tt.want {
				t.Errorf("declaration %q, want %q", w.decl, tt.want)
			}
			if got, want := hex.EncodeToString(w.info.Append(nil)), strings.ReplaceAll(tt.info, " ", ""); got != want {
				t.Errorf("TYPE_INFO %s, want %s", got, want)
			}
		})
	}
}
