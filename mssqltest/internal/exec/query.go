package exec

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// query is a compiled query expression. run produces its rows, each in a slice of its own; outer is the frame of the
// scope that the query was compiled in.
type query struct {
	cols []Column
	run  func(r *run, outer *frame, emit func([]rowValue) error) error
	// assign is set for SELECT @v = …: run then emits nothing.
	assign bool
	// level is set for a query to whose WHERE conditions of a query around it can be added.
	level *levelPlan
}

func (q *query) types() []value.Type {
	ts := make([]value.Type, len(q.cols))
	for i, c := range q.cols {
		ts[i] = c.Type
	}
	return ts
}

// queryKind says where a query stands: ORDER BY without TOP is allowed only in a statement.
type queryKind uint8

const (
	topQuery queryKind = iota
	subQuery
	existsQuery // SELECT * and columns without names are allowed
	insertQuery
)

// selectQuery compiles a SELECT statement's query with its common table expressions.
func (c *compiler) selectQuery(s *ast.SelectStatement, outer *scope, kind queryKind) (*query, error) {
	cc, err := c.with(s.WithCtesAndXmlNamespaces)
	if err != nil {
		return nil, err
	}
	return cc.query(s.QueryExpression, outer, kind)
}

// query compiles a query expression inside a scope, which may be nil.
func (c *compiler) query(n ast.QueryExpression, outer *scope, kind queryKind) (*query, error) {
	switch x := n.(type) {
	case *ast.QuerySpecification:
		return c.specification(x, outer, kind)
	case *ast.QueryParenthesisExpression:
		return c.query(x.QueryExpression, outer, kind)
	case *ast.BinaryQueryExpression:
		return c.setOperation(x, outer, kind)
	case nil:
		return nil, sqlerr.New(102, "")
	}
	return nil, notSupported("the query " + strings.TrimPrefix(reflect.TypeOf(n).String(), "*ast."))
}

// levelPlan is a query specification on its way to a query.
type levelPlan struct {
	sc       *scope
	ast      *ast.QuerySpecification
	cols     []Column
	outs     []*expr
	assigns  []assignment
	src      source
	group    *grouping
	wins     *windowing
	having   []*pred
	order    []sortKey
	sorted   bool // the source gives the order
	distinct bool
	top      *topClause
	root     fromNode
	where    []*pred
	// base, in a query whose rows stand for those of its first table, remembers which row each output row comes from.
	base *boundTable
	// toSink, in a query whose rows are columns of the rows of one table, is offered these.
	toSink func(*storage.Row) (bool, error)
}

// plain gives the columns of the one table that the rows of the level consist of; false if they are anything else.
func (p *levelPlan) plain() ([]int, bool) {
	if len(p.sc.tables) != 1 || p.group != nil || len(p.wins.calls) > 0 || p.distinct || !p.sorted || p.base != nil || len(p.assigns) > 0 {
		return nil, false
	}
	cols := make([]int, len(p.outs))
	for i, e := range p.outs {
		if e.col == nil || e.col.table != 0 {
			return nil, false
		}
		cols[i] = e.col.col
	}
	return cols, true
}

// assignment is @v = expression in a select list.
type assignment struct {
	v *variable
	e *expr
}

// specification compiles SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY ….
func (c *compiler) specification(x *ast.QuerySpecification, outer *scope, kind queryKind) (*query, error) {
	p, err := c.level(x, outer, kind)
	if err != nil {
		return nil, err
	}
	q := &query{cols: p.cols, assign: len(p.assigns) > 0, run: p.run}
	if p.group == nil && len(p.wins.calls) == 0 && x.TopRowFilter == nil && x.OffsetClause == nil && len(p.assigns) == 0 && p.root != nil {
		q.level = p
	}
	if x.ForClause != nil && !reflect.ValueOf(x.ForClause).IsNil() {
		return p.forClause(q, kind)
	}
	return q, nil
}

// level compiles a specification to its plan.
func (c *compiler) level(x *ast.QuerySpecification, outer *scope, kind queryKind) (*levelPlan, error) {
	if x.WindowClause != nil {
		return nil, notSupported("the WINDOW clause")
	}
	if kind != topQuery && kind != insertQuery && x.OrderByClause != nil && x.TopRowFilter == nil && x.OffsetClause == nil && x.ForClause == nil {
		return nil, sqlerr.New(1033)
	}
	p := &levelPlan{sc: &scope{c: c, outer: outer}, ast: x}
	p.distinct = strings.EqualFold(x.UniqueRowFilter, "Distinct")
	var root fromNode
	var err error
	if x.FromClause != nil {
		if root, err = p.sc.from(x.FromClause.TableReferences); err != nil {
			return nil, err
		}
	}
	var where []*pred
	if x.WhereClause != nil {
		p.sc.noAgg = "WHERE"
		if where, err = p.sc.conjuncts(nil, x.WhereClause.SearchCondition); err != nil {
			return nil, err
		}
		p.sc.noAgg = ""
	}
	if err := p.grouping(); err != nil {
		return nil, err
	}
	if err := p.selectList(kind); err != nil {
		return nil, err
	}
	if err := p.orderBy(); err != nil {
		return nil, err
	}
	if p.top, err = c.top(x.TopRowFilter, x.OffsetClause, outer, len(p.order) > 0); err != nil {
		return nil, err
	}
	p.root, p.where = root, where
	if err := p.plan(); err != nil {
		return nil, err
	}
	return p, p.minMax(root, where)
}

// plan chooses how to read FROM.
func (p *levelPlan) plan() (err error) {
	want := &wanted{}
	if p.group == nil && len(p.wins.calls) == 0 && !p.distinct {
		want.order = p.order
	}
	p.src, err = p.sc.planFrom(p.root, p.where, want)
	p.sorted = want.met || len(p.order) == 0
	return err
}

// grouping compiles GROUP BY and HAVING, and finds out whether the level aggregates at all.
func (p *levelPlan) grouping() error {
	x := p.ast
	p.wins = &windowing{}
	if x.GroupByClause == nil && x.HavingClause == nil && !hasAggregate(x) {
		p.sc.windows = p.wins
		return nil
	}
	g := &grouping{cols: map[colRef]bool{}, prints: map[string]bool{}}
	if x.GroupByClause != nil {
		g.any = true
		if o := x.GroupByClause.GroupByOption; o != "" && !strings.EqualFold(o, "None") {
			return notSupported("GROUP BY … WITH " + o)
		}
		p.sc.noAgg = "GROUP BY"
		for _, s := range x.GroupByClause.GroupingSpecifications {
			e, ok := s.(*ast.ExpressionGroupingSpecification)
			if !ok {
				return notSupported("ROLLUP, CUBE and GROUPING SETS")
			}
			ce, err := p.sc.expr(e.Expression)
			if err != nil {
				return err
			}
			if ce.lit {
				return sqlerr.New(164)
			}
			if isLegacyLOB(ce.typ) {
				return sqlerr.New(306)
			}
			if ce.col != nil {
				g.cols[*ce.col] = true
			} else {
				g.prints[fingerprint(p.sc, e.Expression)] = true
			}
			g.by = append(g.by, ce)
		}
		p.sc.noAgg = ""
	}
	p.group, p.sc.group = g, g
	if x.HavingClause != nil {
		g.where = "HAVING clause"
		var err error
		if p.having, err = p.sc.conjuncts(nil, x.HavingClause.SearchCondition); err != nil {
			return err
		}
	}
	g.where = "select list"
	p.sc.windows = p.wins
	return nil
}

// hasAggregate looks for an aggregate in the select list and ORDER BY, outside of subqueries and OVER.
func hasAggregate(x *ast.QuerySpecification) bool {
	found := false
	w := walker{pre: func(n any) bool {
		switch f := n.(type) {
		case *ast.ScalarSubquery, *ast.ExistsPredicate, *ast.FromClause:
			return false
		case *ast.BooleanInExpression:
			return f.Subquery == nil
		case *ast.FunctionCall:
			if f.CallTarget == nil && f.FunctionName != nil && isAggregate(strings.ToUpper(f.FunctionName.Value)) {
				if f.OverClause == nil {
					found = true
				}
			}
		}
		return !found
	}}
	for _, e := range x.SelectElements {
		w.walk(reflect.ValueOf(e))
	}
	if x.OrderByClause != nil {
		w.walk(reflect.ValueOf(x.OrderByClause))
	}
	return found
}

// run executes the level.
func (p *levelPlan) run(r *run, outer *frame, emit func([]rowValue) error) error {
	f := p.sc.newFrame(r, outer)
	if p.group != nil || len(p.wins.calls) > 0 {
		n := len(p.wins.calls)
		if p.group != nil {
			n += len(p.group.aggs)
		}
		f.slots = make([]value.Value, n)
	}
	if len(p.assigns) > 0 {
		return p.runAssign(f)
	}
	lim, err := p.top.start(f)
	if err != nil || lim.none {
		return err
	}
	out := p.output(emit, lim)
	if p.sorted {
		err = p.rows(f, func() error { return out.row(p, f) })
	} else {
		err = p.sortRows(f, out)
	}
	if err == errStop && out.full {
		err = nil
	}
	if err != nil {
		return err
	}
	return out.finish()
}

// rows yields the frames of the level after WHERE, GROUP BY, HAVING and windows.
func (p *levelPlan) rows(f *frame, yield func() error) error {
	if len(p.wins.calls) == 0 {
		return p.grouped(f, yield)
	}
	if p.group == nil && p.wins.counts() {
		n := int64(0)
		return p.grouped(f, func() error {
			n++
			for i := range f.slots {
				f.slots[i] = value.NewInt(value.BigInt, n)
			}
			return yield()
		})
	}
	var all []snapshot
	err := p.grouped(f, func() error {
		all = append(all, f.snapshot())
		return f.r.ctx.Err()
	})
	if err != nil {
		return err
	}
	for _, w := range p.wins.calls {
		if err := w.compute(f, all); err != nil {
			return err
		}
	}
	for _, s := range all {
		f.restore(s)
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

// group is one group while it is being built.
type group struct {
	first snapshot
	accs  []*accumulator
}

func (p *levelPlan) grouped(f *frame, yield func() error) error {
	if p.group == nil {
		return p.src.each(f, yield)
	}
	groups := map[string]*group{}
	var order []*group
	var buf []byte
	newGroup := func() *group {
		g := &group{first: f.snapshot(), accs: make([]*accumulator, len(p.group.aggs))}
		for i, a := range p.group.aggs {
			g.accs[i] = newAccumulator(f.r, a)
		}
		order = append(order, g)
		return g
	}
	n := 0
	err := p.src.each(f, func() error {
		buf = buf[:0]
		for _, e := range p.group.by {
			v, err := e.eval(f)
			if err != nil {
				return err
			}
			buf = value.AppendKey(buf, v, keyType(e.typ), false)
		}
		g := groups[string(buf)]
		if g == nil {
			g = newGroup()
			groups[string(buf)] = g
		}
		for _, a := range g.accs {
			if err := a.add(f); err != nil {
				return err
			}
		}
		if n++; n%1024 == 0 {
			return f.r.ctx.Err()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(order) == 0 && !p.group.any {
		_, nulls := p.sc.nullRows(^uint64(0))
		f.rows = nulls
		newGroup()
	}
	for _, g := range order {
		f.rows = g.first.rows
		f.slots = make([]value.Value, len(p.group.aggs)+len(p.wins.calls))
		for i, a := range g.accs {
			v, err := a.result()
			if err != nil {
				return err
			}
			f.slots[i] = v
		}
		ok, err := allHold(p.having, f)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

// runAssign runs SELECT @v = …: the variables keep the values of the last row.
func (p *levelPlan) runAssign(f *frame) error {
	lim, err := p.top.start(f)
	if err != nil || lim.none {
		return err
	}
	n := int64(0)
	assign := func() error {
		for _, a := range p.assigns {
			v, err := a.e.eval(f)
			if err != nil {
				return err
			}
			a.v.val = v
		}
		n++
		f.r.assigned = n
		if lim.has && n >= lim.count {
			return errStop
		}
		return nil
	}
	f.r.assigned = 0
	if p.sorted {
		err = p.rows(f, assign)
	} else {
		err = p.sortFrames(f, assign)
	}
	if err == errStop {
		err = nil
	}
	return err
}
