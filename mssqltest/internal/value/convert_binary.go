package value

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// toBinary: text and binary values are filled and cut on the right, numbers on the left.
func (c converter) toBinary(v Value, from, to Type) (Value, error) {
	raw, left, err := c.bytesOf(v, from, to)
	if err != nil {
		return Value{}, err
	}
	n := to.Len
	if to.ID == RowVersion {
		n = 8
	}
	if n > 0 && len(raw) > n {
		if left {
			raw = raw[len(raw)-n:]
		} else {
			raw = raw[:n]
		}
	}
	if (to.ID == Binary || to.ID == RowVersion) && len(raw) < n {
		fill := strings.Repeat("\x00", n-len(raw))
		if left {
			raw = fill + raw
		} else {
			raw += fill
		}
	}
	return NewRaw(to.ID, raw), nil
}

// bytesOf returns the bytes of v, and whether they are aligned on the right.
func (c converter) bytesOf(v Value, from, to Type) (raw string, left bool, err error) {
	switch from.ID.family() {
	case famText, famLOBText:
		raw, err = c.bytesOfText(v.s, from, to)
		return raw, false, err
	case famBinary, famImage, famCLR:
		return v.s, false, nil
	case famXML:
		return string(collate.AppendUTF16([]byte{0xff, 0xfe}, v.s)), false, nil
	case famGUID:
		g := WireGUID(v.GUID())
		return string(g[:]), false, nil
	}
	var b []byte
	switch from.ID {
	case Bit, TinyInt:
		b = []byte{byte(v.lo)}
	case SmallInt:
		b = binary.BigEndian.AppendUint16(nil, uint16(v.lo))
	case Int, SmallMoney:
		b = binary.BigEndian.AppendUint32(nil, uint32(v.lo))
	case BigInt, Money, Float:
		b = binary.BigEndian.AppendUint64(nil, v.lo)
	case Real:
		b = binary.BigEndian.AppendUint32(nil, realBits(v))
	case Decimal, Numeric:
		return string(decBytes(v, from)), false, nil
	case DateTime:
		b = binary.BigEndian.AppendUint32(nil, uint32(v.Days()))
		b = binary.BigEndian.AppendUint32(b, uint32(v.lo))
	case SmallDateTime:
		b = binary.BigEndian.AppendUint16(nil, uint16(v.Days()))
		b = binary.BigEndian.AppendUint16(b, uint16(v.lo))
	default:
		return string(timeBytes(v, from)), false, nil
	}
	return string(b), true, nil
}

// decBytes is the binary form of a decimal: precision, scale, 0, sign, magnitude in words of four bytes.
func decBytes(v Value, t Type) []byte {
	b := []byte{t.Prec, t.Scale, 0, 1}
	if v.neg {
		b[3] = 0
	}
	b = binary.LittleEndian.AppendUint64(b, v.lo)
	b = binary.LittleEndian.AppendUint64(b, v.hi)
	for n := len(b); n > 8 && string(b[n-4:n]) == "\x00\x00\x00\x00"; n = len(b) {
		b = b[:n-4]
	}
	return b
}

// timeBytes is the binary form of the newer date and time types: scale, little-endian ticks of that scale, days, offset.
func timeBytes(v Value, t Type) []byte {
	var b []byte
	if t.ID != Date {
		ticks := uint64(v.Ticks()) / pow10[7-t.Scale].lo
		b = append(b, t.Scale)
		b = append(b, binary.LittleEndian.AppendUint64(nil, ticks)[:3+timeExtra(t.Scale)]...)
	}
	if t.ID != Time {
		d := v.Days()
		b = append(b, byte(d), byte(d>>8), byte(d>>16))
	}
	if t.ID == DateTimeOffset {
		b = append(b, byte(v.offset), byte(v.offset>>8))
	}
	return b
}

// WireGUID swaps a uniqueidentifier between the order of its text and that of its bytes.
func WireGUID(g [16]byte) [16]byte {
	g[0], g[1], g[2], g[3] = g[3], g[2], g[1], g[0]
	g[4], g[5], g[6], g[7] = g[5], g[4], g[7], g[6]
	return g
}

// bytesOfText: style 0 takes the bytes of the characters, 1 reads hexadecimal digits after 0x, 2 without.
func (c converter) bytesOfText(s string, from, to Type) (string, error) {
	if c.style == 1 || c.style == 2 {
		digits := strings.TrimRight(s, " ")
		if c.style == 1 {
			if !strings.HasPrefix(digits, "0x") && !strings.HasPrefix(digits, "0X") {
				return "", errConverting(from, to)
			}
			digits = digits[2:]
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			return "", errConverting(from, to)
		}
		return string(b), nil
	}
	if from.IsUnicode() {
		return string(collate.AppendUTF16(nil, s)), nil
	}
	b, _ := from.collation().Encode(s)
	return string(b), nil
}

// toGUID reads the text with or without braces, ignoring what follows; binary values are the bytes. Error 8169.
func (c converter) toGUID(v Value, from Type) (Value, error) {
	if from.ID == UniqueIdentifier {
		return v, nil
	}
	if from.IsBinary() {
		var g [16]byte
		copy(g[:], v.s)
		return NewGUID(WireGUID(g)), nil
	}
	if g, ok := ParseGUID(v.s); ok {
		return NewGUID(g), nil
	}
	return Value{}, sqlerr.New(8169)
}

// ParseGUID reads the text of a uniqueidentifier as a server does: 36 characters, after which anything may come, or the
// same in braces.
func ParseGUID(s string) (g [16]byte, ok bool) {
	if strings.HasPrefix(s, "{") {
		if len(s) < 38 || s[37] != '}' {
			return g, false
		}
		s = s[1:]
	}
	if len(s) < 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return g, false
	}
	var digits [32]byte
	n := 0
	for i := range 36 {
		if i != 8 && i != 13 && i != 18 && i != 23 {
			digits[n] = s[i]
			n++
		}
	}
	_, err := hex.Decode(g[:], digits[:])
	return g, err == nil
}

// guidText writes a uniqueidentifier in capitals, as a server does.
func guidText(g [16]byte) string {
	var b [36]byte
	const hexDigits = "0123456789ABCDEF"
	n := 0
	for i, x := range g {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[n] = '-'
			n++
		}
		b[n], b[n+1] = hexDigits[x>>4], hexDigits[x&15]
		n += 2
	}
	return string(b[:])
}

// xmlFromBytes decodes an XML document by its byte order mark; without one it is UTF-8 or Windows-1252.
func xmlFromBytes(s string) (string, error) {
	switch {
	case strings.HasPrefix(s, "\xff\xfe"):
		return collate.FromUTF16([]byte(s[2:])), nil
	case strings.HasPrefix(s, "\xef\xbb\xbf"):
		s = s[3:]
	case len(s) >= 2 && s[0] == '<' && s[1] == 0:
		return collate.FromUTF16([]byte(s)), nil
	}
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", sqlerr.New(9420, 1, 1)
}
