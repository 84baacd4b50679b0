package tds

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

var nvarcharMax = CharType(TypeNVarChar, MaxSize, DefaultCollation)

// cellCases holds for each type its TYPE_INFO, a cell and a value, in bytes that other implementations sent.
var cellCases = []struct {
	name  string
	info  TypeInfo
	wire  string // TYPE_INFO
	cell  string
	value string // hex; "NULL"
}{
	{"tinyint", Fixed(TypeInt1), "30", "ff", "ff"},
	{"bit", Fixed(TypeBit), "32", "01", "01"},
	{"smallint", Fixed(TypeInt2), "34", "feff", "feff"},
	{"int", Fixed(TypeInt4), "38", "01000000", "01000000"},
	{"bigint", Fixed(TypeInt8), "7f", "0100000000000080", "0100000000000080"},
	{"real", Fixed(TypeFlt4), "3b", "0000803f", "0000803f"},
	{"float", Fixed(TypeFlt8), "3e", "000000000000f03f", "000000000000f03f"},
	{"money", Fixed(TypeMoney), "3c", "ffffffffc7cfffff", "ffffffffc7cfffff"},
	{"smallmoney", Fixed(TypeMoney4), "7a", "c7cfffff", "c7cfffff"},
	{"datetime", Fixed(TypeDateTime), "3d", "25b100002d5acf00", "25b100002d5acf00"},
	{"smalldatetime", Fixed(TypeDateTim4), "3a", "25b1f202", "25b1f202"},
	{"null type", Fixed(TypeNull), "1f", "", "NULL"},

	{"intn(4)", Nullable(TypeIntN, 4), "26 04", "04 01000000", "01000000"},
	{"intn(8) null", Nullable(TypeIntN, 8), "26 08", "00", "NULL"},
	{"bitn", Nullable(TypeBitN, 1), "68 01", "01 01", "01"},
	{"fltn", Nullable(TypeFltN, 8), "6d 08", "08 000000000000f03f", "000000000000f03f"},
	{"moneyn", Nullable(TypeMoneyN, 8), "6e 08", "08 ffffffffc7cfffff", "ffffffffc7cfffff"},
	{"datetimn", Nullable(TypeDateTimN, 8), "6f 08", "08 25b100002d5acf00", "25b100002d5acf00"},
	{"datetimn(4)", Nullable(TypeDateTimN, 4), "6f 04", "04 25b1f202", "25b1f202"},
	{"guid", Nullable(TypeGUID, 16), "24 10", "10 33221100554477668899aabbccddeeff", "33221100554477668899aabbccddeeff"},
	{"decimal(5,2)", DecimalType(TypeDecimalN, 5, 2), "6a 05 05 02", "05 0039300000", "0039300000"},
	{"decimal(18,4)", DecimalType(TypeDecimalN, 18, 4), "6a 09 12 04", "05 0101000000", "0101000000"},
	{"numeric(38,0)", DecimalType(TypeNumericN, 38, 0), "6c 11 26 00", "11 01" + "01000000000000000000000000000000", "01" + "01000000000000000000000000000000"},
	{"decimal of bogus size", TypeInfo{Type: TypeDecimalN, Size: 106, Prec: 18, Scale: 4}, "6a 6a 12 04", "09 01 0100000000000000", "01 0100000000000000"},
	{"legacy decimal", TypeInfo{Type: TypeDecimal, Size: 17, Prec: 20}, "37 11 14 00", "0d 00 010000000000000000000000", "00 010000000000000000000000"},
	{"date", TemporalType(TypeDateN, 0), "28", "03 80460b", "80460b"},
	{"time(0)", TemporalType(TypeTimeN, 0), "29 00", "03 7f5101", "7f5101"},
	{"time(7) null", TemporalType(TypeTimeN, 7), "29 07", "00", "NULL"},
	{"datetime2(7)", TemporalType(TypeDateTime2N, 7), "2a 07", "08 c87cfd766980460b", "c87cfd766980460b"},
	{"datetime2(3)", TemporalType(TypeDateTime2N, 3), "2a 03", "07 00000000 80460b", "0000000080460b"},
	{"datetimeoffset(7)", TemporalType(TypeDateTimeOffsetN, 7), "2b 07", "0a f6bf692ac939f90a 3c00", "f6bf692ac939f90a3c00"},

	{"varchar", CharType(TypeBigVarChar, 100, DefaultCollation), "a7 6400 0904d00034", "0200 6869", "6869"},
	{"varchar empty", CharType(TypeBigVarChar, 100, DefaultCollation), "a7 6400 0904d00034", "0000", ""},
	{"char null", CharType(TypeBigChar, 10, DefaultCollation), "af 0a00 0904d00034", "ffff", "NULL"},
	{"nvarchar", CharType(TypeNVarChar, 8000, DefaultCollation), "e7 401f 0904d00034", "0400 68006900", "68006900"},
	{"nchar", CharType(TypeNChar, 4, DefaultCollation), "ef 0400 0904d00034", "0400 68002000", "68002000"},
	{"varbinary", Nullable(TypeBigVarBinary, 8000), "a5 401f", "0300 000102", "000102"},
	{"binary null", Nullable(TypeBigBinary, 10), "ad 0a00", "ffff", "NULL"},
	{"legacy varchar", Nullable(TypeVarChar, 255), "27 ff", "02 6869", "6869"},
	{"legacy char", Nullable(TypeChar, 2), "2f 02", "02 6869", "6869"},
	{"legacy varbinary", Nullable(TypeVarBinary, 9), "25 09", "01 00", "00"},
	{"legacy binary null", Nullable(TypeBinary, 9), "2d 09", "00", "NULL"},

	{"nvarchar(max)", nvarcharMax, "e7 ffff 0904d00034", "feffffffffffffff 08000000 4100e9003dd800de 00000000", "4100e9003dd800de"},
	{"nvarchar(max) empty", nvarcharMax, "e7 ffff 0904d00034", "feffffffffffffff 00000000", ""},
	{"nvarchar(max) null", nvarcharMax, "e7 ffff 0904d00034", "ffffffffffffffff", "NULL"},
	{"varbinary(max) chunks", Nullable(TypeBigVarBinary, MaxSize), "a5 ffff", "0500000000000000 02000000 0102 01000000 03 02000000 0405 00000000", "0102030405"},
	{"xml", TypeInfo{Type: TypeXML}, "f1 00", "0200000000000000 02000000 fffe 00000000", "fffe"},
	{"typed xml", TypeInfo{Type: TypeXML, XML: &XMLSchema{"d", "s", "c"}}, "f1 01 01 6400 01 7300 0100 6300", "ffffffffffffffff", "NULL"},
	{"udt", TypeInfo{Type: TypeUDT, UDT: &UDTInfo{0xFFFF, "d", "sys", "hid", "a"}},
		"f0 ffff 01 6400 03 730079007300 03 680069006400 0100 6100", "0100000000000000 01000000 58 00000000", "58"},

	{"text", CharType(TypeText, 0x7FFFFFFF, DefaultCollation), "23 ffffff7f 0904d00034", "10 ffffffffffffffffffffffffffffffff ffffffffffffffff 02000000 6869", "6869"},
	{"ntext null", CharType(TypeNText, 0x7FFFFFFE, DefaultCollation), "63 feffff7f 0904d00034", "00", "NULL"},
	{"image empty", Nullable(TypeImage, 0x7FFFFFFF), "22 ffffff7f", "10 ffffffffffffffffffffffffffffffff ffffffffffffffff 00000000", ""},
	{"sql_variant int", Nullable(TypeSSVariant, VariantSize), "62 491f0000", "06000000 38 00 07000000", "380007000000"},
	{"sql_variant null", Nullable(TypeSSVariant, VariantSize), "62 491f0000", "00000000", "NULL"},
}

func TestCellGolden(t *testing.T) {
	for _, c := range cellCases {
		t.Run(c.name, func(t *testing.T) {
			var want []byte
			if c.value != "NULL" {
				want = append([]byte{}, unhex(t, c.value)...)
			}
			checkHex(t, "TYPE_INFO", c.info.Append(nil), c.wire)
			r := NewReader(append(unhex(t, c.wire), unhex(t, c.cell)...))
			var info TypeInfo
			info.Decode(r)
			got := info.DecodeCell(r)
			if r.Err() != nil || r.Len() != 0 {
				t.Fatalf("decoding: %v, %d bytes left", r.Err(), r.Len())
			}
			if (got == nil) != (want == nil) || !bytes.Equal(got, want) {
				t.Errorf("value: got %x (nil %t), want %x", got, got == nil, want)
			}
			if info.Size != c.info.Size || info.Prec != c.info.Prec || info.Scale != c.info.Scale || info.Collation != c.info.Collation {
				t.Errorf("TypeInfo: got %+v, want %+v", info, c.info)
			}
			if err := info.Fits(want); err != nil && c.info.Type != TypeNull {
				t.Errorf("Fits: %v", err)
			}
		})
	}
}

// TestCellRoundTrip goes through our own encoder, which may choose another chunking than the golden bytes.
func TestCellRoundTrip(t *testing.T) {
	for _, c := range cellCases {
		for _, param := range []bool{false, true} {
			var want []byte
			if c.value != "NULL" {
				want = append([]byte{}, unhex(t, c.value)...)
			}
			b := c.info.appendCell(c.info.append(nil, param), want, param)
			decode := func(b []byte) error {
				r := NewReader(b)
				var info TypeInfo
				info.decode(r, param)
				got := info.decodeCell(r, param)
				if r.Err() == nil && (!bytes.Equal(got, want) || (got == nil) != (want == nil)) {
					t.Errorf("%s: got %x, want %x", c.name, got, want)
				}
				return r.Err()
			}
			t.Run(c.name, func(t *testing.T) { everyPrefix(t, b, decode) })
		}
	}
}

func TestCellRefusals(t *testing.T) {
	cases := []struct {
		name string
		info TypeInfo
		cell string
	}{
		{"int of three bytes", Nullable(TypeIntN, 4), "03 010203"},
		{"int longer than declared", Nullable(TypeIntN, 4), "08 0102030405060708"},
		{"datetime2(6) with the length of scale 3", TemporalType(TypeDateTime2N, 3), "08 0102030405060708"},
		{"date of four bytes", TemporalType(TypeDateN, 0), "04 01020304"},
		{"decimal of six bytes", DecimalType(TypeDecimalN, 18, 0), "06 010203040506"},
		{"decimal of 21 bytes", DecimalType(TypeDecimalN, 38, 0), "15 010203040501020304050102030405010203040506"},
		{"guid of eight bytes", Nullable(TypeGUID, 16), "08 0102030405060708"},
		{"varchar(2) of three", CharType(TypeBigVarChar, 2, DefaultCollation), "0300 616263"},
		{"variant of one byte", Nullable(TypeSSVariant, VariantSize), "01000000 38"},
		{"variant of 1 GB", Nullable(TypeSSVariant, VariantSize), "00000040 38"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := NewReader(unhex(t, c.cell))
			if v := c.info.DecodeCell(r); v != nil {
				t.Errorf("got %x", v)
			}
			var ce *CellError
			if !errors.As(r.Err(), &ce) || !errors.Is(r.Err(), ErrMalformed) {
				t.Errorf("error: %v", r.Err())
			}
		})
	}
}

func TestTypeInfoRefusals(t *testing.T) {
	for name, wire := range map[string]string{
		"INTN of size 3":         "26 03",
		"FLTN of size 2":         "6d 02",
		"GUID of size 15":        "24 0f",
		"time of scale 8":        "29 08",
		"precision 39":           "6a 11 27 00",
		"precision 0":            "6a 05 00 00",
		"scale above precision":  "6a 05 05 06",
		"nvarchar of 8001 bytes": "e7 411f 0904d00034",
		"char(max)":              "af ffff 0904d00034",
		"xml flag 2":             "f1 02",
		"table-valued parameter": "f3 00 00 00",
		"unknown type":           "01",
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(unhex(t, wire))
			var info TypeInfo
			info.Decode(r)
			if r.Err() == nil || errors.Is(r.Err(), io.ErrUnexpectedEOF) {
				t.Errorf("error: %v", r.Err())
			}
		})
	}
}

// TestPLPLimits checks that an announced length costs nothing.
func TestPLPLimits(t *testing.T) {
	for name, cell := range map[string]string{
		"known length of 4 EB": "00000000 00000040 01000000 61 00000000",
		"chunk of 4 GB":        "feffffffffffffff ffffffff 61",
		"length too short":     "0100000000000000 02000000 6161 00000000",
		"length too long":      "0300000000000000 02000000 6161 00000000",
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, cell)
			for _, r := range []*Reader{NewReader(append([]byte(nil), b...)), NewStreamReader(bytesReader(b), 1<<30)} {
				if v := nvarcharMax.DecodeCell(r); v != nil || r.Err() == nil {
					t.Errorf("got %x, %v", v, r.Err())
				}
				if cap(r.buf) > 1<<20 {
					t.Errorf("buffer grew to %d bytes", cap(r.buf))
				}
			}
		})
	}
}

func TestPLPWriter(t *testing.T) {
	b := AppendPLPEnd(AppendPLPChunk(AppendPLPChunk(AppendPLPChunk(AppendPLPStart(nil), []byte("ab")), nil), []byte("c")))
	checkHex(t, "chunks", b, "feffffffffffffff 02000000 6162 01000000 63 00000000")
	checkHex(t, "empty", AppendPLP(nil, []byte{}), "0000000000000000 00000000")
}

func TestFixedCellKeepsItsSize(t *testing.T) {
	info := Fixed(TypeInt4)
	checkHex(t, "nil", info.AppendCell(nil, nil), "00000000")
	checkHex(t, "long", info.AppendCell(nil, []byte{1, 2, 3, 4, 5}), "01020304")
}

func TestVariant(t *testing.T) {
	cases := []struct {
		name string
		v    Variant
		wire string
	}{
		{"int", Variant{Fixed(TypeInt4), []byte{7, 0, 0, 0}}, "38 00 07000000"},
		{"decimal", Variant{TypeInfo{Type: TypeNumericN, Size: 17, Prec: 5, Scale: 2}, unhex(t, "0039300000")}, "6c 02 0502 0039300000"},
		{"datetime2(3)", Variant{TemporalType(TypeDateTime2N, 3), unhex(t, "0000000080460b")}, "2a 01 03 0000000080460b"},
		{"nvarchar", Variant{CharType(TypeNVarChar, 20, DefaultCollation), []byte("h\x00i\x00")}, "e7 07 0904d00034 1400 68006900"},
		{"empty varchar", Variant{CharType(TypeBigVarChar, 20, DefaultCollation), []byte{}}, "a7 07 0904d00034 1400"},
		{"varbinary", Variant{Nullable(TypeBigVarBinary, 4), []byte{1}}, "a5 02 0400 01"},
		{"guid", Variant{Nullable(TypeGUID, 16), unhex(t, "33221100554477668899aabbccddeeff")}, "24 00 33221100554477668899aabbccddeeff"},
		{"date", Variant{TemporalType(TypeDateN, 0), unhex(t, "80460b")}, "28 00 80460b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checkHex(t, "encoded", c.v.Append(nil), c.wire)
			got, err := DecodeVariant(unhex(t, c.wire))
			if err != nil || got.Info != c.v.Info || !bytes.Equal(got.Value, c.v.Value) {
				t.Errorf("got %+v, %v; want %+v", got, err, c.v)
			}
			if len(c.v.Value) > 0 && c.v.Info.Type != TypeNVarChar && c.v.Info.Type != TypeBigVarBinary {
				everyPrefix(t, unhex(t, c.wire), func(b []byte) error { _, err := DecodeVariant(b); return err })
			}
		})
	}
	for name, wire := range map[string]string{
		"unknown type": "01 00 01", "text": "23 00 61", "properties missing": "e7 00 6100",
		"properties too long": "38 01 00 07000000", "xml": "f1 00 61", "scale 8": "29 01 08 0000000000",
		"precision 0": "6a 02 0000 0100000000", "precision 39": "6c 02 2700 0100000000", "scale above the precision": "6a 02 0506 0100000000",
	} {
		if v, err := DecodeVariant(unhex(t, wire)); err == nil {
			t.Errorf("%s: accepted as %+v", name, v)
		}
	}
}
