package value

import "example.com/mssqlcdc/mssqltest/internal/sqlerr"

// operators names the operators in messages.
var operators = map[byte]string{
	'+': "add", '-': "subtract", '*': "multiply", '/': "divide", '%': "modulo", '&': "boolean AND", '|': "boolean OR", '^': "boolean XOR",
}

// ArithType returns the type of a op b; op is one of + - * / % & | ^. Errors: 8117 when both types are the same and have no
// such operator, 402 when they differ, 206, 257.
func ArithType(op byte, a, b Type) (Type, error) {
	if a.ID == Null && b.ID == Null {
		return Type{ID: Int}, nil
	}
	if a.ID == Null {
		a = b
	}
	if b.ID == Null {
		b = a
	}
	if t, ok := concatType(op, a, b); ok {
		return t, nil
	}
	if a.IsDateTime() || b.IsDateTime() {
		return dateArithType(op, a, b)
	}
	if op == '&' || op == '|' || op == '^' {
		return bitType(op, a, b)
	}
	if !a.IsNumber() && !b.IsNumber() {
		return Type{}, badOperands(op, a, b)
	}
	for _, t := range [...]Type{a, b} {
		if f := t.ID.family(); !t.IsNumber() && f != famText && f != famBinary {
			if f == famVariant {
				return Type{}, badOperands(op, a, b)
			}
			return Type{}, errClash(a, b)
		}
	}
	c, err := numberOf(a, b)
	if err != nil {
		return Type{}, err
	}
	switch c.ID.family() {
	case famDecimal:
		return decimalResult(op, a, b, c.ID), nil
	case famFloat:
		if op == '%' {
			return Type{}, badOperands(op, a, b)
		}
	case famInt:
		if c.ID == Bit {
			return Type{}, badOperands(op, a, b)
		}
	}
	return c, nil
}

// numberOf is the numeric type of higher precedence; text and binary operands become the other's type.
func numberOf(a, b Type) (Type, error) {
	switch {
	case !a.IsNumber():
		a, b = b, a
		fallthrough
	case !b.IsNumber():
		if ok, explicit := convertible(b, a); !ok {
			if explicit {
				return Type{}, errImplicit(b, a)
			}
			return Type{}, sqlerr.New(402, b.plain(), a.plain(), "add")
		}
		return a, nil
	}
	if types[b.ID].precedence < types[a.ID].precedence {
		return b, nil
	}
	return a, nil
}

func badOperands(op byte, a, b Type) error {
	if a.ID == b.ID || a.ID.family() == b.ID.family() && a.ID.family() == famText {
		return sqlerr.New(8117, a.plain(), operators[op])
	}
	return sqlerr.New(402, a.plain(), b.plain(), operators[op])
}

// concatType: + of two texts or of two binary values.
func concatType(op byte, a, b Type) (Type, bool) {
	f := a.ID.family()
	if op != '+' || f != b.ID.family() || f != famText && f != famBinary {
		return Type{}, false
	}
	t := a
	if types[b.ID].precedence < types[a.ID].precedence {
		t = b
	}
	t.Name = ""
	t.Coll = commonCollation(a, b)
	switch t.ID {
	case RowVersion:
		t = Type{ID: Binary}
	}
	if a.Len == Max || b.Len == Max {
		t.Len = Max
		switch t.ID {
		case NChar:
			t.ID = NVarChar
		case Char:
			t.ID = VarChar
		case Binary:
			t.ID = VarBinary
		}
		return t, true
	}
	most := maxBytes
	if t.IsUnicode() {
		most = maxUnits
	}
	t.Len = min(a.Len+b.Len, most)
	return t, true
}

// dateArithType: datetime and smalldatetime add and subtract, with each other and with numbers of days.
func dateArithType(op byte, a, b Type) (Type, error) {
	for _, t := range [...]Type{a, b} {
		if t.ID.family() == famNewDateTime {
			if a.ID == b.ID {
				return Type{}, sqlerr.New(8117, a.plain(), operators[op])
			}
			if a.IsDateTime() && b.IsDateTime() {
				return Type{}, sqlerr.New(402, a.plain(), b.plain(), operators[op])
			}
			if a.IsDateTime() {
				return Type{}, errClash(b, a)
			}
			return Type{}, errClash(a, b)
		}
	}
	if op != '+' && op != '-' {
		return Type{}, badOperands(op, a, b)
	}
	t := Type{ID: DateTime}
	if a.ID != DateTime && b.ID != DateTime {
		t.ID = SmallDateTime
	}
	for _, x := range [...]Type{a, b} {
		if ok, explicit := convertible(x, t); !ok {
			if explicit {
				return Type{}, errImplicit(x, t)
			}
			return Type{}, errClash(x, t)
		}
	}
	return t, nil
}

// bitType: the bitwise operators take integers, of which one may be binary.
func bitType(op byte, a, b Type) (Type, error) {
	switch {
	case a.IsInteger() && b.IsInteger():
		if types[b.ID].precedence < types[a.ID].precedence {
			return b, nil
		}
		return a, nil
	case a.IsInteger() && b.ID.family() == famBinary:
		return a, nil
	case b.IsInteger() && a.ID.family() == famBinary:
		return b, nil
	}
	return Type{}, badOperands(op, a, b)
}

// decimalResult gives precision and scale of decimal arithmetic ("Precision, scale, and length").
func decimalResult(op byte, a, b Type, id ID) Type {
	p1, s1 := shape(a, b)
	p2, s2 := shape(b, a)
	var p, s int
	switch op {
	case '*':
		p, s = p1+p2+1, s1+s2
	case '/':
		s = max(6, s1+p2+1)
		p = p1 - s1 + s2 + s
	case '%':
		s = max(s1, s2)
		p = min(p1-s1, p2-s2) + s
	default:
		s = max(s1, s2)
		whole := max(p1-s1, p2-s2)
		p = whole + s + 1
		if p > maxPrecision {
			p, s = maxPrecision, min(s, maxPrecision-whole)
		}
		return Type{ID: id, Prec: uint8(p), Scale: uint8(max(s, 0))}
	}
	t := boundDecimal(p, s)
	t.ID = id
	return t
}

// shape is precision and scale of one operand; a text operand takes those of the other.
func shape(t, other Type) (p, s int) {
	if !t.IsNumber() {
		t = other
	}
	x, y := numericShape(t)
	return int(x), int(y)
}

// boundDecimal keeps a precision beyond 38 by giving up digits behind the point, but not the first six of them.
func boundDecimal(p, s int) Type {
	if p > maxPrecision {
		s = max(min(s, 6), min(s, maxPrecision-(p-s)))
		p = maxPrecision
	}
	return Type{ID: Decimal, Prec: uint8(p), Scale: uint8(s)}
}
