package collate

import "unicode/utf8"

// Markers of binary keys. Comparison fills the shorter string with blanks, so a run of blanks is written as one marker
// that says whether what follows is less than a blank or more; the end of the string lies between the two.
const (
	binLow   = 0x21
	binEnd   = 0x22
	binHigh  = 0x23
	binFirst = 0x24 // code of the first character above the blank, 0x21
	binWide  = 0xfd // two bytes follow
)

// appendBinaryKey orders by code: nvarchar by code unit (_BIN2) or, as the old _BIN does, by the bytes of the units after
// the first; varchar by the bytes of the code page.
func (c *Collation) appendBinaryKey(dst []byte, s string, unicode bool) []byte {
	blanks := uint32(0)
	switch {
	case !unicode && c.UTF8:
		for i := range len(s) {
			dst, blanks = appendCode(dst, blanks, uint16(s[i]), ' ')
		}
	case !unicode:
		b, _ := c.Encode(s)
		for _, x := range b {
			dst, blanks = appendCode(dst, blanks, uint16(x), ' ')
		}
	default:
		first := true
		for i := 0; i < len(s); {
			r, n := NextRune(s[i:])
			i += n
			if r < surrSelf {
				dst, blanks = appendUnit(dst, blanks, uint16(r), c.Binary2 || first)
			} else {
				r -= surrSelf
				dst, blanks = appendUnit(dst, blanks, uint16(surrHigh|r>>10), c.Binary2 || first)
				dst, blanks = appendUnit(dst, blanks, uint16(surrLow|r&0x3ff), c.Binary2)
			}
			first = false
		}
	}
	return append(dst, binEnd)
}

// appendUnit writes a code unit, by value or with its bytes swapped.
func appendUnit(dst []byte, blanks uint32, u uint16, byValue bool) ([]byte, uint32) {
	if byValue {
		return appendCode(dst, blanks, u, ' ')
	}
	return appendCode(dst, blanks, u<<8|u>>8, ' '<<8)
}

// appendCode writes a code, or holds a blank back until it is known what follows; it returns how many are held back.
func appendCode(dst []byte, blanks uint32, u, blank uint16) ([]byte, uint32) {
	if u == blank {
		return dst, blanks + 1
	}
	if blanks > 0 {
		m := byte(binLow)
		if u > blank {
			m, blanks = binHigh, ^blanks
		}
		dst = append(dst, m, byte(blanks>>24), byte(blanks>>16), byte(blanks>>8), byte(blanks))
	}
	switch {
	case blank != ' ' && u < blank:
		dst = append(dst, binLow-1, byte(u>>8), byte(u))
	case u < ' ':
		dst = append(dst, byte(u)+1)
	case blank == ' ' && u < utf8.RuneSelf:
		dst = append(dst, byte(u)-0x21+binFirst)
	default:
		dst = append(dst, binWide, byte(u>>8), byte(u))
	}
	return dst, 0
}
