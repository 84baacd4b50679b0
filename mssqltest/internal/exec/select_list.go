package exec

import (
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// selectList compiles the select list: expressions, stars, assignments.
func (p *levelPlan) selectList(kind queryKind) error {
	for _, el := range p.ast.SelectElements {
		switch x := el.(type) {
		case *ast.SelectStarExpression:
			if kind == existsQuery {
				p.addOut(constant(value.NewInt(value.Int, 1), typeInt), Column{Type: typeInt})
				continue
			}
			if err := p.star(x); err != nil {
				return err
			}
		case *ast.SelectScalarExpression:
			e, err := p.sc.expr(x.Expression)
			if err != nil {
				return err
			}
			p.addOut(e, p.sc.outColumn(e, x))
		case *ast.SelectSetVariable:
			v := p.sc.c.r.lookup(x.Variable.Name)
			if v == nil || v.table != nil {
				return sqlerr.New(137, x.Variable.Name)
			}
			e, err := p.sc.assigned(v, x.Expression, x.AssignmentKind)
			if err != nil {
				return err
			}
			p.assigns = append(p.assigns, assignment{v, e})
		default:
			return notSupported("this kind of select element")
		}
	}
	if len(p.assigns) > 0 && len(p.outs) > 0 {
		return sqlerr.New(141)
	}
	return nil
}

func (p *levelPlan) addOut(e *expr, c Column) {
	p.outs = append(p.outs, e)
	p.cols = append(p.cols, c)
}

// outColumn describes a select element as a result column.
func (sc *scope) outColumn(e *expr, x *ast.SelectScalarExpression) Column {
	c := Column{Type: e.typ, Nullable: e.nullable}
	if e.col != nil {
		t := sc.tables[e.col.table]
		base := t.cols[e.col.col]
		c.Name, c.BaseName = base.Name, base.Name
		c.Identity, c.Computed, c.Key, c.Updatable, c.Hidden = base.Identity, base.Computed, base.Key, base.Updatable, base.Hidden
		if t.source != nil && t.source.t != nil {
			c.Table = []string{t.name}
		}
	} else if col, ok := unwrapped(x.Expression).(*ast.ColumnReferenceExpression); ok && col.MultiPartIdentifier != nil {
		ids := col.MultiPartIdentifier.Identifiers
		c.Name = ids[len(ids)-1].Value
	}
	if n := aliasOf(x.ColumnName); n != "" {
		c.Name = n
	}
	if c.Type.ID == value.Null {
		c.Type = typeInt
	}
	return c
}

func unwrapped(n ast.ScalarExpression) ast.ScalarExpression {
	for {
		p, ok := n.(*ast.ParenthesisExpression)
		if !ok {
			return n
		}
		n = p.Expression
	}
}

func aliasOf(n *ast.IdentifierOrValueExpression) string {
	switch {
	case n == nil:
		return ""
	case n.Identifier != nil:
		return n.Identifier.Value
	case n.ValueExpression != nil:
		if s, ok := n.ValueExpression.(*ast.StringLiteral); ok {
			return s.Value
		}
	}
	return n.Value
}

// star expands * and t.*; hidden columns stay hidden.
func (p *levelPlan) star(x *ast.SelectStarExpression) error {
	if len(p.sc.tables) == 0 {
		return sqlerr.New(263)
	}
	found := false
	for ti, t := range p.sc.tables {
		if x.Qualifier != nil && len(x.Qualifier.Identifiers) > 0 && !t.named(x.Qualifier.Identifiers) {
			continue
		}
		found = true
		for ci, c := range t.cols {
			if c.Hidden {
				continue
			}
			e, err := p.sc.slotColumn(ti, ci)
			if err != nil {
				return err
			}
			col := Column{Name: c.Name, BaseName: c.Name, Type: c.Type, Nullable: c.Nullable || t.outer, Identity: c.Identity, Computed: c.Computed, Key: c.Key, Updatable: c.Updatable}
			if t.source != nil && t.source.t != nil {
				col.Table = []string{t.name}
			}
			p.addOut(e, col)
		}
	}
	if !found {
		return sqlerr.New(107, joinNames(x.Qualifier.Identifiers))
	}
	return nil
}

// slotColumn is the expression of a column by its place.
func (sc *scope) slotColumn(ti, ci int) (*expr, error) {
	sc.reads |= 1 << uint(ti)
	if sc.group != nil && !sc.group.inAgg {
		if err := sc.group.checkColumn(sc, ti, ci); err != nil {
			return nil, err
		}
	}
	t := sc.tables[ti]
	c := t.cols[ci]
	return &expr{
		typ: c.Type, nullable: c.Nullable || t.outer, coll: collImplicit, deps: 1 << uint(ti), col: &colRef{ti, ci},
		eval: func(f *frame) (value.Value, error) { return f.rows[ti][ci], nil },
	}, nil
}

// orderBy compiles ORDER BY: names and numbers of the select list first, then expressions.
func (p *levelPlan) orderBy() error {
	if p.ast.OrderByClause == nil {
		return nil
	}
	if p.group != nil {
		p.group.where = "ORDER BY clause"
	}
	for _, o := range p.ast.OrderByClause.OrderByElements {
		e, err := p.orderKey(o.Expression)
		if err != nil {
			return err
		}
		if isLegacyLOB(e.typ) || e.typ.ID == value.XML {
			return sqlerr.New(306)
		}
		p.order = append(p.order, sortKey{e, descending(o)})
	}
	return nil
}

func (p *levelPlan) orderKey(n ast.ScalarExpression) (*expr, error) {
	at, err := p.sc.c.outputColumn(n, p.cols)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		var e *expr
		if e, err = p.sc.expr(n); err != nil {
			return nil, err
		}
		if p.distinct {
			for i, out := range p.outs {
				if e.col != nil && out.col != nil && *e.col == *out.col {
					at = i
				}
			}
			if at < 0 {
				if at = p.sameOutput(n); at < 0 {
					return nil, sqlerr.New(145)
				}
			}
		} else {
			return e, nil
		}
	}
	if at >= len(p.outs) {
		return nil, sqlerr.New(108, at+1)
	}
	out := *p.outs[at]
	if out.lit {
		out.lit = false
	}
	return &out, nil
}

// sameOutput finds the select element that is the same expression.
func (p *levelPlan) sameOutput(n ast.ScalarExpression) int {
	want := fingerprint(p.sc, n)
	for i, el := range p.ast.SelectElements {
		if x, ok := el.(*ast.SelectScalarExpression); ok && i < len(p.outs) && fingerprint(p.sc, x.Expression) == want {
			return i
		}
	}
	return -1
}

// outputColumn finds what ORDER BY names in the output: an alias, or a position. -1 if it is neither.
func (c *compiler) outputColumn(n ast.ScalarExpression, cols []Column) (int, error) {
	switch x := n.(type) {
	case *ast.IntegerLiteral:
		i, err := strconv.Atoi(x.Value)
		if err != nil || i < 1 || i > len(cols) {
			return -1, sqlerr.New(108, x.Value)
		}
		return i - 1, nil
	case *ast.ColumnReferenceExpression:
		if x.MultiPartIdentifier == nil || len(x.MultiPartIdentifier.Identifiers) != 1 || x.Collation != nil {
			return -1, nil
		}
		name, at := x.MultiPartIdentifier.Identifiers[0].Value, -1
		for i, col := range cols {
			if !c.same(col.Name, name) {
				continue
			}
			if at >= 0 {
				if cols[at].BaseName != "" && cols[at].BaseName == col.BaseName {
					continue
				}
				return -1, sqlerr.New(209, name)
			}
			at = i
		}
		return at, nil
	}
	return -1, nil
}

// assigned compiles the value of SET @v and SELECT @v, with the compound operators, in the variable's type.
func (sc *scope) assigned(v *variable, n ast.ScalarExpression, kind string) (*expr, error) {
	e, err := sc.scalar(n)
	if err != nil {
		return nil, err
	}
	if op, ok := compoundOps[kind]; ok {
		cur, err := sc.variable(v.name)
		if err != nil {
			return nil, err
		}
		if e, err = sc.c.arith(op, cur, e); err != nil {
			return nil, err
		}
	}
	return sc.c.toVariable(e, v.typ), nil
}

var compoundOps = map[string]byte{
	"AddEquals": '+', "SubtractEquals": '-', "MultiplyEquals": '*', "DivideEquals": '/', "ModEquals": '%',
	"BitwiseAndEquals": '&', "BitwiseOrEquals": '|', "BitwiseXorEquals": '^',
}

// toVariable converts as an assignment to a variable does: what is too long is cut off.
func (c *compiler) toVariable(e *expr, to value.Type) *expr {
	if e.typ.ID == value.Null || sameRep(e.typ, to) {
		return e
	}
	ev, from, env := e.eval, e.typ, c.env()
	return &expr{typ: to, nullable: e.nullable, eval: func(f *frame) (value.Value, error) {
		v, err := ev(f)
		if err != nil || v.IsNull() {
			return value.Value{}, err
		}
		return value.AssignVar(env, v, from, to)
	}}
}
