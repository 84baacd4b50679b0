package diagnose

import (
	"testing"

	"example.com/mssqlcdc/internal/catalog"
)

func TestLiteral(t *testing.T) {
	for pattern, want := range map[string]catalog.Name{
		`dbo\.orders`:      {Schema: "dbo", Object: "orders"},
		`dbo\.a\$b\.c`:     {Schema: "dbo", Object: "a$b.c"},
		`dbo.orders`:       {Schema: "dbo", Object: "orders"},
		`dbo.order.`:       {}, // a dot is any character
		`dbo\..*`:          {},
		`(?i)dbo\.o`:       {},
		`orders`:           {},
		`dbo\.`:            {},
		`dbo\.(a|b)`:       {},
		`(`:                {},
		`dbo\.\[x\] 'y'`:   {Schema: "dbo", Object: "[x] 'y'"},
		`dbo\.orders|dbo.`: {},
	} {
		got, ok := literal(pattern)
		if ok != (want != catalog.Name{}) || ok && got != want {
			t.Errorf("%s means %+v, %t, want %+v", pattern, got, ok, want)
		}
	}
}

func TestEnableAgain(t *testing.T) {
	inst := &catalog.Instance{Capture: "x'y", Source: catalog.Name{Schema: "dbo", Object: "o'k"}, Columns: []catalog.Column{{Name: "a]b"}, {Name: "gone", Dropped: true}, {Name: "c"}}}
	const want = "-- This drops the change table with what is in it: let readers catch up, and let nothing write to the table until both statements are done.\n" +
		"EXEC sys.sp_cdc_disable_table @source_schema = N'dbo', @source_name = N'o''k', @capture_instance = N'x''y';\n" +
		"EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'o''k', @capture_instance = N'x''y', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 1, @captured_column_list = N'[a]]b], [c]';"
	if got := enableAgain(inst, true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
