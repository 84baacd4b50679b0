package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// compiler compiles the statements of one run: it knows the session, the variables and the common table expressions
// in sight.
type compiler struct {
	r    *run
	db   *storage.Database // where names of one and two parts are looked up: a view's or the session's
	ctes *cteScope
	// views is the depth of views and inline functions being expanded.
	views int
}

// maxViews is how deep views may nest, as on the server.
const maxViews = 32

func (c *compiler) env() *value.Env               { return &c.r.s.env }
func (c *compiler) collation() *collate.Collation { return c.db.Collation }

// varcharValue makes a varchar of the database's code page: characters that it lacks become "?".
func (c *compiler) varcharValue(s string) value.Value {
	if isASCII(s) {
		return value.NewVarChar(s)
	}
	b, lossy := c.collation().Encode(s)
	if lossy {
		s = c.collation().Decode(b)
	}
	return value.NewVarChar(s)
}

// tableSlot is one table of a scope: how it is named and what columns it has.
type tableSlot struct {
	alias            string // the alias, or the table's own name
	db, schema, name string // for qualified references to a table without alias
	aliased          bool
	cols             []Column
	byName           map[string]int // by the folded name
	c                *compiler      // of the scope
	outer            bool           // on the nullable side of an outer join
	source           *boundTable    // nil for derived tables and the like
}

// find gives the position of a column, -1 if there is none, -2 if there are two.
func (t *tableSlot) find(name string) int {
	if t.byName == nil {
		t.byName = make(map[string]int, len(t.cols))
		for i, c := range t.cols {
			k := t.c.fold(c.Name)
			if _, twice := t.byName[k]; twice {
				t.byName[k] = -2
				continue
			}
			t.byName[k] = i
		}
	}
	if i, ok := t.byName[t.c.fold(name)]; ok {
		return i
	}
	return -1
}

// scope is one query level: the tables that its expressions can name, and the level around it.
type scope struct {
	c      *compiler
	outer  *scope
	tables []*tableSlot
	// reads and volatile collect what the expression being compiled depends on, at this level.
	reads    uint64
	volatile bool
	// group is set while expressions above a GROUP BY are compiled; windows while window functions may be used.
	group   *grouping
	windows *windowing
	noAgg   string // why an aggregate cannot stand here: for error 147
	// action, in the OUTPUT clause of a MERGE, is where $action is read.
	action evalFunc
}

// maxTables is how many tables one query level may name: the bits of expr.deps.
const maxTables = 64

func (sc *scope) add(t *tableSlot) (int, error) {
	if len(sc.tables) >= maxTables {
		return 0, sqlerr.New(106, maxTables)
	}
	t.c = sc.c
	sc.tables = append(sc.tables, t)
	return len(sc.tables) - 1, nil
}

// newFrame makes the frame of a scope.
func (sc *scope) newFrame(r *run, outer *frame) *frame {
	return &frame{r: r, outer: outer, rows: make([][]value.Value, len(sc.tables))}
}

// resolve finds a column by its parts, innermost level first. depth counts the levels outwards.
func (sc *scope) resolve(ids []*ast.Identifier) (depth, table, col int, err error) {
	name := ids[len(ids)-1].Value
	for s := sc; s != nil; s = s.outer {
		table, col, err = s.resolveHere(ids, name)
		if err != nil {
			return 0, 0, 0, err
		}
		if table >= 0 {
			return depth, table, col, nil
		}
		depth++
	}
	if len(ids) > 1 {
		return 0, 0, 0, sqlerr.New(4104, joinNames(ids))
	}
	return 0, 0, 0, sqlerr.New(207, name)
}

func (sc *scope) resolveHere(ids []*ast.Identifier, name string) (int, int, error) {
	ft, fc := -1, -1
	for i, t := range sc.tables {
		if len(ids) > 1 && !t.named(ids[:len(ids)-1]) {
			continue
		}
		c := t.find(name)
		switch {
		case c == -1 && len(ids) > 1 && ft < 0:
			if sc.qualifierTwice(ids, i) {
				continue
			}
			return -1, -1, sqlerr.New(207, name)
		case c == -1:
			continue
		case c == -2 || ft >= 0:
			return -1, -1, sqlerr.New(209, name)
		}
		ft, fc = i, c
	}
	return ft, fc, nil
}

// qualifierTwice reports whether a later table of the level has the same name: then that one may have the column.
func (sc *scope) qualifierTwice(ids []*ast.Identifier, after int) bool {
	for _, t := range sc.tables[after+1:] {
		if t.named(ids[:len(ids)-1]) {
			return true
		}
	}
	return false
}

// named reports whether a qualifier means the table.
func (t *tableSlot) named(q []*ast.Identifier) bool {
	last := q[len(q)-1].Value
	if t.aliased || t.name == "" {
		return len(q) == 1 && t.c.same(last, t.alias)
	}
	if !t.c.same(last, t.name) {
		return false
	}
	if len(q) > 1 && q[len(q)-2].Value != "" && !t.c.same(q[len(q)-2].Value, t.schema) {
		return false
	}
	return len(q) <= 2 || q[len(q)-3].Value == "" || strings.EqualFold(q[len(q)-3].Value, t.db)
}

func joinNames(ids []*ast.Identifier) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = id.Value
	}
	return strings.Join(parts, ".")
}

// column compiles a reference to a column.
func (sc *scope) column(ids []*ast.Identifier) (*expr, error) {
	depth, ti, ci, err := sc.resolve(ids)
	if err != nil {
		return nil, err
	}
	at := sc
	for range depth {
		at = at.outer
	}
	at.reads |= 1 << uint(ti)
	t := at.tables[ti]
	c := t.cols[ci]
	if at.group != nil && !at.group.inAgg {
		if err := at.group.checkColumn(at, ti, ci); err != nil {
			return nil, err
		}
	}
	e := &expr{typ: c.Type, nullable: c.Nullable || t.outer, coll: collImplicit}
	if depth == 0 {
		e.deps = 1 << uint(ti)
		e.col = &colRef{ti, ci}
	}
	switch depth {
	case 0:
		e.eval = func(f *frame) (value.Value, error) { return f.rows[ti][ci], nil }
	case 1:
		e.eval = func(f *frame) (value.Value, error) { return f.outer.rows[ti][ci], nil }
	default:
		e.eval = func(f *frame) (value.Value, error) {
			for range depth {
				f = f.outer
			}
			return f.rows[ti][ci], nil
		}
	}
	return e, nil
}

// expr compiles a scalar expression and finds what it depends on at this level.
func (sc *scope) expr(n ast.ScalarExpression) (*expr, error) {
	reads, vol := sc.reads, sc.volatile
	sc.reads, sc.volatile = 0, false
	e, err := sc.scalar(n)
	if err == nil {
		out := *e
		out.deps, out.volatile = sc.reads, sc.volatile
		e = &out
	}
	sc.reads |= reads
	sc.volatile = sc.volatile || vol
	return e, err
}

// pred compiles a condition likewise.
func (sc *scope) pred(n ast.BooleanExpression) (*pred, error) {
	reads, vol := sc.reads, sc.volatile
	sc.reads, sc.volatile = 0, false
	p, err := sc.boolean(n)
	if err == nil {
		p.deps, p.volatile = sc.reads, sc.volatile
	}
	sc.reads |= reads
	sc.volatile = sc.volatile || vol
	return p, err
}
