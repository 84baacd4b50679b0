package value

import (
	"encoding/binary"
	"math"
)

// First bytes of a key.
const (
	keyNull  = 0x01
	keyValue = 0x02
)

// AppendKey appends the key of v, a value of type t or NULL: keys compare by bytes as Compare compares the values, NULL
// comes first, none is a prefix of another, so keys of several columns may be joined. desc turns the order round.
func AppendKey(dst []byte, v Value, t Type, desc bool) []byte {
	start := len(dst)
	if v.IsNull() {
		dst = append(dst, keyNull)
	} else {
		dst = appendValueKey(append(dst, keyValue), v, t)
	}
	if desc {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

func appendValueKey(dst []byte, v Value, t Type) []byte {
	switch t.ID {
	case Bit, TinyInt:
		return append(dst, byte(v.lo))
	case SmallInt:
		return binary.BigEndian.AppendUint16(dst, uint16(v.lo)^1<<15)
	case Int, SmallMoney:
		return binary.BigEndian.AppendUint32(dst, uint32(v.lo)^1<<31)
	case BigInt, Money:
		return binary.BigEndian.AppendUint64(dst, v.lo^1<<63)
	case Date:
		return binary.BigEndian.AppendUint32(dst, uint32(v.hi)^1<<31)
	case Time:
		return binary.BigEndian.AppendUint64(dst, v.lo)
	}
	switch t.ID.family() {
	case famDecimal:
		return appendDecimalKey(dst, v.dec(), t.Prec)
	case famFloat:
		return appendFloatKey(dst, v.Float())
	case famText, famLOBText, famXML:
		return t.collation().AppendKey(dst, v.s, t.IsUnicode())
	case famBinary, famImage:
		return appendBytesKey(dst, v.s)
	case famCLR:
		return appendEscaped(dst, v.s)
	case famGUID:
		return appendGUIDKey(dst, v)
	case famVariant:
		return appendVariantKey(dst, v)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.hi)^1<<31)
	return binary.BigEndian.AppendUint64(dst, v.lo)
}

// appendDecimalKey writes the magnitude with the sign in front, in eight bytes where the precision allows.
func appendDecimalKey(dst []byte, d dec, precision uint8) []byte {
	if precision <= 18 {
		n := d.lo
		if d.neg {
			n = -n
		}
		return binary.BigEndian.AppendUint64(dst, n^1<<63)
	}
	hi, lo := d.hi, d.lo
	sign := byte(2)
	if d.neg {
		sign, hi, lo = 1, ^hi, ^lo
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(append(dst, sign), hi), lo)
}

func appendFloatKey(dst []byte, f float64) []byte {
	b := math.Float64bits(f)
	if b>>63 != 0 {
		b = ^b
	} else {
		b |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

func appendGUIDKey(dst []byte, v Value) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, guidHigh(v)), guidLow(v))
}

// appendBytesKey drops the zero bytes at the end, which comparison ignores.
func appendBytesKey(dst []byte, s string) []byte {
	n := len(s)
	for n > 0 && s[n-1] == 0 {
		n--
	}
	return appendEscaped(dst, s[:n])
}

// appendEscaped writes a zero byte as 00 FF and ends with 00 00.
func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}
