package exec

import "math/bits"

// wanted is what a query would like of its source: an order by plain columns, so that it need not sort.
type wanted struct {
	order []sortKey
	// met is set when the chosen source gives that order.
	met bool
}

// planFrom chooses how to read a FROM tree under the conditions of WHERE.
func (sc *scope) planFrom(root fromNode, where []*pred, want *wanted) (source, error) {
	if root == nil {
		return withFilter(oneRow{}, where), nil
	}
	var once, rest []*pred
	for _, p := range where {
		if p.deps == 0 && !p.volatile {
			once = append(once, p)
		} else {
			rest = append(rest, p)
		}
	}
	p := &planner{sc: sc, want: want}
	s, err := p.node(root, rest, 0)
	if err != nil || len(once) == 0 {
		return s, err
	}
	return &startup{s, once}, nil
}

// planner carries what the nodes of one FROM share.
type planner struct {
	sc   *scope
	want *wanted // only for the leaf that is read first; nil afterwards
}

// node plans a node below which the tables in bound are known; preds are those conditions that can be decided at it.
func (p *planner) node(n fromNode, preds []*pred, bound uint64) (source, error) {
	switch x := n.(type) {
	case *leafNode:
		want := p.want
		p.want = nil
		return p.leaf(x, preds, bound, want)
	case *joinNode:
		return p.join(x, preds, bound)
	}
	return nil, notSupported("this join")
}

func (p *planner) leaf(l *leafNode, preds []*pred, bound uint64, want *wanted) (source, error) {
	if l.table == nil {
		if l.inner != nil {
			if err := p.sc.push(l, preds); err != nil {
				return nil, err
			}
		}
		return withFilter(&rowsSource{l.slot, l.open}, preds), nil
	}
	s, rest := p.sc.seek(l, preds, bound, want)
	return withFilter(s, rest), nil
}

// split takes from preds those that can be decided with the tables of m.
func split(preds []*pred, m uint64) (in, out []*pred) {
	for _, q := range preds {
		if q.deps&^m == 0 {
			in = append(in, q)
		} else {
			out = append(out, q)
		}
	}
	return in, out
}

func (p *planner) join(j *joinNode, preds []*pred, bound uint64) (source, error) {
	lm, rm := j.left.mask(), j.right.mask()
	on := j.on
	if j.kind == innerJoin {
		preds = append(append([]*pred(nil), on...), preds...)
		on = nil
	}
	var here []*pred // conditions that wait for the join's result
	var leftPreds []*pred
	switch j.kind {
	case innerJoin:
		leftPreds, on = split(preds, bound|lm)
	case leftJoin:
		leftPreds, here = split(preds, bound|lm)
	case fullJoin:
		here = preds
	}
	left, err := p.node(j.left, leftPreds, bound)
	if err != nil {
		return nil, err
	}
	p.want = nil
	s, err := p.right(j, left, on, bound|lm, rm)
	if err != nil {
		return nil, err
	}
	return withFilter(s, here), nil
}

// right plans the right side of a join: index seeks for each left row where an index serves the condition, else one
// reading of the right side into a hash table.
func (p *planner) right(j *joinNode, left source, on []*pred, bound, rm uint64) (source, error) {
	slots, nulls := p.sc.nullRows(rm)
	if leaf, ok := j.right.(*leafNode); ok && j.kind != fullJoin {
		if leaf.table != nil && p.sc.seeksBy(leaf, on, bound) {
			s, rest := p.sc.seek(leaf, on, bound, nil)
			return &nestedLoop{left: left, right: s, on: rest, outer: j.kind == leftJoin, slots: slots, nulls: nulls}, nil
		}
	}
	if j.lateral || dependent(j.right, bound) {
		s, err := p.node(j.right, nil, bound)
		if err != nil {
			return nil, err
		}
		return &nestedLoop{left: left, right: s, on: on, outer: j.kind == leftJoin, slots: slots, nulls: nulls}, nil
	}
	own, rest := split(on, rm)
	if j.kind == fullJoin {
		own, rest = nil, on
	}
	right, err := p.node(j.right, own, 0)
	if err != nil {
		return nil, err
	}
	h := &hashJoin{left: left, right: right, kind: j.kind, slots: slots, nulls: nulls}
	if j.kind == fullJoin {
		h.leftSlots, h.leftNulls = p.sc.nullRows(j.left.mask())
	}
	for _, q := range rest {
		l, r := q.left, q.right
		switch {
		case q.op != "=" || l.volatile || r.volatile:
			h.on = append(h.on, q)
			continue
		case l.deps != 0 && l.deps&rm == 0 && r.deps != 0 && r.deps&^rm == 0:
		case r.deps != 0 && r.deps&rm == 0 && l.deps != 0 && l.deps&^rm == 0:
			l, r = r, l
		default:
			h.on = append(h.on, q)
			continue
		}
		h.leftKeys = append(h.leftKeys, p.sc.c.comparand(l, q.key))
		h.rightKeys = append(h.rightKeys, p.sc.c.comparand(r, q.key))
		h.types = append(h.types, q.key)
	}
	return h, nil
}

// dependent reports whether a node reads tables that are bound outside of it (an APPLY further down).
func dependent(n fromNode, bound uint64) bool {
	switch x := n.(type) {
	case *leafNode:
		return x.needs&bound != 0
	case *joinNode:
		return dependent(x.left, bound) || dependent(x.right, bound)
	}
	return false
}

// nullRows are the rows that an outer join puts in place of a missing side.
func (sc *scope) nullRows(m uint64) ([]int, [][]rowValue) {
	slots := make([]int, 0, bits.OnesCount64(m))
	rows := make([][]rowValue, 0, cap(slots))
	for i, t := range sc.tables {
		if m&(1<<uint(i)) != 0 {
			slots = append(slots, i)
			rows = append(rows, make([]rowValue, len(t.cols)))
		}
	}
	return slots, rows
}
