package exec

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"github.com/sqlc-dev/teesql/parser"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// mend is what was cut out of a statement before parsing because teesql does not know it: the hints of a MERGE's target,
// the INTO of a MERGE's OUTPUT clause, the options of INSERT BULK.
type mend struct {
	hints   []ast.TableHintType
	into    *ast.InsertSpecification // table and columns of OUTPUT … INTO
	options []string                 // INSERT BULK … WITH (…), in upper case
}

// mendOf is what was cut out of the statement of a span; it may begin with WITH.
func (b *batch) mendOf(f *ast.Fragment) *mend {
	for at, m := range b.mends {
		if at >= f.StartOffset && at < f.EndOffset() {
			return m
		}
	}
	return nil
}

// mend cuts the clauses that teesql does not read, leaving blanks so that all offsets stay.
func (b *batch) mend(toks []token) (string, error) {
	buf := []byte(nil)
	cut := func(from, to int) {
		if buf == nil {
			buf = []byte(b.src)
		}
		for i := from; i < to; i++ {
			if buf[i] != '\n' {
				buf[i] = ' '
			}
		}
	}
	for i, t := range toks {
		switch {
		case t.is("MERGE") && statementStart(toks, i):
			if err := b.mendMerge(toks, i, cut); err != nil {
				return "", err
			}
		case t.is("INSERT") && i+1 < len(toks) && toks[i+1].is("BULK"):
			b.mendBulk(toks, i, cut)
		}
	}
	if buf == nil {
		return b.src, nil
	}
	return string(buf), nil
}

// statementStart tells a MERGE statement from the join hint of that name.
func statementStart(toks []token, i int) bool {
	if i+1 < len(toks) && (toks[i+1].is("JOIN") || toks[i+1].is("UNION")) {
		return false
	}
	return i == 0 || !toks[i-1].is("INNER") && !toks[i-1].is("LEFT") && !toks[i-1].is("RIGHT") && !toks[i-1].is("FULL") && !toks[i-1].is("OUTER") && !toks[i-1].is("(") && !toks[i-1].is(",")
}

func (b *batch) mendMerge(toks []token, i int, cut func(from, to int)) error {
	m := &mend{}
	depth := 0
	using := -1
	for j := i + 1; j < len(toks); j++ {
		t := toks[j]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.is("USING") && using < 0:
			using = j
		case depth == 0 && using < 0 && t.is("WITH") && j+1 < len(toks) && toks[j+1].is("("):
			end := matching(toks, j+1)
			if end < 0 {
				return near102("WITH")
			}
			hints, err := parseHints(b.src[t.pos:toks[end].end()])
			if err != nil {
				return err
			}
			m.hints = hints
			cut(t.pos, toks[end].end())
			j = end
		case depth == 0 && using >= 0 && t.is("INTO") && mergeOutput(toks, using, j):
			end := j + 1
			for end < len(toks) && (end == j+1 || toks[end].is(".") || toks[end-1].is(".")) {
				end++
			}
			if end < len(toks) && toks[end].is("(") {
				if end = matching(toks, end); end < 0 {
					return near102("INTO")
				}
				end++
			}
			s, err := parser.Parse(context.Background(), strings.NewReader("INSERT "+b.src[t.pos:toks[end-1].end()]+" DEFAULT VALUES"))
			if err != nil {
				return syntaxError(err, toks[j:end], b.lines)
			}
			ins, ok := s.Batches[0].Statements[0].(*ast.InsertStatement)
			if !ok {
				return near102("INTO")
			}
			m.into = ins.InsertSpecification
			cut(t.pos, toks[end-1].end())
			j = end - 1
		case depth == 0 && t.is(";"):
			j = len(toks)
		}
	}
	if m.hints != nil || m.into != nil {
		b.mends[toks[i].u16] = m
	}
	return nil
}

// mergeOutput reports whether an OUTPUT clause has begun between USING and the token.
func mergeOutput(toks []token, using, at int) bool {
	for k := at - 1; k > using; k-- {
		if toks[k].is("OUTPUT") {
			return true
		}
		if toks[k].is("INSERT") || toks[k].is("THEN") {
			return false
		}
	}
	return false
}

// mendBulk takes the WITH clause and the collations of its columns off an INSERT BULK statement; the rows tell their own.
func (b *batch) mendBulk(toks []token, i int, cut func(from, to int)) {
	m := &mend{}
	for j := i + 2; j+1 < len(toks); j++ {
		if toks[j].is("COLLATE") {
			cut(toks[j].pos, toks[j+1].end())
			continue
		}
		if toks[j].is("WITH") && toks[j+1].is("(") {
			end := matching(toks, j+1)
			if end < 0 {
				return
			}
			for _, t := range toks[j+2 : end] {
				m.options = append(m.options, strings.ToUpper(t.text))
			}
			cut(toks[j].pos, toks[end].end())
			break
		}
	}
	b.mends[toks[i].u16] = m
}

// matching finds the parenthesis that closes toks[open], -1 if there is none.
func matching(toks []token, open int) int {
	depth := 0
	for j := open; j < len(toks); j++ {
		switch {
		case toks[j].is("("):
			depth++
		case toks[j].is(")"):
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return -1
}

func parseHints(clause string) ([]ast.TableHintType, error) {
	s, err := parser.Parse(context.Background(), strings.NewReader("SELECT 1 FROM t "+clause))
	if err != nil {
		return nil, sqlerr.New(102, "WITH")
	}
	sel, ok := s.Batches[0].Statements[0].(*ast.SelectStatement)
	if !ok {
		return nil, sqlerr.New(102, "WITH")
	}
	q, ok := sel.QueryExpression.(*ast.QuerySpecification)
	if !ok || q.FromClause == nil || len(q.FromClause.TableReferences) != 1 {
		return nil, sqlerr.New(102, "WITH")
	}
	n, ok := q.FromClause.TableReferences[0].(*ast.NamedTableReference)
	if !ok {
		return nil, sqlerr.New(102, "WITH")
	}
	return n.TableHints, nil
}
