package bulkload

import (
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"example.com/mssqlcdc/internal/codepage"
	"example.com/mssqlcdc/internal/tds"
)

// utf8Page is the code page of the UTF-8 collations.
const utf8Page = codepage.UTF8

// codePage turns UTF-8 into the bytes of a char or varchar column.
type codePage struct {
	number int
	single *charmap.Charmap
	double transform.Transformer
}

// pageOf finds a code page. A collation without one is of nchar and nvarchar only.
func pageOf(number int) (*codePage, error) {
	p := &codePage{number: number, single: codepage.Single(number)}
	if enc := codepage.Double(number); enc != nil {
		p.double = enc.NewEncoder().Transformer
	}
	if p.single == nil && p.double == nil && number != utf8Page {
		return nil, fmt.Errorf("code page %d is not one that text can be encoded in", number)
	}
	return p, nil
}

// append adds the bytes of s. A character that the page lacks, or what is not
// UTF-8, is an error, or with replace a question mark.
func (p *codePage) append(dst, s []byte, replace bool) ([]byte, error) {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		bad := r == utf8.RuneError && n == 1
		if bad && !replace {
			return dst, errNotUTF8(s, i)
		}
		ok := !bad
		if ok {
			dst, ok = p.rune(dst, r, s[i:i+n])
		}
		if !ok {
			if !replace {
				return dst, fmt.Errorf("code page %d has no character %q (U+%04X)", p.number, r, r)
			}
			dst = append(dst, '?')
		}
		i += n
	}
	return dst, nil
}

// rune adds one character that is not ASCII.
func (p *codePage) rune(dst []byte, r rune, text []byte) ([]byte, bool) {
	switch {
	case p.single != nil:
		b, ok := p.single.EncodeRune(r)
		if !ok {
			return dst, false
		}
		return append(dst, b), true
	case p.double != nil:
		n := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		w, _, err := p.double.Transform(dst[n:], text, true)
		if err != nil {
			return dst[:n], false
		}
		return dst[:n+w], true
	}
	return append(dst, text...), true
}

// decode gives the text of bytes of the page.
func (p *codePage) decode(b []byte) (string, error) {
	var enc encoding.Encoding = encoding.Nop
	switch {
	case p.single != nil:
		enc = p.single
	case p.double != nil:
		enc = codepage.Double(p.number)
	}
	out, err := enc.NewDecoder().Bytes(b)
	return string(out), err
}

// Bits of a collation on the wire (2.2.5.1.2 Collation Rule Definition): the
// language in 20 bits, then ignore case, accent, kana and width, binary, binary2.
const (
	collIgnoreCase   = 1 << 20
	collIgnoreAccent = 1 << 21
	collIgnoreKana   = 1 << 22
	collIgnoreWidth  = 1 << 23
	collBinary       = 1 << 24
	collBinary2      = 1 << 25
	collVersionShift = 28
)

// sortIDs are those of the most usual SQL collations. Their order is the column's
// own; on the wire it only keeps a receiver from converting.
var sortIDs = map[string]byte{
	"SQL_Latin1_General_CP1_CS_AS": 51, "SQL_Latin1_General_CP1_CI_AS": 52,
	"SQL_Latin1_General_Pref_CP1_CI_AS": 53, "SQL_Latin1_General_CP1_CI_AI": 54,
}

// wire is the collation as rows carry it.
func (c collation) wire(name string) (out tds.Collation) {
	if c.lcid == 0 {
		return tds.DefaultCollation
	}
	const ignoreCase, ignoreAccent, ignoreKana, ignoreWidth = 0x1, 0x2, 0x10000, 0x20000 // NORM_ flags of Windows
	v := uint32(c.lcid)&0xFFFFF | uint32(c.version)<<collVersionShift
	for _, f := range []struct {
		style int
		bit   uint32
	}{{ignoreCase, collIgnoreCase}, {ignoreAccent, collIgnoreAccent}, {ignoreKana, collIgnoreKana}, {ignoreWidth, collIgnoreWidth}} {
		if c.style&f.style != 0 {
			v |= f.bit
		}
	}
	if c.style == 0 && len(name) > 4 {
		switch {
		case name[len(name)-4:] == "_BIN":
			v |= collBinary
		case name[len(name)-4:] == "BIN2":
			v |= collBinary2
		}
	}
	out = tds.Collation{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), sortIDs[name]}
	return out
}

// sendable tells whether the collation on the wire says the code page.
func (c collation) sendable() bool {
	return c.codePage != utf8Page && c.lcid != 0 && codepage.OfLCID(c.lcid) == c.codePage
}
