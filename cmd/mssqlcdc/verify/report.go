package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"example.com/mssqlcdc/internal/verify"
)

func printJSON(w io.Writer, r *verify.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func print(w io.Writer, r *verify.Report) error {
	var b bytes.Buffer
	for _, t := range r.Tables {
		printTable(&b, t)
	}
	switch r.Verdict() {
	case verify.Same:
		fmt.Fprintf(&b, "All is equal.\n")
	case verify.Different:
		fmt.Fprintf(&b, "There are differences.\n")
	default:
		fmt.Fprintf(&b, "It could not be told whether all is equal.\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}

func printTable(b *bytes.Buffer, t *verify.Table) {
	b.WriteString(t.Source)
	if t.Target != t.Source {
		fmt.Fprintf(b, " = %s", t.Target)
	}
	switch {
	case t.Error != "":
		fmt.Fprintf(b, ": could not be compared: %s\n", t.Error)
	case t.Equal:
		fmt.Fprintf(b, ": equal, %d rows (%s)\n", t.SourceRows, t.Method)
	default:
		fmt.Fprintf(b, ": %d rows differ", t.Differences)
		if t.Unsettled > 0 {
			fmt.Fprintf(b, ", %d change too fast to tell", t.Unsettled)
		}
		fmt.Fprintf(b, "; %d rows in the source, %d in the target (%s)\n", t.SourceRows, t.TargetRows, t.Method)
	}
	for _, d := range t.Rows {
		fmt.Fprintf(b, "  %s %s%s\n", d.What, d.Key, d.Row)
		for _, v := range d.Columns {
			fmt.Fprintf(b, "      %s: %s, in the target %s\n", v.Column, v.Source, v.Target)
		}
	}
	if more := t.Differences + t.Unsettled - int64(len(t.Rows)); more > 0 && len(t.Rows) > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
	if t.Cut {
		fmt.Fprintf(b, "  the rest of the table was not read\n")
	}
	for _, n := range t.Notes {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}
