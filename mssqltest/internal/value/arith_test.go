package value

import (
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

func TestArith(t *testing.T) {
	for _, test := range []struct {
		a, at string
		op    byte
		b, bt string
		want  string
		typ   string
		err   int32
	}{
		{"7", "int", '/', "2", "int", "3", "int", 0},
		{"-7", "int", '/', "2", "int", "-3", "int", 0},
		{"-7", "int", '%', "2", "int", "-1", "int", 0},
		{"2147483647", "int", '+', "1", "int", "", "int", 8115},
		{"2147483647", "int", '+', "1", "bigint", "2147483648", "bigint", 0},
		{"9223372036854775807", "bigint", '+', "1", "int", "", "bigint", 8115},
		{"-9223372036854775808", "bigint", '-', "1", "int", "", "bigint", 8115},
		{"4294967296", "bigint", '*', "4294967296", "bigint", "", "bigint", 8115},
		{"-9223372036854775808", "bigint", '/', "-1", "int", "", "bigint", 8115},
		{"-9223372036854775808", "bigint", '%', "-1", "int", "0", "bigint", 0},
		{"200", "tinyint", '+', "100", "tinyint", "", "tinyint", 8115},
		{"1", "tinyint", '-', "2", "tinyint", "", "tinyint", 8115},
		{"1", "tinyint", '+', "2", "smallint", "3", "smallint", 0},
		{"1", "int", '/', "0", "int", "", "int", 8134},
		{"1", "int", '%', "0", "int", "", "int", 8134},
		{"1", "bit", '+', "1", "bit", "", "", 8117},
		{"1", "bit", '+', "1", "int", "2", "int", 0},
		{"6", "int", '&', "3", "int", "2", "int", 0},
		{"6", "int", '|', "1", "bigint", "7", "bigint", 0},
		{"6", "smallint", '^', "3", "tinyint", "5", "smallint", 0},
		{"6", "float", '&', "3", "int", "", "", 402},
		{"1", "int", '+', "x", "varchar(5)", "", "int", 245},
		{"1", "int", '+', "2", "varchar(5)", "3", "int", 0},
		{"a", "varchar(5)", '+', "b", "varchar(5)", "ab", "varchar(10)", 0},
		{"a", "varchar(5)", '+', "b", "nvarchar(5)", "ab", "nvarchar(10)", 0},
		{"a", "char(3)", '+', "b", "char(2)", "a  b ", "char(5)", 0},
		{"a", "varchar(8000)", '+', "b", "varchar(8000)", "ab", "varchar(8000)", 0},
		{"a", "varchar(max)", '+', "b", "varchar(5)", "ab", "varchar(max)", 0},
		{"a", "varchar(5)", '-', "b", "varchar(5)", "", "", 8117},
		{"0x01", "varbinary(4)", '+', "0x02", "varbinary(4)", "0x0102", "varbinary(8)", 0},

		{"1.5", "decimal(3,1)", '+', "2.25", "decimal(5,2)", "3.75", "decimal(6,2)", 0},
		{"1.5", "decimal(3,1)", '-', "2.25", "decimal(5,2)", "-0.75", "decimal(6,2)", 0},
		{"1.5", "decimal(3,1)", '*', "2.25", "decimal(5,2)", "3.375", "decimal(9,3)", 0},
		{"1.0", "decimal(2,1)", '/', "3.0", "decimal(2,1)", "0.333333", "decimal(8,6)", 0},
		{"2.0", "decimal(2,1)", '/', "3.0", "decimal(2,1)", "0.666666", "decimal(8,6)", 0},
		{"7.5", "decimal(3,1)", '%', "2", "int", "1.5", "decimal(3,1)", 0},
		{"1.5", "decimal(3,1)", '+', "1", "int", "2.5", "decimal(12,1)", 0},
		{"1", "int", '/', "3.0", "decimal(2,1)", "0.333333", "decimal(17,6)", 0},
		{"1", "decimal(38,10)", '*', "1", "decimal(38,10)", "1.000000", "decimal(38,6)", 0},
		{"1", "decimal(38,10)", '+', "1", "decimal(38,10)", "2.0000000000", "decimal(38,10)", 0},
		{"1", "decimal(38,20)", '/', "3", "decimal(38,20)", "0.333333", "decimal(38,6)", 0},
		{"99999999999999999999999999999999999999", "decimal(38,0)", '+', "1", "decimal(1,0)", "", "decimal(38,0)", 8115},
		{"0.0000001", "decimal(38,20)", '*', "0.5", "decimal(38,20)", "0.000000", "decimal(38,6)", 0},
		{"0.000001", "decimal(38,20)", '*', "0.5", "decimal(38,20)", "0.000001", "decimal(38,6)", 0},
		{"1", "decimal(5,2)", '/', "0", "decimal(5,2)", "", "decimal(13,8)", 8134},
		{"1.5", "decimal(3,1)", '+', "1", "money", "2.5000", "decimal(20,4)", 0},
		{"1.5", "numeric(3,1)", '*', "2", "tinyint", "3.0", "numeric(7,1)", 0},

		{"1.5", "money", '*', "2.5", "money", "3.7500", "money", 0},
		{"0.0001", "money", '*', "0.5", "money", "0.0001", "money", 0},
		{"2", "money", '/', "3", "money", "0.6666", "money", 0},
		{"7", "money", '%', "4", "int", "3.0000", "money", 0},
		{"922337203685477.5807", "money", '+', "0.0001", "money", "", "money", 8115},
		{"214748", "smallmoney", '+', "214748", "smallmoney", "", "smallmoney", 8115},
		{"1", "money", '/', "0", "int", "", "money", 8134},

		{"1", "float", '/', "4", "int", "0.25", "float", 0},
		{"1.5", "real", '+', "1.5", "real", "3", "real", 0},
		{"1.5", "real", '+', "1.5", "decimal(5,2)", "3", "real", 0},
		{"1", "float", '/', "0", "int", "", "float", 8134},
		{"1e308", "float", '*', "10", "int", "", "float", 8115},
		{"1", "float", '%', "1", "float", "", "", 8117},

		{"2024-02-28 12:00", "datetime", '+', "1.5", "float", "2024-03-01 00:00:00.000", "datetime", 0},
		{"2024-02-28", "datetime", '+', "2", "int", "2024-03-01 00:00:00.000", "datetime", 0},
		{"2024-03-01", "datetime", '-', "2024-02-28", "datetime", "1900-01-03 00:00:00.000", "datetime", 0},
		{"2024-03-01", "date", '+', "1", "int", "", "", 206},
		{"2024-03-01", "datetime2(7)", '+', "1", "int", "", "", 206},
		{"2024-03-01", "date", '-', "2024-03-01", "date", "", "", 8117},
		{"9999-12-31", "datetime", '+', "1", "int", "", "datetime", 8115},
		{"01234567-89AB-CDEF-0123-456789ABCDEF", "uniqueidentifier", '+', "1", "int", "", "", 206},
		{"NULL", "int", '+', "1", "int", "NULL", "int", 0},
	} {
		a, at := valueOf(t, test.a, test.at)
		b, bt := valueOf(t, test.b, test.bt)
		got, rt, err := Arith(test.op, a, b, at, bt)
		name := test.a + " " + test.at + " " + string(test.op) + " " + test.b + " " + test.bt
		if test.err != 0 {
			if !sqlerr.Is(err, test.err) {
				t.Errorf("%s = %s, %v; want error %d", name, Display(got, rt), err, test.err)
			}
			continue
		}
		if err != nil || Display(got, rt) != test.want || rt.String() != test.typ {
			t.Errorf("%s = %s of type %s, %v; want %s of type %s", name, Display(got, rt), rt, err, test.want, test.typ)
		}
	}
}

func TestNegateAndBitNot(t *testing.T) {
	for _, test := range []struct {
		text, typ, neg, not string
		negErr, notErr      int32
	}{
		{"5", "int", "-5", "-6", 0, 0},
		{"-2147483648", "int", "", "2147483647", 8115, 0},
		{"1.50", "decimal(5,2)", "-1.50", "", 0, 8117},
		{"1.5", "money", "-1.5000", "", 0, 8117},
		{"0", "float", "0", "", 0, 8117},
		{"5", "tinyint", "", "250", 8115, 0},
		{"1", "bit", "", "0", 8117, 0},
		{"a", "varchar(5)", "", "", 8117, 8117},
		{"NULL", "int", "NULL", "NULL", 0, 0},
	} {
		v, vt := valueOf(t, test.text, test.typ)
		got, err := Negate(v, vt)
		check(t, got, vt, err, test.neg, test.negErr)
		got, err = BitNot(v, vt)
		check(t, got, vt, err, test.not, test.notErr)
	}
}

func TestCommon(t *testing.T) {
	for _, test := range []struct {
		a, b, want string
		err        int32
	}{
		{"int", "bigint", "bigint", 0},
		{"int", "varchar(10)", "int", 0},
		{"varchar(10)", "nvarchar(5)", "nvarchar(10)", 0},
		{"varchar(8000)", "nvarchar(5)", "nvarchar(4000)", 0},
		{"char(3)", "varchar(5)", "varchar(5)", 0},
		{"varchar(max)", "nvarchar(5)", "nvarchar(max)", 0},
		{"decimal(5,2)", "decimal(10,0)", "decimal(12,2)", 0},
		{"decimal(38,0)", "decimal(38,38)", "decimal(38,6)", 0},
		{"decimal(5,2)", "int", "decimal(12,2)", 0},
		{"decimal(5,2)", "money", "decimal(19,4)", 0},
		{"decimal(5,2)", "float", "float", 0},
		{"money", "int", "money", 0},
		{"date", "datetime2(3)", "datetime2(3)", 0},
		{"datetime", "datetime2(0)", "datetime2(3)", 0},
		{"datetime", "varchar(20)", "datetime", 0},
		{"date", "time(0)", "", 206},
		{"date", "int", "", 206},
		{"datetime", "int", "datetime", 0},
		{"uniqueidentifier", "varchar(36)", "uniqueidentifier", 0},
		{"uniqueidentifier", "int", "", 206},
		{"varbinary(5)", "int", "int", 0},
		{"varbinary(5)", "binary(9)", "varbinary(9)", 0},
		{"sql_variant", "int", "sql_variant", 0},
		{"xml", "int", "", 206},
		{"sysname", "sysname", "sysname", 0},
		{"sysname", "nvarchar(200)", "nvarchar(200)", 0},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			got, err := Common(typ(t, pair[0]), typ(t, pair[1]))
			if test.err != 0 {
				if !sqlerr.Is(err, test.err) {
					t.Errorf("Common(%s, %s) = %v, %v; want error %d", pair[0], pair[1], got, err, test.err)
				}
				continue
			}
			if err != nil || got.String() != test.want {
				t.Errorf("Common(%s, %s) = %v, %v; want %s", pair[0], pair[1], got, err, test.want)
			}
		}
	}
	if got, err := Common(Type{}, typ(t, "int")); err != nil || got.ID != Int {
		t.Errorf("Common of an untyped NULL and int = %v, %v", got, err)
	}
}
