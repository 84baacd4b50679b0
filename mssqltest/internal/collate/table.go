package collate

import (
	"strings"
	"sync"

	xcollate "golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// table is the weights of one order. Tables are shared by the collations that differ only in what they ignore.
type table struct {
	sqlSort bool // sort order of an SQL_ collation: no specials, no expansions, capitals first
	old     bool // version 80
	hanTag  string

	tailored map[rune]element
	expand   map[rune]string

	// The weights of ASCII; primary 0 with special 0 weighs nothing.
	asciiPrimary  [128]byte
	asciiTertiary [128]byte
	asciiSpecial  [128]byte

	cache sync.Map // rune → []element

	hanMu       sync.Mutex // guards the two below
	hanCollator *xcollate.Collator
	hanBuffer   xcollate.Buffer
}

type tableKey struct {
	tailor  string
	sqlSort bool
	old     bool
}

var (
	tablesMu sync.Mutex
	tables   = map[tableKey]*table{}
)

// tableOf returns the weights for c, without its sensitivities.
func tableOf(c *Collation, tailor string, sqlSort bool) *table {
	key := tableKey{tailor, sqlSort, c.Flags>>versionShift < 2}
	tablesMu.Lock()
	defer tablesMu.Unlock()
	if t, ok := tables[key]; ok {
		return t
	}
	t := &table{sqlSort: sqlSort, old: key.old, tailored: map[rune]element{}}
	if strings.HasPrefix(tailor, "zh-") {
		t.hanTag = "zh-u-co-" + strings.TrimPrefix(tailor, "zh-")
	} else if tl, ok := tailorings[tailor]; ok {
		t.apply(tl)
	}
	for r := range rune(128) {
		e, ok := t.tailored[r]
		if !ok {
			e = asciiElement(r, sqlSort)
		}
		t.asciiPrimary[r], t.asciiTertiary[r], t.asciiSpecial[r] = e.primary[0], e.tertiary, e.special
	}
	tables[key] = t
	return t
}

// lookup returns the weights of r.
func (t *table) lookup(r rune) []element {
	if es, ok := t.cache.Load(r); ok {
		return es.([]element)
	}
	var es []element
	if two, ok := t.expand[r]; ok && !t.sqlSort {
		es = append(t.elements(rune(two[0])), t.elements(rune(two[1]))...)
	} else {
		es = t.elements(r)
	}
	t.cache.Store(r, es)
	return es
}

// han orders an ideograph: by code point, or in the Chinese families as CLDR orders it by sound or by strokes.
func (t *table) han(r rune) element {
	if t.hanTag == "" {
		return wide(leadHan, r)
	}
	t.hanMu.Lock()
	defer t.hanMu.Unlock()
	if t.hanCollator == nil {
		t.hanCollator = xcollate.New(language.Make(t.hanTag))
	}
	t.hanBuffer.Reset()
	key := t.hanCollator.KeyFromString(&t.hanBuffer, string(r))
	// The primary weight is the first two or three bytes of the key; 24 bits keep its order.
	var w uint32
	for i := range 3 {
		w <<= 8
		if i < len(key) {
			w |= uint32(key[i])
		}
	}
	e := element{n: 4, primary: [4]byte{leadHan + byte(w>>21), 0x10 + byte(w>>14)&0x7f, 0x10 + byte(w>>7)&0x7f, 0x10 + byte(w)&0x7f}}
	// Ideographs that CLDR holds for equal at this level still differ, by code point.
	e.marks = string([]byte{0xf1, 0x10 + byte(r>>14), 0x10 + byte(r>>7)&0x7f, 0x10 + byte(r)&0x7f})
	return e
}
