package collate

import (
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Lead bytes of primary weights. No weight byte is below minWeight, so that 0x00 can end a key and 0x01 a level.
const (
	keyEnd    = 0x00
	levelEnd  = 0x01
	minWeight = 0x02

	weightSpace   = 0x02 // lowest, so that a blank behind a text sorts as its end does
	weightPunct   = 0x08 // ASCII punctuation, ascending (string sort: control characters before it)
	weightControl = 0x34 // string sort
	leadSymbol    = 0x56
	weightDigit   = 0x58
	leadNumber    = 0x5e + 4
	weightLetter  = 0x64 // 'a'; letters are four apart, so that three letters of a language fit behind each
	letterStep    = 4
	leadLatin     = 0xcc
	leadLetter    = 0xd0
	leadKana      = 0xd8
	leadHangul    = 0xdc
	leadHan       = 0xf0
	leadPrivate   = 0xf8
)

// Tertiary bits; the byte in a key is minWeight plus those to which the collation is sensitive.
const (
	terUpper = 1 << (2 + iota)
	terKatakana
	terWidth
	terVariant // superscripts, ligatures and the like: differ where case differs
)

const defaultTertiary = minWeight

// element is the weights of one sorting unit.
type element struct {
	primary  [4]byte
	n        uint8 // bytes of primary; 0: only marks
	tertiary uint8 // bits
	marks    string
	special  byte // word sort: hyphen or apostrophe, compared after all else
}

// windowsPunctuation is the order of the ASCII punctuation in the Windows tables; hyphen and apostrophe are apart.
const windowsPunctuation = "!\"#$%&()*,./:;?@[\\]^_`{|}~+<=>"

// sqlPunctuation is the order in the dictionary sort orders of the SQL_ collations.
const sqlPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// specials are the characters that a word sort looks at last, with their weights.
var specials = map[rune]byte{'\'': 0x04, '-': 0x06, 0x00ad: 0x08}

// expansions are letters that sort as two.
var expansions = map[rune]string{
	'æ': "ae", 'Æ': "AE", 'œ': "oe", 'Œ': "OE", 'ß': "ss", 'ẞ': "SS", 'þ': "th", 'Þ': "TH", 'ĳ': "ij", 'Ĳ': "IJ",
}

// struck are letters that sort as another with a mark of their own.
var struck = map[rune]struct {
	base rune
	mark byte
}{
	'ø': {'o', 0x60}, 'Ø': {'O', 0x60}, 'đ': {'d', 0x60}, 'Đ': {'D', 0x60}, 'ð': {'d', 0x68}, 'Ð': {'D', 0x68}, 'ł': {'l', 0x60}, 'Ł': {'L', 0x60},
	'ħ': {'h', 0x60}, 'Ħ': {'H', 0x60}, 'ŧ': {'t', 0x60}, 'Ŧ': {'T', 0x60}, 'ı': {'i', 0x60}, 'ĸ': {'q', 0x60},
}

// struckSQL are the letters that expand in a word sort but not in the sort orders of the SQL_ collations.
var struckSQL = map[rune]struct {
	base rune
	mark byte
}{
	'æ': {'a', 0x70}, 'Æ': {'A', 0x70}, 'œ': {'o', 0x70}, 'Œ': {'O', 0x70}, 'ß': {'s', 0x70}, 'þ': {'t', 0x70}, 'Þ': {'T', 0x70},
}

// marks are the secondary weights of the usual combining marks.
var marks = map[rune]byte{
	0x0301: 0x0e, 0x0300: 0x0f, 0x0307: 0x10, 0x0302: 0x12, 0x0308: 0x13, 0x030c: 0x14, 0x0306: 0x15, 0x0304: 0x17, 0x0303: 0x19,
	0x030a: 0x1a, 0x0328: 0x1b, 0x0327: 0x1c, 0x030b: 0x1d, 0x0309: 0x1e, 0x0323: 0x1f, 0x031b: 0x20, 0x0326: 0x21, 0x0342: 0x22,
	0x0313: 0x23, 0x0314: 0x24, 0x0345: 0x25, 0x0331: 0x26, 0x3099: 0x30, 0x309a: 0x31,
}

// largeKana maps the small kana to the large ones.
var largeKana = map[rune]rune{
	'ぁ': 'あ', 'ぃ': 'い', 'ぅ': 'う', 'ぇ': 'え', 'ぉ': 'お', 'っ': 'つ', 'ゃ': 'や', 'ゅ': 'ゆ', 'ょ': 'よ', 'ゎ': 'わ', 'ゕ': 'か', 'ゖ': 'け',
}

func one(b byte) element { return element{primary: [4]byte{b}, n: 1} }

func wide(lead byte, r rune) element {
	return element{primary: [4]byte{lead, 0x10 + byte(r>>14), 0x10 + byte(r>>7)&0x7f, 0x10 + byte(r)&0x7f}, n: 4}
}

// asciiElement gives the weights of an ASCII character that the language does not tailor.
func asciiElement(r rune, sql bool) element {
	switch {
	case r == ' ':
		return one(weightSpace)
	case r >= '0' && r <= '9':
		return one(weightDigit + byte(r-'0'))
	case r >= 'a' && r <= 'z':
		return one(weightLetter + letterStep*byte(r-'a'))
	case r >= 'A' && r <= 'Z':
		e := one(weightLetter + letterStep*byte(r-'A'))
		e.tertiary = terUpper
		return e
	case r < ' ' || r == 0x7f:
		return controlElement(r, sql)
	}
	if !sql {
		if w, ok := specials[r]; ok {
			return element{special: w}
		}
		for i := range len(windowsPunctuation) {
			if rune(windowsPunctuation[i]) == r {
				return one(weightPunct + byte(i))
			}
		}
	}
	for i := range len(sqlPunctuation) {
		if rune(sqlPunctuation[i]) == r {
			return one(weightPunct + byte(i))
		}
	}
	return element{}
}

// controlElement: a word sort ignores the control characters save tab to carriage return; the sort orders have all.
func controlElement(r rune, sql bool) element {
	switch {
	case r >= '\t' && r <= '\r':
		return one(weightSpace + 1 + byte(r-'\t'))
	case !sql:
		return element{}
	case r == 0x7f:
		return one(weightControl + 0x20)
	}
	return one(weightControl + byte(r))
}

// elements returns the weights of r, a character outside of ASCII or one that the language tailors.
func (t *table) elements(r rune) []element {
	if e, ok := t.tailored[r]; ok {
		return []element{e}
	}
	if r < 0x80 {
		return []element{asciiElement(r, t.sqlSort)}
	}
	if !t.sqlSort {
		if w, ok := specials[r]; ok {
			return []element{{special: w}}
		}
		if two, ok := expansions[r]; ok {
			return append(t.elements(rune(two[0])), t.elements(rune(two[1]))...)
		}
	} else if s, ok := struckSQL[r]; ok {
		return marked(t.elements(s.base), s.mark)
	}
	if s, ok := struck[r]; ok {
		return marked(t.elements(s.base), s.mark)
	}
	if r >= surrHigh && r < surrEnd || r >= surrSelf && t.old {
		return nil // the version 80 tables know no supplementary character
	}
	if es, ok := t.decomposed(r); ok {
		return es
	}
	return t.base(r)
}

func marked(es []element, mark byte) []element {
	if n := len(es); n > 0 {
		es[n-1].marks += string([]byte{mark})
	}
	return es
}

// undecomposed are letters of their own in the Windows tables although Unicode decomposes them.
var undecomposed = map[rune]bool{'й': true, 'Й': true, 'ў': true, 'Ў': true}

func (t *table) decomposed(r rune) ([]element, bool) {
	if r >= 0xac00 && r <= 0xd7a3 || undecomposed[r] {
		return nil, false
	}
	var buf [64]byte
	d := norm.NFKD.Append(buf[:0], []byte(string(r))...)
	if string(d) == string(r) {
		return nil, false
	}
	var bits uint8
	if norm.NFD.PropertiesString(string(r)).Decomposition() == nil {
		bits = terVariant
		if r >= 0xff01 && r <= 0xffee || r == 0x3000 {
			bits = terWidth
		}
	}
	var es []element
	for _, p := range string(d) {
		for _, e := range t.elements(p) {
			if e.n == 0 && e.special == 0 && e.marks != "" && len(es) > 0 {
				es[len(es)-1].marks += e.marks
				continue
			}
			e.tertiary |= bits
			es = append(es, e)
		}
	}
	return es, true
}

// base gives the weights of a character that does not decompose.
func (t *table) base(r rune) []element {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		if m, ok := marks[r]; ok {
			return []element{{marks: string([]byte{m})}}
		}
		return []element{{marks: string([]byte{0xf0, 0x10 + byte(r>>14), 0x10 + byte(r>>7)&0x7f, 0x10 + byte(r)&0x7f})}}
	case unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r):
		return []element{kana(r)}
	case unicode.Is(unicode.Han, r):
		return []element{t.han(r)}
	case r >= 0xac00 && r <= 0xd7a3:
		return []element{wide(leadHangul, r)}
	case unicode.Is(unicode.Nd, r):
		for zero := r; ; zero-- { // decimal digits come in runs of ten
			if !unicode.Is(unicode.Nd, zero-1) || r-zero == 9 {
				e := one(weightDigit + byte(r-zero)%10)
				e.tertiary = terVariant
				return []element{e}
			}
		}
	case unicode.IsLetter(r):
		return []element{letter(r)}
	case unicode.IsNumber(r):
		return []element{wide(leadNumber, r)}
	case unicode.Is(unicode.Co, r):
		return []element{wide(leadPrivate, r)}
	case unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.Is(unicode.Zs, r):
		return []element{wide(leadSymbol, r)}
	case unicode.Is(unicode.Mc, r):
		return []element{wide(leadLetter, r)}
	}
	return nil // control, format and unassigned characters weigh nothing
}

func letter(r rune) element {
	lower := unicode.ToLower(r)
	if r == 'ς' {
		lower = 'σ'
	}
	lead := byte(leadLetter)
	if unicode.Is(unicode.Latin, r) {
		lead = leadLatin
	}
	e := wide(lead, lower)
	if lower != r {
		e.tertiary = terUpper
	}
	return e
}

func kana(r rune) element {
	var bits uint8
	if r >= 0x30a1 && r <= 0x30f6 {
		r -= 0x60
		bits = terKatakana
	}
	if large, ok := largeKana[r]; ok {
		r = large
	} else {
		bits |= terUpper
	}
	e := wide(leadKana, r)
	e.tertiary = bits
	return e
}
