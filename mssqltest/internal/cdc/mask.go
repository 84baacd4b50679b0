package cdc

// Mask is an __$update_mask: one bit for each captured column, counted by its column_ordinal from the low end of the
// last byte (Microsoft Learn, "cdc.<capture_instance>_CT": the mask is a big-endian bit string).
type Mask []byte

// NewMask returns a clear mask for columns captured columns.
func NewMask(columns int) Mask { return make(Mask, (columns+7)/8) }

// FullMask returns the mask of an insert or a delete: the bit of every captured column is set.
func FullMask(columns int) Mask {
	m := NewMask(columns)
	for i := 1; i <= columns; i++ {
		m.Set(i)
	}
	return m
}

// Set sets the bit of a column ordinal (1 is the first captured column). An ordinal outside of the mask is ignored.
func (m Mask) Set(ordinal int) {
	if i := m.index(ordinal); i >= 0 {
		m[i] |= 1 << ((ordinal - 1) % 8)
	}
}

// Has reports whether the bit of a column ordinal is set.
func (m Mask) Has(ordinal int) bool {
	i := m.index(ordinal)
	return i >= 0 && m[i]&(1<<((ordinal-1)%8)) != 0
}

// Or sets the bits of other in m; both are of the same capture instance.
func (m Mask) Or(other Mask) {
	for i := 1; i <= len(m) && i <= len(other); i++ {
		m[len(m)-i] |= other[len(other)-i]
	}
}

func (m Mask) index(ordinal int) int {
	if ordinal < 1 || (ordinal-1)/8 >= len(m) {
		return -1
	}
	return len(m) - 1 - (ordinal-1)/8
}
