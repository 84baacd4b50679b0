package collate

import (
	"bytes"
	"unicode/utf8"
)

// Compare returns -1, 0 or 1 as a sorts before, like or after b. Blanks at the end do not count. unicode says whether
// the strings are nvarchar data: then, and under a Windows collation, words sort as Windows sorts them (hyphen and
// apostrophe looked at last); varchar data under an SQL_ collation sorts character by character.
func (c *Collation) Compare(a, b string, unicode bool) int {
	if a == b {
		return 0
	}
	if !c.Binary {
		if r, ok := c.compareASCII(trimBlanks(a), trimBlanks(b), c.table(unicode)); ok {
			return r
		}
	}
	var bufA, bufB [256]byte
	return bytes.Compare(c.AppendKey(bufA[:0], a, unicode), c.AppendKey(bufB[:0], b, unicode))
}

// Equal says whether Compare gives 0.
func (c *Collation) Equal(a, b string, unicode bool) bool { return c.Compare(a, b, unicode) == 0 }

// compareASCII decides two strings of ASCII without a key; it gives up on other characters and on what the last level decides.
func (c *Collation) compareASCII(a, b string, t *table) (int, bool) {
	sensitive := t.upperBits(c)
	tertiary := 0
	i, j := 0, 0
	for {
		var pa, pb, ca, cb byte
		for i < len(a) {
			ca = a[i]
			if ca >= utf8.RuneSelf || t.asciiSpecial[ca] != 0 {
				return 0, false
			}
			i++
			if pa = t.asciiPrimary[ca]; pa != 0 {
				break
			}
		}
		for j < len(b) {
			cb = b[j]
			if cb >= utf8.RuneSelf || t.asciiSpecial[cb] != 0 {
				return 0, false
			}
			j++
			if pb = t.asciiPrimary[cb]; pb != 0 {
				break
			}
		}
		if pa != pb {
			return cmpByte(pa, pb), true
		}
		if pa == 0 {
			return tertiary, true
		}
		if tertiary == 0 && sensitive != 0 {
			tertiary = cmpByte(t.tertiaryByte(t.asciiTertiary[ca], pa, sensitive), t.tertiaryByte(t.asciiTertiary[cb], pb, sensitive))
		}
	}
}

func cmpByte(a, b byte) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
