package builtin

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// Like says whether s matches the pattern of LIKE: % any text, _ one character, [a-c] and [^a-c] sets, escape (one
// character or none) before what stands for itself. Characters are equal, and ranges ordered, as the collation says.
// In char and varchar data (unicode false) blanks at the end of s need not be in the pattern.
func Like(s, pattern, escape string, c *collate.Collation, unicode bool) bool {
	p := compileLike(pattern, escape)
	m := likeMatcher{c: c, unicode: unicode}
	if m.match(s, p) {
		return true
	}
	if unicode {
		return false
	}
	trimmed := strings.TrimRight(s, " ")
	return trimmed != s && m.match(trimmed, p)
}

type likeKind uint8

const (
	likeChar likeKind = iota
	likeOne
	likeAny
	likeSet
)

// likeItem is one element of a pattern.
type likeItem struct {
	kind   likeKind
	r      string // likeChar: the character
	ranges [][2]string
	not    bool
}

func compileLike(pattern, escape string) []likeItem {
	var items []likeItem
	for i := 0; i < len(pattern); {
		_, w := collate.NextRune(pattern[i:])
		ch := pattern[i : i+w]
		switch {
		case escape != "" && ch == escape && i+w < len(pattern):
			_, n := collate.NextRune(pattern[i+w:])
			items = append(items, likeItem{r: pattern[i+w : i+w+n]})
			i += w + n
			continue
		case ch == "%":
			if n := len(items); n == 0 || items[n-1].kind != likeAny {
				items = append(items, likeItem{kind: likeAny})
			}
		case ch == "_":
			items = append(items, likeItem{kind: likeOne})
		case ch == "[":
			if item, n, ok := compileSet(pattern[i:], escape); ok {
				items = append(items, item)
				i += n
				continue
			}
			// Without its end a set matches nothing.
			items = append(items, likeItem{kind: likeSet})
			return items
		default:
			items = append(items, likeItem{r: ch})
		}
		i += w
	}
	return items
}

// compileSet reads [ … ] at the start of p and returns its length.
func compileSet(p, escape string) (item likeItem, n int, ok bool) {
	item.kind = likeSet
	i := 1
	if strings.HasPrefix(p[i:], "^") {
		item.not = true
		i++
	}
	var chars []string
	for first := true; i < len(p); first = false {
		_, w := collate.NextRune(p[i:])
		ch := p[i : i+w]
		i += w
		switch {
		case ch == "]" && !first:
			item.ranges = setRanges(chars)
			return item, i, true
		case ch == "]":
			return item, i, true // [] is an empty set
		case escape != "" && ch == escape && i < len(p):
			_, w = collate.NextRune(p[i:])
			chars = append(chars, p[i:i+w], "")
			i += w
			continue
		}
		chars = append(chars, ch, ch)
	}
	return item, 0, false
}

// setRanges turns pairs of (character, the same or "" when escaped) into ranges.
func setRanges(pairs []string) (ranges [][2]string) {
	for i := 0; i < len(pairs); i += 2 {
		if i+4 < len(pairs) && pairs[i+3] == "-" {
			ranges = append(ranges, [2]string{pairs[i], pairs[i+4]})
			i += 4
			continue
		}
		ranges = append(ranges, [2]string{pairs[i], pairs[i]})
	}
	return ranges
}

type likeMatcher struct {
	c       *collate.Collation
	unicode bool
}

// match goes back only to the last %, which is enough.
func (m likeMatcher) match(s string, p []likeItem) bool {
	i, j := 0, 0
	backI, backJ := -1, -1
	for i < len(s) {
		if j < len(p) {
			if p[j].kind == likeAny {
				backI, backJ = i, j
				j++
				continue
			}
			if w := m.one(s[i:], p[j]); w > 0 {
				i += w
				j++
				continue
			}
		}
		if backJ < 0 {
			return false
		}
		_, w := collate.NextRune(s[backI:])
		backI += w
		i, j = backI, backJ+1
	}
	for j < len(p) && p[j].kind == likeAny {
		j++
	}
	return j == len(p)
}

// one returns the length of the character at the start of s if it matches, else 0.
func (m likeMatcher) one(s string, item likeItem) int {
	_, w := collate.NextRune(s)
	ch := s[:w]
	switch item.kind {
	case likeOne:
		return w
	case likeSet:
		if m.inSet(ch, item) == item.not {
			return 0
		}
		return w
	}
	if m.compare(ch, item.r) != 0 {
		return 0
	}
	return w
}

func (m likeMatcher) inSet(ch string, item likeItem) bool {
	for _, r := range item.ranges {
		if r[0] == r[1] {
			if m.compare(ch, r[0]) == 0 {
				return true
			}
			continue
		}
		if m.compare(ch, r[0]) >= 0 && m.compare(ch, r[1]) <= 0 {
			return true
		}
	}
	return false
}

// compare orders two characters; blanks count, and characters without weight are equal only to themselves.
func (m likeMatcher) compare(a, b string) int {
	if a == b {
		return 0
	}
	if c := m.c.Compare(a, b, m.unicode); c != 0 {
		return c
	}
	if a == " " || b == " " || m.c.Compare(a, "", m.unicode) == 0 {
		return strings.Compare(a, b)
	}
	return 0
}
