package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
)

// Types of signals, as Debezium names them.
const (
	SignalExecute = "execute-snapshot"
	SignalStop    = "stop-snapshot"
	SignalPause   = "pause-snapshot"
	SignalResume  = "resume-snapshot"

	signalOpen  = "snapshot-window-open" // the watermarks
	signalClose = "snapshot-window-close"
)

// signal is a row of the signal table.
type signal struct {
	id, kind string
	data     string
	place    string // of its change, which tells it from every other
}

// signalData is the JSON of a signal.
type signalData struct {
	Type        string   `json:"type"`
	Collections []string `json:"data-collections"`
	Condition   string   `json:"additional-condition"` // for all of them
	Conditions  []struct {
		Collection string `json:"data-collection"`
		Filter     string `json:"filter"`
	} `json:"additional-conditions"`
}

// parse reads the signal's data. Keys that are not known are left alone, since Debezium has some.
func (s signal) parse() (d signalData, err error) {
	if strings.TrimSpace(s.data) != "" {
		if err := json.Unmarshal([]byte(s.data), &d); err != nil {
			return d, fmt.Errorf("reading its data as JSON: %w", err)
		}
	}
	switch {
	case d.Type != "" && !strings.EqualFold(d.Type, "incremental"):
		return d, fmt.Errorf("its type of snapshot is %q, and only incremental is known", d.Type)
	case s.kind == SignalExecute && len(d.Collections) == 0:
		return d, fmt.Errorf(`its data names no table; it needs {"data-collections": ["schema.table"]}`)
	}
	return d, nil
}

// names finds the tables that one entry of data-collections means: the name itself, with or without the database, or a regular
// expression that matches the whole of it.
func names(entry, database string, tables []catalog.Name) (out []catalog.Name) {
	full := func(n catalog.Name) []string {
		plain := n.Schema + "." + n.Object
		return []string{n.String(), plain, catalog.Quote(n.Schema) + "." + catalog.Quote(n.Object), database + "." + plain, database + "." + n.String()}
	}
	for _, n := range tables {
		for _, text := range full(n) {
			if text == entry {
				return []catalog.Name{n}
			}
		}
	}
	re, err := regexp.Compile(`\A(?s:` + entry + `)\z`)
	if err != nil {
		return nil
	}
	for _, n := range tables {
		for _, text := range full(n) {
			if re.MatchString(text) {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// filter is the condition for a table.
func (d signalData) filter(n catalog.Name, database string) string {
	for _, c := range d.Conditions {
		if len(names(c.Collection, database, []catalog.Name{n})) > 0 {
			return strings.TrimSpace(c.Filter)
		}
	}
	return strings.TrimSpace(d.Condition)
}

// snapshotID names the snapshot of a table that a signal asks for. It is the same whenever the signal is read.
func (s signal) snapshotID(table string) string {
	sum := sha256.Sum256([]byte(s.place + "\x00" + table))
	return hex.EncodeToString(sum[:8])
}
