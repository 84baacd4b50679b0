package exec

import (
	"bytes"
	"slices"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// tableScan reads a stored table through an access path.
type tableScan struct {
	slot  int
	table *boundTable
	path  accessPath
	def   *storage.TableDef
}

func (s *tableScan) each(f *frame, yield func() error) error {
	prefix, ok, err := s.prefix(f)
	if err != nil || !ok {
		return err
	}
	read := func(r storage.Range) error {
		r.Reverse = s.path.reverse
		return s.table.scan(f.r, s.path.index, r, func(row *storage.Row) error {
			f.rows[s.slot], f.stored = row.Vals, row
			s.table.note(row)
			return yield()
		})
	}
	if len(s.path.in) == 0 {
		r, ok, err := s.keyRange(f, prefix)
		if err != nil || !ok {
			return err
		}
		return read(r)
	}
	keys, err := s.listKeys(f, prefix)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := read(storage.Prefix([]byte(k))); err != nil {
			return err
		}
	}
	return nil
}

// prefix encodes the equalities; ok is false when one of them can match nothing.
func (s *tableScan) prefix(f *frame) ([]byte, bool, error) {
	var prefix []byte
	for i, b := range s.path.eq {
		if b.op == "null" {
			prefix = s.path.def.AppendColumnKey(prefix, s.def, i, value.Value{})
			continue
		}
		v, c, err := s.narrow(f, i, b)
		if err != nil || v.IsNull() || c != 0 {
			return nil, false, err
		}
		prefix = s.path.def.AppendColumnKey(prefix, s.def, i, v)
	}
	return prefix, true, nil
}

// listKeys are the keys of an IN list, each once, in the order of the scan.
func (s *tableScan) listKeys(f *frame, prefix []byte) ([]string, error) {
	var keys []string
	for _, b := range s.path.in {
		v, c, err := s.narrow(f, len(s.path.eq), b)
		if err != nil {
			return nil, err
		}
		if v.IsNull() || c != 0 {
			continue
		}
		keys = append(keys, string(s.path.def.AppendColumnKey(bytes.Clone(prefix), s.def, len(s.path.eq), v)))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if s.path.reverse {
		slices.Reverse(keys)
	}
	return keys, nil
}

// keyRange computes the range of keys behind a prefix for the current values; ok is false when nothing can match.
func (s *tableScan) keyRange(f *frame, prefix []byte) (storage.Range, bool, error) {
	x := s.path.def
	if x == nil {
		return storage.Range{}, true, nil
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
