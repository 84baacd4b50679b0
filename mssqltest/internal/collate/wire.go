package collate

import "encoding/binary"

// Flags of a collation on the wire, in the 32-bit word above the 20 bits of the LCID (MS-TDS 2.2.5.1.2 Collation Rule Definition).
const (
	flagIgnoreCase = 1 << (20 + iota)
	flagIgnoreAccent
	flagIgnoreKana
	flagIgnoreWidth
	flagBinary
	flagBinary2
	flagUTF8
)

const (
	lcidMask     = 1<<20 - 1
	versionShift = 28
)

func wireFlags(c *Collation, version uint8) uint32 {
	f := uint32(version) << versionShift
	for _, b := range []struct {
		on  bool
		bit uint32
	}{
		{c.CaseInsensitive, flagIgnoreCase}, {c.AccentInsensitive, flagIgnoreAccent},
		{c.KanaInsensitive, flagIgnoreKana}, {c.WidthInsensitive, flagIgnoreWidth},
		{c.Binary && !c.Binary2, flagBinary}, {c.Binary2, flagBinary2}, {c.UTF8, flagUTF8},
	} {
		if b.on {
			f |= b.bit
		}
	}
	return f
}

// Wire returns the five bytes of a TYPE_INFO or of ENVCHANGE 7.
func (c *Collation) Wire() [5]byte {
	var w [5]byte
	binary.LittleEndian.PutUint32(w[:], c.LCID&lcidMask|c.Flags)
	w[4] = c.SortID
	return w
}

// FromWire returns the collation of five wire bytes; of several with the same bytes (with and without _SC) the one with
// the shortest name. Bytes that name no collation give the default one.
func FromWire(w [5]byte) *Collation {
	if c := byWire()[w]; c != nil {
		return c
	}
	return nearest(w)
}

// nearest serves a client that sends bytes of its own making (an LCID with flags 0, a sort order alone).
func nearest(w [5]byte) *Collation {
	info := binary.LittleEndian.Uint32(w[:])
	if w[4] != 0 {
		for wire, c := range byWire() {
			if wire[4] == w[4] {
				return c
			}
		}
	}
	for i := range families {
		f := &families[i]
		if info&lcidMask == 0 || f.lcid&lcidMask != info&lcidMask {
			continue
		}
		name := f.name
		switch info >> versionShift {
		case 1:
			name += "_90"
		case 2:
			name += "_100"
		case 3:
			name += "_140"
		}
		if c, ok := Lookup(name + suffixOf(info)); ok {
			return c
		}
		if c, ok := Lookup(f.name + "_CI_AS"); ok {
			return c
		}
	}
	return Default()
}

func suffixOf(info uint32) string {
	switch {
	case info&flagBinary2 != 0:
		return "_BIN2"
	case info&flagBinary != 0:
		return "_BIN"
	}
	s := "_CS"
	if info&flagIgnoreCase != 0 {
		s = "_CI"
	}
	if info&flagIgnoreAccent != 0 {
		s += "_AI"
	} else {
		s += "_AS"
	}
	if info&flagIgnoreKana == 0 {
		s += "_KS"
	}
	if info&flagIgnoreWidth == 0 {
		s += "_WS"
	}
	if info&flagUTF8 != 0 {
		s += "_SC_UTF8"
	}
	return s
}
