package snapshot

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/mssqlcdc/internal/request"
)

// seek is one stretch of the key's index: an equality on a prefix of the key and
// a range after it. It is read when guard holds, which compares bounds and is
// empty where there is nothing to compare.
type seek struct{ guard, where string }

// seeks are the stretches that make up the rows after one key and up to another,
// in the order of the index. Each of them is one seek; a single condition with
// ORs would read the table from its beginning for every page. A bound that is not
// there is no bound.
//
// Where both bounds are there, @p is the number of the first column in which they
// differ, by the server's own comparison.
func (p *plan) seeks(after, upto bool) []seek {
	m := len(p.key)
	var out []seek
	switch {
	case !after && !upto:
		return []seek{{}}
	case !upto:
		for i := m - 1; i >= 0; i-- {
			out = append(out, seek{where: p.where("@a", i, p.above(i))})
		}
	case !after:
		for i := range m {
			out = append(out, seek{where: p.where("@u", i, p.below(i))})
		}
	default:
		for i := m - 1; i > 0; i-- {
			out = append(out, seek{"@p BETWEEN 1 AND " + strconv.Itoa(i), p.where("@a", i, p.above(i))})
		}
		for i := range m {
			out = append(out, seek{"@p = " + strconv.Itoa(i+1), p.where("@a", i, p.above(i)+" AND "+p.below(i))})
		}
		for i := 1; i < m; i++ {
			out = append(out, seek{"@p BETWEEN 1 AND " + strconv.Itoa(i), p.where("@u", i, p.below(i))})
		}
	}
	return out
}

// where is an equality of the first n columns with a bound, and a range.
func (p *plan) where(bound string, n int, rest string) string {
	var parts []string
	for i := range n {
		parts = append(parts, p.key[i].expr+" = "+p.operand(bound, i))
	}
	return strings.Join(append(parts, rest), " AND ")
}

func (p *plan) operand(bound string, i int) string {
	return p.key[i].operand(bound + strconv.Itoa(i))
}

func (p *plan) above(i int) string {
	return p.key[i].expr + p.key[i].after() + p.operand("@a", i)
}

// below includes the bound itself in the last column.
func (p *plan) below(i int) string {
	op := p.key[i].before()
	if i == len(p.key)-1 {
		op = strings.TrimSuffix(op, " ") + "= "
	}
	return p.key[i].expr + op + p.operand("@u", i)
}

func (c *keyColumn) after() string {
	if c.desc {
		return " < "
	}
	return " > "
}

func (c *keyColumn) before() string {
	if c.desc {
		return " > "
	}
	return " < "
}

// firstDifference declares @p: 0 when the first bound is not before the second.
func (p *plan) firstDifference() string {
	var b strings.Builder
	b.WriteString("DECLARE @p int = CASE")
	for i, c := range p.key {
		a, u := p.operand("@a", i), p.operand("@u", i)
		fmt.Fprintf(&b, " WHEN %s%s%s THEN %d WHEN %s <> %s THEN 0", a, c.before(), u, i+1, a, u)
	}
	b.WriteString(" ELSE 0 END;\n")
	return b.String()
}

// bind gives a key's values as parameters.
func (p *plan) bind(s *request.Statement, bound string, k Key) error {
	for i, c := range p.key {
		v, err := c.arg(k.values[i])
		if err != nil {
			return fmt.Errorf("column %s of the key: %w", c.name, err)
		}
		s.Param(bound+strconv.Itoa(i), c.decl, v)
	}
	return nil
}
