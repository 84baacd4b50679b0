package rowset

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

// everyColumn has one column of each kind.
var everyColumn = []string{"bit", "tinyint", "smallint", "int", "bigint", "real", "float", "decimal(9,2)", "decimal(38,4)", "money", "date", "time(7)", "datetime2(3)", "datetime",
	"smalldatetime", "datetimeoffset(5)", "nvarchar(max)", "varchar(20)", "varbinary(max)", "rowversion", "uniqueidentifier", "sql_variant", "xml", "hierarchyid"}

// FuzzCells reads rows of the wire into columns that need not be what was sent: each row is appended whole or not at all, and text is UTF-8.
func FuzzCells(f *testing.F) {
	seed := func(t tds.TypeInfo, cells ...[]byte) []byte {
		m := tds.ColMetaData{Columns: []tds.ColumnMeta{{Info: t}, {Info: t}, {Info: t}}}
		b := m.Append(nil)
		for _, c := range cells {
			b = tds.AppendRow(b, m.Columns, [][]byte{c, nil, c})
		}
		return b
	}
	for i := range everyColumn {
		f.Add(uint8(i), false, seed(tds.Nullable(tds.TypeIntN, 4), []byte{1, 2, 3, 4}, []byte{1}))
		f.Add(uint8(i), true, seed(tds.CharType(tds.TypeNVarChar, tds.MaxSize, tds.DefaultCollation), tds.AppendUTF16(nil, "é😀"), []byte{0x3D, 0xD8}, []byte{1}))
		f.Add(uint8(i), false, seed(tds.CharType(tds.TypeBigVarChar, 20, tds.DefaultCollation), []byte("\xE9\x81")))
		f.Add(uint8(i), false, seed(tds.DecimalType(tds.TypeDecimalN, 38, 2), append([]byte{0}, bytes.Repeat([]byte{0xFF}, 16)...)))
		f.Add(uint8(i), false, seed(tds.TemporalType(tds.TypeDateTimeOffsetN, 7), bytes.Repeat([]byte{0xFF}, 10), make([]byte, 10)))
		f.Add(uint8(i), false, seed(tds.Nullable(tds.TypeSSVariant, tds.VariantSize), []byte{0x38, 0, 1, 0, 0, 0}, []byte{0xE7, 7, 0, 0, 0, 0, 0, 4, 0, 0x3D, 0xD8}))
		f.Add(uint8(i), false, seed(tds.Nullable(tds.TypeGUID, 16), make([]byte, 16)))
	}
	f.Fuzz(func(t *testing.T, column uint8, replace bool, b []byte) {
		typ, err := sqltype.Parse(everyColumn[int(column)%len(everyColumn)])
		if err != nil {
			t.Fatal(err)
		}
		typ.Nullable = true
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		pool := NewPool(mem, 0)
		defer pool.Close()
		builder, err := NewBuilder("t", []Column{{Name: "c", Type: typ}}, Options{Pool: pool, ReplaceInvalidText: replace})
		if err != nil {
			t.Fatal(err)
		}
		defer builder.Discard()
		tokens := tds.NewTokenReader(bytes.NewReader(b), tds.Limits{Row: 1 << 20})
		planned := false
		want := 0
		for {
			token, err := tokens.Next()
			if err != nil {
				break
			}
			switch {
			case token == tds.TokenColMetaData:
				planned = builder.Plan(tokens.Columns.Columns) == nil
			case planned && (token == tds.TokenRow || token == tds.TokenNBCRow):
				if builder.AppendCells(tokens.Cells) == nil {
					want++
				}
				if builder.Len() != want {
					t.Fatalf("%d rows, want %d", builder.Len(), want)
				}
			}
		}
		rec, err := builder.Finish()
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		if rec.NumRows() != int64(want) {
			t.Errorf("%d rows, want %d", rec.NumRows(), want)
		}
		if s, ok := rec.Column(0).(*array.String); ok {
			for i := range s.Len() {
				if !utf8.ValidString(s.Value(i)) {
					t.Errorf("row %d is %x", i, s.Value(i))
				}
			}
		}
	})
}
