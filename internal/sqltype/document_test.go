package sqltype

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample gives an entry's parameters values, so that the forms can be shown.
func sample(e *entry) Type {
	t := Type{Name: e.name, Nullable: true}
	switch e.params {
	case lengthParam:
		t.Length = 20
	case unitsParam:
		t.Length = 20
	case precisionScaleParams:
		t.Precision, t.Scale = 10, 2
	case scaleParam:
		t.Scale = 7
	case maxOnly:
		t.Length = Max
	}
	return t
}

func document(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Generated from the table in internal/sqltype by go generate; do not edit. -->\n\n# Types\n\n")
	b.WriteString("What becomes of each SQL Server type. *Inside* is the Arrow type of record batches in this program, which loses nothing; *exported Arrow*\n")
	b.WriteString("is that of the messages of `format: arrow`, see formats.md; *message* is the value in a JSON body or key; *schema* is the column in the `schema` metadata. NULL is `null` in a body. A LOB\n")
	b.WriteString("that the server did not log is left out of the body: see delivery.md. Alias types are read as their base type. Every\n")
	b.WriteString("column is optional in the schema. Only sql_variant is ANY, which some consumers refuse: see limits.md.\n\n")
	b.WriteString("| SQL Server | on the wire (MS-TDS) | inside | exported Arrow | message | schema |\n|---|---|---|---|---|---|\n")
	for i := range table {
		e := &table[i]
		typ := sample(e)
		exported, err := typ.Exported()
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		name := typ.String()
		if e.maxAllowed {
			name += ", (max)"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s: `%s` | %s |\n", name, e.tds, typ.Inside(), exported, e.message,
			strings.ReplaceAll(e.example, "|", `\|`), schemaText(typ.Common()))
	}
	b.WriteString("\nThe inside integers of dates and times: datetime2 and smalldatetime count 100 ns from 0001-01-01, datetime counts 1/300 s from\n")
	b.WriteString("1900-01-01 (the server's own unit), datetimeoffset counts 100 ns from 0001-01-01 in UTC beside its offset in minutes. A timestamp in exported\n")
	b.WriteString("Arrow has the unit that the scale needs: s, ms, us or ns.\n\n## What can be lost\n\n")
	var losses []string
	names := map[string][]string{}
	for i := range table {
		if e := &table[i]; e.loss != "" {
			if names[e.loss] == nil {
				losses = append(losses, e.loss)
			}
			names[e.loss] = append(names[e.loss], e.name)
		}
	}
	for _, l := range losses {
		fmt.Fprintf(&b, "- %s: %s.\n", strings.Join(names[l], ", "), l)
	}
	b.WriteString("- computed columns: the change table has NULL for them (the server does not log computed values).\n")
	b.WriteString("- a type that is not listed: an error that names the column and the type. CLR types of users are read as `clr`.\n")
	return b.Bytes()
}

func schemaText(c Common) string {
	switch {
	case c.Type == CommonDecimal:
		return fmt.Sprintf("%s(%d,%d)", c.Type, c.Precision, c.Scale)
	case c.UTC:
		return fmt.Sprintf("%s(%s, UTC)", c.Type, c.Unit)
	case c.Unit != NoUnit:
		return fmt.Sprintf("%s(%s)", c.Type, c.Unit)
	}
	return c.Type.String()
}

func TestTypesDocument(t *testing.T) {
	const path = "../../docs/types.md"
	got := document(t)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go generate ./internal/sqltype)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/types.md is not what the table says: run go generate ./internal/sqltype\ngot:\n%s", got)
	}
}
