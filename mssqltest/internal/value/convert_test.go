package value

import (
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// typ reads a type as DDL writes it, for the tests.
func typ(t *testing.T, s string) Type {
	t.Helper()
	var name string
	var args []int
	name = s
	for i := range len(s) {
		if s[i] == '(' {
			name = s[:i]
			args = append(args, splitArgs(s[i+1:len(s)-1])...)
			break
		}
	}
	out, err := ParseTypeName(name, args...)
	if err != nil {
		t.Fatalf("ParseTypeName(%q): %v", s, err)
	}
	return out
}

func splitArgs(s string) (out []int) {
	if s == "max" {
		return []int{Max}
	}
	n := 0
	for _, c := range s + "," {
		if c == ',' {
			out = append(out, n)
			n = 0
			continue
		}
		n = n*10 + int(c-'0')
	}
	return out
}

// valueOf makes a value of type to from its text.
func valueOf(t *testing.T, text, to string) (Value, Type) {
	t.Helper()
	tt := typ(t, to)
	if text == "NULL" {
		return Value{}, tt
	}
	style := 0
	if tt.IsBinary() {
		style = 1
	}
	v, err := Convert(nil, NewNVarChar(text), Type{ID: NVarChar, Len: maxUnits}, tt, style)
	if err != nil {
		t.Fatalf("making %s of %q: %v", to, text, err)
	}
	return v, tt
}

func check(t *testing.T, v Value, vt Type, err error, want string, number int32) {
	t.Helper()
	switch {
	case number != 0:
		if !sqlerr.Is(err, number) {
			t.Errorf("got %q, %v; want error %d", Display(v, vt), err, number)
		}
	case err != nil:
		t.Errorf("got error %v, want %q", err, want)
	case Display(v, vt) != want:
		t.Errorf("got %q, want %q", Display(v, vt), want)
	}
}

func TestConvert(t *testing.T) {
	for _, test := range []struct {
		name           string
		text, from, to string
		style          int
		want           string
		number         int32
	}{
		{"NULL", "NULL", "int", "varchar(5)", 0, "NULL", 0},
		{"int to tinyint", "255", "int", "tinyint", 0, "255", 0},
		{"int to tinyint, too large", "256", "int", "tinyint", 0, "", 220},
		{"int to tinyint, negative", "-1", "int", "tinyint", 0, "", 220},
		{"int to smallint", "32768", "int", "smallint", 0, "", 220},
		{"bigint to int", "2147483648", "bigint", "int", 0, "", 8115},
		{"bigint", "9223372036854775807", "varchar(30)", "bigint", 0, "9223372036854775807", 0},
		{"smallest bigint", "-9223372036854775808", "varchar(30)", "bigint", 0, "-9223372036854775808", 0},
		{"bigint overflow", "9223372036854775808", "varchar(30)", "bigint", 0, "", 8115},
		{"text to int", " 12 ", "varchar(10)", "int", 0, "12", 0},
		{"empty text to int", "", "varchar(10)", "int", 0, "0", 0},
		{"letters to int", "abc", "varchar(10)", "int", 0, "", 245},
		{"decimal text to int", "1.5", "nvarchar(10)", "int", 0, "", 245},
		{"sign alone to int", "-", "nvarchar(10)", "int", 0, "", 245},
		{"large text to int", "99999999999", "varchar(20)", "int", 0, "", 248},
		{"large text to smallint", "99999", "varchar(20)", "smallint", 0, "", 244},
		{"large text to tinyint", "256", "varchar(20)", "tinyint", 0, "", 244},
		{"letters to bigint", "abc", "varchar(20)", "bigint", 0, "", 8114},
		{"text to bit", "TRUE", "varchar(5)", "bit", 0, "1", 0},
		{"number text to bit", "-2", "varchar(5)", "bit", 0, "1", 0},
		{"letters to bit", "yes", "varchar(5)", "bit", 0, "", 245},
		{"decimal to int cuts", "1.99", "decimal(5,2)", "int", 0, "1", 0},
		{"negative decimal to int cuts", "-1.99", "decimal(5,2)", "int", 0, "-1", 0},
		{"money to int rounds", "1.50", "money", "int", 0, "2", 0},
		{"negative money to int rounds", "-1.5", "money", "int", 0, "-2", 0},
		{"float to int cuts", "1.9", "float", "int", 0, "1", 0},
		{"float to int overflow", "1e10", "float", "int", 0, "", 232},
		{"float to bigint overflow", "1e19", "float", "bigint", 0, "", 8115},
		{"decimal rounds", "1.455", "decimal(9,3)", "decimal(9,2)", 0, "1.46", 0},
		{"negative decimal rounds", "-1.455", "decimal(9,3)", "decimal(9,2)", 0, "-1.46", 0},
		{"decimal overflow", "1000", "int", "decimal(5,2)", 0, "", 8115},
		{"text to decimal rounds", "1.005", "varchar(10)", "decimal(5,2)", 0, "1.01", 0},
		{"text to decimal", "abc", "varchar(10)", "decimal(5,2)", 0, "", 8114},
		{"empty text to decimal", "", "varchar(10)", "decimal(5,2)", 0, "", 8114},
		{"exponent to decimal", "1e2", "varchar(10)", "decimal(5,2)", 0, "", 8114},
		{"all digits", "99999999999999999999999999999999999999", "varchar(50)", "decimal(38,0)", 0, "99999999999999999999999999999999999999", 0},
		{"one digit too many", "100000000000000000000000000000000000000", "varchar(50)", "decimal(38,0)", 0, "", 8115},
		{"all behind the point", "0.00000000000000000000000000000000000001", "varchar(50)", "decimal(38,38)", 0, "0.00000000000000000000000000000000000001", 0},
		{"trailing zeros", "1.50", "varchar(10)", "decimal(5,2)", 0, "1.50", 0},
		{"no negative zero", "-0.00", "varchar(10)", "decimal(5,2)", 0, "0.00", 0},
		{"float to decimal", "0.1", "float", "decimal(10,4)", 0, "0.1000", 0},
		{"large float to decimal", "1e39", "float", "decimal(38,0)", 0, "", 8115},
		{"greatest money", "922337203685477.5807", "varchar(30)", "money", 0, "922337203685477.5807", 0},
		{"smallest money", "-922337203685477.5808", "varchar(30)", "money", 0, "-922337203685477.5808", 0},
		{"money with signs", "$1,234.56789", "varchar(30)", "money", 0, "1234.5679", 0},
		{"negative money with sign", "-$5", "varchar(30)", "money", 0, "-5.0000", 0},
		{"letters to money", "x", "varchar(30)", "money", 0, "", 235},
		{"money overflow", "922337203685477.5808", "varchar(30)", "money", 0, "", 236},
		{"smallmoney", "-214748.3648", "varchar(30)", "smallmoney", 0, "-214748.3648", 0},
		{"smallmoney overflow", "214748.3648", "varchar(30)", "smallmoney", 0, "", 294},
		{"money to smallmoney overflow", "300000", "money", "smallmoney", 0, "", 8115},
		{"text to float", " 1.5e3 ", "varchar(10)", "float", 0, "1500", 0},
		{"hexadecimal is no float", "0x10", "varchar(10)", "float", 0, "", 8114},
		{"infinity is no float", "inf", "varchar(10)", "float", 0, "", 8114},
		{"float to real", "0.1", "float", "real", 0, "0.1", 0},
		{"float to real overflow", "1e39", "float", "real", 0, "", 232},

		{"int to varchar", "-12", "int", "varchar(10)", 0, "-12", 0},
		{"int to short varchar", "123", "int", "varchar(2)", 0, "*", 0},
		{"int to short nvarchar", "123", "int", "nvarchar(2)", 0, "", 8115},
		{"bigint to short varchar", "123", "bigint", "varchar(2)", 0, "", 8115},
		{"decimal to short varchar", "1.50", "decimal(5,2)", "varchar(3)", 0, "", 8115},
		{"int to char", "7", "int", "char(3)", 0, "7  ", 0},
		{"text cut", "abcdef", "varchar(10)", "varchar(3)", 0, "abc", 0},
		{"half a character cut", "a😀b", "nvarchar(10)", "nvarchar(3)", 0, "a😀", 0},
		{"money to text", "1234.5678", "money", "varchar(20)", 0, "1234.57", 0},
		{"money to text with commas", "-1234567.5678", "money", "varchar(20)", 1, "-1,234,567.57", 0},
		{"money to text with all digits", "1234.5678", "money", "varchar(20)", 2, "1234.5678", 0},
		{"money to short text", "1234.5678", "money", "varchar(3)", 0, "", 234},
		{"float to text", "1234567", "float", "varchar(30)", 0, "1.23457e+006", 0},
		{"float to text, six digits", "123456", "float", "varchar(30)", 0, "123456", 0},
		{"float to text, fraction", "0.1", "float", "varchar(30)", 0, "0.1", 0},
		{"small float to text", "0.00001", "float", "varchar(30)", 0, "1e-005", 0},
		{"float to text, style 1", "1234567", "float", "varchar(30)", 1, "1.2345670e+006", 0},
		{"float to text, style 2", "1234567", "float", "varchar(30)", 2, "1.234567000000000e+006", 0},
		{"float to text, style 3", "0.1", "float", "varchar(30)", 3, "1.0000000000000001e-001", 0},
		{"guid to text", "{01234567-89ab-cdef-0123-456789abcdef}", "uniqueidentifier", "char(36)", 0, "01234567-89AB-CDEF-0123-456789ABCDEF", 0},
		{"guid to short text", "01234567-89ab-cdef-0123-456789abcdef", "uniqueidentifier", "char(35)", 0, "", 8170},
		{"text to guid", "01234567-89ab-cdef-0123-456789abcdeg", "varchar(40)", "uniqueidentifier", 0, "", 8169},
		{"text to guid, more behind", "01234567-89ab-cdef-0123-456789abcdefxyz", "varchar(40)", "uniqueidentifier", 0, "01234567-89AB-CDEF-0123-456789ABCDEF", 0},
		{"guid to binary", "01234567-89AB-CDEF-0123-456789ABCDEF", "uniqueidentifier", "binary(16)", 0, "0x67452301AB89EFCD0123456789ABCDEF", 0},
		{"binary to guid", "0x67452301AB89EFCD0123456789ABCDEF", "binary(16)", "uniqueidentifier", 0, "01234567-89AB-CDEF-0123-456789ABCDEF", 0},

		{"int to binary", "1", "int", "binary(8)", 0, "0x0000000000000001", 0},
		{"int to varbinary", "-2", "int", "varbinary(8)", 0, "0xFFFFFFFE", 0},
		{"int to short binary", "258", "int", "binary(1)", 0, "0x02", 0},
		{"tinyint to varbinary", "7", "tinyint", "varbinary(8)", 0, "0x07", 0},
		{"bigint to varbinary", "1", "bigint", "varbinary(8)", 0, "0x0000000000000001", 0},
		{"binary to int", "0x0102", "varbinary(8)", "int", 0, "258", 0},
		{"long binary to int", "0xFF0000000001", "varbinary(8)", "int", 0, "1", 0},
		{"binary to smallint", "0xFFFF", "varbinary(8)", "smallint", 0, "-1", 0},
		{"decimal to binary", "1.5", "decimal(2,1)", "varbinary(20)", 0, "0x020100010F000000", 0},
		{"binary to decimal", "0x020100010F000000", "varbinary(20)", "decimal(5,2)", 0, "1.50", 0},
		{"money to binary", "1", "money", "varbinary(20)", 0, "0x0000000000002710", 0},
		{"float to binary", "1", "float", "varbinary(20)", 0, "0x3FF0000000000000", 0},
		{"binary to float", "0x3FF0000000000000", "varbinary(20)", "float", 0, "", 529},
		{"text to binary", "AB", "varchar(5)", "binary(4)", 0, "0x41420000", 0},
		{"nvarchar to varbinary", "AB", "nvarchar(5)", "varbinary(8)", 0, "0x41004200", 0},
		{"hexadecimal to binary", "0x0aFF", "varchar(10)", "varbinary(8)", 1, "0x0AFF", 0},
		{"hexadecimal without prefix to binary", "0AFF", "varchar(10)", "varbinary(8)", 2, "0x0AFF", 0},
		{"prefix missing", "0AFF", "varchar(10)", "varbinary(8)", 1, "", 8114},
		{"odd digits", "0x0AF", "varchar(10)", "varbinary(8)", 1, "", 8114},
		{"binary to text, style 1", "0x0AFF", "varbinary(8)", "varchar(20)", 1, "0x0AFF", 0},
		{"binary to text, style 2", "0x0AFF", "varbinary(8)", "nvarchar(20)", 2, "0AFF", 0},
		{"binary to text", "0x4142", "varbinary(8)", "varchar(20)", 0, "AB", 0},
		{"binary to nvarchar", "0x41004200", "varbinary(8)", "nvarchar(20)", 0, "AB", 0},
		{"binary cut", "0x010203", "varbinary(8)", "varbinary(2)", 0, "0x0102", 0},
		{"binary filled", "0x0102", "varbinary(8)", "binary(4)", 0, "0x01020000", 0},

		{"date to int", "2024-01-01", "date", "int", 0, "", 529},
		{"int to date", "1", "int", "date", 0, "", 529},
		{"date to time", "2024-01-01", "date", "time(7)", 0, "", 529},
		{"guid to int", "01234567-89AB-CDEF-0123-456789ABCDEF", "uniqueidentifier", "int", 0, "", 529},
		{"datetime to int rounds", "1900-01-02 12:00", "datetime", "int", 0, "2", 0},
		{"datetime to float", "1900-01-02 12:00", "datetime", "float", 0, "1.5", 0},
		{"int to datetime", "-53690", "int", "datetime", 0, "1753-01-01 00:00:00.000", 0},
		{"int to datetime, too early", "-53691", "int", "datetime", 0, "", 8115},
		{"float to datetime", "1.5", "float", "datetime", 0, "1900-01-02 12:00:00.000", 0},
		{"datetime2 to datetime", "2024-02-29 23:59:59.9999999", "datetime2(7)", "datetime", 0, "2024-03-01 00:00:00.000", 0},
		{"datetime2 to datetime, before 1753", "1582-10-10", "datetime2(7)", "datetime", 0, "", 242},
		{"datetime to datetime2", "2024-02-29 23:59:59.997", "datetime", "datetime2(7)", 0, "2024-02-29 23:59:59.9966667", 0},
		{"datetime2 rounds", "2024-02-29 23:59:59.96", "datetime2(7)", "datetime2(1)", 0, "2024-03-01 00:00:00.0", 0},
		{"end of the calendar", "9999-12-31 23:59:59.9999999", "datetime2(7)", "datetime2(0)", 0, "9999-12-31 23:59:59", 0},
		{"smalldatetime rounds down", "2024-01-01 12:30:29.998", "datetime2(7)", "smalldatetime", 0, "2024-01-01 12:30:00.000", 0},
		{"smalldatetime rounds up", "2024-01-01 12:30:29.999", "datetime2(7)", "smalldatetime", 0, "2024-01-01 12:31:00.000", 0},
		{"smalldatetime out of range", "1899-12-31", "datetime2(7)", "smalldatetime", 0, "", 242},
		{"time to datetime", "12:30", "time(0)", "datetime", 0, "1900-01-01 12:30:00.000", 0},
		{"date to datetimeoffset", "2024-01-01", "date", "datetimeoffset(0)", 0, "2024-01-01 00:00:00 +00:00", 0},
		{"datetimeoffset to datetime2", "2024-01-01 00:30 +02:00", "datetimeoffset(0)", "datetime2(0)", 0, "2024-01-01 00:30:00", 0},
		{"datetimeoffset to date", "2024-01-01 00:30 +02:00", "datetimeoffset(0)", "date", 0, "2024-01-01", 0},
		{"datetime to binary", "1900-01-02 00:00:00.003", "datetime", "binary(8)", 0, "0x0000000100000001", 0},
		{"binary to datetime", "0x0000000100000001", "binary(8)", "datetime", 0, "1900-01-02 00:00:00.003", 0},
		{"date to binary", "0001-01-02", "date", "varbinary(8)", 0, "0x010000", 0},
		{"datetime2 to binary", "2024-01-01", "datetime2(3)", "varbinary(20)", 0, "0x030000000045460B", 0},

		{"xml to text", "<a>é&amp;</a>", "xml", "nvarchar(30)", 0, "<a>é&amp;</a>", 0},
		{"binary to xml", "0x3C612F3E", "varbinary(30)", "xml", 0, "<a/>", 0},
		{"xml to int", "<a/>", "xml", "int", 0, "", 529},
		{"to sql_variant", "12", "int", "sql_variant", 0, "12", 0},
		{"xml to sql_variant", "<a/>", "xml", "sql_variant", 0, "", 529},
		{"hierarchyid", "/1/2/", "hierarchyid", "varbinary(20)", 0, "0x5B40", 0},
		{"root of a hierarchyid", "/", "hierarchyid", "varbinary(20)", 0, "0x", 0},
		{"hierarchyid to text", "/1/-9/15/80/5199/", "hierarchyid", "nvarchar(40)", 0, "/1/-9/15/80/5199/", 0},
		{"no hierarchyid", "1/2", "nvarchar(20)", "hierarchyid", 0, "", 6522},
		{"text to geometry", "POINT (1 2)", "nvarchar(20)", "geometry", 0, "", 529},
		{"text to text", "abc", "varchar(10)", "text", 0, "abc", 0},
		{"text to int is not allowed", "1", "text", "int", 0, "", 529},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, from := valueOf(t, test.text, test.from)
			to := typ(t, test.to)
			got, err := Convert(nil, v, from, to, test.style)
			check(t, got, to, err, test.want, test.number)
			if err == nil && !got.IsNull() && got.ID() != to.ID && to.ID != Numeric {
				t.Errorf("the value is a %s, want %s", got.ID(), to.ID)
			}
		})
	}
}

func TestAssign(t *testing.T) {
	named := &Env{Table: "d.dbo.t", Column: "c"}
	for _, test := range []struct {
		name           string
		env            *Env
		text, from, to string
		want           string
		number         int32
	}{
		{"text that fits", nil, "abc", "varchar(10)", "varchar(3)", "abc", 0},
		{"blanks do not count", nil, "abc   ", "varchar(10)", "varchar(3)", "abc", 0},
		{"text cut", nil, "abcd", "varchar(10)", "varchar(3)", "", 8152},
		{"text cut, with names", named, "abcd", "nvarchar(10)", "nvarchar(3)", "", 2628},
		{"bytes of a code page", nil, "éé", "nvarchar(10)", "varchar(2)", "éé", 0},
		{"code units", nil, "😀", "nvarchar(10)", "nvarchar(1)", "", 8152},
		{"binary cut", nil, "0x010203", "varbinary(8)", "varbinary(2)", "", 8152},
		{"char is filled", nil, "ab", "varchar(5)", "char(5)", "ab   ", 0},
		{"int to short text", nil, "123", "int", "varchar(2)", "*", 0},
		{"varchar to binary", nil, "a", "varchar(5)", "varbinary(5)", "", 257},
		{"datetime to int", nil, "2024-01-01", "datetime", "int", "", 257},
		{"money to text", nil, "1", "money", "varchar(10)", "", 257},
		{"xml to text", nil, "<a/>", "xml", "varchar(10)", "", 257},
		{"sql_variant to int", nil, "1", "sql_variant", "int", "", 257},
		{"date to int", nil, "2024-01-01", "date", "int", "", 206},
		{"int to guid", nil, "1", "int", "uniqueidentifier", "", 206},
		{"int overflow", nil, "256", "int", "tinyint", "", 220},
		{"decimal overflow", nil, "1000", "int", "decimal(3,0)", "", 8115},
		{"letters to int", nil, "x", "varchar(5)", "int", "", 245},
		{"letters to datetime", nil, "x", "varchar(5)", "datetime", "", 241},
		{"character that the code page lacks", nil, "日x", "nvarchar(5)", "varchar(5)", "?x", 0},
		{"best fit", nil, "ĀＡ’", "nvarchar(5)", "varchar(5)", "AA’", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, from := valueOf(t, test.text, test.from)
			to := typ(t, test.to)
			got, err := Assign(test.env, v, from, to)
			check(t, got, to, err, test.want, test.number)
		})
	}
	_, err := Assign(named, NewVarChar("abcd"), typ(t, "varchar(10)"), typ(t, "varchar(3)"))
	if e := sqlerr.As(err); e == nil || e.Message != "String or binary data would be truncated in table 'd.dbo.t', column 'c'. Truncated value: 'abc'." {
		t.Errorf("message of 2628: %v", err)
	}
	v, err := AssignVar(nil, NewVarChar("abcd"), typ(t, "varchar(10)"), typ(t, "varchar(3)"))
	check(t, v, typ(t, "varchar(3)"), err, "abc", 0)
}

func TestConvertCollation(t *testing.T) {
	jp, _ := collate.Lookup("Japanese_CI_AS")
	utf8, _ := collate.Lookup("Latin1_General_100_CI_AS_SC_UTF8")
	for _, test := range []struct {
		name string
		c    *collate.Collation
		len  int
		in   string
		want string
	}{
		{"double-byte text", jp, 20, "表ソ十", "表ソ十"},
		{"cut between characters", jp, 3, "表ソ十", "表"},
		{"UTF-8", utf8, 20, "😀é", "😀é"},
		{"UTF-8 cut between characters", utf8, 5, "😀é", "😀"},
		{"lost character", jp, 20, "é", "e"},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := Type{ID: VarChar, Len: test.len, Coll: test.c}
			got, err := Convert(nil, NewNVarChar(test.in), Type{ID: NVarChar, Len: 20}, to, 0)
			check(t, got, to, err, test.want, 0)
		})
	}
	// The bytes that Windows-1252 leaves undefined keep their place.
	raw := "\x00\x00\x8d\x8f\x00\x90\x9d\x81\x80\xff"
	v, err := Convert(nil, NewRaw(VarBinary, raw), Type{ID: VarBinary, Len: 10}, Type{ID: VarChar, Len: 10, Coll: collate.Default()}, 0)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Convert(nil, v, Type{ID: VarChar, Len: 10, Coll: collate.Default()}, Type{ID: VarBinary, Len: 10}, 0)
	if err != nil || back.Raw() != raw {
		t.Errorf("bytes %x came back as %x, %v", raw, back.Raw(), err)
	}
}

func TestParseTypeName(t *testing.T) {
	for _, test := range []struct {
		name   string
		args   []int
		want   string
		number int32
	}{
		{"int", nil, "int", 0}, {"NVARCHAR", []int{160}, "nvarchar(160)", 0}, {"nvarchar", []int{Max}, "nvarchar(max)", 0}, {"varchar", nil, "varchar(1)", 0},
		{"decimal", []int{10, 2}, "decimal(10,2)", 0}, {"decimal", nil, "decimal(18,0)", 0}, {"numeric", []int{5}, "numeric(5,0)", 0},
		{"float", []int{24}, "real", 0}, {"float", []int{25}, "float", 0}, {"datetime2", nil, "datetime2(7)", 0}, {"time", []int{0}, "time(0)", 0},
		{"sysname", nil, "sysname", 0}, {"rowversion", nil, "timestamp", 0}, {"hierarchyid", nil, "hierarchyid", 0},
		{"nosuch", nil, "", 2715}, {"int", []int{4}, "", 2716}, {"varchar", []int{8001}, "", 131}, {"nvarchar", []int{4001}, "", 131}, {"varchar", []int{0}, "", 1001},
		{"decimal", []int{39}, "", 2750}, {"decimal", []int{5, 6}, "", 2751}, {"datetime2", []int{8}, "", 1002},
	} {
		got, err := ParseTypeName(test.name, test.args...)
		if test.number != 0 {
			if !sqlerr.Is(err, test.number) {
				t.Errorf("ParseTypeName(%q, %v) = %v, %v; want error %d", test.name, test.args, got, err, test.number)
			}
			continue
		}
		if err != nil || got.String() != test.want {
			t.Errorf("ParseTypeName(%q, %v) = %v, %v; want %s", test.name, test.args, got, err, test.want)
		}
	}
}
