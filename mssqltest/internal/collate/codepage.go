package collate

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/unicode/norm"
)

// coder maps characters to bytes of one code page and back.
type coder interface {
	// appendRune appends the bytes of r and says whether the code page has r.
	appendRune(dst []byte, r rune) ([]byte, bool)
	decode(b []byte) string
}

// Encode returns s in the code page of the collation. A character that the code page lacks becomes a similar one where
// Windows has a best fit (an accent dropped, a wide form made narrow), else a question mark for each of its code units; lossy says so.
func (c *Collation) Encode(s string) (b []byte, lossy bool) {
	if IsASCII(s) {
		return []byte(s), false
	}
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			dst = append(dst, s[i])
			i++
			continue
		}
		r, w := NextRune(s[i:])
		i += w
		var ok bool
		if dst, ok = c.impl.coder.appendRune(dst, r); ok {
			continue
		}
		lossy = true
		dst = appendBestFit(dst, r, c.impl.coder)
	}
	return dst, lossy
}

// Decode returns the characters of b in the code page of the collation. Bytes that stand for no character get one that
// encodes to them again where the code page is of single bytes.
func (c *Collation) Decode(b []byte) string {
	for _, x := range b {
		if x >= utf8.RuneSelf {
			return c.impl.coder.decode(b)
		}
	}
	return string(b)
}

// EncodedLen returns len of what Encode returns.
func (c *Collation) EncodedLen(s string) int {
	if IsASCII(s) {
		return len(s)
	}
	b, _ := c.Encode(s)
	return len(b)
}

// Narrow returns s as a varchar of this collation holds it.
func (c *Collation) Narrow(s string) string {
	if IsASCII(s) {
		return s
	}
	b, lossy := c.Encode(s)
	if !lossy {
		return s
	}
	return c.Decode(b)
}

func appendBestFit(dst []byte, r rune, cd coder) []byte {
	if r >= 0xff01 && r <= 0xff5e {
		return append(dst, byte(r-0xff01+'!'))
	}
	if fit, ok := bestFit[r]; ok {
		return append(dst, fit)
	}
	if r >= utf8.RuneSelf && r < surrSelf && (r < surrHigh || r >= surrEnd) {
		if d := norm.NFD.PropertiesString(string(r)).Decomposition(); len(d) > 0 {
			base, _ := utf8.DecodeRune(d)
			if out, ok := cd.appendRune(dst, base); ok && base != r {
				return out
			}
		}
	}
	dst = append(dst, '?')
	if r >= surrSelf {
		dst = append(dst, '?')
	}
	return dst
}

// bestFit holds common best fits of the single-byte Windows code pages that no decomposition gives.
var bestFit = map[rune]byte{
	0x0110: 'D', 0x0111: 'd', 0x0126: 'H', 0x0127: 'h', 0x0131: 'i', 0x0141: 'L', 0x0142: 'l', 0x0166: 'T', 0x0167: 't', 0x0180: 'b',
	0x2010: '-', 0x2011: '-', 0x2013: '-', 0x2014: '-', 0x2018: '\'', 0x2019: '\'', 0x201c: '"', 0x201d: '"', 0x2032: '\'',
	0x2044: '/', 0x2212: '-', 0x2215: '/', 0x2217: '*', 0x221e: '8', 0x3000: ' ',
}

// single is a code page of single bytes.
type single struct {
	runes [256]rune
	bytes map[rune]byte
}

func newSingle(m *charmap.Charmap) *single {
	s := &single{bytes: make(map[rune]byte, 256)}
	for i := range 256 {
		r := m.DecodeByte(byte(i))
		if r == utf8.RuneError {
			r = rune(i) // C1 controls keep the undefined bytes
			if i >= 0xa0 {
				r = 0xf800 + rune(i) // private use, as Windows does
			}
		}
		s.runes[i] = r
		if _, taken := s.bytes[r]; !taken {
			s.bytes[r] = byte(i)
		}
	}
	return s
}

func (s *single) appendRune(dst []byte, r rune) ([]byte, bool) {
	b, ok := s.bytes[r]
	if !ok {
		return dst, false
	}
	return append(dst, b), true
}

func (s *single) decode(b []byte) string {
	dst := make([]byte, 0, len(b)+len(b)/2)
	for _, x := range b {
		dst = utf8.AppendRune(dst, s.runes[x])
	}
	return string(dst)
}

// multi is a double-byte code page.
type multi struct{ enc encoding.Encoding }

func (m multi) appendRune(dst []byte, r rune) ([]byte, bool) {
	if r >= surrHigh && r < surrEnd || r == utf8.RuneError {
		return dst, false
	}
	var in [utf8.UTFMax]byte
	var out [8]byte
	n := utf8.EncodeRune(in[:], r)
	w, _, err := m.enc.NewEncoder().Transformer.Transform(out[:], in[:n], true)
	if err != nil {
		return dst, false
	}
	return append(dst, out[:w]...), true
}

func (m multi) decode(b []byte) string {
	out, err := m.enc.NewDecoder().Bytes(b)
	if err != nil {
		return string(utf8.RuneError)
	}
	return string(out)
}

// utf8Page is code page 65001, and stands in for the collations that have no code page at all.
type utf8Page struct{}

func (utf8Page) appendRune(dst []byte, r rune) ([]byte, bool) {
	if r >= surrHigh && r < surrEnd {
		return dst, false
	}
	return utf8.AppendRune(dst, r), true
}

func (utf8Page) decode(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

var (
	codersMu sync.Mutex
	coders   = map[int]coder{}
)

func coderOf(codePage int) coder {
	codersMu.Lock()
	defer codersMu.Unlock()
	if c, ok := coders[codePage]; ok {
		return c
	}
	c := newCoder(codePage)
	coders[codePage] = c
	return c
}

func newCoder(codePage int) coder {
	switch codePage {
	case 437:
		return newSingle(charmap.CodePage437)
	case 850:
		return newSingle(charmap.CodePage850)
	case 874:
		return newSingle(charmap.Windows874)
	case 932:
		return multi{japanese.ShiftJIS}
	case 936:
		return multi{simplifiedchinese.GBK}
	case 949:
		return multi{korean.EUCKR}
	case 950:
		return multi{traditionalchinese.Big5}
	case 1250:
		return newSingle(charmap.Windows1250)
	case 1251:
		return newSingle(charmap.Windows1251)
	case 1253:
		return newSingle(charmap.Windows1253)
	case 1254:
		return newSingle(charmap.Windows1254)
	case 1255:
		return newSingle(charmap.Windows1255)
	case 1256:
		return newSingle(charmap.Windows1256)
	case 1257:
		return newSingle(charmap.Windows1257)
	case 1258:
		return newSingle(charmap.Windows1258)
	case 65001:
		return utf8Page{}
	}
	return newSingle(charmap.Windows1252)
}
