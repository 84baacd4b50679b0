package builtin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// arg is one argument with its type; see the makers below.
type arg struct {
	v value.Value
	t value.Type
}

func num(n int64) arg { return arg{value.NewInt(value.Int, n), typeInt} }

func str0(s string) arg {
	return arg{value.NewVarChar(s), value.Type{ID: value.VarChar, Len: max(len(s), 1), Coll: collate.Default()}}
}

func nstr(s string) arg {
	return arg{value.NewNVarChar(s), value.Type{ID: value.NVarChar, Len: max(len(s), 1), Coll: collate.Default()}}
}

func in(collation string, a arg) arg {
	c, ok := collate.Lookup(collation)
	if !ok {
		panic(collation)
	}
	a.t.Coll = c
	return a
}

func raw(b string) arg {
	return arg{value.NewRaw(value.VarBinary, b), value.Type{ID: value.VarBinary, Len: max(len(b), 1)}}
}

func null(t value.Type) arg { return arg{value.Value{}, t} }

// as converts a text to a type: as("1.50", "decimal", 5, 2).
func as(s, name string, args ...int) arg {
	t, err := value.ParseTypeName(name, args...)
	if err != nil {
		panic(err)
	}
	v, err := value.Convert(nil, value.NewNVarChar(s), value.Type{ID: value.NVarChar, Len: 4000}, t, 0)
	if err != nil {
		panic(err)
	}
	return arg{v, t}
}

func call(env *value.Env, name string, args ...arg) (value.Value, value.Type, error) {
	f, ok := Lookup(name)
	if !ok {
		return value.Value{}, value.Type{}, fmt.Errorf("no function %s", name)
	}
	if len(args) < f.Min || f.Max >= 0 && len(args) > f.Max {
		return value.Value{}, value.Type{}, fmt.Errorf("%s takes %d to %d arguments", name, f.Min, f.Max)
	}
	var vs []value.Value
	var ts []value.Type
	for _, a := range args {
		vs, ts = append(vs, a.v), append(ts, a.t)
	}
	t, err := f.Type(ts)
	if err != nil {
		return value.Value{}, t, err
	}
	v, err := f.Eval(env, vs, ts)
	return v, t, err
}

func TestFunctions(t *testing.T) {
	dt := func(s string) arg { return as(s, "datetime") }
	for _, test := range []struct {
		name string
		args []arg
		want string
		typ  string
		err  int32
	}{
		{"LEN", []arg{str0("ab  ")}, "2", "int", 0},
		{"LEN", []arg{nstr("😀")}, "2", "int", 0},
		{"LEN", []arg{in("Latin1_General_100_CI_AS_SC", nstr("😀"))}, "1", "int", 0},
		{"LEN", []arg{num(-123)}, "4", "int", 0},
		{"LEN", []arg{null(typeInt)}, "NULL", "int", 0},
		{"DATALENGTH", []arg{nstr("ab ")}, "6", "int", 0},
		{"DATALENGTH", []arg{str0("ab ")}, "3", "int", 0},
		{"DATALENGTH", []arg{in("Japanese_CI_AS", str0("表a"))}, "3", "int", 0},
		{"DATALENGTH", []arg{as("1", "decimal", 10, 2)}, "9", "int", 0},
		{"DATALENGTH", []arg{as("2024-01-01", "datetime2", 3)}, "7", "int", 0},
		{"SUBSTRING", []arg{str0("abcdef"), num(2), num(3)}, "bcd", "varchar(6)", 0},
		{"SUBSTRING", []arg{str0("abcdef"), num(0), num(3)}, "ab", "varchar(6)", 0},
		{"SUBSTRING", []arg{str0("abcdef"), num(5), num(100)}, "ef", "varchar(6)", 0},
		{"SUBSTRING", []arg{str0("abcdef"), num(7), num(1)}, "", "varchar(6)", 0},
		{"SUBSTRING", []arg{str0("abcdef"), num(1), num(-1)}, "", "", 537},
		{"SUBSTRING", []arg{raw("\x01\x02\x03"), num(2), num(1)}, "0x02", "varbinary(3)", 0},
		{"SUBSTRING", []arg{num(5), num(2), num(1)}, "", "", 8116},
		{"SUBSTRING", []arg{in("Japanese_CI_AS", str0("表ソ十")), num(2), num(1)}, "ソ", "varchar(9)", 0},
		{"LEFT", []arg{str0("abc"), num(2)}, "ab", "varchar(3)", 0},
		{"LEFT", []arg{str0("abc"), num(-1)}, "", "", 537},
		{"RIGHT", []arg{nstr("abc"), num(2)}, "bc", "nvarchar(3)", 0},
		{"RIGHT", []arg{nstr("abc"), num(9)}, "abc", "nvarchar(3)", 0},
		{"UPPER", []arg{nstr("straße é")}, "STRAßE É", "nvarchar(10)", 0},
		{"UPPER", []arg{in("Turkish_CI_AS", nstr("i"))}, "İ", "nvarchar(1)", 0},
		{"LOWER", []arg{in("Turkish_CI_AS", nstr("I"))}, "ı", "nvarchar(1)", 0},
		{"LOWER", []arg{nstr("INFO")}, "info", "nvarchar(4)", 0},
		{"LTRIM", []arg{str0("  a ")}, "a ", "varchar(4)", 0},
		{"RTRIM", []arg{str0(" a  ")}, " a", "varchar(4)", 0},
		{"TRIM", []arg{str0(" a ")}, "a", "varchar(3)", 0},
		{"REVERSE", []arg{nstr("aé😀")}, "😀éa", "nvarchar(7)", 0},
		{"REPLACE", []arg{str0("aXbxc"), str0("x"), str0("--")}, "a--b--c", "varchar(8000)", 0},
		{"REPLACE", []arg{in("Latin1_General_CS_AS", str0("aXbxc")), str0("x"), str0("-")}, "aXb-c", "varchar(8000)", 0},
		{"REPLACE", []arg{str0("abc"), str0(""), str0("-")}, "abc", "varchar(8000)", 0},
		{"REPLICATE", []arg{str0("ab"), num(3)}, "ababab", "varchar(8000)", 0},
		{"REPLICATE", []arg{str0("ab"), num(-1)}, "NULL", "varchar(8000)", 0},
		{"SPACE", []arg{num(2)}, "  ", "varchar(8000)", 0},
		{"SOUNDEX", []arg{nstr("Smith")}, "S530", "varchar(4)", 0},
		{"SOUNDEX", []arg{nstr("Pfister")}, "P236", "varchar(4)", 0},
		{"SOUNDEX", []arg{nstr("")}, "0000", "varchar(4)", 0},
		{"STUFF", []arg{str0("abcdef"), num(2), num(3), str0("XY")}, "aXYef", "varchar(8000)", 0},
		{"STUFF", []arg{str0("abc"), num(4), num(1), str0("x")}, "NULL", "varchar(8000)", 0},
		{"STUFF", []arg{str0("abc"), num(1), num(1), null(varchar(1))}, "bc", "varchar(8000)", 0},
		{"TRANSLATE", []arg{str0("2*[3+4]"), str0("[]"), str0("()")}, "2*(3+4)", "varchar(7)", 0},
		{"TRANSLATE", []arg{str0("a"), str0("ab"), str0("c")}, "", "", 9828},
		{"CHARINDEX", []arg{str0("B"), str0("abcb")}, "2", "int", 0},
		{"CHARINDEX", []arg{str0("b"), str0("abcb"), num(3)}, "4", "int", 0},
		{"CHARINDEX", []arg{str0("x"), str0("abcb")}, "0", "int", 0},
		{"CHARINDEX", []arg{nstr("b"), nstr("😀b")}, "3", "int", 0},
		{"PATINDEX", []arg{str0("%[0-9]%"), str0("ab1")}, "3", "int", 0},
		{"PATINDEX", []arg{str0("ab%"), str0("abc")}, "1", "int", 0},
		{"PATINDEX", []arg{str0("b%"), str0("abc")}, "0", "int", 0},
		{"CONCAT", []arg{str0("a"), null(typeInt), num(12)}, "a12", "varchar(25)", 0},
		{"CONCAT_WS", []arg{str0(","), str0("a"), null(varchar(1)), nstr("b")}, "a,b", "nvarchar(4)", 0},
		{"QUOTENAME", []arg{nstr("a]b")}, "[a]]b]", "nvarchar(258)", 0},
		{"QUOTENAME", []arg{nstr("a'b"), str0("'")}, "'a''b'", "nvarchar(258)", 0},
		{"QUOTENAME", []arg{nstr(strings.Repeat("a", 129))}, "NULL", "nvarchar(258)", 0},
		{"PARSENAME", []arg{nstr("[a.b].c]"), num(1)}, "NULL", "nvarchar(128)", 0},
		{"PARSENAME", []arg{nstr("s.[a.]]b].c"), num(2)}, "a.]b", "nvarchar(128)", 0},
		{"PARSENAME", []arg{nstr("d..t"), num(2)}, "NULL", "nvarchar(128)", 0},
		{"PARSENAME", []arg{nstr("d..t"), num(3)}, "d", "nvarchar(128)", 0},
		{"ASCII", []arg{nstr("€")}, "128", "int", 0},
		{"UNICODE", []arg{nstr("€")}, "8364", "int", 0},
		{"UNICODE", []arg{nstr("😀")}, "55357", "int", 0},
		{"CHAR", []arg{num(128)}, "€", "char(1)", 0},
		{"CHAR", []arg{num(256)}, "NULL", "char(1)", 0},
		{"NCHAR", []arg{num(0xd83d)}, "\xed\xa0\xbd", "nvarchar(2)", 0},
		{"STR", []arg{as("123.456", "float"), num(8), num(2)}, "  123.46", "varchar(8000)", 0},
		{"STR", []arg{num(12345), num(3)}, "***", "varchar(8000)", 0},
		{"STR", []arg{num(5)}, "         5", "varchar(8000)", 0},
		{"STRING_ESCAPE", []arg{nstr("a\"/\n\x01"), str0("json")}, `a\"\/\n\u0001`, "nvarchar(max)", 0},

		{"ABS", []arg{num(-5)}, "5", "int", 0},
		{"ABS", []arg{as("-2147483648", "int")}, "", "", 8115},
		{"ABS", []arg{as("-1.50", "decimal", 5, 2)}, "1.50", "decimal(5,2)", 0},
		{"SIGN", []arg{as("-1.5", "money")}, "-1.0000", "money", 0},
		{"CEILING", []arg{as("1.2", "decimal", 5, 2)}, "2", "decimal(5,0)", 0},
		{"CEILING", []arg{as("-1.2", "decimal", 5, 2)}, "-1", "decimal(5,0)", 0},
		{"FLOOR", []arg{as("-1.2", "decimal", 5, 2)}, "-2", "decimal(5,0)", 0},
		{"FLOOR", []arg{as("1.2", "float")}, "1", "float", 0},
		{"FLOOR", []arg{as("-1.2", "money")}, "-2.0000", "money", 0},
		{"CEILING", []arg{as("2", "decimal", 5, 2)}, "2", "decimal(5,0)", 0},
		{"ROUND", []arg{as("1.455", "decimal", 5, 3), num(2)}, "1.460", "decimal(38,3)", 0},
		{"ROUND", []arg{as("1.455", "decimal", 5, 3), num(2), num(1)}, "1.450", "decimal(38,3)", 0},
		{"ROUND", []arg{num(155), num(-1)}, "160", "int", 0},
		{"ROUND", []arg{num(-155), num(-1)}, "-160", "int", 0},
		{"ROUND", []arg{as("2.5", "float"), num(0)}, "3", "float", 0},
		{"ROUND", []arg{as("-2.5", "float"), num(0)}, "-3", "float", 0},
		{"ROUND", []arg{as("1.23456", "money"), num(1)}, "1.2000", "money", 0},
		{"POWER", []arg{num(2), num(10)}, "1024", "int", 0},
		{"POWER", []arg{num(2), num(31)}, "", "", 232},
		{"SQRT", []arg{num(16)}, "4", "float", 0},
		{"SQRT", []arg{num(-1)}, "", "", 3623},
		{"LOG", []arg{num(8), num(2)}, "3", "float", 0},
		{"LOG", []arg{num(0)}, "", "", 3623},
		{"EXP", []arg{num(1000)}, "", "", 8115},
		{"PI", nil, "3.141592653589793", "float", 0},
		{"ISNUMERIC", []arg{str0("1e5")}, "1", "int", 0},
		{"ISNUMERIC", []arg{str0("$1,000")}, "1", "int", 0},
		{"ISNUMERIC", []arg{str0("x")}, "0", "int", 0},
		{"ISNUMERIC", []arg{str0("")}, "0", "int", 0},

		{"DATEADD", []arg{nstr("month"), num(1), dt("2024-01-31")}, "2024-02-29 00:00:00.000", "datetime", 0},
		{"DATEADD", []arg{nstr("yy"), num(-1), as("2024-02-29", "date")}, "2023-02-28", "date", 0},
		{"DATEADD", []arg{nstr("day"), num(1), str0("2024-02-28")}, "2024-02-29 00:00:00.000", "datetime", 0},
		{"DATEADD", []arg{nstr("ms"), num(2), dt("2024-02-28")}, "2024-02-28 00:00:00.003", "datetime", 0},
		{"DATEADD", []arg{nstr("ms"), num(1), dt("2024-02-28")}, "2024-02-28 00:00:00.000", "datetime", 0},
		{"DATEADD", []arg{nstr("ns"), num(150), as("2024-02-28", "datetime2", 7)}, "2024-02-28 00:00:00.0000002", "datetime2(7)", 0},
		{"DATEADD", []arg{nstr("hour"), num(25), as("23:00", "time", 0)}, "00:00:00", "time(0)", 0},
		{"DATEADD", []arg{nstr("hour"), num(-1), as("2024-01-01 00:30 +02:00", "datetimeoffset", 0)}, "2023-12-31 23:30:00 +02:00", "datetimeoffset(0)", 0},
		{"DATEADD", []arg{nstr("year"), num(8000), dt("2024-01-31")}, "", "", 517},
		{"DATEADD", []arg{nstr("hour"), num(1), as("2024-02-29", "date")}, "", "", 9810},
		{"DATEADD", []arg{nstr("bogus"), num(1), dt("2024-01-31")}, "", "", 155},
		{"DATEDIFF", []arg{nstr("year"), dt("2023-12-31"), dt("2024-01-01")}, "1", "int", 0},
		{"DATEDIFF", []arg{nstr("month"), dt("2024-01-31"), dt("2024-03-01")}, "2", "int", 0},
		{"DATEDIFF", []arg{nstr("week"), as("2024-01-06", "date"), as("2024-01-07", "date")}, "1", "int", 0},
		{"DATEDIFF", []arg{nstr("week"), as("2024-01-07", "date"), as("2024-01-13", "date")}, "0", "int", 0},
		{"DATEDIFF", []arg{nstr("hour"), dt("2024-01-01 00:59"), dt("2024-01-01 01:00")}, "1", "int", 0},
		{"DATEDIFF", []arg{nstr("second"), as("2024-01-01 12:00 +02:00", "datetimeoffset", 0), as("2024-01-01 10:00", "datetime2", 0)}, "0", "int", 0},
		{"DATEDIFF", []arg{nstr("ms"), dt("2024-01-01"), dt("2024-03-01")}, "", "", 535},
		{"DATEDIFF_BIG", []arg{nstr("ms"), dt("2024-01-01"), dt("2024-03-01")}, "5184000000", "bigint", 0},
		{"DATEPART", []arg{nstr("quarter"), dt("2024-05-01")}, "2", "int", 0},
		{"DATEPART", []arg{nstr("weekday"), as("2024-01-07", "date")}, "1", "int", 0},
		{"DATEPART", []arg{nstr("week"), as("2024-01-07", "date")}, "2", "int", 0},
		{"DATEPART", []arg{nstr("iso_week"), as("2021-01-03", "date")}, "53", "int", 0},
		{"DATEPART", []arg{nstr("dayofyear"), as("2024-12-31", "date")}, "366", "int", 0},
		{"DATEPART", []arg{nstr("ms"), dt("2024-01-01 00:00:00.997")}, "997", "int", 0},
		{"DATEPART", []arg{nstr("ns"), as("00:00:00.1234567", "time", 7)}, "123456700", "int", 0},
		{"DATEPART", []arg{nstr("TZOFFSET"), as("2024-01-01 12:00 -02:30", "datetimeoffset", 0)}, "-150", "int", 0},
		{"DATEPART", []arg{nstr("year"), as("12:00", "time", 0)}, "", "", 9810},
		{"DATEPART", []arg{nstr("hour"), as("2024-01-01", "date")}, "", "", 9810},
		{"DATENAME", []arg{nstr("month"), dt("2024-05-01")}, "May", "nvarchar(30)", 0},
		{"DATENAME", []arg{nstr("weekday"), dt("2024-01-07")}, "Sunday", "nvarchar(30)", 0},
		{"DATENAME", []arg{nstr("tz"), as("2024-01-01 12:00 -02:30", "datetimeoffset", 0)}, "-02:30", "nvarchar(30)", 0},
		{"YEAR", []arg{str0("2024-02-29")}, "2024", "int", 0},
		{"DAY", []arg{num(0)}, "1", "int", 0},
		{"EOMONTH", []arg{str0("2024-01-15"), num(1)}, "2024-02-29", "date", 0},
		{"EOMONTH", []arg{as("2023-12-01", "date")}, "2023-12-31", "date", 0},
		{"ISDATE", []arg{str0("2024-02-30")}, "0", "int", 0},
		{"ISDATE", []arg{str0("2024-02-29")}, "1", "int", 0},
		{"DATEFROMPARTS", []arg{num(2024), num(2), num(29)}, "2024-02-29", "date", 0},
		{"DATEFROMPARTS", []arg{num(2023), num(2), num(29)}, "", "", 289},
		{"DATETIMEFROMPARTS", []arg{num(2024), num(2), num(29), num(1), num(2), num(3), num(5)}, "2024-02-29 01:02:03.007", "datetime", 0},
		{"DATETIME2FROMPARTS", []arg{num(2024), num(2), num(29), num(1), num(2), num(3), num(5), num(1)}, "2024-02-29 01:02:03.5000000", "datetime2(7)", 0},
		{"TIMEFROMPARTS", []arg{num(23), num(59), num(59), num(0), num(0)}, "23:59:59.0000000", "time(7)", 0},
		{"DATETIMEOFFSETFROMPARTS", []arg{num(2024), num(2), num(29), num(1), num(2), num(3), num(0), num(2), num(30), num(0)}, "2024-02-29 01:02:03.0000000 +02:30", "datetimeoffset(7)", 0},
		{"SWITCHOFFSET", []arg{as("2024-01-01 12:00 +02:00", "datetimeoffset", 0), str0("-05:00")}, "2024-01-01 05:00:00 -05:00", "datetimeoffset(0)", 0},
		{"TODATETIMEOFFSET", []arg{dt("2024-01-01 12:00"), num(540)}, "2024-01-01 12:00:00.000 +09:00", "datetimeoffset(3)", 0},
		{"TODATETIMEOFFSET", []arg{dt("2024-01-01 12:00"), num(841)}, "", "", 9812},

		{"HASHBYTES", []arg{str0("SHA1"), str0("a")}, "0x86F7E437FAA5A7FCE15D1DDCB9EAEAEA377667B8", "varbinary(8000)", 0},
		{"HASHBYTES", []arg{str0("nosuch"), str0("a")}, "NULL", "varbinary(8000)", 0},
		{"SQL_VARIANT_PROPERTY", []arg{{value.NewVariant(value.NewDecimal(false, 0, 150, 2), value.Type{ID: value.Decimal, Prec: 5, Scale: 2}), value.Type{ID: value.Variant}}, str0("BaseType")}, "decimal", "sql_variant", 0},
		{"SQL_VARIANT_PROPERTY", []arg{as("1.50", "decimal", 5, 2), str0("Scale")}, "2", "sql_variant", 0},
		{"COLLATIONPROPERTY", []arg{nstr("Japanese_CI_AS"), str0("CodePage")}, "932", "sql_variant", 0},
		{"COLLATIONPROPERTY", []arg{nstr("Latin1_General_CI_AS"), str0("ComparisonStyle")}, "196609", "sql_variant", 0},
		{"GREATEST", []arg{num(1), null(typeInt), as("2.5", "decimal", 5, 1)}, "2.5", "decimal(11,1)", 0},
		{"LEAST", []arg{str0("b"), str0("A")}, "A", "varchar(1)", 0},

		{"FORMAT", []arg{as("1234567.891", "decimal", 12, 3), nstr("N2")}, "1,234,567.89", "nvarchar(4000)", 0},
		{"FORMAT", []arg{num(-42), nstr("D5")}, "-00042", "nvarchar(4000)", 0},
		{"FORMAT", []arg{num(255), nstr("X")}, "FF", "nvarchar(4000)", 0},
		{"FORMAT", []arg{as("0.126", "float"), nstr("P1")}, "12.6%", "nvarchar(4000)", 0},
		{"FORMAT", []arg{as("1234.5", "money"), nstr("C")}, "$1,234.50", "nvarchar(4000)", 0},
		{"FORMAT", []arg{as("1234.5", "float"), nstr("#,##0.00")}, "1,234.50", "nvarchar(4000)", 0},
		{"FORMAT", []arg{as("0.5", "float"), nstr("0.##")}, "0.5", "nvarchar(4000)", 0},
		{"FORMAT", []arg{num(7), nstr("'no. '000")}, "no. 007", "nvarchar(4000)", 0},
		{"FORMAT", []arg{dt("2024-02-09 13:04:05.123"), nstr("yyyy-MM-dd HH:mm:ss.fff")}, "2024-02-09 13:04:05.123", "nvarchar(4000)", 0},
		{"FORMAT", []arg{dt("2024-02-09 13:04:05"), nstr("dddd, d MMM yy h:mm tt")}, "Friday, 9 Feb 24 1:04 PM", "nvarchar(4000)", 0},
		{"FORMAT", []arg{dt("2024-02-09"), nstr("d")}, "2/9/2024", "nvarchar(4000)", 0},
		{"FORMAT", []arg{as("13:04:05", "time", 0), nstr(`hh\:mm`)}, "13:04", "nvarchar(4000)", 0},
		{"FORMAT", []arg{str0("x"), nstr("d")}, "", "", 8116},
	} {
		got, typ, err := call(nil, test.name, test.args...)
		var shown []string
		for _, a := range test.args {
			shown = append(shown, value.Display(a.v, a.t))
		}
		name := test.name + "(" + strings.Join(shown, ", ") + ")"
		switch {
		case test.err != 0:
			if !sqlerr.Is(err, test.err) {
				t.Errorf("%s = %s, %v; want error %d", name, value.Display(got, typ), err, test.err)
			}
		case err != nil || value.Display(got, typ) != test.want || typ.String() != test.typ:
			t.Errorf("%s = %q of type %s, %v; want %q of type %s", name, value.Display(got, typ), typ, err, test.want, test.typ)
		}
	}
}

func TestNow(t *testing.T) {
	tokyo := time.FixedZone("", 9*3600)
	env := &value.Env{Now: func() time.Time { return time.Date(2024, 2, 29, 20, 0, 0, 123456700, time.UTC) }, Location: tokyo}
	for name, want := range map[string]string{
		"GETDATE": "2024-03-01 05:00:00.123", "GETUTCDATE": "2024-02-29 20:00:00.123", "SYSDATETIME": "2024-03-01 05:00:00.1234567",
		"SYSUTCDATETIME": "2024-02-29 20:00:00.1234567", "SYSDATETIMEOFFSET": "2024-03-01 05:00:00.1234567 +09:00",
	} {
		got, typ, err := call(env, name)
		if err != nil || value.Display(got, typ) != want {
			t.Errorf("%s() = %s, %v; want %s", name, value.Display(got, typ), err, want)
		}
	}
}

func TestChecksum(t *testing.T) {
	sum := func(name, s string) int64 {
		v, _, err := call(nil, name, nstr(s))
		if err != nil {
			t.Fatal(err)
		}
		return v.Int()
	}
	if sum("CHECKSUM", "abc") != sum("CHECKSUM", "ABC") {
		t.Error("CHECKSUM depends on case under a collation that does not")
	}
	if sum("BINARY_CHECKSUM", "abc") == sum("BINARY_CHECKSUM", "ABC") {
		t.Error("BINARY_CHECKSUM does not depend on case")
	}
}

func TestLike(t *testing.T) {
	for _, test := range []struct {
		s, pattern, escape string
		collation          string
		unicode            bool
		want               bool
	}{
		{"abc", "ABC", "", "", true, true},
		{"abc", "a%", "", "", true, true},
		{"abc", "%c", "", "", true, true},
		{"abc", "%b%", "", "", true, true},
		{"abc", "a_c", "", "", true, true},
		{"abc", "a_", "", "", true, false},
		{"", "%", "", "", true, true},
		{"", "_", "", "", true, false},
		{"abc", "[a-c]bc", "", "", true, true},
		{"dbc", "[a-c]bc", "", "", true, false},
		{"dbc", "[^a-c]bc", "", "", true, true},
		{"a]c", "a[]]c", "", "", true, false},
		{"a[c", "a[[]c", "", "", true, true},
		{"a%c", "a[%]c", "", "", true, true},
		{"abc", "a[%]c", "", "", true, false},
		{"a-c", "a[-]c", "", "", true, true},
		{"a-c", "a[x-]c", "", "", true, true},
		{"5%", "5!%", "!", "", true, true},
		{"5x", "5!%", "!", "", true, false},
		{"a_b", "a\\_b", "\\", "", true, true},
		{"axb", "a\\_b", "\\", "", true, false},
		{"ab  ", "ab", "", "", true, false},
		{"ab  ", "ab", "", "", false, true},
		{"ab", "ab  ", "", "", false, false},
		{"aaab", "%ab", "", "", true, true},
		{"abcabd", "%ab_", "", "", true, true},
		{"Abc", "abc", "", "Latin1_General_CS_AS", true, false},
		{"É", "e", "", "Latin1_General_CI_AI", true, true},
		{"É", "e", "", "Latin1_General_CI_AS", true, false},
		{"ＡＢ", "ab", "", "Japanese_CI_AS", true, true},
		{"INFO", "info", "", "Turkish_CI_AS", true, false},
		{"a😀b", "a_b", "", "Latin1_General_100_CI_AS_SC", true, true},
		{"abc", "a[b", "", "", true, false},
	} {
		name := test.collation
		if name == "" {
			name = collate.DefaultName
		}
		c, _ := collate.Lookup(name)
		if got := Like(test.s, test.pattern, test.escape, c, test.unicode); got != test.want {
			t.Errorf("%q LIKE %q ESCAPE %q (%s, unicode %t) = %t", test.s, test.pattern, test.escape, name, test.unicode, got)
		}
	}
}

func TestAggregates(t *testing.T) {
	ints := []arg{num(1), num(2), null(typeInt), num(4)}
	decs := []arg{as("1.00", "decimal", 5, 2), as("2.00", "decimal", 5, 2), as("2.00", "decimal", 5, 2)}
	for _, test := range []struct {
		name string
		rows []arg
		want string
		typ  string
		err  int32
	}{
		{"COUNT", ints, "3", "int", 0},
		{"COUNT_BIG", ints, "3", "bigint", 0},
		{"SUM", ints, "7", "int", 0},
		{"AVG", ints, "2", "int", 0},
		{"MIN", ints, "1", "int", 0},
		{"MAX", ints, "4", "int", 0},
		{"SUM", nil, "NULL", "int", 0},
		{"COUNT", nil, "0", "int", 0},
		{"SUM", []arg{num(2147483647), num(1)}, "", "", 8115},
		{"SUM", []arg{num(2147483647), num(1), num(-1)}, "2147483647", "int", 0},
		{"SUM", decs, "5.00", "decimal(38,2)", 0},
		{"AVG", decs, "1.666666", "decimal(38,6)", 0},
		{"SUM", []arg{as("1.5", "smallmoney"), as("2", "smallmoney")}, "3.5000", "money", 0},
		{"AVG", []arg{as("1", "money"), as("2", "money")}, "1.5000", "money", 0},
		{"SUM", []arg{as("1", "real"), as("2", "real")}, "3", "float", 0},
		{"SUM", []arg{str0("1")}, "", "", 8117},
		{"MAX", []arg{str0("b"), str0("C"), str0("a")}, "C", "varchar(1)", 0},
		{"MIN", []arg{as("1", "bit")}, "", "", 8117},
		{"STDEV", []arg{num(1), num(2), num(3), num(4)}, "1.2909944487358056", "float", 0},
		{"VARP", []arg{num(1), num(2), num(3), num(4)}, "1.25", "float", 0},
		{"STDEV", []arg{num(1)}, "NULL", "float", 0},
		{"CHECKSUM_AGG", []arg{num(5), num(3)}, "6", "int", 0},
	} {
		a, ok := LookupAggregate(strings.ToLower(test.name))
		if !ok {
			t.Fatalf("no aggregate %s", test.name)
		}
		types := []value.Type{typeInt}
		if len(test.rows) > 0 {
			types[0] = test.rows[0].t
		}
		typ, err := a.Type(types)
		var got value.Value
		if err == nil {
			acc := a.New(nil, types)
			for _, r := range test.rows {
				if err == nil {
					err = acc.Add([]value.Value{r.v})
				}
			}
			if err == nil {
				got, err = acc.Result()
			}
		}
		switch {
		case test.err != 0:
			if !sqlerr.Is(err, test.err) {
				t.Errorf("%s = %s, %v; want error %d", test.name, value.Display(got, typ), err, test.err)
			}
		case err != nil || value.Display(got, typ) != test.want || typ.String() != test.typ:
			t.Errorf("%s = %s of type %s, %v; want %s of type %s", test.name, value.Display(got, typ), typ, err, test.want, test.typ)
		}
	}
}

func TestStringAgg(t *testing.T) {
	a, _ := LookupAggregate("STRING_AGG")
	types := []value.Type{nstr("x").t, str0(",").t}
	acc := a.New(nil, types)
	for _, s := range []arg{nstr("a"), null(typeNMax), nstr("b")} {
		if err := acc.Add([]value.Value{s.v, value.NewVarChar(",")}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := acc.Result()
	if err != nil || got.Str() != "a,b" {
		t.Errorf("STRING_AGG = %q, %v", got.Str(), err)
	}
	acc = a.New(nil, types)
	if err := acc.Add([]value.Value{value.NewNVarChar(strings.Repeat("x", 4001)), value.NewVarChar(",")}); err != nil {
		t.Fatal(err)
	}
	if _, err := acc.Result(); !sqlerr.Is(err, 9829) {
		t.Errorf("a long STRING_AGG gives %v, want error 9829", err)
	}
}

// FuzzLike shows that no pattern makes LIKE panic or run away.
func FuzzLike(f *testing.F) {
	f.Add("abc", "a[%]", "!")
	f.Add("a-c", "[^]-]%[", "")
	c := collate.Default()
	f.Fuzz(func(t *testing.T, s, pattern, escape string) {
		if len(s) < 200 && len(pattern) < 200 {
			Like(s, pattern, escape, c, true)
		}
	})
}
