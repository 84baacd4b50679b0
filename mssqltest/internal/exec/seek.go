package exec

import (
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// bound is one side of a seek on an index column: the value and how the column compares with it.
type seekBound struct {
	op   string // "=", "<", "<=", ">", ">=", "null"
	e    *expr
	key  value.Type // the type of the comparison
	pred *pred
}

// accessPath is an index with the conditions that it answers.
type accessPath struct {
	index   int // position in Def().Indexes, -1 for the table itself
	def     *storage.IndexDef
	eq      []seekBound
	rng     []seekBound
	in      []seekBound // column IN (list) behind the equalities: a seek for each
	reverse bool
	ordered bool
	score   int
}

// seek chooses the access path of a table and returns what is left to check.
func (sc *scope) seek(l *leafNode, preds []*pred, bound uint64, want *wanted) (source, []*pred) {
	def := l.table.t.Def()
	path := sc.choose(l, preds, bound, want)
	if want != nil && path.ordered {
		want.met = true
	}
	used := map[*pred]bool{}
	for _, b := range path.bounds() {
		used[b.pred] = true
	}
	var rest []*pred
	for _, p := range preds {
		if !used[p] {
			rest = append(rest, p)
		}
	}
	return &tableScan{slot: l.slot, table: l.table, path: path, def: def}, rest
}

// seeksBy reports whether an index answers a condition that reads the tables in bound.
func (sc *scope) seeksBy(l *leafNode, preds []*pred, bound uint64) bool {
	if bound == 0 {
		return false
	}
	path := sc.choose(l, preds, bound, nil)
	for _, b := range path.bounds() {
		if b.e != nil && b.e.deps&bound != 0 {
			return true
		}
	}
	return false
}

// choose scores all indexes: equality columns first, then a range, then the wanted order.
func (sc *scope) choose(l *leafNode, preds []*pred, bound uint64, want *wanted) accessPath {
	def := l.table.t.Def()
	best := accessPath{index: -1}
	for i, x := range def.Indexes {
		if x.Disabled || x.FilterText != "" || !keyed(x) {
			continue
		}
		p := sc.path(l, x, preds, bound)
		p.index = i
		if x.Clustered {
			p.index = -1
		}
		p.score = 100*len(p.eq) + 40*min(len(p.rng), 2)
		if len(p.in) > 0 {
			p.score += 90
		}
		if x.Unique && len(p.eq) == len(x.Columns) {
			p.score += 1000
		}
		if l.table.forced == i {
			p.score += 10000
		}
		if want != nil && len(want.order) > 0 {
			p.ordered, p.reverse = ordered(l, def, p, want.order)
			if p.ordered {
				p.score += 60
			}
		}
		if x.Clustered && p.score > 0 {
			p.score++
		}
		if p.score > best.score || x.Clustered && best.score == 0 && best.def == nil {
			best = p
		}
	}
	return best
}

// keyed reports whether an index has key columns (a columnstore has none).
func keyed(x *storage.IndexDef) bool { return len(x.Columns) > 0 }

// path matches conditions with the columns of an index: an equality prefix, then bounds of one column.
func (sc *scope) path(l *leafNode, x *storage.IndexDef, preds []*pred, bound uint64) accessPath {
	p := accessPath{def: x}
	for _, c := range x.Columns {
		bs := sc.boundsOf(l, c.Column, preds, bound)
		eq := -1
		for i, b := range bs {
			if b.op == "=" || b.op == "null" {
				eq = i
				break
			}
		}
		if eq >= 0 {
			p.eq = append(p.eq, bs[eq])
			continue
		}
		if p.in = sc.listOf(l, c.Column, preds, bound); p.in == nil {
			p.rng = bs
		}
		break
	}
	return p
}

// bounds are all the conditions of the path.
func (p *accessPath) bounds() []seekBound {
	return append(append(append([]seekBound(nil), p.eq...), p.in...), p.rng...)
}

// maxSeeks is the longest IN list that is sought value by value.
const maxSeeks = 1000

// listOf finds a condition column IN (list) whose values are known before the table is read.
func (sc *scope) listOf(l *leafNode, col int, preds []*pred, bound uint64) []seekBound {
	colType := l.table.t.Def().Columns[col].Type
	for _, p := range preds {
		if p.op != "in" || p.volatile || p.left.col == nil || p.left.col.table != l.slot || p.left.col.col != col || len(p.in) > maxSeeks {
			continue
		}
		out := make([]seekBound, 0, len(p.in))
		for _, e := range p.in {
			key, err := common(p.left.typ, e.typ)
			if err != nil || e.deps&^bound != 0 {
				break
			}
			if isString(key) {
				if key.Coll, _, err = collOf(p.left, e, "equal to"); err != nil {
					break
				}
			}
			if !sargable(colType, e.typ, key) {
				break
			}
			out = append(out, seekBound{"=", e, key, p})
		}
		if len(out) == len(p.in) {
			return out
		}
	}
	return nil
}

// boundsOf lists the conditions on a column that a seek can use: the other side is known before the table is read, and
// comparing does not convert the column.
func (sc *scope) boundsOf(l *leafNode, col int, preds []*pred, bound uint64) []seekBound {
	self := uint64(1) << uint(l.slot)
	colType := l.table.t.Def().Columns[col].Type
	var out []seekBound
	is := func(e *expr) bool { return e != nil && e.col != nil && e.col.table == l.slot && e.col.col == col }
	for _, p := range preds {
		if p.volatile {
			continue
		}
		if p.op == "null" && is(p.left) {
			out = append(out, seekBound{op: "null", pred: p})
			continue
		}
		if p.right == nil || p.op == "<>" {
			continue
		}
		op, e := p.op, p.right
		switch {
		case is(p.left) && e.deps&self == 0 && e.deps&^bound == 0:
		case is(p.right) && p.left.deps&self == 0 && p.left.deps&^bound == 0:
			op, e = mirrored[op], p.left
		default:
			continue
		}
		if sargable(colType, e.typ, p.key) {
			out = append(out, seekBound{op, e, p.key, p})
		}
	}
	return out
}

var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// sargable reports whether a comparison of a column with a value in the type key can be answered by the column's index:
// the column's side is not converted, or both are exact numbers. nvarchar against a varchar column, or datetime2 against
// datetime, converts the column and reads the whole index, as on a server.
func sargable(col, e, key value.Type) bool {
	if isString(col) {
		return isUnicode(col) == isUnicode(key) && isString(key) && col.Coll == key.Coll && !isLegacyLOB(col)
	}
	switch {
	case isExact(col) && isExact(key):
		return true
	case isBinary(col) && isBinary(key):
		return true
	}
	return col.ID == key.ID && col.ID != value.Variant
}

// ordered reports whether a path gives the wanted order, forwards or backwards. Columns fixed by an equality may stand
// anywhere in it.
func ordered(l *leafNode, def *storage.TableDef, p accessPath, order []sortKey) (ok, reverse bool) {
	fixed := map[int]bool{}
	for i := range p.eq {
		fixed[p.def.Columns[i].Column] = true
	}
	at, dir := len(p.eq), 0
	for _, k := range order {
		if k.e.lit {
			continue
		}
		if k.e.col == nil || k.e.col.table != l.slot {
			return false, false
		}
		c := k.e.col.col
		if fixed[c] {
			continue
		}
		if at >= len(p.def.Columns) {
			// A unique index has no further order to give: its whole key is already in the order.
			if p.def.Unique && !nullableKey(def, p.def) {
				break
			}
			return false, false
		}
		ic := p.def.Columns[at]
		if ic.Column != c || k.e.typ.Coll != def.Columns[c].Type.Coll {
			return false, false
		}
		d := 1
		if ic.Desc != k.desc {
			d = -1
		}
		if dir == 0 {
			dir = d
		}
		if dir != d {
			return false, false
		}
		fixed[c] = true
		at++
	}
	return true, dir < 0
}

func nullableKey(def *storage.TableDef, x *storage.IndexDef) bool {
	for _, c := range x.Columns {
		if def.Columns[c.Column].Nullable {
			return true
		}
	}
	return false
}
