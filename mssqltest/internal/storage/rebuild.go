package storage

import (
	"sort"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// rebuild makes the store of a new definition from the live rows of s. Without a rewrite of the rows, trees whose index
// stays as it is are shared. A duplicate in a unique index is error 1505.
func (s *store) rebuild(d *TableDef, rewrite func([]value.Value) ([]value.Value, error), newID func() uint64) (*store, error) {
	n := newStore(d)
	sameRows := rewrite == nil && (n.index[0] == nil && s.index[0] == nil || n.index[0].sameTree(s.index[0]))
	if sameRows {
		n.trees[0] = s.trees[0].Copy()
	} else if err := n.fillRows(s, rewrite, newID); err != nil {
		return nil, err
	}
	for i := 1; i < len(n.trees); i++ {
		if j := s.find(n.index[i]); sameRows && j > 0 {
			n.trees[i] = s.trees[j].Copy()
		} else if err := n.fillIndex(i); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (s *store) find(x *IndexDef) int {
	for j := 1; j < len(s.index); j++ {
		if s.index[j].sameTree(x) {
			return j
		}
	}
	return -1
}

func (s *store) fillRows(from *store, rewrite func([]value.Value) ([]value.Value, error), newID func() uint64) error {
	var items []item
	var err error
	var buf []byte
	heap := s.index[0] == nil && from.index[0] == nil
	from.trees[0].Scan(func(it item) bool {
		if it.row.ghost {
			return true
		}
		row := &Row{Vals: it.row.Vals}
		if rewrite != nil {
			if row.Vals, err = rewrite(it.row.Vals); err != nil {
				return false
			}
		}
		old := it.row
		if !heap {
			old = nil
		}
		buf = s.rowKey(buf[:0], row, old, newID)
		row.key = string(buf)
		items = append(items, item{key: row.key, row: row})
		return true
	})
	if err != nil {
		return err
	}
	return s.load(0, items)
}

func (s *store) fillIndex(i int) error {
	var items []item
	var buf []byte
	s.trees[0].Scan(func(it item) bool {
		if !it.row.ghost {
			if k, ok := s.key(buf[:0], i, it.row); ok {
				buf = k
				items = append(items, item{key: string(k), row: it.row})
			}
		}
		return true
	})
	return s.load(i, items)
}

func (s *store) load(i int, items []item) error {
	sort.SliceStable(items, func(a, b int) bool { return items[a].key < items[b].key })
	for n, it := range items {
		if n > 0 && items[n-1].key == it.key {
			return errCreateUnique(s.def, s.index[i], it.row.Vals)
		}
		s.trees[i].Load(it)
	}
	return nil
}
