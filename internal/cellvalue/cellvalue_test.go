package cellvalue

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/tds"
)

// TestOf has its wants from [MS-TDS] 2.2.5.5 "Data Type Dependent Data Streams" and from what a server shows of a value.
func TestOf(t *testing.T) {
	float32of := float32(0.1)
	latin1 := tds.Collation{0x09, 0x04, 0xD0, 0x00, 0x34}
	greek := tds.Collation{0x08, 0x04, 0xD0, 0x20, 0x00}
	japanese := tds.Collation{0x11, 0x04, 0xD0, 0x20, 0x00}
	utf8 := tds.Collation{0x09, 0x04, 0xD0, 0x24, 0x00}
	clock := func(hour, minute, second, nanos int) time.Time {
		return time.Date(1, 1, 1, hour, minute, second, nanos, time.UTC)
	}
	after1900 := func(ms int) time.Time { return time.Date(1900, 1, 1, 0, 0, 0, ms*1_000_000, time.UTC) }
	for _, tt := range []struct {
		name string
		info tds.TypeInfo
		cell string
		want any
		err  bool
	}{
		{"null", tds.Fixed(tds.TypeNull), "", nil, false},

		{"tinyint", tds.Nullable(tds.TypeIntN, 1), "FF", int64(255), false},
		{"smallint", tds.Nullable(tds.TypeIntN, 2), "0080", int64(-32768), false},
		{"int", tds.Nullable(tds.TypeIntN, 4), "00000080", int64(-2147483648), false},
		{"bigint", tds.Nullable(tds.TypeIntN, 8), "0000000000000080", int64(-9223372036854775808), false},
		{"fixed int", tds.Fixed(tds.TypeInt4), "FFFFFFFF", int64(-1), false},
		{"integer of three bytes", tds.Nullable(tds.TypeIntN, 4), "010000", nil, true},
		{"bit 0", tds.Nullable(tds.TypeBitN, 1), "00", false, false},
		{"bit 1", tds.Nullable(tds.TypeBitN, 1), "01", true, false},
		{"fixed bit", tds.Fixed(tds.TypeBit), "01", true, false},
		{"bit of three bytes", tds.Nullable(tds.TypeBitN, 1), "010000", nil, true},

		{"fixed real", tds.Fixed(tds.TypeFlt4), "CDCCCC3D", float32of, false},
		{"real", tds.Nullable(tds.TypeFltN, 4), "CDCCCC3D", float64(float32of), false},
		{"float", tds.Nullable(tds.TypeFltN, 8), "9A9999999999B93F", 0.1, false},
		{"float of three bytes", tds.Nullable(tds.TypeFltN, 4), "CDCCCC", nil, true},
		{"fixed real of three bytes", tds.Fixed(tds.TypeFlt4), "CDCCCC", nil, true},

		{"least money", tds.Nullable(tds.TypeMoneyN, 8), "0000008000000000", []byte("-922337203685477.5808"), false},
		{"money -0.0001", tds.Nullable(tds.TypeMoneyN, 8), "FFFFFFFFFFFFFFFF", []byte("-0.0001"), false},
		{"money 429496.7296", tds.Fixed(tds.TypeMoney), "0100000000000000", []byte("429496.7296"), false},
		{"least smallmoney", tds.Nullable(tds.TypeMoneyN, 4), "00000080", []byte("-214748.3648"), false},
		{"money of three bytes", tds.Nullable(tds.TypeMoneyN, 8), "000000", nil, true},

		{"decimal -0.05", tds.DecimalType(tds.TypeDecimalN, 9, 2), "0005000000", []byte("-0.05"), false},
		{"decimal 0", tds.DecimalType(tds.TypeDecimalN, 9, 2), "0100000000", []byte("0.00"), false},
		{"decimal of scale 0", tds.DecimalType(tds.TypeNumericN, 9, 0), "01FFE0F505", []byte("99999999"), false},
		{"decimal of scale 38", tds.DecimalType(tds.TypeDecimalN, 38, 38), "0101000000000000000000000000000000", []byte("0." + strings.Repeat("0", 37) + "1"), false},
		{"decimal of 2^64", tds.DecimalType(tds.TypeDecimalN, 38, 0), "0100000000000000000100000000000000", []byte("18446744073709551616"), false},
		{"decimal of sign 2", tds.DecimalType(tds.TypeDecimalN, 9, 2), "0205000000", nil, true},

		{"first date", tds.TemporalType(tds.TypeDateN, 0), "000000", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{"last date", tds.TemporalType(tds.TypeDateN, 0), "DAB937", time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), false},
		{"date after the last", tds.TemporalType(tds.TypeDateN, 0), "DBB937", nil, true},
		{"last time(7)", tds.TemporalType(tds.TypeTimeN, 7), "FFBF692AC9", clock(23, 59, 59, 999_999_900), false},
		{"time(7) of a day", tds.TemporalType(tds.TypeTimeN, 7), "00C0692AC9", nil, true},
		{"last time(0)", tds.TemporalType(tds.TypeTimeN, 0), "7F5101", clock(23, 59, 59, 0), false},
		{"time(0) of a day", tds.TemporalType(tds.TypeTimeN, 0), "805101", nil, true},
		{"last datetime2(7)", tds.TemporalType(tds.TypeDateTime2N, 7), "FFBF692AC9DAB937", time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC), false},
		{"datetime2(7) of a day", tds.TemporalType(tds.TypeDateTime2N, 7), "00C0692AC9DAB937", nil, true},
		{"datetime2(3)", tds.TemporalType(tds.TypeDateTime2N, 3), "E80300005B950A", time.Date(1900, 1, 1, 0, 0, 1, 0, time.UTC), false},
		{"datetime of 1 tick", tds.Nullable(tds.TypeDateTimN, 8), "0000000001000000", after1900(3), false},
		{"datetime of 2 ticks", tds.Nullable(tds.TypeDateTimN, 8), "0000000002000000", after1900(7), false},
		{"datetime of 299 ticks", tds.Nullable(tds.TypeDateTimN, 8), "000000002B010000", after1900(997), false},
		{"first datetime", tds.Nullable(tds.TypeDateTimN, 8), "462EFFFF00000000", time.Date(1753, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{"datetime before the first", tds.Nullable(tds.TypeDateTimN, 8), "452EFFFF00000000", nil, true},
		{"last datetime", tds.Fixed(tds.TypeDateTime), "7F242D00FF818B01", time.Date(9999, 12, 31, 23, 59, 59, 997_000_000, time.UTC), false},
		{"last smalldatetime", tds.Nullable(tds.TypeDateTimN, 4), "FFFF9F05", time.Date(2079, 6, 6, 23, 59, 0, 0, time.UTC), false},
		{"smalldatetime of minute 1440", tds.Nullable(tds.TypeDateTimN, 4), "0000A005", nil, true},
		{"fixed smalldatetime", tds.Fixed(tds.TypeDateTim4), "01000100", time.Date(1900, 1, 2, 0, 1, 0, 0, time.UTC), false},
		// Days and ticks are UTC: 2000-01-01 00:00:00.
		{"datetimeoffset +05:30", tds.TemporalType(tds.TypeDateTimeOffsetN, 0), "00000007240B4A01", time.Date(2000, 1, 1, 5, 30, 0, 0, time.FixedZone("", 330*60)), false},
		{"datetimeoffset -14:00", tds.TemporalType(tds.TypeDateTimeOffsetN, 0), "00000007240BB8FC", time.Date(1999, 12, 31, 10, 0, 0, 0, time.FixedZone("", -840*60)), false},
		{"datetimeoffset +14:01", tds.TemporalType(tds.TypeDateTimeOffsetN, 0), "00000007240B4903", nil, true},

		{"nvarchar", tds.CharType(tds.TypeNVarChar, 20, latin1), "61003DD800DE0D54", "a😀名", false},
		{"lone high surrogate", tds.CharType(tds.TypeNVarChar, 20, latin1), "61003DD86200", "a\uFFFDb", false},
		{"lone low surrogate at the end", tds.CharType(tds.TypeNChar, 20, latin1), "610000DE", "a\uFFFD", false},
		{"long text", tds.CharType(tds.TypeNVarChar, 8000, latin1), strings.Repeat("0D54", 500), strings.Repeat("名", 500), false},
		{"empty text", tds.CharType(tds.TypeNVarChar, 20, latin1), "", "", false},
		{"nvarchar of three bytes", tds.CharType(tds.TypeNVarChar, 20, latin1), "610062", nil, true},
		{"1252", tds.CharType(tds.TypeBigVarChar, 20, latin1), "636166E9", "café", false},
		{"what 1253 lacks", tds.CharType(tds.TypeBigVarChar, 20, greek), "61D262", "a\uFFFDb", false},
		{"932", tds.CharType(tds.TypeBigVarChar, 20, japanese), "61938C8B9E", "a東京", false},
		{"UTF-8", tds.CharType(tds.TypeBigVarChar, 20, utf8), "C3A9E5908D", "é名", false},
		{"what is not UTF-8", tds.CharType(tds.TypeBigVarChar, 20, utf8), "61FF62", "a\uFFFDb", false},
		{"legacy varchar", tds.Nullable(tds.TypeVarChar, 20), "61FF62", "a\uFFFDb", false},

		{"variant of int", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "3800FFFFFFFF", int64(-1), false},
		{"variant of real", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "3B00CDCCCC3D", float64(float32of), false},
		{"variant of decimal(9,2)", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "6A0209020005000000", []byte("-0.05"), false},
		{"variant of nvarchar", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "E7070904D0003414000D54", "名", false},
		{"variant without its value", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "3800FFFF", nil, true},
		{"variant without its properties", tds.Nullable(tds.TypeSSVariant, tds.VariantSize), "6A02", nil, true},

		{"uniqueidentifier", tds.Nullable(tds.TypeGUID, 16), "000102030405060708090A0B0C0D0E0F", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, false},
		{"varbinary", tds.Nullable(tds.TypeBigVarBinary, 20), "00FF", []byte{0, 255}, false},
		{"empty varbinary", tds.Nullable(tds.TypeBigVarBinary, 20), "", []byte{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of, err := Of(&tt.info)
			if err != nil {
				t.Fatal(err)
			}
			cell, err := hex.DecodeString(tt.cell)
			if err != nil {
				t.Fatal(err)
			}
			got, err := of(cell)
			for i := range cell {
				cell[i] = '?' // the value is to keep
			}
			if (err != nil) != tt.err || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%#v and %v, want %#v and an error: %v", got, err, tt.want, tt.err)
			}
		})
	}
	for _, unknown := range []tds.DataType{0, tds.TypeTVP} {
		if _, err := Of(&tds.TypeInfo{Type: unknown}); err == nil {
			t.Errorf("there are values of %v", unknown)
		}
	}
}
