package value

import "testing"

func TestParseDate(t *testing.T) {
	for _, test := range []struct {
		name   string
		format string
		style  int
		text   string
		to     string
		want   string
		number int32
	}{
		{"blank", "", 0, "", "datetime", "1900-01-01 00:00:00.000", 0},
		{"slashes, year first", "", 0, "2009/1/1", "datetime", "2009-01-01 00:00:00.000", 0},
		{"slashes, year first, large day", "", 0, "1962/2/18", "datetime", "1962-02-18 00:00:00.000", 0},
		{"digits", "", 0, "20240229", "datetime", "2024-02-29 00:00:00.000", 0},
		{"digits with time", "", 0, "20240229 23:59:59.997", "datetime", "2024-02-29 23:59:59.997", 0},
		{"six digits", "", 0, "240229", "date", "2024-02-29", 0},
		{"four digits are a year", "", 0, "2024", "date", "2024-01-01", 0},
		{"year of this century", "", 0, "1/2/49", "date", "2049-01-02", 0},
		{"year of the last century", "", 0, "1/2/50", "date", "1950-01-02", 0},
		{"month first", "", 0, "1/2/2024", "datetime", "2024-01-02 00:00:00.000", 0},
		{"day first", "dmy", 0, "1/2/2024", "datetime", "2024-02-01 00:00:00.000", 0},
		{"day first refuses", "dmy", 0, "1/13/2024", "datetime", "", 242},
		{"year first", "ymd", 0, "24/2/1", "date", "2024-02-01", 0},
		{"dashes under dmy, old type", "dmy", 0, "2024-02-01", "datetime", "2024-01-02 00:00:00.000", 0},
		{"dashes under dmy, new type", "dmy", 0, "2024-02-01", "datetime2(0)", "2024-02-01 00:00:00", 0},
		{"ISO under dmy, old type", "dmy", 0, "2024-02-01T00:00:00", "datetime", "2024-02-01 00:00:00.000", 0},
		{"points", "", 0, "2.1.2024", "date", "2024-02-01", 0},
		{"month name", "", 0, "Jan 1 2024 1:05PM", "datetime", "2024-01-01 13:05:00.000", 0},
		{"month name with comma", "", 0, "January 1, 2024", "date", "2024-01-01", 0},
		{"day before month name", "", 0, "1 Jan 2024", "date", "2024-01-01", 0},
		{"dashes and month name", "", 0, "01-JAN-24", "date", "2024-01-01", 0},
		{"year before month name", "", 0, "2024 Jan 5", "date", "2024-01-05", 0},
		{"month and year", "", 0, "Feb 2024", "date", "2024-02-01", 0},
		{"default text of datetime", "", 0, "Feb 29 2024 11:59PM", "datetime", "2024-02-29 23:59:00.000", 0},
		{"ISO", "", 0, "2024-02-29T23:59:59.123", "datetime", "2024-02-29 23:59:59.123", 0},
		{"ISO with Z", "", 0, "2024-02-29T23:59:59.123Z", "datetime", "2024-02-29 23:59:59.123", 0},
		{"ISO with offset, old type", "", 0, "2024-02-29T23:59:59+01:00", "datetime", "", 241},
		{"ISO with offset", "", 0, "2024-02-29T23:59:59.1234567-05:30", "datetimeoffset(7)", "2024-02-29 23:59:59.1234567 -05:30", 0},
		{"offset after a blank", "", 0, "2024-02-29 23:59:59 +14:00", "datetimeoffset(0)", "2024-02-29 23:59:59 +14:00", 0},
		{"offset too large", "", 0, "2024-02-29 23:59:59 +14:01", "datetimeoffset(0)", "", 241},
		{"ODBC date", "", 0, "{d '2024-02-29'}", "datetime", "2024-02-29 00:00:00.000", 0},
		{"ODBC timestamp", "", 0, "{ts '2024-02-29 01:02:03.120'}", "datetime", "2024-02-29 01:02:03.120", 0},
		{"ODBC time", "", 0, "{t '01:02:03'}", "time(0)", "01:02:03", 0},
		{"time alone", "", 0, "13:45", "datetime", "1900-01-01 13:45:00.000", 0},
		{"hour alone", "", 0, "1 PM", "time(0)", "13:00:00", 0},
		{"midnight", "", 0, "12:30 AM", "time(0)", "00:30:00", 0},
		{"noon", "", 0, "12:30PM", "time(0)", "12:30:00", 0},
		{"time before date", "", 0, "13:45 2024-02-29", "datetime2(0)", "2024-02-29 13:45:00", 0},
		{"thousandths after a colon", "", 0, "2024-02-29 01:02:03:5", "datetime", "2024-02-29 01:02:03.007", 0},
		{"tenths after a point", "", 0, "2024-02-29 01:02:03.5", "datetime", "2024-02-29 01:02:03.500", 0},
		{"rounds up to the next day", "", 0, "2024-02-29 23:59:59.999", "datetime", "2024-03-01 00:00:00.000", 0},
		{"rounds to .997", "", 0, "2024-02-29 23:59:59.998", "datetime", "2024-02-29 23:59:59.997", 0},
		{"rounds to .003", "", 0, "2024-02-29 00:00:00.002", "datetime", "2024-02-29 00:00:00.003", 0},
		{"four digits of the second, old type", "", 0, "2024-02-29 00:00:00.0000", "datetime", "", 241},
		{"seven digits of the second", "", 0, "0001-01-01 23:59:59.9999999", "datetime2(7)", "0001-01-01 23:59:59.9999999", 0},
		{"eight digits of the second", "", 0, "2024-01-01 00:00:00.00000000", "datetime2(7)", "", 241},
		{"before the calendar change", "", 0, "1582-10-10", "datetime2(7)", "1582-10-10 00:00:00.0000000", 0},
		{"no leap year, old type", "", 0, "2023-02-29", "datetime", "", 242},
		{"no leap year, new type", "", 0, "2023-02-29", "date", "", 241},
		{"before 1753", "", 0, "1752-12-31", "datetime", "", 242},
		{"no hour", "", 0, "2024-01-01 24:00", "datetime", "", 242},
		{"no date", "", 0, "abc", "datetime", "", 241},
		{"no smalldatetime", "", 0, "abc", "smalldatetime", "", 295},
		{"smalldatetime", "", 0, "2024-01-01 12:30:31", "smalldatetime", "2024-01-01 12:31:00.000", 0},
		{"smalldatetime out of range", "", 0, "2079-06-07", "smalldatetime", "", 242},
		{"two numbers", "", 0, "1/2", "date", "", 241},
		{"style British", "", 103, "29/02/2024", "datetime", "2024-02-29 00:00:00.000", 0},
		{"style German", "", 104, "29.02.2024", "date", "2024-02-29", 0},
		{"style US", "dmy", 101, "02/29/2024", "date", "2024-02-29", 0},
		{"style ODBC under dmy", "dmy", 120, "2024-02-29 01:02:03", "datetime", "2024-02-29 01:02:03.000", 0},
		{"time with digits rounded", "", 0, "23:59:59.9999999", "time(0)", "00:00:00", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := typ(t, test.to)
			got, err := Convert(&Env{DateFormat: test.format}, NewVarChar(test.text), typ(t, "varchar(50)"), to, test.style)
			check(t, got, to, err, test.want, test.number)
		})
	}
}

func TestDateStyles(t *testing.T) {
	for _, test := range []struct {
		text, from string
		style      int
		want       string
	}{
		{"2024-02-09 13:04:05.123", "datetime", 0, "Feb  9 2024  1:04PM"},
		{"2024-02-29 00:04:05.123", "datetime", 100, "Feb 29 2024 12:04AM"},
		{"2024-02-09 13:04:05.123", "datetime", 1, "02/09/24"},
		{"2024-02-09 13:04:05.123", "datetime", 101, "02/09/2024"},
		{"2024-02-09 13:04:05.123", "datetime", 102, "2024.02.09"},
		{"2024-02-09 13:04:05.123", "datetime", 103, "09/02/2024"},
		{"2024-02-09 13:04:05.123", "datetime", 104, "09.02.2024"},
		{"2024-02-09 13:04:05.123", "datetime", 105, "09-02-2024"},
		{"2024-02-09 13:04:05.123", "datetime", 106, "09 Feb 2024"},
		{"2024-02-09 13:04:05.123", "datetime", 107, "Feb 09, 2024"},
		{"2024-02-09 13:04:05.123", "datetime", 108, "13:04:05"},
		{"2024-02-09 13:04:05.123", "datetime", 109, "Feb  9 2024  1:04:05:123PM"},
		{"2024-02-09 13:04:05.123", "datetime", 110, "02-09-2024"},
		{"2024-02-09 13:04:05.123", "datetime", 111, "2024/02/09"},
		{"2024-02-09 13:04:05.123", "datetime", 12, "240209"},
		{"2024-02-09 13:04:05.123", "datetime", 112, "20240209"},
		{"2024-02-09 13:04:05.123", "datetime", 113, "09 Feb 2024 13:04:05:123"},
		{"2024-02-09 13:04:05.123", "datetime", 114, "13:04:05:123"},
		{"2024-02-09 13:04:05.123", "datetime", 120, "2024-02-09 13:04:05"},
		{"2024-02-09 13:04:05.123", "datetime", 121, "2024-02-09 13:04:05.123"},
		{"2024-02-09 13:04:05.123", "datetime", 23, "2024-02-09"},
		{"2024-02-09 13:04:05.123", "datetime", 126, "2024-02-09T13:04:05.123"},
		{"2024-02-09 13:04:05", "datetime", 126, "2024-02-09T13:04:05"},
		{"2024-02-09 13:04:05.1234567", "datetime2(7)", 0, "2024-02-09 13:04:05.1234567"},
		{"2024-02-09 13:04:05.1234567", "datetime2(3)", 121, "2024-02-09 13:04:05.123"},
		{"2024-02-09 13:04:05.1234567", "datetime2(7)", 126, "2024-02-09T13:04:05.1234567"},
		{"2024-02-09 13:04:05.1234567", "datetime2(7)", 112, "20240209"},
		{"2024-02-09 13:04:05.1 +02:00", "datetimeoffset(1)", 0, "2024-02-09 13:04:05.1 +02:00"},
		{"2024-02-09 13:04:05.1 +02:00", "datetimeoffset(1)", 126, "2024-02-09T13:04:05.1+02:00"},
		{"2024-02-09 13:04:05.1 +02:00", "datetimeoffset(1)", 127, "2024-02-09T11:04:05.1Z"},
		{"2024-02-09", "date", 0, "2024-02-09"},
		{"2024-02-09", "date", 103, "09/02/2024"},
		{"13:04:05.1234567", "time(7)", 0, "13:04:05.1234567"},
		{"13:04:05", "time(0)", 108, "13:04:05"},
		{"13:04:05", "time(0)", 100, " 1:04PM"},
		{"2024-02-09 13:04", "smalldatetime", 121, "2024-02-09 13:04:00.000"},
	} {
		v, from := valueOf(t, test.text, test.from)
		to := typ(t, "varchar(40)")
		got, err := Convert(nil, v, from, to, test.style)
		if err != nil || got.Str() != test.want {
			t.Errorf("%s %q in style %d: got %q, %v; want %q", test.from, test.text, test.style, got.Str(), err, test.want)
		}
	}
	_, err := Convert(nil, NewDateTime(0, 0), Type{ID: DateTime}, typ(t, "varchar(40)"), 77)
	check(t, Value{}, Type{}, err, "", 281)
}

func TestCalendar(t *testing.T) {
	for _, test := range []struct {
		y, m, d int
		days    int32
	}{
		{1, 1, 1, 0}, {1, 12, 31, 364}, {4, 2, 29, 1154}, {1900, 1, 1, daysTo1900}, {1970, 1, 1, 719162}, {1753, 1, 1, daysTo1900 + daysTo1753}, {9999, 12, 31, maxDays},
	} {
		if got := DaysOf(test.y, test.m, test.d); got != test.days {
			t.Errorf("DaysOf(%d, %d, %d) = %d, want %d", test.y, test.m, test.d, got, test.days)
		}
		if y, m, d := CivilOf(test.days); y != test.y || m != test.m || d != test.d {
			t.Errorf("CivilOf(%d) = %d-%d-%d, want %d-%d-%d", test.days, y, m, d, test.y, test.m, test.d)
		}
	}
	for day := int32(0); day <= maxDays; day += 97 {
		y, m, d := CivilOf(day)
		if back := DaysOf(y, m, d); back != day || d < 1 || d > DaysIn(y, m) {
			t.Fatalf("day %d is %d-%d-%d, which is day %d", day, y, m, d, back)
		}
	}
}
