package collate

import "unicode/utf8"

// maxSpecialPosition bounds what the position of a hyphen or an apostrophe takes in a key.
const maxSpecialPosition = 250*250*250 - 1

// AppendKey appends the sort key of s: the keys of two strings compare by bytes as Compare compares the strings, none is
// a prefix of another, so keys of several columns may be joined. unicode says whether s is nvarchar data (or varchar
// data; that differs for the SQL_ collations).
func (c *Collation) AppendKey(dst []byte, s string, unicode bool) []byte {
	if c.Binary {
		return c.appendBinaryKey(dst, s, unicode)
	}
	t := c.table(unicode)
	s = trimBlanks(s)
	if out, ok := c.appendASCIIKey(dst, s, t); ok {
		return out
	}
	return c.appendFullKey(dst, s, t)
}

// trimBlanks drops the blanks at the end, which comparison ignores.
func trimBlanks(s string) string {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}

// appendASCIIKey is appendFullKey for a string of ASCII; it gives up at the first other byte.
func (c *Collation) appendASCIIKey(dst []byte, s string, t *table) ([]byte, bool) {
	start := len(dst)
	var tertiary, special byte
	upper := t.upperBits(c)
	for i := range len(s) {
		b := s[i]
		if b >= utf8.RuneSelf {
			return dst[:start], false
		}
		if p := t.asciiPrimary[b]; p != 0 {
			dst = append(dst, p)
			tertiary |= t.asciiTertiary[b]
			continue
		}
		special |= t.asciiSpecial[b]
	}
	if tertiary&upper != 0 || t.sqlSort && upper != 0 {
		dst = append(dst, levelEnd, levelEnd) // no marks
		mark := len(dst)
		for i := range len(s) {
			if t.asciiPrimary[s[i]] != 0 {
				dst = append(dst, t.tertiaryByte(t.asciiTertiary[s[i]], t.asciiPrimary[s[i]], upper))
			}
		}
		if dst = trimTo(dst, mark, defaultTertiary); len(dst) == mark {
			dst = dst[:mark-2]
		}
	}
	if special != 0 {
		dst = appendLevels(dst, start, 3)
		n := 0
		for i := range len(s) {
			if t.asciiPrimary[s[i]] != 0 {
				n++
			} else if w := t.asciiSpecial[s[i]]; w != 0 {
				dst = appendSpecial(dst, n, w)
			}
		}
	}
	return append(dst, keyEnd), true
}

// upperBits returns the tertiary bits to which c is sensitive.
func (t *table) upperBits(c *Collation) byte {
	var bits byte
	if !c.CaseInsensitive {
		bits = terUpper | terVariant
	}
	if !c.KanaInsensitive {
		bits |= terKatakana
	}
	if !c.WidthInsensitive {
		bits |= terWidth
	}
	return bits
}

// tertiaryByte is the weight of the tertiary bits. The sort orders have capitals before small letters, the Windows tables after.
func (t *table) tertiaryByte(bits, lead, sensitive byte) byte {
	if t.sqlSort && lead >= weightLetter && lead <= leadLetter {
		bits ^= terUpper
	}
	return minWeight + bits&sensitive
}

// appendLevels ends levels until level is open; a key has as many level ends as needed and no more.
func appendLevels(dst []byte, start, level int) []byte {
	n := 0
	for _, b := range dst[start:] {
		if b == levelEnd {
			n++
		}
	}
	for ; n < level; n++ {
		dst = append(dst, levelEnd)
	}
	return dst
}

func trimTo(dst []byte, start int, b byte) []byte {
	n := len(dst)
	for n > start && dst[n-1] == b {
		n--
	}
	return dst[:n]
}

// appendSpecial appends where a hyphen or an apostrophe stands, as the number of sorting units before it, and which it is.
func appendSpecial(dst []byte, position int, w byte) []byte {
	p := min(position, maxSpecialPosition)
	return append(dst, minWeight+byte(p/62500), minWeight+byte(p/250%250), minWeight+byte(p%250), w)
}

// appendFullKey writes the four levels: letters, marks, case with kana and width, specials. Levels at the end that hold nothing are left out.
func (c *Collation) appendFullKey(dst []byte, s string, t *table) []byte {
	start := len(dst)
	var secBuf, terBuf, specBuf [128]byte
	sec, ter, spec := secBuf[:0], terBuf[:0], specBuf[:0]
	sensitive := t.upperBits(c)
	units := 0
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf && t.asciiPrimary[b] != 0 { // the lookup below gives the same
			i++
			units++
			dst = append(dst, t.asciiPrimary[b])
			sec = append(sec, minWeight)
			ter = append(ter, t.tertiaryByte(t.asciiTertiary[b], t.asciiPrimary[b], sensitive))
			continue
		}
		r, w := NextRune(s[i:])
		i += w
		for _, e := range t.lookup(r) {
			if e.special != 0 {
				spec = appendSpecial(spec, units, e.special)
				continue
			}
			if e.n == 0 { // marks of the unit before
				if !c.AccentInsensitive && e.marks != "" {
					if n := len(sec); n > 0 {
						sec = sec[:n-1]
					}
					sec = append(append(sec, e.marks...), minWeight)
				}
				continue
			}
			units++
			dst = append(dst, e.primary[:e.n]...)
			if !c.AccentInsensitive || e.primary[0] >= leadHan {
				sec = append(append(sec, e.marks...), minWeight)
			} else {
				sec = append(sec, minWeight)
			}
			ter = append(ter, t.tertiaryByte(e.tertiary, e.primary[0], sensitive))
		}
	}
	if sec = trimTo(sec, 0, minWeight); len(sec) > 0 {
		dst = append(append(dst, levelEnd), sec...)
	}
	if ter = trimTo(ter, 0, defaultTertiary); len(ter) > 0 {
		dst = append(appendLevels(dst, start, 2), ter...)
	}
	if len(spec) > 0 {
		dst = append(appendLevels(dst, start, 3), spec...)
	}
	return append(dst, keyEnd)
}
