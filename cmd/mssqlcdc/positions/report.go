package positions

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/mssqlcdc/checkpoint"
)

// listing is what list prints of one store.
type listing struct {
	Input     string          `json:"input"`
	Store     string          `json:"store"`
	Holder    string          `json:"holder,omitempty"`
	Source    string          `json:"source"` // the database, or why it was not asked
	Positions []tablePosition `json:"positions"`
}

// tablePosition is the position of a table; without one the table begins where start_from says.
type tablePosition struct {
	Table    string               `json:"table"`
	Position *checkpoint.Position `json:"position"`
	OK       *bool                `json:"ok,omitempty"` // whether the source has what follows
	Note     string               `json:"note,omitempty"`
}

func (l *listing) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", l.Input, l.Store)
	if l.Holder != "" {
		fmt.Fprintf(w, "held by %s\n", l.Holder)
	}
	fmt.Fprintf(w, "source: %s\n", l.Source)
	if len(l.Positions) == 0 {
		fmt.Fprintln(w, "no positions")
		return
	}
	rows := [][]string{{"TABLE", "POSITION", "COMMITTED", "INSTANCE", "NOTE"}}
	for _, p := range l.Positions {
		row := []string{p.Table, place(p.Position), "", "", p.Note}
		if p.Position != nil {
			row[2], row[3] = clock(p.Position.Proof.EndTime), p.Position.Instance
		}
		rows = append(rows, row)
	}
	printTable(w, rows)
}

// changes is what set, reset and import print.
type changes struct {
	Store   string   `json:"store"`
	Repeats string   `json:"repeats,omitempty"` // which changes come again
	Changes []change `json:"changes"`
	Written bool     `json:"written"`
}

// change is a table's position before and after; nil is none.
type change struct {
	Table  string               `json:"table"`
	Before *checkpoint.Position `json:"before"`
	After  *checkpoint.Position `json:"after"`
	Note   string               `json:"note,omitempty"`
}

func (c *changes) print(w io.Writer) {
	fmt.Fprintln(w, c.Store)
	rows := [][]string{{"TABLE", "BEFORE", "AFTER", "COMMITTED", "NOTE"}}
	for _, ch := range c.Changes {
		row := []string{ch.Table, place(ch.Before), place(ch.After), "", ch.Note}
		if ch.After != nil {
			row[3] = clock(ch.After.Proof.EndTime)
		}
		rows = append(rows, row)
	}
	printTable(w, rows)
	if c.Repeats != "" {
		fmt.Fprintln(w, c.Repeats)
	}
}

// place is a position in a column.
func place(p *checkpoint.Position) string {
	switch {
	case p == nil:
		return "-"
	case p.Snapshot != nil:
		return fmt.Sprintf("in its snapshot, %d rows done; then %s", p.Snapshot.Rows, p.LSN)
	case p.Done:
		return p.LSN.String()
	}
	return fmt.Sprintf("%s command %d seq %s op %d", p.LSN, p.CommandID, p.SeqVal, p.Operation)
}

func printTable(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // what it writes to is the terminal, or a buffer
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// tables are the names of the stored positions, in order.
func tables(positions map[string]checkpoint.Position) []string {
	return slices.Sorted(maps.Keys(positions))
}

// pointer gives a position by its table, or nil.
func pointer(positions map[string]checkpoint.Position, table string) *checkpoint.Position {
	p, ok := positions[table]
	if !ok {
		return nil
	}
	return &p
}
