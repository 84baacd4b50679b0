package collate

import "sync"

// byWire indexes the usual names by their wire bytes.
var byWire = sync.OnceValue(func() map[[5]byte]*Collation {
	m := map[[5]byte]*Collation{}
	for _, n := range Names() {
		c, ok := Lookup(n)
		if !ok {
			continue
		}
		w := c.Wire()
		if have := m[w]; have == nil || preferred(c, have) {
			m[w] = c
		}
	}
	return m
})

// preferred says whether a is the better name than b for the same bytes: the shorter one, then the first.
func preferred(a, b *Collation) bool {
	if len(a.Name) != len(b.Name) {
		return len(a.Name) < len(b.Name)
	}
	return a.Name < b.Name
}
