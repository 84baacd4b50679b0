package tds

import (
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"
)

// Text is UTF-16LE on the wire and WTF-8 here: UTF-8 in which a lone surrogate keeps its own three bytes, because a
// server stores any sequence of code units and nothing may change on the way through.

const (
	nonASCII16 = 0xFF80FF80FF80FF80 // bits that no ASCII unit of four has
	nonASCII8  = 0x8080808080808080
)

// DecodeUTF16 gives the text of UTF-16LE bytes; an odd last byte is dropped.
func DecodeUTF16(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	var small [128]byte
	return string(AppendUTF8(small[:0], b))
}

// AppendUTF8 writes the WTF-8 of UTF-16LE bytes; an odd last byte is dropped.
func AppendUTF8(dst, b []byte) []byte {
	for {
		var units int
		dst, units = AppendValidUTF8(dst, b)
		if b = b[2*units:]; len(b) < 2 {
			return dst
		}
		u := binary.LittleEndian.Uint16(b)
		dst = append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
		b = b[2:]
	}
}

// mostUTF8 is how many bytes of UTF-8 a code unit can become.
const mostUTF8 = 3

// slowUnits is how many code units are written one at a time before the next look for ASCII.
const slowUnits = 32

// MaxUTF8 is the most that AppendValidUTF8 appends for so many bytes. With that much room it does not move dst.
func MaxUTF8(bytes int) int { return bytes/2*mostUTF8 + 8 }

// AppendValidUTF8 writes the UTF-8 of UTF-16LE bytes up to the first lone surrogate, and tells how many code units that
// is: all of them if there is none. An odd last byte is dropped.
func AppendValidUTF8(dst, b []byte) (_ []byte, units int) {
	b = b[:len(b)&^1]
	whole := len(b)
	n := len(dst)
	var table *[1 << 16]uint32
	dst = slices.Grow(dst, whole/2+8)
	dst = dst[:cap(dst)]
	for len(b) > 0 {
		if len(dst)-n < len(b)/2 {
			dst = growTo(dst, n, len(b))
		}
		ascii := narrowRun(dst[n:], b)
		n += ascii
		b = b[2*ascii:]
		// Four units go without a branch, whether they take one, two or three bytes, unless one of them is a surrogate.
		for len(b) >= 8 {
			if table == nil {
				table = utf8Table()
			}
			x := binary.LittleEndian.Uint64(b)
			if x&nonASCII16 == 0 && (len(b) < 16 || binary.LittleEndian.Uint64(b[8:])&nonASCII16 == 0) {
				break
			}
			if len(dst)-n < 16 {
				dst = growTo(dst, n, len(b))
			}
			v, w, y, z := table[x&0xFFFF], table[x>>16&0xFFFF], table[x>>32&0xFFFF], table[x>>48]
			if min(v, w, y, z) < 1<<24 {
				break
			}
			to := dst[n : n+16]
			at := v >> 24
			binary.LittleEndian.PutUint32(to, v)
			binary.LittleEndian.PutUint32(to[at&15:], w)
			at += w >> 24
			binary.LittleEndian.PutUint32(to[at&15:], y)
			at += y >> 24
			binary.LittleEndian.PutUint32(to[at&15:], z)
			n += int(at + z>>24)
			b = b[8:]
		}
		// Others one at a time, until it looks like ASCII again.
		part := min(len(b), 2*slowUnits)
		if len(dst)-n < MaxUTF8(part) {
			dst = growTo(dst, n, len(b))
		}
		for ascii := 0; part >= 2 && ascii < 4; part -= 2 {
			u := uint32(b[0]) | uint32(b[1])<<8
			to := dst[n : n+4 : n+4]
			switch {
			case u < 0x80:
				to[0] = byte(u)
				n++
				ascii++
				b = b[2:]
				continue
			case u < 0x800:
				to[0], to[1] = 0xC0|byte(u>>6), 0x80|byte(u&0x3F)
				n += 2
			case u&0xF800 != 0xD800:
				binary.LittleEndian.PutUint32(to, 0x8080E0|u>>12|u<<2&0x3F00|u<<16&0x3F0000)
				n += 3
			case u < 0xDC00 && len(b) >= 4 && b[3]&0xFC == 0xDC:
				c := (u-0xD800)<<10 | (uint32(b[2]) | uint32(b[3])<<8 - 0xDC00) + 0x10000
				to[0], to[1], to[2], to[3] = 0xF0|byte(c>>18), 0x80|byte(c>>12&0x3F), 0x80|byte(c>>6&0x3F), 0x80|byte(c&0x3F)
				n += 4
				b = b[2:]
				part -= 2
			default:
				return dst[:n], (whole - len(b)) / 2
			}
			ascii = 0
			b = b[2:]
		}
	}
	return dst[:n], whole / 2
}

// utf8Table has the UTF-8 of each code unit in the low bytes and its length in the highest; 0 for surrogates. It is made when text
// needs it first: for mixed letters it is twice as fast as deciding what each unit takes.
var utf8Table = sync.OnceValue(func() *[1 << 16]uint32 {
	t := new([1 << 16]uint32)
	for i := range t {
		u := uint32(i)
		switch {
		case u < 0x80:
			t[i] = u | 1<<24
		case u < 0x800:
			t[i] = 0x80C0 | u>>6 | u<<8&0x3F00 | 2<<24
		case u&0xF800 != 0xD800:
			t[i] = 0x8080E0 | u>>12 | u<<2&0x3F00 | u<<16&0x3F0000 | 3<<24
		}
	}
	return t
})

// narrowRun writes ASCII code units as bytes, eight at a time, up to the first eight that are not all ASCII. dst has room for
// as many bytes as there are units.
func narrowRun(dst, b []byte) (units int) {
	for len(b) >= 32 && len(dst) >= 16 {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		z, w := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		if (x|y|z|w)&nonASCII16 != 0 {
			break
		}
		binary.LittleEndian.PutUint64(dst, narrow(x)|narrow(y)<<32)
		binary.LittleEndian.PutUint64(dst[8:], narrow(z)|narrow(w)<<32)
		units += 16
		b, dst = b[32:], dst[16:]
	}
	for len(b) >= 16 && len(dst) >= 8 {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if (x|y)&nonASCII16 != 0 {
			break
		}
		binary.LittleEndian.PutUint64(dst, narrow(x)|narrow(y)<<32)
		units += 8
		b, dst = b[16:], dst[8:]
	}
	return units
}

// growTo makes room behind the first n bytes of dst for what the rest of the input can become.
func growTo(dst []byte, n, rest int) []byte {
	dst = slices.Grow(dst[:n], MaxUTF8(rest))
	return dst[:cap(dst)]
}

// narrow packs four ASCII code units into the low four bytes.
func narrow(x uint64) uint64 {
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return (x | x>>16) & 0x00000000FFFFFFFF
}

// widen is the inverse of narrow.
func widen(x uint64) uint64 {
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	return (x | x<<8) & 0x00FF00FF00FF00FF
}

// AppendUTF16 writes the UTF-16LE of WTF-8 text. A byte that belongs to no character becomes U+FFFD.
func AppendUTF16(dst []byte, s string) []byte {
	dst = slices.Grow(dst, 2*len(s))
	for i := 0; i < len(s); {
		if len(s)-i >= 8 {
			x := load64(s[i:])
			if x&nonASCII8 == 0 {
				dst = binary.LittleEndian.AppendUint64(dst, widen(x&0xFFFFFFFF))
				dst = binary.LittleEndian.AppendUint64(dst, widen(x>>32))
				i += 8
				continue
			}
		}
		for n := 0; n < 8 && i < len(s); n++ {
			c, size := decodeWTF8(s[i:])
			i += size
			if c >= 0x10000 {
				c -= 0x10000
				dst = binary.LittleEndian.AppendUint16(dst, uint16(0xD800+c>>10))
				c = 0xDC00 + c&0x3FF
			}
			dst = append(dst, byte(c), byte(c>>8))
		}
	}
	return dst
}

// UTF16Len counts the code units that AppendUTF16 writes.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		c, size := decodeWTF8(s[i:])
		i += size
		n++
		if c >= 0x10000 {
			n++
		}
	}
	return n
}

// decodeWTF8 is utf8.DecodeRuneInString that accepts surrogates.
func decodeWTF8(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	if s[0] == 0xED && len(s) >= 3 && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return utf8.DecodeRuneInString(s)
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// appendBText writes a B_VARCHAR, cut to the 255 code units that it can count.
func appendBText(dst []byte, s string) []byte {
	at := len(dst)
	dst = AppendUTF16(append(dst, 0), s)
	n := min((len(dst)-at-1)/2, 0xFF)
	dst[at] = byte(n)
	return dst[:at+1+2*n]
}

// appendUSText writes a US_VARCHAR, cut to the 65,535 code units that it can count.
func appendUSText(dst []byte, s string) []byte {
	at := len(dst)
	dst = AppendUTF16(append(dst, 0, 0), s)
	n := min((len(dst)-at-2)/2, 0xFFFF)
	binary.LittleEndian.PutUint16(dst[at:], uint16(n))
	return dst[:at+2+2*n]
}

// beginBody reserves the USHORT length of a token's body; endBody fills it in.
func beginBody(dst []byte, t Token) ([]byte, int) {
	dst = append(dst, byte(t), 0, 0)
	return dst, len(dst)
}

func endBody(dst []byte, at int) []byte {
	binary.LittleEndian.PutUint16(dst[at-2:], uint16(len(dst)-at))
	return dst
}
