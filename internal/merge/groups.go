package merge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// group is the rows that know the same of some columns. The zero group is all rows.
type group struct {
	columns []int // of the target
	known   []bool
}

// optional columns are not NULL by being left out: the server gives them a value.
func optional(c *bulkload.TargetColumn) bool { return c.HasDefault || c.Identity }

// groups asks what rows there are, by what they know of the columns that want chooses. One group is all rows.
func (s *Stage) groups(ctx context.Context, conn *session.Conn, c *Content, one bool, want func(*bulkload.TargetColumn) bool) ([]group, error) {
	columns := s.unknown(c, want)
	if one || len(columns) == 0 {
		return []group{{}}, nil
	}
	list := make([]string, len(columns))
	for n, i := range columns {
		word, bit, _ := s.Known(i)
		list[n] = fmt.Sprintf("s.%s & %d", catalog.Quote(knownColumn(word)), bit)
	}
	sets, err := results(ctx, conn, s.text("SELECT DISTINCT "+strings.Join(list, ", ")+" FROM {s} s WHERE s.{op} <> 3"), "")
	if err != nil {
		return nil, err
	}
	var out []group
	for _, row := range sets[0] {
		g := group{columns: columns, known: make([]bool, len(columns))}
		for n := range columns {
			g.known[n] = count(row, n) != 0
		}
		out = append(out, g)
	}
	return out, nil
}

// condition chooses the rows of a group.
func (s *Stage) condition(g group) string {
	var b strings.Builder
	for n, i := range g.columns {
		word, bit, _ := s.Known(i)
		is := "="
		if g.known[n] {
			is = "<>"
		}
		fmt.Fprintf(&b, " AND s.%s & %d %s 0", catalog.Quote(knownColumn(word)), bit, is)
	}
	return b.String()
}

// knows tells whether a group's rows know a column: all, none, or some.
func (g group) knows(c *Content, column int) (all, none bool) {
	if n := slices.Index(g.columns, column); n >= 0 {
		return g.known[n], !g.known[n]
	}
	return !c.Unknown[column], c.Absent[column]
}

// set is what an update sets, "" if there is nothing.
func (s *Stage) set(c *Content, g group) string {
	var list []string
	for i := range s.target.Columns {
		col := &s.target.Columns[i]
		all, none := g.knows(c, i)
		if s.place[i] < 0 || s.key.has(i) || col.Identity || none {
			continue
		}
		q := catalog.Quote(col.Name)
		if all {
			list = append(list, q+" = s."+q)
			continue
		}
		word, bit, _ := s.Known(i)
		list = append(list, fmt.Sprintf("%s = CASE WHEN s.%s & %d <> 0 THEN s.%s ELSE t.%s END", q, catalog.Quote(knownColumn(word)), bit, q, q))
	}
	return strings.Join(list, ", ")
}

// insert is the statement that inserts a group.
func (s *Stage) insert(c *Content, g group) string {
	var columns, values []string
	identity := false
	for i := range s.target.Columns {
		col := &s.target.Columns[i]
		all, none := g.knows(c, i)
		if s.place[i] < 0 || none || !all && col.Identity {
			continue
		}
		identity = identity || col.Identity
		columns, values = append(columns, catalog.Quote(col.Name)), append(values, "s."+catalog.Quote(col.Name))
	}
	text := s.statement(sqlInsert, "{columns}", strings.Join(columns, ", "), "{values}", strings.Join(values, ", "), "{group}", s.condition(g))
	if identity {
		text = s.text("SET IDENTITY_INSERT {t} ON;\n") + text + s.text("SET IDENTITY_INSERT {t} OFF;\n")
	}
	return text
}
