package bulkload

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"example.com/mssqlcdc/internal/sqltype"
	"example.com/mssqlcdc/internal/tds"
)

const nonASCII = 0x8080808080808080

// appendUTF16 adds the UTF-16LE of UTF-8. It stops at what is not UTF-8 and
// returns its place, len(s) if there is none.
func appendUTF16(dst, s []byte) ([]byte, int) {
	n := len(dst)
	dst = room(dst, 2*len(s))
	o, i := putUTF16(dst[n:n+2*len(s)], s)
	return dst[:n+o], i
}

// room makes room for n more bytes.
func room(dst []byte, n int) []byte {
	if need := len(dst) + n; need > cap(dst) {
		bigger := make([]byte, len(dst), max(need, 2*cap(dst)))
		copy(bigger, dst)
		return bigger
	}
	return dst
}

// putUTF16 writes the UTF-16LE of UTF-8 and counts what was written and what was read.
func putUTF16(out, s []byte) (o, i int) {
	for i < len(s) {
		for len(s)-i >= 8 {
			x := binary.LittleEndian.Uint64(s[i:])
			if x&nonASCII != 0 {
				break
			}
			binary.LittleEndian.PutUint64(out[o:], widen(x&0xFFFFFFFF))
			binary.LittleEndian.PutUint64(out[o+8:], widen(x>>32))
			i, o = i+8, o+16
		}
		if len(s)-i >= 4 {
			if x := uint64(binary.LittleEndian.Uint32(s[i:])); x&nonASCII == 0 {
				binary.LittleEndian.PutUint64(out[o:], widen(x))
				i, o = i+4, o+8
			}
		}
		for k := 0; k < 8 && i < len(s); k++ {
			if c := s[i]; c < utf8.RuneSelf {
				out[o], out[o+1] = c, 0
				i, o = i+1, o+2
				continue
			}
			r, w := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && w == 1 {
				return o, i
			}
			i += w
			if r >= 0x10000 {
				r -= 0x10000
				binary.LittleEndian.PutUint16(out[o:], uint16(0xD800+r>>10))
				r, o = 0xDC00+r&0x3FF, o+2
			}
			binary.LittleEndian.PutUint16(out[o:], uint16(r))
			o += 2
		}
	}
	return o, i
}

// widen spreads four bytes over eight.
func widen(x uint64) uint64 {
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	return (x | x<<8) & 0x00FF00FF00FF00FF
}

// longStart is the text pointer, the timestamp and the length of text, ntext and
// image (2.2.5.5.2.3 Data Type Dependent Data Streams).
const longStart = "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF" + "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"

// plpUnknown stands for the length of a value whose one chunk tells it (2.2.5.2.3
// Partially Length-prefixed Bytes).
const plpUnknown = 0xFFFFFFFFFFFFFFFE

// open begins the cell of a variable-length column; the place where its bytes
// begin is returned. close fills the length in.
func (w *wire) open(buf []byte) ([]byte, int) {
	switch w.frame {
	case frameShort:
		buf = append(buf, 0, 0)
	case framePLP:
		buf = append(binary.LittleEndian.AppendUint64(buf, plpUnknown), 0, 0, 0, 0)
	case frameLong:
		buf = append(buf, longStart...)
		buf = append(buf, 0, 0, 0, 0)
	}
	return buf, len(buf)
}

func (w *wire) close(buf []byte, at int) ([]byte, error) {
	n := len(buf) - at
	switch w.frame {
	case frameShort:
		binary.LittleEndian.PutUint16(buf[at-2:], uint16(n))
	case framePLP:
		if n > math.MaxInt32 {
			return buf, fmt.Errorf("%d bytes are more than 2 GB", n)
		}
		if n == 0 {
			return buf, nil // the empty length is itself the end
		}
		binary.LittleEndian.PutUint32(buf[at-4:], uint32(n))
		buf = append(buf, 0, 0, 0, 0)
	case frameLong:
		if n > math.MaxInt32 {
			return buf, fmt.Errorf("%d bytes are more than 2 GB", n)
		}
		binary.LittleEndian.PutUint32(buf[at-4:], uint32(n))
	}
	return buf, nil
}

// appendText adds a cell of text.
func (c *column) appendText(buf, s []byte) ([]byte, error) {
	w := c.wire
	buf, at := w.open(buf)
	var err error
	if w.form == formNarrow {
		buf, err = w.page.append(buf, s, c.lossy.Text)
		if err != nil {
			return buf, fmt.Errorf("%s: %w", clip(s), err)
		}
		if w.size != sqltype.Max && len(buf)-at > w.size {
			if !c.lossy.Text {
				return buf, fmt.Errorf("%s: the text of %d bytes is longer than %s", clip(s), len(buf)-at, c.typ)
			}
			buf = buf[:at+w.page.cut(s, w.size)]
		}
		return w.close(buf, at)
	}
	if w.page != nil {
		if s, err = c.checkNarrow(s); err != nil {
			return buf, err
		}
	}
	buf, read := appendUTF16(buf, s)
	if read < len(s) {
		if !c.lossy.Text {
			return buf, fmt.Errorf("%s: %w", clip(s), errNotUTF8(s, read))
		}
		buf = tds.AppendUTF16(buf[:at], string(s)) // with U+FFFD
	}
	if w.page == nil && w.size != sqltype.Max && len(buf)-at > w.size {
		if !c.lossy.Text {
			return buf, fmt.Errorf("%s: the text of %d UTF-16 units is longer than %s", clip(s), (len(buf)-at)/2, c.typ)
		}
		buf = buf[:at+w.size]
		if n := len(buf); n-at >= 2 && buf[n-1]&0xFC == 0xD8 { // half of a surrogate pair
			buf = buf[:n-2]
		}
	}
	return w.close(buf, at)
}

// plainText adds a cell of nvarchar or nchar, if the text is one that needs no
// decision, and leaves room behind it.
func (c *column) plainText(buf, s []byte, behind int) ([]byte, bool) {
	at := len(buf)
	buf = room(buf, 2*len(s)+16+behind)
	if c.wire.frame == framePLP {
		if len(s) == 0 || len(s) > math.MaxInt32/2 {
			return buf, false
		}
		out := buf[at : at+2*len(s)+16]
		n, read := putUTF16(out[12:], s)
		if read < len(s) {
			return buf, false
		}
		binary.LittleEndian.PutUint64(out, plpUnknown)
		binary.LittleEndian.PutUint32(out[8:], uint32(n))
		binary.LittleEndian.PutUint32(out[12+n:], 0)
		return buf[:at+16+n], true
	}
	out := buf[at : at+2*len(s)+2]
	n, read := putUTF16(out[2:], s)
	if read < len(s) || n > c.wire.size {
		return buf, false
	}
	binary.LittleEndian.PutUint16(out, uint16(n))
	return buf[:at+2+n], true
}

// checkNarrow sees that a column of a code page, whose cells are sent as UTF-16,
// can hold the text, and gives what it holds.
func (c *column) checkNarrow(s []byte) ([]byte, error) {
	w := c.wire
	b, err := w.page.append(c.scratch[:0], s, c.lossy.Text)
	c.scratch = b
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clip(s), err)
	}
	if w.size == sqltype.Max || len(b) <= w.size {
		return s, nil
	}
	if !c.lossy.Text {
		return nil, fmt.Errorf("%s: the text of %d bytes is longer than %s", clip(s), len(b), c.typ)
	}
	return s[:w.page.prefix(s, w.size)], nil
}

// prefix is how many bytes of s take at most n bytes in the code page.
func (p *codePage) prefix(s []byte, n int) int {
	var small [8]byte
	used := 0
	for i := 0; i < len(s); {
		_, w := utf8.DecodeRune(s[i:])
		b, err := p.append(small[:0], s[i:i+w], true)
		if err != nil || used+len(b) > n {
			return i
		}
		used += len(b)
		i += w
	}
	return len(s)
}

// cut is how many bytes of the encoded text are whole characters within n.
func (p *codePage) cut(s []byte, n int) int {
	if p.single != nil {
		return n
	}
	b, err := p.append(nil, s[:p.prefix(s, n)], true)
	if err != nil {
		return 0
	}
	return len(b)
}

// appendBinary adds a cell of bytes.
func (c *column) appendBinary(buf, s []byte) ([]byte, error) {
	w := c.wire
	if w.size != sqltype.Max && len(s) > w.size {
		if !c.lossy.Text {
			return buf, fmt.Errorf("%d bytes are longer than %s", len(s), c.typ)
		}
		s = s[:w.size]
	}
	buf, at := w.open(buf)
	return w.close(append(buf, s...), at)
}

// appendGUID adds 16 bytes in the order of the text form.
func appendGUID(buf, s []byte) ([]byte, error) {
	if len(s) != 16 {
		return buf, fmt.Errorf("%d bytes are no uniqueidentifier, which has 16", len(s))
	}
	return tds.AppendGUID(append(buf, 16), [16]byte(s)), nil
}

// parseGUID reads "01234567-89ab-cdef-0123-456789abcdef", also in braces.
func parseGUID(s []byte) (g [16]byte, err error) {
	t := s
	if len(t) == 38 && t[0] == '{' && t[37] == '}' {
		t = t[1:37]
	}
	if len(t) != 36 || t[8] != '-' || t[13] != '-' || t[18] != '-' || t[23] != '-' {
		return g, fmt.Errorf("%s is no uniqueidentifier", clip(s))
	}
	i := 0
	for at := 0; at < 36; at += 2 {
		if t[at] == '-' {
			at++
		}
		hi, okHi := hexDigit(t[at])
		lo, okLo := hexDigit(t[at+1])
		if !okHi || !okLo {
			return g, fmt.Errorf("%s is no uniqueidentifier", clip(s))
		}
		g[i] = hi<<4 | lo
		i++
	}
	return g, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
