// Package codepage knows the code pages of char and varchar: which one a collation has, and their tables.
//
// Text of a page is decoded by [Decoder.Append].
//
// [MS-TDS] 2.2.5.1.2 "Collation Rule Definition"; [MS-LCID]; [MS-UCODEREF].
package codepage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// UTF8 is the number of the code page of the UTF-8 collations.
const UTF8 = 65001

var single = map[int]*charmap.Charmap{
	437: charmap.CodePage437, 850: charmap.CodePage850, 874: charmap.Windows874,
	1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252, 1253: charmap.Windows1253,
	1254: charmap.Windows1254, 1255: charmap.Windows1255, 1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
}

var double = map[int]encoding.Encoding{
	932: japanese.ShiftJIS, 936: simplifiedchinese.GBK, 949: korean.EUCKR, 950: traditionalchinese.Big5,
}

// Single is the table of a page of one byte a character, nil for others.
func Single(number int) *charmap.Charmap { return single[number] }

// Double is the encoding of a page of one or two bytes a character, nil for others.
func Double(number int) encoding.Encoding { return double[number] }

// utf8Flag marks the UTF-8 collations on the wire.
const utf8Flag = 1 << 26

// OfCollation is the page of a collation as rows carry it: that of its sort order if it has one, else that of its language.
func OfCollation(c [5]byte) int {
	info := binary.LittleEndian.Uint32(c[:])
	if info&utf8Flag != 0 {
		return UTF8
	}
	if n := ofSortID(c[4]); n != 0 {
		return n
	}
	return OfLCID(int(info & 0xFFFFF))
}

// ofSortID is the page of an SQL collation; 0 for none.
func ofSortID(id byte) int {
	for _, r := range [...]struct {
		from, to byte
		page     int
	}{
		{30, 34, 437}, {40, 49, 850}, {50, 54, 1252}, {55, 61, 850}, {71, 75, 1252}, {80, 98, 1250}, {104, 108, 1251}, {112, 124, 1253},
		{128, 130, 1254}, {136, 138, 1255}, {144, 146, 1256}, {152, 160, 1257}, {183, 186, 1252}, {192, 193, 932}, {194, 195, 949},
		{196, 197, 950}, {198, 199, 936}, {200, 200, 932}, {201, 201, 949}, {202, 202, 950}, {203, 203, 936}, {204, 206, 874}, {210, 217, 1252},
	} {
		if id >= r.from && id <= r.to {
			return r.page
		}
	}
	return 0
}

// windowsPage is the code page of a language, by its primary id; those that are not in it have 1252.
var windowsPage = map[int]int{
	0x01: 1256, 0x02: 1251, 0x05: 1250, 0x08: 1253, 0x0D: 1255, 0x0E: 1250, 0x11: 932, 0x12: 949, 0x15: 1250, 0x18: 1250,
	0x19: 1251, 0x1B: 1250, 0x1C: 1250, 0x1E: 874, 0x1F: 1254, 0x20: 1256, 0x22: 1251, 0x23: 1251, 0x24: 1250, 0x25: 1257,
	0x26: 1257, 0x27: 1257, 0x29: 1256, 0x2A: 1258, 0x2F: 1251,
}

// OfLCID is the code page that a receiver concludes from a language alone.
func OfLCID(lcid int) int {
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

// ErrUndefined reports bytes that a page has no character for.
var ErrUndefined = errors.New("bytes that its code page has no character for")

// Decoder turns bytes of one page into UTF-8.
type Decoder struct {
	utf8   bool
	table  *[128]rune // of a single-byte page, from 0x80 on; utf8.RuneError where there is no character
	double encoding.Encoding
	number int
}

var decoders = func() map[int]*Decoder {
	m := map[int]*Decoder{UTF8: {utf8: true, number: UTF8}}
	for n, c := range single {
		d := &Decoder{table: new([128]rune), number: n}
		for i := range d.table {
			r := c.DecodeByte(byte(0x80 + i))
			d.table[i] = r
		}
		m[n] = d
	}
	for n, e := range double {
		m[n] = &Decoder{double: e, number: n}
	}
	return m
}()

// NewDecoder finds the decoder of a page.
func NewDecoder(number int) (*Decoder, error) {
	if d := decoders[number]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("code page %d is not one that text can be decoded from", number)
}

// Append appends the text of b. Where there is no character it appends U+FFFD and returns ErrUndefined in the end. With controls
// the bytes below 0xA0 that a single-byte page leaves out are the control characters of the same number, as servers convert them.
func (d *Decoder) Append(dst, b []byte, controls bool) ([]byte, error) {
	var err error
	for i := 0; i < len(b); {
		if n := ascii(b[i:]); n > 0 {
			dst = append(dst, b[i:i+n]...)
			i += n
			continue
		}
		switch {
		case d.table != nil:
			r := d.table[b[i]&0x7F]
			if r == utf8.RuneError {
				if controls && b[i] < 0xA0 {
					r = rune(b[i])
				} else {
					err = ErrUndefined
				}
			}
			dst = utf8.AppendRune(dst, r)
			i++
		case d.utf8:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				err = ErrUndefined
			}
			dst = utf8.AppendRune(dst, r)
			i += n
		default:
			// The rest at once: where a character begins is for the decoder to know.
			text, decodeErr := d.double.NewDecoder().Bytes(b[i:])
			if decodeErr != nil {
				return dst, decodeErr
			}
			for _, r := range string(text) {
				if r == utf8.RuneError {
					err = ErrUndefined
				}
			}
			return append(dst, text...), err
		}
	}
	return dst, err
}

// ascii counts the bytes at the beginning of b that are the same in every page.
func ascii(b []byte) int {
	n := 0
	for n+8 <= len(b) && binary.LittleEndian.Uint64(b[n:])&0x8080808080808080 == 0 {
		n += 8
	}
	for n < len(b) && b[n] < utf8.RuneSelf {
		n++
	}
	return n
}
