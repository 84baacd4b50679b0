package exec

import (
	"errors"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// rowValue is a cell of a row.
type rowValue = value.Value

// errStop ends an iteration early; it never leaves the package.
var errStop = errors.New("stop")

// source produces rows: it sets frame.rows for its tables and calls yield for each combination. Rows are immutable: who
// wants to keep one keeps the slice.
type source interface {
	each(f *frame, yield func() error) error
}

// oneRow is the source of a query without FROM.
type oneRow struct{}

func (oneRow) each(f *frame, yield func() error) error { return yield() }

// filter passes the rows that meet all its conditions.
type filter struct {
	in    source
	preds []*pred
}

func (s *filter) each(f *frame, yield func() error) error {
	return s.in.each(f, func() error {
		ok, err := allHold(s.preds, f)
		if err != nil || !ok {
			return err
		}
		return yield()
	})
}

func allHold(ps []*pred, f *frame) (bool, error) {
	for _, p := range ps {
		t, err := p.test(f)
		if err != nil || t != yes {
			return false, err
		}
	}
	return true, nil
}

func withFilter(s source, ps []*pred) source {
	if len(ps) == 0 {
		return s
	}
	return &filter{s, ps}
}

// startup checks conditions without columns once, before anything is read.
type startup struct {
	in    source
	preds []*pred
}

func (s *startup) each(f *frame, yield func() error) error {
	ok, err := allHold(s.preds, f)
	if err != nil || !ok {
		return err
	}
	return s.in.each(f, yield)
}

// rowsSource is a derived table, a function, a view of the server.
type rowsSource struct {
	slot int
	open rowsFunc
}

func (s *rowsSource) each(f *frame, yield func() error) error {
	return s.open(f, func(row []rowValue) error {
		f.rows[s.slot] = row
		return yield()
	})
}

// nestedLoop runs its right side for each row of the left one; the right side may read the left row.
type nestedLoop struct {
	left, right source
	on          []*pred
	outer       bool // left outer join
	slots       []int
	nulls       [][]rowValue
}

func (s *nestedLoop) each(f *frame, yield func() error) error {
	return s.left.each(f, func() error {
		matched := false
		err := s.right.each(f, func() error {
			ok, err := allHold(s.on, f)
			if err != nil || !ok {
				return err
			}
			matched = true
			return yield()
		})
		if err != nil || matched || !s.outer {
			return err
		}
		for i, slot := range s.slots {
			f.rows[slot] = s.nulls[i]
		}
		return yield()
	})
}

// hashJoin reads its right side once into a table by the join columns; without join columns it is a plain list.
type hashJoin struct {
	left, right source
	leftKeys    []evalFunc
	rightKeys   []evalFunc
	types       []value.Type
	on          []*pred // what the keys do not say
	kind        joinKind
	slots       []int // of the right side
	nulls       [][]rowValue
	leftSlots   []int
	leftNulls   [][]rowValue
}

// tuple is one row of the right side: the rows of its tables.
type tuple struct {
	rows    [][]rowValue
	matched bool
}

func (s *hashJoin) each(f *frame, yield func() error) error {
	var all []*tuple
	byKey := map[string][]*tuple{}
	var buf []byte
	err := s.right.each(f, func() error {
		t := &tuple{rows: make([][]rowValue, len(s.slots))}
		for i, slot := range s.slots {
			t.rows[i] = f.rows[slot]
		}
		key, null, err := s.key(buf[:0], s.rightKeys, f)
		if err != nil {
			return err
		}
		buf = key
		if !null {
			byKey[string(key)] = append(byKey[string(key)], t)
		}
		if null || s.kind == fullJoin {
			all = append(all, t)
		}
		return f.r.ctx.Err()
	})
	if err != nil {
		return err
	}
	err = s.left.each(f, func() error {
		key, null, err := s.key(buf[:0], s.leftKeys, f)
		if err != nil {
			return err
		}
		buf = key
		matched := false
		if !null {
			for _, t := range byKey[string(key)] {
				for i, slot := range s.slots {
					f.rows[slot] = t.rows[i]
				}
				ok, err := allHold(s.on, f)
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				matched, t.matched = true, true
				if err := yield(); err != nil {
					return err
				}
			}
		}
		if matched || s.kind == innerJoin {
			return nil
		}
		for i, slot := range s.slots {
			f.rows[slot] = s.nulls[i]
		}
		return yield()
	})
	if err != nil || s.kind != fullJoin {
		return err
	}
	for _, t := range all {
		if t.matched {
			continue
		}
		for i, slot := range s.slots {
			f.rows[slot] = t.rows[i]
		}
		for i, slot := range s.leftSlots {
			f.rows[slot] = s.leftNulls[i]
		}
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

// key encodes the join columns of the current row; null says that one is NULL, so that nothing matches.
func (s *hashJoin) key(dst []byte, keys []evalFunc, f *frame) ([]byte, bool, error) {
	for i, k := range keys {
		v, err := k(f)
		if err != nil {
			return dst, false, err
		}
		if v.IsNull() {
			return dst, true, nil
		}
		dst = value.AppendKey(dst, v, s.types[i], false)
	}
	return dst, false, nil
}
