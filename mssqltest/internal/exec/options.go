package exec

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// Options is the SET state of a session.
type Options struct {
	TextSize             int64
	Language             string
	DateFormat           string
	DateFirst            int
	XactAbort            bool
	ImplicitTransactions bool
	NoCount              bool
	FmtOnly              bool
	NoExec               bool
	ParseOnly            bool
	RowCount             int64
	LockTimeout          time.Duration // -1 = for ever
	DeadlockPriority     int
	Isolation            storage.Isolation
	// Flags are the SET options that are only remembered: ANSI_NULLS, QUOTED_IDENTIFIER, ARITHABORT …, in upper case.
	Flags map[string]bool
}

func defaultOptions() Options {
	return Options{
		TextSize: 2147483647, Language: "us_english", DateFormat: "mdy", DateFirst: 7, LockTimeout: -1,
		Isolation: storage.ReadCommitted,
		Flags: map[string]bool{
			"ANSI_NULLS": true, "ANSI_PADDING": true, "ANSI_WARNINGS": true, "CONCAT_NULL_YIELDS_NULL": true,
			"QUOTED_IDENTIFIER": true, "ANSI_NULL_DFLT_ON": true, "ARITHABORT": false, "NUMERIC_ROUNDABORT": false,
		},
	}
}

// clone copies the options with their map.
func (o Options) clone() Options {
	f := make(map[string]bool, len(o.Flags))
	for k, v := range o.Flags {
		f[k] = v
	}
	o.Flags = f
	return o
}
