package exec

import "example.com/mssqlcdc/mssqltest/internal/value"

// push moves conditions on columns of a view, a derived table or a common table expression into its own WHERE clause, so that
// an index below can answer them: comparisons of a plain column, which they do not convert, with what is known before any
// table of this level is read. They are checked again outside, where they stand.
func (sc *scope) push(l *leafNode, preds []*pred) error {
	moved := false
	for _, p := range preds {
		if q := sc.inside(l, p); q != nil {
			l.inner.where = append(l.inner.where[:len(l.inner.where):len(l.inner.where)], q)
			moved = true
		}
	}
	if !moved {
		return nil
	}
	return l.inner.plan()
}

// inside is a condition as the inner query sees it, nil if it cannot be moved.
func (sc *scope) inside(l *leafNode, p *pred) *pred {
	if p.volatile || p.left == nil || p.right == nil || p.op == "" || p.op == "in" {
		return nil
	}
	op, col, other := p.op, p.left, p.right
	if col.col == nil || col.col.table != l.slot {
		m, ok := mirrored[op]
		if !ok && op != "<>" {
			return nil
		}
		if ok {
			op = m
		}
		col, other = other, col
	}
	if col.col == nil || col.col.table != l.slot || other.deps != 0 || other.volatile {
		return nil
	}
	out := l.inner.outs[col.col.col]
	if out.col == nil || !sargable(out.typ, other.typ, p.key) {
		return nil
	}
	in := *out
	in.deps = 1 << uint(out.col.table)
	known := *other
	known.col = nil
	known.eval = func(f *frame) (value.Value, error) { return other.eval(&frame{r: f.r, outer: f.outer}) }
	c := l.inner.sc.c
	q := &pred{op: op, left: &in, right: &known, key: p.key, deps: in.deps}
	q.test = comparison(op, c.comparand(&in, p.key), c.comparand(&known, p.key), p.key)
	return q
}
