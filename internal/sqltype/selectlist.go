package sqltype

import (
	"strconv"
	"strings"
)

// SelectList is what a query has to select so that a driver row carries a column of type t without loss; quoted is the column's
// name as the query spells it. Most types are one expression, the column itself. A sql_variant is three: its value; the declaration
// of its own type, because the driver gives bytes for a decimal, for money, for a GUID and for binary alike; and what is char or
// varchar in it as nvarchar, since a variant has a collation of its own. A variant converts to no (max) type.
//
// Text in a code page is converted to nvarchar by the server unless the page is 1252: the driver knows neither UTF-8 collations
// nor all language identifiers. json and vector have no form in TDS 7.4.
func (t Type) SelectList(quoted string) []string {
	switch t.Name {
	case "sql_variant":
		prop := func(p string) string {
			return "CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY(" + quoted + ", '" + p + "'))"
		}
		return []string{
			quoted,
			prop("BaseType") + " + N'(' + " + prop("Precision") + " + N',' + " + prop("Scale") + " + N')'",
			"CASE WHEN " + prop("BaseType") + " IN (N'char', N'varchar') THEN CONVERT(nvarchar(4000), " + quoted + ") END",
		}
	case "json", "vector", "text":
		return []string{"CONVERT(nvarchar(max), " + quoted + ")"}
	case "char", "varchar":
		if !t.inCodePage1252() {
			n := "max"
			if t.Length > 0 && t.Length <= 4000 {
				n = strconv.Itoa(t.Length)
			}
			return []string{"CONVERT(nvarchar(" + n + "), " + quoted + ")"}
		}
	}
	return []string{quoted}
}

// ExactText is the expression that gives a text cell as UTF-16 code units, for cells that Suspects of a row set builder name.
func ExactText(quoted string) string {
	return "CONVERT(varbinary(max), CONVERT(nvarchar(max), " + quoted + "))"
}

// Cells is the number of driver values that a column of type t takes: the length of its SelectList.
func (t Type) Cells() int {
	if t.Kind() == Variant {
		return 3
	}
	return 1
}

// inCodePage1252 reports whether the collation is known to store code page 1252, which the driver decodes as the server does.
func (t Type) inCodePage1252() bool {
	c := strings.ToLower(t.Collation)
	if strings.HasSuffix(c, "_utf8") {
		return false
	}
	return strings.HasPrefix(c, "sql_latin1_general_cp1_") || strings.HasPrefix(c, "latin1_general_")
}
