package verify

import (
	"strings"
	"testing"
)

// TestValuesOfDifferentTypes compares one value of a type with one of another.
func TestValuesOfDifferentTypes(t *testing.T) {
	for _, tt := range []struct {
		name         string
		source, from string // type and value
		target, to   string
		want         string // equal, lossy (equal only with it), differs, or a piece of an error
	}{
		{"varchar and nvarchar", "varchar(10)", "'Grüße'", "nvarchar(20)", "N'Grüße'", "equal"},
		{"collations", "varchar(10) COLLATE SQL_Latin1_General_CP1_CI_AS", "'a'", "nvarchar(10) COLLATE Latin1_General_CS_AS", "N'a'", "equal"},
		{"case is a difference", "varchar(10) COLLATE Latin1_General_CI_AS", "'a'", "varchar(10) COLLATE Latin1_General_CI_AS", "'A'", "differs"},
		{"blanks at the end", "varchar(10)", "'a '", "varchar(10)", "'a'", "differs"},
		{"char has blanks", "char(10)", "'a'", "varchar(10)", "'a'", "equal"},
		{"empty text is not NULL", "varchar(10)", "''", "varchar(10)", "NULL", "differs"},
		{"NULL and NULL", "int", "NULL", "bigint", "NULL", "equal"},
		{"int and bigint", "int", "-7", "bigint", "-7", "equal"},
		{"bit and int", "bit", "1", "int", "1", "equal"},
		{"int and decimal", "int", "100", "decimal(10,3)", "100", "equal"},
		{"decimal scales", "decimal(10,2)", "1.50", "decimal(20,6)", "1.5", "equal"},
		{"decimal cut", "decimal(10,4)", "1.2345", "decimal(10,2)", "1.23", "lossy"},
		{"decimal rounded", "decimal(10,4)", "-1.2350", "decimal(10,2)", "-1.24", "lossy"},
		{"money and decimal", "money", "12.3400", "decimal(19,2)", "12.34", "equal"},
		{"another decimal", "decimal(10,2)", "1.50", "decimal(10,2)", "1.51", "differs"},
		{"real and float", "real", "0.1", "float", "0.1", "equal"},
		{"float and decimal", "float", "0.25", "decimal(10,4)", "0.25", "equal"},
		{"floats", "float", "0.1", "float", "0.10000000000000002", "differs"},
		{"datetime and datetime2(7), as the server converts", "datetime", "'2024-02-29T12:00:00.003'", "datetime2(7)", "'2024-02-29T12:00:00.0033333'", "equal"},
		{"datetime and datetime2(3), as a message has it", "datetime", "'2024-02-29T12:00:00.007'", "datetime2(3)", "'2024-02-29T12:00:00.007'", "equal"},
		{"datetime and another", "datetime", "'2024-02-29T12:00:00.003'", "datetime2(3)", "'2024-02-29T12:00:00.007'", "differs"},
		{"datetime2 scales", "datetime2(3)", "'2024-02-29T12:00:00.120'", "datetime2(7)", "'2024-02-29T12:00:00.12'", "equal"},
		{"datetime2 rounded", "datetime2(7)", "'2024-02-29T12:00:00.1235000'", "datetime2(3)", "'2024-02-29T12:00:00.124'", "lossy"},
		{"date and datetime2", "date", "'2024-02-29'", "datetime2(0)", "'2024-02-29'", "equal"},
		{"datetime2 and date", "datetime2(0)", "'2024-02-29T13:00:00'", "date", "'2024-02-29'", "lossy"},
		{"smalldatetime", "datetime2(0)", "'2024-02-29T13:00:31'", "smalldatetime", "'2024-02-29T13:01:00'", "lossy"},
		{"time", "time(2)", "'13:00:00.12'", "time(7)", "'13:00:00.12'", "equal"},
		{"offsets", "datetimeoffset(0)", "'2024-02-29T13:00:00+01:00'", "datetimeoffset(7)", "'2024-02-29T13:00:00+01:00'", "equal"},
		{"the same instant elsewhere", "datetimeoffset(0)", "'2024-02-29T13:00:00+01:00'", "datetimeoffset(0)", "'2024-02-29T12:00:00+00:00'", "differs"},
		{"uniqueidentifier and text", "uniqueidentifier", "'01234567-89ab-cdef-0123-456789abcdef'", "varchar(36)", "'01234567-89AB-CDEF-0123-456789ABCDEF'", "equal"},
		{"binary has zeros", "varbinary(10)", "0x0102", "binary(4)", "0x0102", "equal"},
		{"bytes", "varbinary(max)", "0x0102", "varbinary(10)", "0x0103", "differs"},
		{"LOBs", "nvarchar(max)", "REPLICATE(CAST(N'é' AS nvarchar(max)), 20000)", "varchar(max)", "REPLICATE(CAST('é' AS varchar(max)), 20000)", "equal"},
		{"the end of a LOB", "nvarchar(max)", "REPLICATE(CAST(N'é' AS nvarchar(max)), 20000)", "nvarchar(max)", "REPLICATE(CAST(N'é' AS nvarchar(max)), 19999) + N'e'", "differs"},
		{"text and number", "varchar(10)", "'1'", "int", "1", "no values in common"},
		{"offset and none", "datetimeoffset(0)", "'2024-02-29T13:00:00+01:00'", "datetime2(0)", "'2024-02-29T13:00:00'", "no values in common"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			script := func(typ, v string) string {
				return "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v " + typ + " NULL); INSERT INTO dbo.t VALUES (1, " + v + ");"
			}
			r := newRig(t, script(tt.source, tt.from), script(tt.target, tt.to)).tables("dbo.t")
			strict := r.one()
			r.conf.Lossy = true
			lossy := r.one()
			switch tt.want {
			case "equal", "differs":
				if want := tt.want == "equal"; strict.Equal != want || lossy.Equal != want || strict.Error != "" {
					t.Errorf("strict %+v\nlossy %+v", strict, lossy)
				}
			case "lossy":
				if strict.Equal || !lossy.Equal {
					t.Errorf("strict %+v\nlossy %+v", strict, lossy)
				}
			default:
				if !strings.Contains(strict.Error, tt.want) || !strings.Contains(strict.Error, "column v") {
					t.Errorf("error %q, want %q", strict.Error, tt.want)
				}
			}
		})
	}
}

// TestKeysOfAnotherOrder compares tables whose keys are ordered differently, so that no chunk of one is one of the other.
func TestKeysOfAnotherOrder(t *testing.T) {
	for name, tt := range map[string]struct{ source, target, method string }{
		"same":              {"varchar(10) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY", "varchar(20) COLLATE Latin1_General_CI_AS NOT NULL PRIMARY KEY", "chunks of the key"},
		"another collation": {"varchar(10) COLLATE SQL_Latin1_General_CP1_CI_AS NOT NULL PRIMARY KEY", "varchar(20) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY", "buckets of row hashes"},
		"another type":      {"varchar(10) NOT NULL PRIMARY KEY", "nvarchar(20) NOT NULL PRIMARY KEY", "buckets of row hashes"},
		"no key there":      {"varchar(10) NOT NULL PRIMARY KEY", "varchar(10) NOT NULL", "buckets of row hashes"},
		"less room":         {"varchar(10) NOT NULL PRIMARY KEY", "varchar(9) NOT NULL PRIMARY KEY", "buckets of row hashes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const rows = "INSERT INTO dbo.t VALUES ('a', 1), ('B', 2), ('c-d', 3), ('cd', 4), ('Z', 5), ('_', 6);"
			r := newRig(t, "CREATE TABLE dbo.t (k "+tt.source+", v int);"+rows, "CREATE TABLE dbo.t (k "+tt.target+", v int);"+rows).tables("dbo.t")
			r.conf.Chunk = 2
			got := r.one()
			wantRows(t, got)
			if got.Method != tt.method {
				t.Errorf("compared by %s, want %s", got.Method, tt.method)
			}
			r.exec(r.dst, "UPDATE dbo.t SET v = 9 WHERE k = 'cd'; DELETE FROM dbo.t WHERE k = 'B';")
			got = r.one()
			texts := map[string]bool{}
			for _, d := range got.Rows {
				texts[d.text()] = true
			}
			if len(texts) != 2 || !texts[`missing {"k":"B"}`] || !texts[`differs {"k":"cd"} v:4/9`] {
				t.Errorf("%v", texts)
			}
		})
	}
}
