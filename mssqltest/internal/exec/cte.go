package exec

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// cteScope is a list of common table expressions in sight, the newest first.
type cteScope struct {
	name  string
	def   *ast.CommonTableExpression
	c     *compiler // sees the expressions before it
	outer *cteScope
	work  *workTable // while the recursive part is compiled: the rows of the last round
}

// workTable holds the rows that a recursive reference reads.
type workTable struct {
	cols []Column
	rows [][]rowValue
	used bool
}

func (s *cteScope) find(name string) *cteScope {
	for ; s != nil; s = s.outer {
		if s.c.same(s.name, name) {
			return s
		}
	}
	return nil
}

// with puts the expressions of a WITH clause in sight.
func (c *compiler) with(w *ast.WithCtesAndXmlNamespaces) (*compiler, error) {
	if w == nil {
		return c, nil
	}
	if w.XmlNamespaces != nil || w.ChangeTrackingContext != nil {
		return nil, notSupported("WITH XMLNAMESPACES and CHANGE_TRACKING_CONTEXT")
	}
	cc := *c
	for _, def := range w.CommonTableExpressions {
		name := def.ExpressionName.Value
		for s := cc.ctes; s != c.ctes; s = s.outer {
			if c.same(s.name, name) {
				return nil, sqlerr.New(239, name)
			}
		}
		before := cc
		cc.ctes = &cteScope{name: name, def: def, c: &before, outer: cc.ctes}
	}
	return &cc, nil
}

// cteTable compiles a reference to a common table expression.
func (sc *scope) cteTable(s *cteScope, alias *ast.Identifier) (fromNode, error) {
	t := &tableSlot{alias: s.name, aliased: true}
	if alias != nil {
		t.alias = alias.Value
	}
	if w := s.work; w != nil {
		w.used = true
		t.cols = w.cols
		slot, err := sc.add(t)
		return &leafNode{slot: slot, open: func(f *frame, yield func([]rowValue) error) error {
			for _, row := range w.rows {
				if err := yield(row); err != nil {
					return err
				}
			}
			return nil
		}}, err
	}
	names := identifierNames(s.def.Columns)
	if u, ok := s.def.QueryExpression.(*ast.BinaryQueryExpression); ok && u.All && u.BinaryQueryExpressionType == "Union" && refersTo(u, s.name) {
		return sc.recursive(s, u, t, names)
	}
	c := *s.c
	c.r, c.db = sc.c.r, sc.c.db
	q, err := c.query(s.def.QueryExpression, nil, subQuery)
	if err != nil {
		return nil, err
	}
	return sc.queryTable(q, t, names, nil)
}

// refersTo looks for a table name in a query.
func refersTo(n ast.QueryExpression, name string) bool {
	found := false
	w := walker{pre: func(n any) bool {
		if t, ok := n.(*ast.NamedTableReference); ok && t.SchemaObject != nil && t.SchemaObject.SchemaIdentifier == nil &&
			t.SchemaObject.BaseIdentifier != nil && strings.EqualFold(t.SchemaObject.BaseIdentifier.Value, name) {
			found = true
		}
		return !found
	}}
	w.walk(valueOf(n))
	return found
}

// maxRecursion is the default of OPTION (MAXRECURSION).
const maxRecursion = 100

// recursive compiles anchor UNION ALL recursive part. The parts that name the expression itself run again on the rows of
// the round before until there are none (530 after 100 rounds, or what MAXRECURSION says).
func (sc *scope) recursive(s *cteScope, u *ast.BinaryQueryExpression, t *tableSlot, names []string) (fromNode, error) {
	var anchors, parts []ast.QueryExpression
	var flatten func(n ast.QueryExpression)
	flatten = func(n ast.QueryExpression) {
		if b, ok := n.(*ast.BinaryQueryExpression); ok && b.All && b.BinaryQueryExpressionType == "Union" && refersTo(b, s.name) {
			flatten(b.FirstQueryExpression)
			flatten(b.SecondQueryExpression)
			return
		}
		if refersTo(n, s.name) {
			parts = append(parts, n)
		} else {
			anchors = append(anchors, n)
		}
	}
	flatten(u)
	if len(anchors) == 0 {
		return nil, sqlerr.New(246, s.name)
	}
	c := *s.c
	c.r, c.db = sc.c.r, sc.c.db
	var starts []*query
	for _, a := range anchors {
		q, err := c.query(a, nil, subQuery)
		if err != nil {
			return nil, err
		}
		starts = append(starts, q)
	}
	work := &workTable{cols: append([]Column(nil), starts[0].cols...)}
	for i, n := range names {
		if i < len(work.cols) {
			work.cols[i].Name = n
		}
	}
	for i := range work.cols {
		work.cols[i].Nullable = true
		if work.cols[i].Type.ID == value.Null {
			work.cols[i].Type = typeInt
		}
	}
	self := *s
	self.work = work
	rc := c
	rc.ctes = &self
	var steps []*query
	for _, p := range parts {
		q, err := rc.query(p, nil, subQuery)
		if err != nil {
			return nil, err
		}
		if len(q.cols) != len(work.cols) {
			return nil, sqlerr.New(205)
		}
		for i := range q.cols {
			a, b := q.cols[i].Type, work.cols[i].Type
			if a.ID != b.ID || isString(b) && a.Len != b.Len && b.Len != value.Max || a.Prec != b.Prec || a.Scale != b.Scale {
				if !sameRep(a, b) {
					return nil, sqlerr.New(240, work.cols[i].Name, s.name)
				}
			}
		}
		steps = append(steps, q)
	}
	limit := c.r.maxRecursion()
	out := &query{cols: work.cols}
	out.run = func(r *run, outer *frame, emit func([]rowValue) error) error {
		var next [][]rowValue
		take := func(row []rowValue) error {
			next = append(next, row)
			return emit(row)
		}
		for _, q := range starts {
			if err := q.run(r, nil, take); err != nil {
				return err
			}
		}
		for round := 1; len(next) > 0; round++ {
			if limit > 0 && round > limit+1 {
				return sqlerr.New(530, limit)
			}
			saved := work.rows
			work.rows, next = next, nil
			for _, q := range steps {
				if err := q.run(r, nil, take); err != nil {
					return err
				}
			}
			work.rows = saved
			if err := r.ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	return sc.queryTable(out, t, names, func(*frame) *frame { return nil })
}
