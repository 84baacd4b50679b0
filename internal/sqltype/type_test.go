package sqltype

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestFromCatalog(t *testing.T) {
	tests := []struct {
		name                     string
		typeName, base           string
		length, precision, scale int
		collation                string
		want                     Type
		decl                     string
	}{
		{"int", "int", "int", 4, 10, 0, "", Type{Name: "int"}, "int"},
		{"nvarchar counts bytes", "nvarchar", "nvarchar", 320, 0, 0, "Latin1_General_CI_AS", Type{Name: "nvarchar", Length: 320, Collation: "Latin1_General_CI_AS"}, "nvarchar(160)"},
		{"nvarchar(max)", "nvarchar", "nvarchar", -1, 0, 0, "", Type{Name: "nvarchar", Length: Max}, "nvarchar(max)"},
		{"varbinary(max)", "varbinary", "varbinary", -1, 0, 0, "", Type{Name: "varbinary", Length: Max}, "varbinary(max)"},
		{"decimal", "decimal", "decimal", 17, 38, 38, "", Type{Name: "decimal", Precision: 38, Scale: 38}, "decimal(38,38)"},
		{"datetime2(0)", "datetime2", "datetime2", 6, 19, 0, "", Type{Name: "datetime2"}, "datetime2(0)"},
		{"datetime has no parameters", "datetime", "datetime", 8, 23, 3, "", Type{Name: "datetime"}, "datetime"},
		{"alias type", "Phone", "varchar", 20, 0, 0, "Latin1_General_CI_AS", Type{Name: "varchar", Length: 20, Collation: "Latin1_General_CI_AS"}, "varchar(20)"},
		{"sysname", "sysname", "nvarchar", 256, 0, 0, "C", Type{Name: "nvarchar", Length: 256, Collation: "C"}, "nvarchar(128)"},
		{"timestamp is rowversion", "timestamp", "timestamp", 8, 0, 0, "", Type{Name: "rowversion"}, "rowversion"},
		{"text", "text", "text", 16, 0, 0, "C", Type{Name: "text", Length: Max, Collation: "C"}, "text"},
		{"geography", "geography", "", -1, 0, 0, "", Type{Name: "geography"}, "geography"},
		{"hierarchyid", "hierarchyid", "", 892, 0, 0, "", Type{Name: "hierarchyid"}, "hierarchyid"},
		{"user CLR type", "Point", "", 16, 0, 0, "", Type{Name: CLR}, "clr"},
		{"alias called like a system type", "xml2", "int", 4, 10, 0, "", Type{Name: "int"}, "int"},
		{"json", "json", "json", -1, 0, 0, "", Type{Name: "json", Length: Max}, "json"},
		{"upper case", "INT", "INT", 4, 10, 0, "", Type{Name: "int"}, "int"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := FromCatalog(tt.typeName, tt.base, tt.length, tt.precision, tt.scale, tt.collation)
			if err != nil || got != tt.want || got.String() != tt.decl {
				t.Errorf("FromCatalog = %+v, %v (%s), want %+v (%s)", got, err, got, tt.want, tt.decl)
			}
		})
	}
	if got, err := FromCatalog("quantum", "quantum", 8, 0, 0, ""); err == nil {
		t.Errorf("FromCatalog of an unknown system type = %+v, want an error", got)
	}
	if got, err := FromCatalog("decimal", "decimal", 17, 39, 0, ""); err == nil {
		t.Errorf("FromCatalog of decimal(39,0) = %+v, want an error", got)
	}
}

func TestParseRoundTrip(t *testing.T) {
	for i := range table {
		want := sample(&table[i])
		want.Nullable = false
		if err := want.Validate(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		got, err := Parse(want.String())
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", want.String(), got, err, want)
		}
	}
	for _, decl := range []string{"", "nvarchar", "nvarchar(", "nvarchar(0)", "nvarchar(4001)", "varchar(8001)", "nchar(max)", "int(4)", "decimal(5)", "decimal(5,6)",
		"datetime2(8)", "time(-1)", "quantum", "varchar(1,2)", "varchar(x)"} {
		if got, err := Parse(decl); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", decl, got)
		}
	}
}

func TestFieldRoundTrip(t *testing.T) {
	for i := range table {
		want := sample(&table[i])
		if table[i].collated {
			want.Collation = "Turkish_CI_AS"
		}
		f := want.Field("a b")
		got, err := FromField(f)
		if err != nil || got != want {
			t.Errorf("FromField(%v) = %+v, %v, want %+v", f, got, err, want)
		}
		exported, err := want.Exported()
		if err != nil || exported == nil {
			t.Errorf("%s: Exported = %v, %v", want, exported, err)
		}
		if c := want.Common(); c.Type == CommonNone || !c.Optional {
			t.Errorf("%s: Common = %+v", want, c)
		}
	}
	f := Type{Name: "int"}.Field("n")
	f.Type = arrow.PrimitiveTypes.Int64
	if got, err := FromField(f); err == nil {
		t.Errorf("FromField of an int held as int64 = %+v, want an error", got)
	}
	if got, err := FromField(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64}); err == nil {
		t.Errorf("FromField without metadata = %+v, want an error", got)
	}
}

func TestIsLOB(t *testing.T) {
	for decl, want := range map[string]bool{"varchar(8000)": false, "varchar(max)": true, "text": true, "image": true, "xml": true, "geography": true, "hierarchyid": false,
		"int": false, "json": true, "sql_variant": false} {
		typ, err := Parse(decl)
		if err != nil || typ.IsLOB() != want {
			t.Errorf("Parse(%s).IsLOB() = %v, %v, want %v", decl, typ.IsLOB(), err, want)
		}
	}
}

func TestSelectList(t *testing.T) {
	tests := []struct {
		typ  Type
		want []string
	}{
		{Type{Name: "int"}, []string{"[c]"}},
		{Type{Name: "nvarchar", Length: 20, Collation: "Japanese_CI_AS"}, []string{"[c]"}},
		{Type{Name: "varchar", Length: 20, Collation: "SQL_Latin1_General_CP1_CI_AS"}, []string{"[c]"}},
		{Type{Name: "varchar", Length: 20, Collation: "Latin1_General_100_CI_AS_SC"}, []string{"[c]"}},
		{Type{Name: "varchar", Length: 20, Collation: "Latin1_General_100_CI_AS_SC_UTF8"}, []string{"CONVERT(nvarchar(20), [c])"}},
		{Type{Name: "varchar", Length: 20, Collation: "SQL_Latin1_General_CP1250_CI_AS"}, []string{"CONVERT(nvarchar(20), [c])"}},
		{Type{Name: "char", Length: 8000, Collation: "Japanese_CI_AS"}, []string{"CONVERT(nvarchar(max), [c])"}},
		{Type{Name: "varchar", Length: Max, Collation: "Chinese_PRC_CI_AS"}, []string{"CONVERT(nvarchar(max), [c])"}},
		{Type{Name: "varchar", Length: 20}, []string{"CONVERT(nvarchar(20), [c])"}},
		{Type{Name: "vector", Length: Max}, []string{"CONVERT(nvarchar(max), [c])"}},
		{Type{Name: "sql_variant"}, []string{"[c]", "CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([c], 'BaseType')) + N'(' + " +
			"CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([c], 'Precision')) + N',' + CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([c], 'Scale')) + N')'",
			"CASE WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY([c], 'BaseType')) IN (N'char', N'varchar') THEN CONVERT(nvarchar(4000), [c]) END"}},
	}
	for _, tt := range tests {
		if got := tt.typ.SelectList("[c]"); !slices.Equal(got, tt.want) || len(got) != tt.typ.Cells() {
			t.Errorf("%s COLLATE %s: SelectList = %q, Cells = %d, want %q", tt.typ, tt.typ.Collation, got, tt.typ.Cells(), tt.want)
		}
	}
}
