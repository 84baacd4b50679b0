package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
)

// plain is a name that people write as a pattern, its dot as it is.
var plain = regexp.MustCompile(`^\w+\.\w+$`)

// literal gives the table that an include pattern means, when that is one.
func literal(pattern string) (catalog.Name, bool) {
	if plain.MatchString(pattern) {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return catalog.Name{}, false
	}
	text, whole := re.LiteralPrefix()
	schema, object, found := strings.Cut(text, ".")
	return catalog.Name{Schema: schema, Object: object}, whole && found && schema != "" && object != ""
}

// enableTable enables change data capture as the input reads it best.
func enableTable(name catalog.Name) string {
	return fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = %s, @source_name = %s, @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;",
		unicode(name.Schema), unicode(name.Object))
}

// enableAgain makes a capture instance anew with what it has now, except for partition switches.
func enableAgain(inst *catalog.Instance, partitionSwitch bool) string {
	var b strings.Builder
	b.WriteString("-- This drops the change table with what is in it: let readers catch up, and let nothing write to the table until both statements are done.\n")
	table := fmt.Sprintf("@source_schema = %s, @source_name = %s, @capture_instance = %s", unicode(inst.Source.Schema), unicode(inst.Source.Object), unicode(inst.Capture))
	fmt.Fprintf(&b, "EXEC sys.sp_cdc_disable_table %s;\n", table)
	role := "NULL"
	if inst.Role != "" {
		role = unicode(inst.Role)
	}
	fmt.Fprintf(&b, "EXEC sys.sp_cdc_enable_table %s, @role_name = %s, @supports_net_changes = %d, @allow_partition_switch = %d", table, role, bit(inst.NetChanges), bit(partitionSwitch))
	if inst.Index != "" {
		fmt.Fprintf(&b, ", @index_name = %s", unicode(inst.Index))
	}
	var columns []string
	for _, c := range inst.Columns {
		if !c.Dropped {
			columns = append(columns, catalog.Quote(c.Name))
		}
	}
	fmt.Fprintf(&b, ", @captured_column_list = %s;", unicode(strings.Join(columns, ", ")))
	return b.String()
}

// unicode is a T-SQL literal.
func unicode(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}
