package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a table of text. Columns of numbers stand to the right.
type Table struct {
	header []string
	rows   [][]string
}

// NewTable makes a table with a header.
func NewTable(header ...string) *Table { return &Table{header: header} }

// Add adds a row. Floats are written by [Number].
func (t *Table) Add(cells ...any) {
	row := make([]string, len(t.header))
	for i, c := range cells {
		if i == len(row) {
			break
		}
		if f, ok := c.(float64); ok {
			row[i] = Number(f)
		} else {
			row[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, row)
}

// Number writes a number with three significant digits, and none behind the point from 100 on.
func Number(f float64) string {
	switch {
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10 || f <= -10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// Print writes the table with two blanks between columns.
func (t *Table) Print(w io.Writer) error {
	width, right := make([]int, len(t.header)), make([]bool, len(t.header))
	for i, h := range t.header {
		width[i], right[i] = utf8.RuneCountInString(h), len(t.rows) > 0
		for _, r := range t.rows {
			width[i] = max(width[i], utf8.RuneCountInString(r[i]))
			right[i] = right[i] && (r[i] == "" || strings.ContainsAny(r[i][:1], "-0123456789"))
		}
	}
	var b strings.Builder
	for _, r := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, c := range r {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
