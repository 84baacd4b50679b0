package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"example.com/mssqlcdc/internal/tds"
)

// shape is a table and how its rows are made.
type shape struct {
	columns []column
	words   []string // of texts
}

// column is a column with its type on the wire, as a bulk load sends it.
type column struct {
	name, decl string
	info       tds.TypeInfo
	cell       func(g *generator) []byte
}

// The shapes. The wide one is that of the published benchmarks of Redpanda Connect's input (cart: 1.3 to 1.4 KB as JSON), with texts that
// differ from row to row: texts that are all the same compress, and are cached, as no real ones are.
var shapes = map[string]*shape{
	"wide":   wide(asciiWords),
	"text":   wide(otherWords),
	"narrow": narrow,
}

const infoUnits = 1100

var (
	asciiWords = strings.Fields("this is about a cart with things that somebody put there one after the other and did not buy yet because of the price")
	otherWords = strings.Fields("zażółć gęślą jaźń 東京都 千代田区 привет корзина naïve façade Straße καλημέρα 買い物かご größer élève слово")
)

func wide(words []string) *shape {
	text := func(name string, units int, fill func(g *generator) string) column {
		size, decl := 2*units, fmt.Sprintf("nvarchar(%d)", units)
		if units == 0 {
			size, decl = tds.MaxSize, "nvarchar(max)"
		}
		return column{name, decl, tds.CharType(tds.TypeNVarChar, size, tds.DefaultCollation), func(g *generator) []byte { return tds.AppendUTF16([]byte{}, fill(g)) }}
	}
	return &shape{words: words, columns: []column{
		id(),
		text("name", 100, func(g *generator) string { return g.text(20) }),
		text("info", 0, func(g *generator) string { return g.text(infoUnits) }),
		text("email", 255, func(g *generator) string { return fmt.Sprintf("user%d@example.com", g.rnd.IntN(1_000_000)) }),
		{"date_of_birth", "date", tds.TemporalType(tds.TypeDateN, 0), func(g *generator) []byte {
			return tds.AppendDate(nil, int32(711_000+g.rnd.IntN(20_000)))
		}},
		{"created_at", "datetime2(7)", tds.TemporalType(tds.TypeDateTime2N, 7), func(g *generator) []byte {
			return tds.AppendDateTime2(nil, int32(738_000+g.rnd.IntN(1000)), g.rnd.Uint64N(864_000_000_000), 7)
		}},
		{"is_active", "bit", tds.Nullable(tds.TypeBitN, 1), func(g *generator) []byte { return []byte{byte(g.rnd.IntN(2))} }},
		{"login_count", "int", tds.Nullable(tds.TypeIntN, 4), func(g *generator) []byte { return tds.AppendInt(nil, int64(g.rnd.IntN(10_000)), 4) }},
		{"balance", "decimal(10,2)", tds.DecimalType(tds.TypeDecimalN, 10, 2), func(g *generator) []byte {
			return tds.AppendDecimal(nil, tds.Decimal{Lo: g.rnd.Uint64N(10_000_000)}, 9)
		}},
	}}
}

func id() column {
	return column{"id", "int", tds.Nullable(tds.TypeIntN, 4), func(g *generator) []byte { return tds.AppendInt(nil, int64(g.row), 4) }}
}

var narrow = &shape{columns: []column{
	id(),
	{"n", "bigint", tds.Nullable(tds.TypeIntN, 8), func(g *generator) []byte { return tds.AppendInt(nil, g.rnd.Int64(), 8) }},
	{"f", "float", tds.Nullable(tds.TypeFltN, 8), func(g *generator) []byte { return tds.AppendFloat(nil, g.rnd.Float64(), 8) }},
	{"at", "datetime2(3)", tds.TemporalType(tds.TypeDateTime2N, 3), func(g *generator) []byte {
		return tds.AppendDateTime2(nil, int32(738_000+g.rnd.IntN(1000)), g.rnd.Uint64N(86_400_000), 3)
	}},
	{"d", "decimal(12,2)", tds.DecimalType(tds.TypeDecimalN, 12, 2), func(g *generator) []byte {
		return tds.AppendDecimal(nil, tds.Decimal{Neg: g.rnd.IntN(2) == 0, Lo: g.rnd.Uint64N(1_000_000_000)}, 9)
	}},
	{"active", "bit", tds.Nullable(tds.TypeBitN, 1), func(g *generator) []byte { return []byte{byte(g.rnd.IntN(2))} }},
}}

// create is the table in T-SQL, with change data capture.
func (s *shape) create(table string) string {
	var columns []string
	for i, c := range s.columns {
		null := " NULL"
		if i == 0 {
			null = " NOT NULL PRIMARY KEY"
		}
		columns = append(columns, "["+c.name+"] "+c.decl+null)
	}
	return fmt.Sprintf("CREATE TABLE dbo.[%s] (%s)\nGO\nEXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL, @supports_net_changes = 0\nGO\n",
		table, strings.Join(columns, ", "), table)
}

// generator makes rows, the same ones for the same seed.
type generator struct {
	shape *shape
	rnd   *rand.Rand
	row   int
	metas []tds.ColumnMeta
	cells [][]byte
	words strings.Builder
}

func newGenerator(s *shape, seed uint64) *generator {
	g := &generator{shape: s, rnd: rand.New(rand.NewPCG(seed, 1)), cells: make([][]byte, len(s.columns))}
	for _, c := range s.columns {
		g.metas = append(g.metas, tds.ColumnMeta{Flags: tds.ColumnUpdatableUnsure | tds.ColumnNullable, Info: c.info, Name: c.name})
	}
	return g
}

// append appends the next row as a bulk load sends it.
func (g *generator) append(dst []byte) []byte {
	g.row++
	for i, c := range g.shape.columns {
		g.cells[i] = c.cell(g)
	}
	return tds.AppendRow(dst, g.metas, g.cells)
}

// text gives words of so many code units.
func (g *generator) text(units int) string {
	g.words.Reset()
	for n := 0; n < units; {
		w := g.shape.words[g.rnd.IntN(len(g.shape.words))]
		g.words.WriteString(w)
		g.words.WriteByte(' ')
		n += tds.UTF16Len(w) + 1
	}
	s := g.words.String()
	for tds.UTF16Len(s) > units {
		s = s[:strings.LastIndexByte(s[:len(s)-1], ' ')+1]
	}
	return s
}
