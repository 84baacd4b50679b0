package merge

import (
	"context"
	"fmt"
	"strings"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// The statements of folding, with the stage's name as {s} and conditions of one key as {key a b}. Nothing here touches the target.
const (
	sqlSkip = "DELETE s FROM {s} s WHERE s.{op} = 0;\n"
	// A deletion forgets what was before it.
	sqlForget = "DELETE s FROM {s} s WHERE EXISTS (SELECT 1 FROM {s} d WHERE {key d s} AND d.{op} = 3 AND d.{seq} > s.{seq});\n"
	// The last row of a key takes over the last known value of a column that it does not know.
	sqlTakeOver = `UPDATE l SET {column} = p.{column}, {word} = l.{word} | {bit} FROM {s} l
 CROSS APPLY (SELECT TOP (1) e.{column} FROM {s} e WHERE {key e l} AND e.{op} <> 3 AND e.{seq} < l.{seq} AND e.{word} & {bit} <> 0 ORDER BY e.{seq} DESC) p
WHERE l.{op} <> 3 AND l.{word} & {bit} = 0 AND NOT EXISTS (SELECT 1 FROM {s} n WHERE {key n l} AND n.{seq} > l.{seq});
`
	sqlLast = "WITH l AS (SELECT s.{op}, LEAD(s.{seq}) OVER (PARTITION BY {order} ORDER BY s.{seq}) AS later FROM {s} s) DELETE l WHERE later IS NOT NULL AND {op} <> 3;\n"
	// Whether a key comes twice is cheaper to ask than to take over values that nobody has.
	sqlTwice = "IF EXISTS (SELECT 1 FROM {s} l JOIN {s} n ON {key n l} AND n.{seq} > l.{seq} WHERE l.{op} <> 3)\nBEGIN\n"
)

// text fills in a statement: names, and conditions of one key.
func (s *Stage) text(statement string, more ...string) string {
	r := strings.NewReplacer(append([]string{
		"{s}", s.name.Quoted(), "{t}", s.target.Name.Quoted(), "{op}", catalog.Quote(ColumnOp), "{seq}", catalog.Quote(ColumnSeq), "{order}", s.order,
		"{key d s}", fmt.Sprintf(s.same, "d", "s"), "{key e l}", fmt.Sprintf(s.same, "e", "l"), "{key n l}", fmt.Sprintf(s.same, "n", "l"),
		"{key t s}", fmt.Sprintf(s.same, "t", "s"), "{key b s}", fmt.Sprintf(s.same, "b", "s"),
	}, more...)...)
	return r.Replace(statement)
}

// forget is the first part of folding: what a later deletion makes void.
func (s *Stage) forget(c *Content) string {
	out := ""
	if c.Skips {
		out += s.text(sqlSkip)
	}
	if c.Deletes && !c.Distinct {
		out += s.text(sqlForget)
	}
	return out
}

// last is the second part: one row for each key that is not deleted in the end.
func (s *Stage) last(c *Content) string {
	if c.Distinct {
		return ""
	}
	var b strings.Builder
	for _, i := range s.unknown(c, func(*bulkload.TargetColumn) bool { return true }) {
		word, bit, _ := s.Known(i)
		b.WriteString(s.text(sqlTakeOver, "{column}", catalog.Quote(s.target.Columns[i].Name), "{word}", catalog.Quote(knownColumn(word)), "{bit}", fmt.Sprint(bit)))
	}
	if b.Len() == 0 {
		return s.text(sqlLast)
	}
	return s.text(sqlTwice) + b.String() + s.text(sqlLast) + "END\n"
}

// Fold leaves one row for each key. It comes before the transaction, after the loads of a batch. Batches with updates are folded
// by Apply, which has to know first whether their rows are there.
func (s *Stage) Fold(ctx context.Context, conn *session.Conn, c *Content) error {
	text := s.forget(c)
	if !c.Updates {
		text += s.last(c)
	}
	if text == "" {
		return nil
	}
	if _, err := conn.Exec(ctx, text, ""); err != nil {
		return fmt.Errorf("folding the changes of %s: %w", s.target.Name, err)
	}
	return nil
}
