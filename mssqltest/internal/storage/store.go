package storage

import "fmt"

// store is the rows of a table in one state: the tree of its rows in clustered or heap order, then one tree for each
// other index that is not disabled. Entries of all trees point to the row itself.
type store struct {
	def   *TableDef
	trees []*tree
	index []*IndexDef // of each tree; index[0] is nil for a heap
}

func newStore(d *TableDef) *store {
	s := &store{def: d, trees: []*tree{newTree()}, index: []*IndexDef{d.Clustered()}}
	for _, x := range d.Indexes {
		if !x.Clustered && !x.Disabled {
			s.trees = append(s.trees, newTree())
			s.index = append(s.index, x)
		}
	}
	return s
}

// clone takes a copy at no cost. Both can be changed afterwards; the caller has exclusive use of s meanwhile.
func (s *store) clone() *store {
	c := &store{def: s.def, index: s.index, trees: make([]*tree, len(s.trees))}
	for i, t := range s.trees {
		c.trees[i] = t.Copy()
	}
	return c
}

// tree returns the position in trees of an index, given by its position in def.Indexes; -1 is the table itself.
func (s *store) tree(index int) (int, error) {
	if index == -1 {
		return 0, nil
	}
	if index < -1 || index >= len(s.def.Indexes) {
		return 0, fmt.Errorf("scanning %s: it has no index %d", s.def.QualifiedName(), index)
	}
	for i, x := range s.index {
		if x == s.def.Indexes[index] {
			return i, nil
		}
	}
	return 0, fmt.Errorf("scanning %s: index %s is disabled", s.def.QualifiedName(), s.def.Indexes[index].Name)
}

// unique says whether tree i holds at most one row per key value.
func (s *store) unique(i int) bool { return s.index[i] != nil && s.index[i].Unique }

// rowKey makes the key of a row in the first tree. An update keeps the row id of its old key.
func (s *store) rowKey(buf []byte, row *Row, old *Row, newID func() uint64) []byte {
	x := s.index[0]
	if x != nil {
		buf = x.appendRow(buf, s.def, row.Vals)
		if x.Unique {
			return buf
		}
	}
	if old != nil {
		return append(buf, old.key[len(old.key)-rowIDLen:]...)
	}
	return appendRowID(buf, newID())
}

// key makes the key of a row in tree i; ok is false when the index's filter leaves the row out.
func (s *store) key(buf []byte, i int, row *Row) (key []byte, ok bool) {
	if i == 0 {
		return append(buf, row.key...), true
	}
	x := s.index[i]
	if x.Filter != nil && !x.Filter(row.Vals) {
		return buf, false
	}
	buf = x.appendRow(buf, s.def, row.Vals)
	if !x.Unique {
		buf = append(buf, row.key...)
	}
	return buf, true
}

// replay applies one change of a row: old leaves, new enters; either may be nil. Entries are taken out only when they
// still are old's, which makes the order of the changes of one statement irrelevant (two rows may swap keys).
func (s *store) replay(old, new *Row) {
	var a, b [128]byte
	for i := range s.trees {
		if old != nil {
			if k, ok := s.key(a[:0], i, old); ok {
				s.removeIf(i, k, old)
			}
		}
		if new != nil {
			if k, ok := s.key(b[:0], i, new); ok {
				s.trees[i].Set(item{key: s.keyString(i, k, new), row: new})
			}
		}
	}
}

// keyString avoids a second copy of the row's own key.
func (s *store) keyString(i int, k []byte, row *Row) string {
	if i == 0 {
		return row.key
	}
	return string(k)
}

func (s *store) removeIf(i int, k []byte, row *Row) {
	if it, ok := s.trees[i].Get(item{key: string(k)}); ok && it.row == row {
		s.trees[i].Delete(it)
	}
}

// get looks a key up in tree i.
func (s *store) get(i int, key string) (*Row, bool) {
	it, ok := s.trees[i].Get(item{key: key})
	return it.row, ok
}
