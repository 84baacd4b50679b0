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
	w := blankWriter{dst: dst}
	switch {
	case !unicode && c.UTF8:
		for i := range len(s) {
			w.put(uint16(s[i]), ' ')
		}
	case !unicode:
		b, _ := c.Encode(s)
		for _, x := range b {
			w.put(uint16(x), ' ')
		}
	default:
		first := true
		for i := 0; i < len(s); {
			r, n := NextRune(s[i:])
			i += n
			if r < surrSelf {
				w.unit(uint16(r), c.Binary2 || first)
			} else {
				r -= surrSelf
				w.unit(uint16(surrHigh|r>>10), c.Binary2 || first)
				w.unit(uint16(surrLow|r&0x3ff), c.Binary2)
			}
			first = false
		}
	}
	return append(w.dst, binEnd)
}

// blankWriter holds back blanks until it knows what follows them.
type blankWriter struct {
	dst    []byte
	blanks uint32
}

// unit writes a code unit, by value or with its bytes swapped.
func (w *blankWriter) unit(u uint16, byValue bool) {
	if byValue {
		w.put(u, ' ')
		return
	}
	w.put(u<<8|u>>8, ' '<<8)
}

func (w *blankWriter) put(u, blank uint16) {
	if u == blank {
		w.blanks++
		return
	}
	w.flush(u < blank)
	switch {
	case blank != ' ' && u < blank:
		w.dst = append(w.dst, binLow-1, byte(u>>8), byte(u))
	case u < ' ':
		w.dst = append(w.dst, byte(u)+1)
	case blank == ' ' && u < utf8.RuneSelf:
		w.dst = append(w.dst, byte(u)-0x21+binFirst)
	default:
		w.dst = append(w.dst, binWide, byte(u>>8), byte(u))
	}
}

func (w *blankWriter) flush(below bool) {
	n := w.blanks
	if n == 0 {
		return
	}
	w.blanks = 0
	m := byte(binLow)
	if !below {
		m, n = binHigh, ^n
	}
	w.dst = append(w.dst, m, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}
