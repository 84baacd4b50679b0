package exec

import (
	"bytes"

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
	reverse bool
	ordered bool
	score   int
}

// tableScan reads a stored table through an access path.
type tableScan struct {
	slot  int
	table *boundTable
	path  accessPath
	def   *storage.TableDef
}

// seek chooses the access path of a table and returns what is left to check.
func (sc *scope) seek(l *leafNode, preds []*pred, bound uint64, want *wanted) (source, []*pred) {
	def := l.table.t.Def()
	path := sc.choose(l, preds, bound, want)
	if want != nil && path.ordered {
		want.met = true
	}
	used := map[*pred]bool{}
	for _, b := range append(append([]seekBound(nil), path.eq...), path.rng...) {
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
	for _, b := range append(append([]seekBound(nil), path.eq...), path.rng...) {
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
		p.rng = bs
		break
	}
	return p
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

func (s *tableScan) each(f *frame, yield func() error) error {
	r, ok, err := s.keyRange(f)
	if err != nil || !ok {
		return err
	}
	r.Reverse = s.path.reverse
	return s.table.scan(f.r, s.path.index, r, func(row *storage.Row) error {
		f.rows[s.slot] = row.Vals
		s.table.note(row)
		return yield()
	})
}

// keyRange computes the range of keys for the current values; ok is false when nothing can match.
func (s *tableScan) keyRange(f *frame) (storage.Range, bool, error) {
	x := s.path.def
	if x == nil {
		return storage.Range{}, true, nil
	}
	var prefix []byte
	for i, b := range s.path.eq {
		if b.op == "null" {
			prefix = x.AppendColumnKey(prefix, s.def, i, value.Value{})
			continue
		}
		v, c, err := s.narrow(f, i, b)
		if err != nil || v.IsNull() || c != 0 {
			return storage.Range{}, false, err
		}
		prefix = x.AppendColumnKey(prefix, s.def, i, v)
	}
	if len(s.path.rng) == 0 {
		return storage.Prefix(prefix), true, nil
	}
	i := len(s.path.eq)
	desc := x.Columns[i].Desc
	r := storage.Prefix(prefix)
	if len(prefix) > 0 {
		r = storage.Range{From: prefix, To: prefix, ToIncl: true}
	}
	// NULL is never inside a range.
	if s.def.Columns[x.Columns[i].Column].Nullable {
		k := x.AppendColumnKey(bytes.Clone(prefix), s.def, i, value.Value{})
		if desc {
			r.To, r.ToIncl = k, false
		} else {
			r.From, r.FromExcl = k, true
		}
	}
	for _, b := range s.path.rng {
		v, c, err := s.narrow(f, i, b)
		if err != nil || v.IsNull() {
			return storage.Range{}, false, err
		}
		k := x.AppendColumnKey(bytes.Clone(prefix), s.def, i, v)
		lower := b.op == ">" || b.op == ">="
		strict := b.op == ">" || b.op == "<"
		// The value was rounded to the column's type: no column value lies between the two, so only the edge changes.
		switch {
		case c < 0: // rounded down
			strict = lower
		case c > 0: // rounded up
			strict = !lower
		}
		if lower != desc {
			if cmp := bytes.Compare(k, r.From); r.From == nil || cmp > 0 || cmp == 0 && strict {
				r.From, r.FromExcl = k, strict
			}
		} else if cmp := bytes.Compare(k, r.To); r.To == nil || bytes.HasPrefix(k, r.To) && r.ToIncl || cmp < 0 || cmp == 0 && strict {
			r.To, r.ToIncl = k, !strict
		}
	}
	return r, true, nil
}

// narrow converts a bound to the column's type; c tells whether that made it smaller or larger.
func (s *tableScan) narrow(f *frame, i int, b seekBound) (v value.Value, c int, err error) {
	v, err = b.e.eval(f)
	if err != nil || v.IsNull() {
		return v, 0, err
	}
	col := s.def.Columns[s.path.def.Columns[i].Column].Type
	if isString(col) || isBinary(col) && isBinary(b.e.typ) {
		if isString(col) && isString(b.e.typ) && isUnicode(col) == isUnicode(b.e.typ) || !isString(col) {
			return v, 0, nil
		}
		long := col
		long.Len = value.Max
		v, err = value.Convert(&f.r.s.env, v, b.e.typ, long, 0)
		return v, 0, err
	}
	if sameRep(b.e.typ, col) {
		return v, 0, nil
	}
	n, err := value.Convert(&f.r.s.env, v, b.e.typ, col, 0)
	if err != nil {
		return s.outOfRange(f, v, col, b)
	}
	if b.e.typ.ID == col.ID || isExact(b.e.typ) {
		there, err := value.Convert(&f.r.s.env, n, col, b.key, 0)
		if err != nil {
			return n, 0, err
		}
		here, err := value.Convert(&f.r.s.env, v, b.e.typ, b.key, 0)
		if err != nil {
			return n, 0, err
		}
		return n, value.Compare(there, here, b.key), nil
	}
	return n, 0, nil
}

// outOfRange stands for a number beyond the column's type: the nearest end of the type, marked as rounded.
func (s *tableScan) outOfRange(f *frame, v value.Value, col value.Type, b seekBound) (value.Value, int, error) {
	lo, hi, ok := typeEnds(col)
	if !ok {
		return value.Value{}, 0, nil
	}
	zero, err := value.Convert(&f.r.s.env, value.NewInt(value.Int, 0), typeInt, b.key, 0)
	if err != nil {
		return v, 0, err
	}
	here, err := value.Convert(&f.r.s.env, v, b.e.typ, b.key, 0)
	if err != nil {
		return v, 0, err
	}
	if value.Compare(here, zero, b.key) < 0 {
		return lo, 1, nil
	}
	return hi, -1, nil
}

// typeEnds are the smallest and the largest value of an integer type.
func typeEnds(t value.Type) (lo, hi value.Value, ok bool) {
	var a, b int64
	switch t.ID {
	case value.Bit:
		a, b = 0, 1
	case value.TinyInt:
		a, b = 0, 255
	case value.SmallInt:
		a, b = -1<<15, 1<<15-1
	case value.Int:
		a, b = -1<<31, 1<<31-1
	case value.BigInt:
		a, b = -1<<63, 1<<63-1
	default:
		return lo, hi, false
	}
	return value.NewInt(t.ID, a), value.NewInt(t.ID, b), true
}
