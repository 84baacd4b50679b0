package server

import (
	"encoding/hex"
	"testing"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func coll(t *testing.T, name string) *collate.Collation {
	t.Helper()
	c, ok := collate.Lookup(name)
	if !ok {
		t.Fatalf("no collation %s", name)
	}
	return c
}

type cellCase struct {
	name string
	t    value.Type
	v    value.Value
	hex  string // of the cell with its length, nullable form
}

func cellCases(t *testing.T) []cellCase {
	latin := coll(t, "SQL_Latin1_General_CP1_CI_AS")
	turkish := coll(t, "Turkish_CI_AS")
	utf8 := coll(t, "Latin1_General_100_CI_AS_SC_UTF8")
	return []cellCase{
		{"bit", value.Type{ID: value.Bit}, value.NewBit(true), "0101"},
		{"tinyint", value.Type{ID: value.TinyInt}, value.NewInt(value.TinyInt, 255), "01ff"},
		{"smallint", value.Type{ID: value.SmallInt}, value.NewInt(value.SmallInt, -2), "02feff"},
		{"int", value.Type{ID: value.Int}, value.NewInt(value.Int, 1), "0401000000"},
		{"bigint", value.Type{ID: value.BigInt}, value.NewInt(value.BigInt, -1), "08ffffffffffffffff"},
		{"real", value.Type{ID: value.Real}, value.NewReal(1.5), "040000c03f"},
		{"float", value.Type{ID: value.Float}, value.NewFloat(-0.5), "08000000000000e0bf"},
		{"money", value.Type{ID: value.Money}, value.NewMoney(12345), "080000000039300000"},
		{"smallmoney", value.Type{ID: value.SmallMoney}, value.NewInt(value.SmallMoney, -1), "04ffffffff"},
		{"decimal", value.Type{ID: value.Decimal, Prec: 10, Scale: 2}, value.NewDecimal(true, 0, 12345, 2), "0900" + "3930000000000000"},
		{"decimal 38", value.Type{ID: value.Decimal, Prec: 38}, value.NewDecimal(false, 1, 2, 0), "1101" + "0200000000000000" + "0100000000000000"},
		{"uniqueidentifier", value.Type{ID: value.UniqueIdentifier}, value.NewGUID([16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}), "10" + "03020100050407060809" + "0a0b0c0d0e0f"},
		{"datetime", value.Type{ID: value.DateTime}, value.NewDateTime(1, 300), "08010000002c010000"},
		{"smalldatetime", value.Type{ID: value.SmallDateTime}, value.NewSmallDateTime(2, 61), "0402003d00"},
		{"date", value.Type{ID: value.Date}, value.NewDate(3), "03030000"},
		{"time(0)", value.Type{ID: value.Time}, value.NewTime(10_000_000), "03010000"},
		{"time(7)", value.Type{ID: value.Time, Scale: 7}, value.NewTime(1), "050100000000"},
		{"datetime2(3)", value.Type{ID: value.DateTime2, Scale: 3}, value.NewDateTime2(5, 10_000), "0701000000050000"},
		{"datetimeoffset(0)", value.Type{ID: value.DateTimeOffset}, value.NewDateTimeOffset(5, 0, -120), "0800000005000088ff"},
		{"varchar", value.Type{ID: value.VarChar, Len: 10, Coll: latin}, value.NewVarChar("é"), "0100e9"},
		{"varchar empty", value.Type{ID: value.VarChar, Len: 10, Coll: latin}, value.NewVarChar(""), "0000"},
		{"varchar 1254", value.Type{ID: value.VarChar, Len: 10, Coll: turkish}, value.NewVarChar("ğ"), "0100f0"},
		{"varchar UTF-8 as nvarchar", value.Type{ID: value.VarChar, Len: 10, Coll: utf8}, value.NewVarChar("ğ"), "02001f01"},
		{"char", value.Type{ID: value.Char, Len: 3, Coll: latin}, value.NewString(value.Char, "ab "), "0300616220"},
		{"nvarchar", value.Type{ID: value.NVarChar, Len: 10, Coll: latin}, value.NewNVarChar("aß"), "04006100df00"},
		{"nvarchar(max)", value.Type{ID: value.NVarChar, Len: value.Max, Coll: latin}, value.NewNVarChar("a"), "0200000000000000" + "02000000" + "6100" + "00000000"},
		{"nvarchar(max) empty", value.Type{ID: value.NVarChar, Len: value.Max, Coll: latin}, value.NewNVarChar(""), "0000000000000000" + "00000000"},
		{"varbinary", value.Type{ID: value.VarBinary, Len: 10}, value.NewVarBinary([]byte{1, 2}), "02000102"},
		{"binary", value.Type{ID: value.Binary, Len: 2}, value.NewBinary(value.Binary, []byte{3, 4}), "02000304"},
		{"rowversion", value.Type{ID: value.RowVersion, Len: 8}, value.NewBinary(value.RowVersion, []byte{0, 0, 0, 0, 0, 0, 7, 0xD1}), "080000000000000007d1"},
		{"xml", value.Type{ID: value.XML, Len: value.Max}, value.NewString(value.XML, "<"), "0200000000000000" + "02000000" + "3c00" + "00000000"},
		{"hierarchyid", value.Type{ID: value.CLR, Len: 892, Name: "hierarchyid"}, value.NewBinary(value.CLR, []byte{0x58}), "0100000000000000" + "01000000" + "58" + "00000000"},
		{"variant of int", value.Type{ID: value.Variant}, value.NewVariant(value.NewInt(value.Int, 7), value.Type{ID: value.Int}), "06000000" + "3800" + "07000000"},
		{"variant of nvarchar", value.Type{ID: value.Variant}, value.NewVariant(value.NewNVarChar("a"), value.Type{ID: value.NVarChar, Len: 1, Coll: latin}), "0b000000" + "e707" + "0904d00034" + "0200" + "6100"},
	}
}

func TestCells(t *testing.T) {
	for _, tc := range cellCases(t) {
		t.Run(tc.name, func(t *testing.T) {
			for _, nullable := range []bool{true, false} {
				meta := columnMeta(&exec.Column{Name: "c", Type: tc.t, Nullable: nullable}, false)
				got := newEncoder(tc.t, &meta.Info, false)(nil, tc.v)
				want := tc.hex
				if _, fixed := meta.Info.Type.FixedSize(); fixed {
					want = want[2:]
				}
				if hex.EncodeToString(got) != want {
					t.Errorf("nullable %v: cell of %v is %x, want %s", nullable, value.Display(tc.v, tc.t), got, want)
				}
				var rows tds.RowReader
				rows.SetColumns([]tds.ColumnMeta{meta})
				r := tds.NewReader(append([]byte(nil), got...))
				cells := rows.Row(r)
				if r.Err() != nil || r.Len() > 0 {
					t.Fatalf("reading cell %x back: %v, %d bytes left", got, r.Err(), r.Len())
				}
				back, ok := newDecoder(&meta.Info)(cells[0])
				if bt := valueType(&meta.Info); !ok || value.Display(back, bt) != value.Display(tc.v, tc.t) {
					t.Errorf("nullable %v: cell %x read back as %v %q, want %q", nullable, got, bt, value.Display(back, bt), value.Display(tc.v, tc.t))
				}
			}
		})
	}
}

func TestNullCells(t *testing.T) {
	for _, tc := range cellCases(t) {
		meta := columnMeta(&exec.Column{Name: "c", Type: tc.t, Nullable: true}, false)
		got := newEncoder(tc.t, &meta.Info, false)(nil, value.Value{})
		r := tds.NewReader(got)
		if cell := meta.Info.DecodeCell(r); cell != nil || r.Err() != nil || r.Len() > 0 {
			t.Errorf("%s: NULL is %x, which reads as %x, %v", tc.name, got, cell, r.Err())
		}
	}
}

func TestTextPointerCells(t *testing.T) {
	latin := coll(t, "SQL_Latin1_General_CP1_CI_AS")
	for _, tc := range []struct {
		t    value.Type
		v    value.Value
		want string
	}{
		{value.Type{ID: value.Text, Len: value.Max, Coll: latin}, value.NewString(value.Text, "aé"), "61e9"},
		{value.Type{ID: value.NText, Len: value.Max, Coll: latin}, value.NewString(value.NText, "a"), "6100"},
		{value.Type{ID: value.Image, Len: value.Max}, value.NewBinary(value.Image, []byte{1}), "01"},
	} {
		meta := columnMeta(&exec.Column{Name: "c", Type: tc.t, Nullable: true, Table: []string{"dbo", "t"}}, false)
		cell := newEncoder(tc.t, &meta.Info, false)(nil, tc.v)
		r := tds.NewReader(cell)
		if got := meta.Info.DecodeCell(r); hex.EncodeToString(got) != tc.want || r.Err() != nil || r.Len() > 0 {
			t.Errorf("%v: cell %x reads as %x, %v; want %s", tc.t, cell, got, r.Err(), tc.want)
		}
	}
}

// A client that asked for UTF8_SUPPORT gets the bytes of a UTF-8 collation.
func TestUTF8Feature(t *testing.T) {
	ty := value.Type{ID: value.VarChar, Len: 10, Coll: coll(t, "Latin1_General_100_CI_AS_SC_UTF8")}
	meta := columnMeta(&exec.Column{Name: "c", Type: ty, Nullable: true}, true)
	if meta.Info.Type != tds.TypeBigVarChar {
		t.Fatalf("type %v, want BIGVARCHAR", meta.Info.Type)
	}
	if got := newEncoder(ty, &meta.Info, true)(nil, value.NewVarChar("ğ")); hex.EncodeToString(got) != "0200c49f" {
		t.Errorf("cell %x, want 0200c49f", got)
	}
}

func BenchmarkRow(b *testing.B) {
	latin := collate.Default()
	cols := []exec.Column{
		{Name: "id", Type: value.Type{ID: value.Int}}, {Name: "n", Type: value.Type{ID: value.BigInt}, Nullable: true},
		{Name: "s", Type: value.Type{ID: value.NVarChar, Len: 600, Coll: latin}, Nullable: true},
	}
	vals := []value.Value{value.NewInt(value.Int, 1), value.NewInt(value.BigInt, 2), value.NewNVarChar(string(make([]byte, 500)))}
	encs := make([]encoder, len(cols))
	for i := range cols {
		m := columnMeta(&cols[i], false)
		encs[i] = newEncoder(cols[i].Type, &m.Info, false)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for i := range encs {
			buf = encs[i](buf, vals[i])
		}
	}
	b.SetBytes(int64(len(buf)))
}
