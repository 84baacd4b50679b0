package value

import (
	"cmp"
	"encoding/binary"
	"strings"
)

// Compare returns -1, 0 or 1 as a is before, equal to or after b. Both are of type t and neither is NULL.
func Compare(a, b Value, t Type) int {
	switch t.ID.family() {
	case famInt, famMoney:
		return cmp.Compare(int64(a.lo), int64(b.lo))
	case famDecimal:
		return cmpDec(a.dec(), b.dec())
	case famFloat:
		return cmp.Compare(a.Float(), b.Float())
	case famText, famLOBText, famXML:
		return t.collation().Compare(a.s, b.s, t.IsUnicode())
	case famBinary, famImage:
		return cmpBytes(a.s, b.s)
	case famCLR:
		return strings.Compare(a.s, b.s)
	case famGUID:
		if c := cmp.Compare(guidHigh(a), guidHigh(b)); c != 0 {
			return c
		}
		return cmp.Compare(guidLow(a), guidLow(b))
	case famVariant:
		return cmpVariant(a, b)
	}
	if c := cmp.Compare(int64(a.hi), int64(b.hi)); c != 0 {
		return c
	}
	return cmp.Compare(int64(a.lo), int64(b.lo))
}

// cmpBytes compares as if the shorter were filled with zero bytes.
func cmpBytes(a, b string) int {
	return strings.Compare(strings.TrimRight(a, "\x00"), strings.TrimRight(b, "\x00"))
}

// guidHigh and guidLow put the bytes of a uniqueidentifier in the order in which a server compares them, that of SqlGuid:
// the last six bytes, the two before them, then those of the storage form from 6 down to its start by groups.
func guidHigh(v Value) uint64 { return v.lo<<16 | v.lo>>48 }

func guidLow(v Value) uint64 {
	g := v.GUID()
	return uint64(binary.LittleEndian.Uint16(g[6:]))<<48 | uint64(binary.LittleEndian.Uint16(g[4:]))<<32 | uint64(binary.LittleEndian.Uint32(g[:]))
}

// cmpVariant compares by the family of the types first, then by value.
func cmpVariant(a, b Value) int {
	var bufA, bufB [64]byte
	return strings.Compare(string(appendVariantKey(bufA[:0], a)), string(appendVariantKey(bufB[:0], b)))
}

// Families of sql_variant, ascending ("sql_variant, comparisons").
const (
	variantGUID = 1 + iota
	variantBinary
	variantText
	variantExact
	variantApproximate
	variantDateTime
)

// appendVariantKey appends a self-delimiting key of the inner value.
func appendVariantKey(dst []byte, v Value) []byte {
	inner, t := v.Variant()
	switch t.ID.family() {
	case famGUID:
		return appendGUIDKey(append(dst, variantGUID), inner)
	case famBinary:
		return appendBytesKey(append(dst, variantBinary), inner.s)
	case famText:
		return t.collation().AppendKey(append(dst, variantText), inner.s, t.IsUnicode())
	case famFloat:
		return appendFloatKey(append(dst, variantApproximate), inner.Float())
	case famDateTime, famNewDateTime:
		s := stampOf(inner)
		if inner.id == DateTimeOffset {
			s = stamp{days: inner.Days(), ticks: inner.Ticks()}
		}
		dst = binary.BigEndian.AppendUint32(append(dst, variantDateTime), uint32(s.days)^1<<31)
		return binary.BigEndian.AppendUint64(dst, uint64(s.ticks))
	}
	neg, text, scale := exactOf(inner, t)
	return appendExactKey(append(dst, variantExact), neg, text, scale)
}

// exactOf returns the digits of an exact number.
func exactOf(v Value, t Type) (neg bool, text string, scale int) {
	d, s := v.dec(), int(t.Scale)
	switch t.ID.family() {
	case famInt:
		d, s = decOf(v.Int()), 0
	case famMoney:
		d, s = decOf(v.Int()), 4
	}
	neg, d.neg = d.neg, false
	return neg, d.text(0), s
}

// appendExactKey writes sign, the place of the first digit, and the digits without zeros at the end.
func appendExactKey(dst []byte, neg bool, text string, scale int) []byte {
	if text == "0" {
		return append(dst, 2)
	}
	start := len(dst)
	dst = append(dst, 3, byte(128+len(text)-scale))
	for _, c := range []byte(strings.TrimRight(text, "0")) {
		dst = append(dst, c-'0'+2)
	}
	dst = append(dst, 1)
	if neg {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
		dst[start] = 1
	}
	return dst
}
