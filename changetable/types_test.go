package changetable_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/mssqltest"
)

// TestTypesComeThrough inserts one value of every type and reads the change. The
// right column is the text of Arrow's inside form: ticks for what Arrow cannot
// hold, a number for what it can.
func TestTypesComeThrough(t *testing.T) {
	tests := []struct{ decl, literal, want string }{
		{"bit", "1", "true"},
		{"tinyint", "255", "255"},
		{"smallint", "-32768", "-32768"},
		{"int", "-2147483648", "-2147483648"},
		{"bigint", "9007199254740993", "9007199254740993"},
		{"real", "0.1", "0.1"},
		{"float", "0.1", "0.1"},
		{"decimal(38,0)", strings.Repeat("9", 38), strings.Repeat("9", 38)},
		{"decimal(10,4)", "1.5", "1.5"},
		{"money", "922337203685477.5807", "922337203685477.5807"},
		{"smallmoney", "-214748.3648", "-214748.3648"},
		{"date", "'0001-01-01'", "0001-01-01"},
		{"time(7)", "'23:59:59.9999999'", "23:59:59.999999900"},
		{"datetime2(7)", "'9999-12-31T23:59:59.9999999'", "3155378975999999999"},
		{"datetime2(0)", "'0001-01-01T00:00:01'", "10000000"},
		{"datetime", "'1900-01-02T00:00:00.003'", "25920001"},
		{"smalldatetime", "'2026-03-01T12:34'", "639079652400000000"},
		{"datetimeoffset(7)", "'2026-03-01T12:00:00.1234567+05:30'", `{"offset_minutes":330,"ticks":639079434001234567}`},
		{"char(5)", "'ab'", "ab   "},
		{"varchar(20)", "'é€'", "é€"},
		{"varchar(20) COLLATE Japanese_CI_AS", "N'表ソ十'", "表ソ十"},
		{"varchar(20) COLLATE Latin1_General_100_CI_AS_SC_UTF8", "N'😀é'", "😀é"},
		{"varchar(max)", "REPLICATE(CAST('é' AS varchar(max)), 9000)", strings.Repeat("é", 9000)},
		{"nchar(3)", "N'名'", "名  "},
		{"nvarchar(20)", "N''", ""},
		{"nvarchar(max)", "REPLICATE(CAST(N'😀' AS nvarchar(max)), 5000)", strings.Repeat("😀", 5000)},
		{"text", "'text é'", "text é"},
		{"ntext", "N'ntext 名'", "ntext 名"},
		{"binary(3)", "0x0102", "AQIA"},
		{"varbinary(max)", "0xFFFE", "//4="},
		{"image", "0x00", "AA=="},
		{"uniqueidentifier", "'01234567-89AB-CDEF-0123-456789ABCDEF'", "ASNFZ4mrze8BI0VniavN7w=="},
		{"xml", "N'<a>é&amp;</a>'", "<a>é&amp;</a>"},
		{"sql_variant", "CAST(1.50 AS decimal(5,2))", `{"type":"decimal(5,2)","value":"1.50"}`},
		{"sql_variant", "N'é'", `{"type":"nvarchar","value":"é"}`},
		{"sql_variant", "CAST(7 AS int)", `{"type":"int","value":7}`},
		{"hierarchyid", "'/1/2/'", "W0A="},
	}
	var columns, values []string
	for i, tt := range tests {
		columns = append(columns, fmt.Sprintf("c%d %s", i, tt.decl))
		values = append(values, tt.literal)
	}
	l := newLab(t, mssqltest.Config{}, "CREATE TABLE dbo.ty (id int PRIMARY KEY, rv rowversion, "+strings.Join(columns, ", ")+")")
	l.exec(fmt.Sprintf(enable, "ty"))
	var names []string
	for i := range tests {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	l.exec("INSERT dbo.ty (id, " + strings.Join(names, ", ") + ") VALUES (1, " + strings.Join(values, ", ") + ")")
	l.exec("INSERT dbo.ty (id) VALUES (2)")
	l.scan()
	r := l.reader("dbo_ty", changetable.Options{})
	p, err := r.Read(t.Context(), l.earliest(r), l.high(), changetable.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	if p.Rows != 2 {
		t.Fatalf("%d changes", p.Rows)
	}
	for i, tt := range tests {
		c := p.Record.Column(i + 2)
		if got := c.ValueStr(0); got != tt.want {
			t.Errorf("%s %s: got %.60s, want %.60s", tt.decl, tt.literal, got, tt.want)
		}
		if c.IsNull(0) || !c.IsNull(1) {
			t.Errorf("%s: NULL is %v and %v, want false and true", tt.decl, c.IsNull(0), c.IsNull(1))
		}
		if p.NotLogged(1, i+2) {
			t.Errorf("%s: an inserted NULL is not logged", tt.decl)
		}
	}
	if p.Record.Column(1).IsNull(0) {
		t.Error("rowversion is NULL")
	}
}
