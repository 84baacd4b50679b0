package doctor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/mssqlcdc/internal/diagnose"
)

// report is what doctor prints.
type report struct {
	OK      bool        `json:"ok"` // no errors
	Inputs  []*examined `json:"inputs"`
	Outputs []*examined `json:"outputs,omitempty"`
}

// examined is what was found out about the source of one input, or the target of one output.
type examined struct {
	Input    string    `json:"input,omitempty"`
	Output   string    `json:"output,omitempty"`
	Database string    `json:"database,omitempty"`
	Tables   []string  `json:"tables"` // of an input the chosen ones with a capture instance
	OK       bool      `json:"ok"`
	Findings []finding `json:"findings"` // errors first
}

// finding is a diagnose.Finding in words.
type finding struct {
	Severity string `json:"severity"` // error, warning, info
	Check    string `json:"check"`
	Table    string `json:"table,omitempty"`
	Message  string `json:"message"`
	SQL      string `json:"sql,omitempty"`
}

func examinedPatient(p *patient, found *diagnose.Report) *examined {
	in := &examined{Input: p.name, Tables: []string{}, OK: diagnose.Worst(found.Findings) == nil, Findings: []finding{}}
	if p.target != nil {
		in.Input, in.Output = "", p.name
	}
	if found.Database != nil {
		in.Database = found.Database.Name
	}
	for _, t := range found.Tables {
		in.Tables = append(in.Tables, t.String())
	}
	all := slices.Clone(found.Findings)
	slices.SortStableFunc(all, func(a, b diagnose.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	for _, f := range all {
		in.Findings = append(in.Findings, finding{Severity: f.Severity.String(), Check: f.Check, Table: f.Table, Message: f.Message, SQL: f.SQL()})
	}
	return in
}

func (r *report) printJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) print(w io.Writer) error {
	var b bytes.Buffer
	for i, in := range slices.Concat(r.Inputs, r.Outputs) {
		if i > 0 {
			b.WriteByte('\n')
		}
		in.print(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (in *examined) print(b *bytes.Buffer) {
	b.WriteString(in.Input + in.Output)
	if in.Database != "" {
		fmt.Fprintf(b, ": database %s, %d %s", in.Database, len(in.Tables), plural(len(in.Tables), "table"))
	}
	b.WriteByte('\n')
	count := map[string]int{}
	for _, f := range in.Findings {
		count[f.Severity]++
		fmt.Fprintf(b, "  %s: %s: ", f.Severity, f.Check)
		if f.Table != "" {
			fmt.Fprintf(b, "%s: ", f.Table)
		}
		fmt.Fprintln(b, f.Message)
		if f.SQL != "" {
			fmt.Fprintf(b, "      %s\n", strings.ReplaceAll(f.SQL, "\n", "\n      "))
		}
	}
	errors, warnings := count["error"], count["warning"]
	if errors == 0 && warnings == 0 {
		fmt.Fprintln(b, "  All is well.")
		return
	}
	fmt.Fprintf(b, "  %d %s, %d %s.\n", errors, plural(errors, "error"), warnings, plural(warnings, "warning"))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}
