package bulkload

import (
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"

	"example.com/mssqlcdc/internal/tds"
)

// utf8Page is the code page of the UTF-8 collations.
const utf8Page = 65001

var singleBytePages = map[int]*charmap.Charmap{
	437: charmap.CodePage437, 850: charmap.CodePage850, 874: charmap.Windows874,
	1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252, 1253: charmap.Windows1253,
	1254: charmap.Windows1254, 1255: charmap.Windows1255, 1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
}

var doubleBytePages = map[int]encoding.Encoding{
	932: japanese.ShiftJIS, 936: simplifiedchinese.GBK, 949: korean.EUCKR, 950: traditionalchinese.Big5,
}

// codePage turns UTF-8 into the bytes of a char or varchar column.
type codePage struct {
	number int
	single *charmap.Charmap
	double transform.Transformer
}

// pageOf finds a code page. A collation without one is of nchar and nvarchar only.
func pageOf(number int) (*codePage, error) {
	p := &codePage{number: number, single: singleBytePages[number]}
	if enc := doubleBytePages[number]; enc != nil {
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
		enc = doubleBytePages[p.number]
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

// windowsPage is the code page of a language, by its primary id; those that are
// not in it have 1252.
var windowsPage = map[int]int{
	0x01: 1256, 0x02: 1251, 0x05: 1250, 0x08: 1253, 0x0D: 1255, 0x0E: 1250, 0x11: 932, 0x12: 949, 0x15: 1250, 0x18: 1250,
	0x19: 1251, 0x1B: 1250, 0x1C: 1250, 0x1E: 874, 0x1F: 1254, 0x20: 1256, 0x22: 1251, 0x23: 1251, 0x24: 1250, 0x25: 1257,
	0x26: 1257, 0x27: 1257, 0x29: 1256, 0x2A: 1258, 0x2F: 1251,
}

// pageOfLCID is the code page that a receiver concludes from a language alone.
func pageOfLCID(lcid int) int {
	const chinese, serbian = 0x04, 0x1A
	switch lcid & 0x3FF {
	case chinese:
		if lcid&0xFFFF == 0x0804 || lcid&0xFFFF == 0x1004 {
			return 936
		}
		return 950
	case serbian: // with Croatian and Bosnian; some are in Cyrillic
		if lcid&0xFFFF == 0x0C1A || lcid&0xFFFF == 0x1C1A || lcid&0xFFFF == 0x201A {
			return 1251
		}
		return 1250
	}
	if p, ok := windowsPage[lcid&0x3FF]; ok {
		return p
	}
	return 1252
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
	return c.codePage != utf8Page && c.lcid != 0 && pageOfLCID(c.lcid) == c.codePage
}
