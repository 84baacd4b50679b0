package value

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// Convert is CAST and CONVERT: v, of type from, as a value of type to. Text and binary values that are too long are cut.
// style is CONVERT's third argument; 0 is the default of the types (of date, time, datetime2 and datetimeoffset the ISO
// form; 100 asks for "Jan  1 2024 12:00AM"). Errors: 529, and those of the conversion: 245, 8114, 8115, 220, 241, 242 …
func Convert(env *Env, v Value, from, to Type, style int) (Value, error) {
	if _, ok := convertible(from, to); !ok {
		return Value{}, errExplicit(from, to)
	}
	if v.IsNull() {
		return Value{}, nil
	}
	return converter{env, style}.to(v, from, to)
}

// AssignVar is the assignment to a variable or a parameter: an implicit conversion that cuts what is too long.
// Errors: 206, 257, and those of the conversion.
func AssignVar(env *Env, v Value, from, to Type) (Value, error) {
	if ok, explicit := convertible(from, to); !ok {
		if explicit {
			return Value{}, errImplicit(from, to)
		}
		return Value{}, errClash(from, to)
	}
	if v.IsNull() {
		return Value{}, nil
	}
	return converter{env: env}.to(v, from, to)
}

// Assign is the assignment to a column: an implicit conversion that refuses what is too long, with 2628 when env names
// the column and 8152 else; blanks at the end do not count. Other errors: 206, 257, and those of the conversion.
func Assign(env *Env, v Value, from, to Type) (Value, error) {
	out, err := AssignVar(env, v, from, to)
	if err != nil || out.IsNull() || to.Len == Max || to.Len == 0 {
		return out, err
	}
	inner, it := v, from
	if from.ID == Variant {
		inner, it = v.Variant()
	}
	switch {
	case to.IsChar() && it.IsChar():
		if cutsText(inner.s, to) {
			return Value{}, errTruncated(env, out.s)
		}
	case to.IsBinary() && it.IsBinary() && to.ID != RowVersion:
		if len(inner.s) > to.Len {
			return Value{}, errTruncated(env, "")
		}
	}
	return out, nil
}

// cutsText says whether s loses more than blanks in a character type.
func cutsText(s string, to Type) bool {
	if len(s) <= to.Len && (to.IsUnicode() || !to.collation().UTF8) && collate.IsASCII(s) {
		return false
	}
	s = trimRight(s)
	if to.IsUnicode() {
		return collate.UTF16Len(s) > to.Len
	}
	return to.collation().EncodedLen(s) > to.Len
}

func errTruncated(env *Env, kept string) error {
	if env == nil || env.Table == "" {
		return sqlerr.New(8152)
	}
	return sqlerr.New(2628, env.Table, env.Column, shown(trimRight(kept)))
}

func trimRight(s string) string {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}

// converter holds what a conversion needs beside the value.
type converter struct {
	env   *Env
	style int
}

// to converts a value that is not NULL between types that convert.
func (c converter) to(v Value, from, to Type) (Value, error) {
	if from.ID == Variant && to.ID != Variant {
		inner, it := v.Variant()
		if _, ok := convertible(it, to); !ok {
			return Value{}, errExplicit(it, to)
		}
		return c.to(inner, it, to)
	}
	switch to.ID.family() {
	case famText, famLOBText:
		return c.toText(v, from, to)
	case famInt:
		return c.toInt(v, from, to)
	case famDecimal:
		return c.toDecimal(v, from, to)
	case famMoney:
		return c.toMoney(v, from, to)
	case famFloat:
		return c.toFloat(v, from, to)
	case famBinary, famImage:
		return c.toBinary(v, from, to)
	case famGUID:
		return c.toGUID(v, from)
	case famDateTime, famNewDateTime:
		return c.toDateTime(v, from, to)
	case famVariant:
		if from.ID == Variant {
			return v, nil
		}
		return NewVariant(v, from), nil
	case famXML:
		return c.toXML(v, from)
	case famCLR:
		if from.ID.family() == famText {
			return parseHierarchy(v.s)
		}
		return NewRaw(CLR, v.s), nil
	}
	return Value{}, errExplicit(from, to)
}

// withoutDeclaration takes the XML declaration off a document: xml keeps the content alone.
func withoutDeclaration(s string) string {
	t := strings.TrimLeft(s, " \t\r\n")
	if len(t) < 6 || !strings.HasPrefix(t, "<?xml") || !strings.ContainsRune(" \t\r\n", rune(t[5])) {
		return s
	}
	if _, rest, ok := strings.Cut(t, "?>"); ok {
		return strings.TrimLeft(rest, " \t\r\n")
	}
	return s
}

func (c converter) toXML(v Value, from Type) (Value, error) {
	if from.IsBinary() {
		s, err := xmlFromBytes(v.s)
		return NewString(XML, withoutDeclaration(s)), err
	}
	return NewString(XML, withoutDeclaration(v.s)), nil
}
