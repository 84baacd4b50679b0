package snapshot

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/sqltype"
)

// TestTheTextOfAKey pins the form: it is in checkpoints of older versions.
func TestTheTextOfAKey(t *testing.T) {
	k := Key{
		columns: []keyColumn{
			{name: "id", typ: sqltype.Type{Name: "int"}},
			{name: `na"me`, typ: sqltype.Type{Name: "varchar", Length: 10, Collation: "Japanese_CI_AS"}, desc: true},
			{name: "at", typ: sqltype.Type{Name: "datetime2", Scale: 7}},
		},
		values: []string{"-5", "683200d8", "2024-02-29T23:59:59.1234567"},
	}
	const text = `{"v":1,"columns":[{"name":"id","type":"int","value":"-5"},` +
		`{"name":"na\"me","type":"varchar(10)","collation":"Japanese_CI_AS","desc":true,"value":"683200d8"},` +
		`{"name":"at","type":"datetime2(7)","value":"2024-02-29T23:59:59.1234567"}]}`
	if got := k.String(); got != text {
		t.Errorf("text\n%s, want\n%s", got, text)
	}
	back, err := ParseKey(text)
	if err != nil || !back.Equal(k) {
		t.Errorf("ParseKey: %v, %v", back, err)
	}
	type stored struct{ A, B Key }
	b, err := json.Marshal(stored{A: k})
	if err != nil || string(b) != `{"A":`+text+`,"B":null}` {
		t.Errorf("JSON %s, %v", b, err)
	}
	var s stored
	if err := json.Unmarshal(b, &s); err != nil || !s.A.Equal(k) || !s.B.IsZero() {
		t.Errorf("from JSON: %+v, %v", s, err)
	}
	if zero, err := ParseKey(Key{}.String()); err != nil || !zero.IsZero() {
		t.Errorf("the zero key: %v, %v", zero, err)
	}
	if k.Equal(Key{}) || k.IsZero() || (Key{columns: k.columns, values: []string{"-5", "683200D8", k.values[2]}}).Equal(k) {
		t.Error("different keys are equal")
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":            `x`,
		"no object":          `5`,
		"another version":    `{"v":2,"columns":[{"name":"a","type":"int","value":"1"}]}`,
		"no version":         `{"columns":[{"name":"a","type":"int","value":"1"}]}`,
		"an unknown field":   `{"v":1,"columns":[{"name":"a","type":"int","value":"1","x":1}]}`,
		"what follows":       `{"v":1,"columns":[{"name":"a","type":"int","value":"1"}]} x`,
		"no column":          `{"v":1,"columns":[]}`,
		"many columns":       `{"v":1,"columns":[` + strings.Repeat(`{"name":"a","type":"int","value":"1"},`, 32) + `{"name":"a","type":"int","value":"1"}]}`,
		"no name":            `{"v":1,"columns":[{"name":"","type":"int","value":"1"}]}`,
		"no value":           `{"v":1,"columns":[{"name":"a","type":"int"}]}`,
		"an unknown type":    `{"v":1,"columns":[{"name":"a","type":"int8","value":"1"}]}`,
		"no type of a key":   `{"v":1,"columns":[{"name":"a","type":"xml","value":"1"}]}`,
		"a max type":         `{"v":1,"columns":[{"name":"a","type":"varchar(max)","value":"00"}]}`,
		"a max binary":       `{"v":1,"columns":[{"name":"a","type":"varbinary(max)","value":"00"}]}`,
		"an integer":         `{"v":1,"columns":[{"name":"a","type":"tinyint","value":"256"}]}`,
		"a signed zero":      `{"v":1,"columns":[{"name":"a","type":"int","value":"-0"}]}`,
		"a bit":              `{"v":1,"columns":[{"name":"a","type":"bit","value":"2"}]}`,
		"a decimal":          `{"v":1,"columns":[{"name":"a","type":"decimal(5,2)","value":"1e5"}]}`,
		"a float":            `{"v":1,"columns":[{"name":"a","type":"float","value":"NaN"}]}`,
		"a real":             `{"v":1,"columns":[{"name":"a","type":"real","value":"1e300"}]}`,
		"a date":             `{"v":1,"columns":[{"name":"a","type":"date","value":"2024-02-30"}]}`,
		"a datetime2":        `{"v":1,"columns":[{"name":"a","type":"datetime2(3)","value":"2024-02-28T00:00:00.1234567"}]}`,
		"a GUID":             `{"v":1,"columns":[{"name":"a","type":"uniqueidentifier","value":"01234567-89ab-cdef-0123-456789abcdef"}]}`,
		"hexadecimal":        `{"v":1,"columns":[{"name":"a","type":"binary(2)","value":"xy"}]}`,
		"a longer binary":    `{"v":1,"columns":[{"name":"a","type":"binary(2)","value":"010203"}]}`,
		"T-SQL for a name":   `{"v":1,"columns":[{"name":"a","type":"char(2)","collation":"X; DROP","value":"0100"}]}`,
		"more than there is": `{"v":1,"columns":[{"name":"` + strings.Repeat("a", maxKeyText) + `","type":"int","value":"1"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := ParseKey(text); err == nil {
				t.Errorf("ParseKey(%.100s) = %s", text, k)
			}
			if err := json.Unmarshal([]byte(text), new(Key)); err == nil {
				t.Errorf("Unmarshal(%.100s) succeeds", text)
			}
		})
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{
		"", `{"v":1,"columns":[{"name":"id","type":"int","value":"-5"}]}`,
		`{"v":1,"columns":[{"name":"a","type":"nvarchar(10)","collation":"Latin1_General_BIN2","desc":true,"value":"00d8"},{"name":"b","type":"decimal(38,38)","value":"0.5"}]}`,
		`{"v":1,"columns":[{"name":"a","type":"datetimeoffset(7)","value":"2024-02-29T23:59:59.1234567+14:00"}]}`,
		`{"v":1,"columns":[{"name":"a","type":"uniqueidentifier","value":"01234567-89AB-CDEF-0123-456789ABCDEF"}]}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		if err != nil {
			return
		}
		back, err := ParseKey(k.String())
		if err != nil || !back.Equal(k) {
			t.Errorf("%q gives %s, which gives %v, %v", s, k, back, err)
		}
		p := &plan{}
		for _, c := range k.columns {
			codec, err := codecOf(c.typ)
			if err != nil {
				t.Fatal(err)
			}
			p.key = append(p.key, planColumn{c, codec, "t.[x]"})
		}
		var st request.Statement
		if err := p.bind(&st, "@a", k); err != nil {
			t.Errorf("%q cannot be sent: %v", s, err)
		}
	})
}

func TestAKeyParameterHasTheTypeOfItsColumn(t *testing.T) {
	for _, tt := range []struct {
		typ           sqltype.Type
		decl, operand string
	}{
		{sqltype.Type{Name: "datetime"}, "datetime", "@a"},
		{sqltype.Type{Name: "datetime2", Scale: 3}, "datetime2(3)", "@a"},
		{sqltype.Type{Name: "decimal", Precision: 10, Scale: 2}, "decimal(10,2)", "@a"},
		{sqltype.Type{Name: "money"}, "decimal(19,4)", "CONVERT(money, @a)"},
		{sqltype.Type{Name: "uniqueidentifier"}, "uniqueidentifier", "@a"},
		{sqltype.Type{Name: "binary", Length: 5}, "binary(5)", "@a"},
		{sqltype.Type{Name: "rowversion"}, "binary(8)", "@a"},
		{sqltype.Type{Name: "varchar", Length: 20, Collation: "SQL_Latin1_General_CP1_CI_AS"}, "varbinary(40)", "CONVERT(varchar(20), CONVERT(nvarchar(20), @a) COLLATE SQL_Latin1_General_CP1_CI_AS)"},
		{sqltype.Type{Name: "char", Length: 5, Collation: "Polish_CI_AS"}, "varbinary(10)", "CONVERT(char(5), CONVERT(nvarchar(5), @a) COLLATE Polish_CI_AS)"},
		{sqltype.Type{Name: "nvarchar", Length: 40, Collation: "Latin1_General_BIN2"}, "varbinary(40)", "CONVERT(nvarchar(20), @a) COLLATE Latin1_General_BIN2"},
		{sqltype.Type{Name: "nchar", Length: 10, Collation: "Latin1_General_BIN2"}, "varbinary(10)", "CONVERT(nchar(5), CONVERT(nvarchar(5), @a) COLLATE Latin1_General_BIN2)"},
		{sqltype.Type{Name: "varchar", Length: 8000, Collation: "Polish_CI_AS"}, "varbinary(8000)", "CONVERT(varchar(8000), CONVERT(nvarchar(4000), @a) COLLATE Polish_CI_AS)"},
	} {
		t.Run(tt.typ.String(), func(t *testing.T) {
			c, err := codecOf(tt.typ)
			if err != nil || c.decl != tt.decl || c.operand("@a") != tt.operand {
				t.Errorf("declared %s, compared as %s, %v; want %s, %s", c.decl, c.operand("@a"), err, tt.decl, tt.operand)
			}
		})
	}
}

func TestADriverValueOfAnotherKindIsAnError(t *testing.T) {
	for _, name := range []string{"bit", "int", "decimal", "money", "real", "float", "date", "datetime", "uniqueidentifier", "binary", "hierarchyid", "nvarchar"} {
		c, err := codecOf(sqltype.Type{Name: name, Length: 10, Precision: 5})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []driver.Value{nil, struct{}{}} {
			if s, err := c.text(v); err == nil {
				t.Errorf("%s of a %T is %q", name, v, s)
			}
		}
	}
}

func TestRowSecurityIsRefused(t *testing.T) {
	r := &Reader{
		conn: answers{}, plan: &plan{table: "dbo.t", key: []planColumn{{}}}, inst: &catalog.Instance{Columns: []catalog.Column{{Name: "a"}}},
		source: &catalog.Source{Snapshot: true, Policies: []string{"[s].[p]"}},
	}
	err := r.admit(t.Context())
	var restricted *RestrictedError
	if !errors.As(err, &restricted) || !strings.Contains(err.Error(), "the security policies [s].[p] filter its rows") || !strings.Contains(err.Error(), "dbo.t") {
		t.Errorf("admit: %v", err)
	}
	r.opts.AllowRowSecurity = true
	if err := r.admit(t.Context()); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

// TestAMaskedKeyIsNoKey: its values would be masks.
func TestAMaskedKeyIsNoKey(t *testing.T) {
	src := &catalog.Source{Indexes: []catalog.UniqueIndex{
		{ID: 1, Primary: true, Columns: []catalog.IndexColumn{{Name: "a", Type: sqltype.Type{Name: "int"}, Masked: true}}},
		{ID: 2, Columns: []catalog.IndexColumn{{Name: "b", Type: sqltype.Type{Name: "int"}}}},
	}}
	if x := chooseIndex(src); x == nil || x.ID != 2 {
		t.Errorf("index %+v", x)
	}
	src.Unmask = true
	if x := chooseIndex(src); x == nil || x.ID != 1 {
		t.Errorf("index %+v", x)
	}
}

func TestAMarkIsStoredAsJSON(t *testing.T) {
	m := Mark{After: [10]byte{9: 5}, Time: time.Date(2026, 3, 1, 12, 0, 0, 123_000_000, time.UTC), OffsetMinutes: -300}
	b, err := json.Marshal(m)
	const want = `{"after":"0x00000000000000000005","time":"2026-03-01T12:00:00.123Z","offset_minutes":-300}`
	if err != nil || string(b) != want {
		t.Errorf("JSON %s, %v, want %s", b, err, want)
	}
	var back Mark
	if err := json.Unmarshal(b, &back); err != nil || back != m || back.IsZero() || !(Mark{}).IsZero() {
		t.Errorf("back %+v, %v", back, err)
	}
}
