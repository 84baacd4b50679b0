package collate

import "unicode/utf8"

const (
	surrHigh = 0xd800
	surrLow  = 0xdc00
	surrEnd  = 0xe000
	surrSelf = 0x10000
)

// NextRune decodes the first character of the WTF-8 string s, which is not empty; a lone surrogate comes out as itself,
// a byte that is no UTF-8 as U+FFFD.
func NextRune(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	if s[0] == 0xed && len(s) >= 3 && s[1] >= 0xa0 && s[1] <= 0xbf && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return utf8.DecodeRuneInString(s)
}

// AppendRune appends r as WTF-8; a low surrogate after a high one at the end of dst joins it to one character.
func AppendRune(dst []byte, r rune) []byte {
	if r < surrHigh || r >= surrEnd {
		return utf8.AppendRune(dst, r)
	}
	if n := len(dst); r >= surrLow && n >= 3 && dst[n-3] == 0xed && dst[n-2] >= 0xa0 && dst[n-2] < 0xb0 {
		high := 0xd000 | rune(dst[n-2]&0x3f)<<6 | rune(dst[n-1]&0x3f)
		return utf8.AppendRune(dst[:n-3], (high-surrHigh)<<10|(r-surrLow)+surrSelf)
	}
	return append(dst, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// IsASCII says whether every byte of s is below 0x80.
func IsASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// UTF16Len returns the number of UTF-16 code units of s.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, w := NextRune(s[i:])
		i += w
		n++
		if r >= surrSelf {
			n++
		}
	}
	return n
}

// AppendUTF16 appends s as UTF-16LE.
func AppendUTF16(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			dst = append(dst, c, 0)
			i++
			continue
		}
		r, w := NextRune(s[i:])
		i += w
		if r >= surrSelf {
			r -= surrSelf
			h, l := surrHigh|r>>10, surrLow|r&0x3ff
			dst = append(dst, byte(h), byte(h>>8), byte(l), byte(l>>8))
			continue
		}
		dst = append(dst, byte(r), byte(r>>8))
	}
	return dst
}

// FromUTF16 decodes UTF-16LE; lone surrogates are kept, an odd last byte is dropped.
func FromUTF16(b []byte) string {
	ascii := true
	for i := 0; i+1 < len(b); i += 2 {
		if b[i] >= utf8.RuneSelf || b[i+1] != 0 {
			ascii = false
			break
		}
	}
	dst := make([]byte, 0, len(b)/2+len(b)/4)
	for i := 0; i+1 < len(b); i += 2 {
		if ascii {
			dst = append(dst, b[i])
			continue
		}
		dst = AppendRune(dst, rune(b[i])|rune(b[i+1])<<8)
	}
	return string(dst)
}

// Join concatenates a and b; a high surrogate at the end of a joins a low one at the start of b.
func Join(a, b string) string {
	if a == "" || b == "" || a[len(a)-1] < utf8.RuneSelf || b[0] != 0xed {
		return a + b
	}
	r, w := NextRune(b)
	dst := make([]byte, 0, len(a)+len(b))
	return string(append(AppendRune(append(dst, a...), r), b[w:]...))
}

// SliceUTF16 returns the code units [from, to) of s, cut to its length; half of a character is a lone surrogate.
func SliceUTF16(s string, from, to int) string {
	from = max(from, 0)
	if to <= from {
		return ""
	}
	if IsASCII(s) {
		return s[min(from, len(s)):min(to, len(s))]
	}
	var dst []byte
	unit, start := 0, -1
	for i := 0; i < len(s); {
		r, w := NextRune(s[i:])
		n := 1
		if r >= surrSelf {
			n = 2
		}
		switch {
		case unit >= from && unit+n <= to:
			if start < 0 {
				start = i
			}
		case n == 2 && unit+1 == from && to > from: // only the second half
			dst = AppendRune(dst, surrLow|(r-surrSelf)&0x3ff)
			start = i + w
		case n == 2 && unit >= from && unit+1 == to: // only the first half
			if start >= 0 {
				dst = append(dst, s[start:i]...)
			}
			return string(AppendRune(dst, surrHigh|(r-surrSelf)>>10))
		}
		unit += n
		i += w
		if unit >= to {
			if start < 0 {
				return string(dst)
			}
			return string(append(dst, s[start:i]...))
		}
	}
	if start < 0 {
		return string(dst)
	}
	return string(append(dst, s[start:]...))
}
