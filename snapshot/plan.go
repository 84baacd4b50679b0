package snapshot

import (
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/sqltype"
)

// plan is what is fixed about the statements of one table.
type plan struct {
	table   string // schema.table, for errors
	capture string
	object  string // the table, quoted
	result  []rowset.Column
	list    string // the select list of result
	exact   string // the select list of exact texts, for a pass without keys
	exactOf []int  // the columns of result that exact has, in order
	cells   int    // of list
	key     []planColumn
	keyList string
	order   string // ORDER BY in the order of the key's index
	reverse string // and from its end
	hint    string // the key's index
	filter  string // the condition of the options, or ""
}

// planColumn is a column of the key that chunks go by.
type planColumn struct {
	keyColumn
	codec
	expr string
}

func newPlan(inst *catalog.Instance, src *catalog.Source, filter string) *plan {
	p := &plan{table: src.Name.String(), capture: inst.Capture, object: src.Name.Quoted(), filter: filter}
	var list, exact []string
	for _, c := range inst.Columns {
		// As in the stream: a computed column is NULL in every change.
		if c.Computed {
			continue
		}
		p.result = append(p.result, rowset.Column{Name: c.Name, Type: c.Type})
		quoted := "t." + catalog.Quote(c.Name)
		if c.Dropped {
			for range c.Type.Cells() {
				list = append(list, "NULL")
			}
			continue
		}
		list = append(list, c.Type.SelectList(quoted)...)
		if text := exactCell(c.Type, quoted); text != "" {
			exact = append(exact, text)
			p.exactOf = append(p.exactOf, len(p.result)-1)
		}
	}
	p.list, p.cells = strings.Join(list, ", "), len(list)
	p.exact = strings.Join(exact, ", ")
	p.setKey(chooseIndex(src))
	return p
}

// chooseIndex takes the primary key, else the unique index with the fewest
// columns, none of which can be NULL; nil when there is none that rows can be
// read by.
func chooseIndex(src *catalog.Source) *catalog.UniqueIndex {
	var best *catalog.UniqueIndex
	for i := range src.Indexes {
		x := &src.Indexes[i]
		if !usable(x, src.Unmask) {
			continue
		}
		if best == nil || x.Primary && !best.Primary || x.Primary == best.Primary && len(x.Columns) < len(best.Columns) {
			best = x
		}
	}
	return best
}

func usable(x *catalog.UniqueIndex, unmask bool) bool {
	for _, c := range x.Columns {
		if c.Err != nil || c.Type.Nullable || c.Masked && !unmask {
			return false
		}
		if _, err := codecOf(c.Type); err != nil {
			return false
		}
	}
	return len(x.Columns) > 0
}

func (p *plan) setKey(x *catalog.UniqueIndex) {
	if x == nil {
		return
	}
	var list, order, reverse []string
	for i, c := range x.Columns {
		codec, err := codecOf(c.Type)
		if err != nil { // chooseIndex has looked
			return
		}
		col := planColumn{keyColumn{c.Name, c.Type, c.Descending}, codec, "t." + catalog.Quote(c.Name)}
		p.key = append(p.key, col)
		list = append(list, col.selected(col.expr)+" AS ["+keyName(i)+"]")
		up, down := col.expr, col.expr+" DESC"
		if col.desc {
			up, down = down, up
		}
		order, reverse = append(order, up), append(reverse, down)
	}
	p.keyList, p.order, p.reverse = strings.Join(list, ", "), strings.Join(order, ", "), strings.Join(reverse, ", ")
	p.hint = " WITH (INDEX(" + strconv.Itoa(x.ID) + "))"
}

func (p *plan) columns() []keyColumn {
	out := make([]keyColumn, len(p.key))
	for i, c := range p.key {
		out[i] = c.keyColumn
	}
	return out
}

// from is the table with the key's index, and the condition of a seek and of the
// filter.
func (p *plan) from(where string, filtered bool) string {
	s := "\nFROM " + p.object + " AS t" + p.hint
	if filtered && p.filter != "" {
		if where != "" {
			where += " AND "
		}
		where += "(\n" + p.filter + "\n)" // a comment at its end takes no parenthesis
	}
	if where != "" {
		s += "\nWHERE " + where
	}
	return s
}

// exactCell is the expression for the exact text of a column in the rows in which
// it has what the driver may not decode, and NULL in others; "" for a column
// without text. That is the replacement character, surrogates, and the five bytes
// that code page 1252 leaves out.
func exactCell(t sqltype.Type, quoted string) string {
	// In UTF-16: D800-DFFF, FFFD, 0081, 008D, 008F, 0090, 009D. NCHAR depends on
	// the collation of the database for surrogates.
	const found = " COLLATE Latin1_General_BIN2 LIKE N'%[' + CONVERT(nvarchar(9), 0x00D82D00FFDFFDFF81008D008F0090009D00) + N']%' THEN "
	switch t.Kind() {
	case sqltype.Text:
		return "CASE WHEN CONVERT(nvarchar(max), " + quoted + ")" + found + sqltype.ExactText(quoted) + " END"
	case sqltype.Variant:
		const text = "CONVERT(nvarchar(4000), "
		return "CASE WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY(" + quoted + ", 'BaseType')) IN (N'char', N'varchar', N'nchar', N'nvarchar') AND " +
			text + quoted + ")" + found + exactVariant(quoted) + " END"
	}
	return ""
}

// exactVariant is sqltype.ExactText for a variant, which converts to no (max)
// type and holds no more than this.
func exactVariant(quoted string) string {
	return "CONVERT(varbinary(8000), CONVERT(nvarchar(4000), " + quoted + "))"
}
