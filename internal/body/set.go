package body

// Set is a set of column numbers; nil is empty.
type Set []uint64

// Has reports whether column i is in s.
func (s Set) Has(i int) bool { return i>>6 < len(s) && s[i>>6]&(1<<(i&63)) != 0 }

// Add puts column i in, growing the set when needed.
func (s *Set) Add(i int) {
	for i>>6 >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i>>6] |= 1 << (i & 63)
}

// Remove takes column i out.
func (s Set) Remove(i int) {
	if i>>6 < len(s) {
		s[i>>6] &^= 1 << (i & 63)
	}
}

// Empty reports whether no column is in s.
func (s Set) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// Reset takes all columns out and keeps the memory.
func (s Set) Reset() { clear(s) }
