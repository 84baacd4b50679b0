package tds

import (
	"encoding/binary"
	"slices"
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
	dst = slices.Grow(dst, len(b)/2)
	for len(b) >= 2 {
		if len(b) >= 16 {
			lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
			if (lo|hi)&nonASCII16 == 0 {
				dst = binary.LittleEndian.AppendUint64(dst, narrow(lo)|narrow(hi)<<32)
				b = b[16:]
				continue
			}
		}
		// One unit at a time until the next chance for eight.
		for n := 0; n < 8 && len(b) >= 2; n++ {
			u := rune(binary.LittleEndian.Uint16(b))
			b = b[2:]
			switch {
			case u < 0x80:
				dst = append(dst, byte(u))
			case u < 0x800:
				dst = append(dst, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
			case u >= 0xD800 && u < 0xDC00 && len(b) >= 2 && b[1]&0xFC == 0xDC:
				low := rune(binary.LittleEndian.Uint16(b))
				b = b[2:]
				dst = utf8.AppendRune(dst, (u-0xD800)<<10|(low-0xDC00)+0x10000)
			default:
				dst = append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
			}
		}
	}
	return dst
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
