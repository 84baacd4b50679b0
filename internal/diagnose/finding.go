package diagnose

import (
	"errors"
	"fmt"
	"strings"
)

// Severity of a finding.
type Severity int

// Severities, from the mildest.
const (
	Info    Severity = iota // worth knowing
	Warning                 // works, but may surprise
	Error                   // does not work
)

// String is the severity in lower case.
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return fmt.Sprintf("severity(%d)", int(s))
}

// Finding is one thing that a user should know.
type Finding struct {
	Check    string // what was looked at: "connect", "cdc", "rights", …
	Severity Severity
	Table    string // schema.table, or "" for the whole database
	Message  string // a sentence
	Remedy   string // T-SQL that mends it, or words for it that many tables share, or ""
	Script   string // T-SQL for this table where Remedy is words, its cost as a comment
	Err      error  // the error behind it, if there is one
}

// String is the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.Severity.String() + ": " + f.Check + ": ")
	if f.Table != "" {
		b.WriteString(f.Table + ": ")
	}
	b.WriteString(f.Message)
	if f.Remedy != "" {
		b.WriteString(" To mend it: " + f.Remedy)
	}
	return b.String()
}

// SQL is the T-SQL that mends it, or "".
func (f Finding) SQL() string {
	if f.Script != "" {
		return f.Script
	}
	return f.Remedy
}

// Worst returns the errors among the findings as one error, or nil.
func Worst(findings []Finding) error {
	var errs []error
	for _, f := range findings {
		if f.Severity == Error {
			errs = append(errs, &findingError{f})
		}
	}
	return errors.Join(errs...)
}

// findingError is a finding as an error. It unwraps to the error behind it.
type findingError struct{ Finding }

func (e *findingError) Error() string {
	text := e.Check + ": "
	if e.Table != "" {
		text += e.Table + ": "
	}
	text += e.Message
	if e.Remedy != "" {
		text += " To mend it: " + e.Remedy
	}
	return text
}

func (e *findingError) Unwrap() error { return e.Err }
