package value

import (
	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// Common returns the type of an expression that gives either a or b (CASE, COALESCE, UNION, VALUES): the one of higher
// precedence, wide enough for both ("Data type precedence", "Precision, scale, and length"). An untyped NULL takes the
// other type. Errors: 206, 257.
func Common(a, b Type) (Type, error) {
	switch {
	case a.ID == Null:
		return b, nil
	case b.ID == Null:
		return a, nil
	case a == b:
		return a, nil
	}
	high, low := a, b
	if types[low.ID].precedence < types[high.ID].precedence {
		high, low = low, high
	}
	if ok, explicit := convertible(low, high); !ok {
		if explicit {
			return Type{}, errImplicit(low, high)
		}
		return Type{}, errClash(low, high)
	}
	return widen(high, low), nil
}

// widen makes high long or precise enough for values of low.
func widen(high, low Type) Type {
	switch high.ID.family() {
	case famText:
		high.Len = commonLen(high, low)
		high.Coll = commonCollation(high, low)
		high.Name = commonName(high, low)
	case famLOBText:
		high.Coll = commonCollation(high, low)
	case famBinary:
		if high.ID != RowVersion {
			high.Len = commonLen(high, low)
		}
	case famDecimal:
		p, s := numericShape(low)
		if low.IsNumber() {
			high = boundDecimal(max(int(high.Prec)-int(high.Scale), int(p)-int(s))+max(int(high.Scale), int(s)), max(int(high.Scale), int(s)))
		}
	case famNewDateTime:
		if high.ID != Date {
			high.Scale = max(high.Scale, fractionDigits(low))
		}
	}
	if high.ID == Decimal && low.ID == Numeric {
		high.ID = Numeric
	}
	return high
}

// fractionDigits is how many digits of the second a value of t has.
func fractionDigits(t Type) uint8 {
	switch t.ID {
	case Time, DateTime2, DateTimeOffset:
		return t.Scale
	case DateTime:
		return 3
	}
	return 0
}

func commonName(a, b Type) string {
	if a.Name == b.Name {
		return a.Name
	}
	return ""
}

func commonCollation(a, b Type) *collate.Collation {
	if a.Coll != nil {
		return a.Coll
	}
	return b.Coll
}

// commonLen is the length of a text or binary type that holds values of both.
func commonLen(high, low Type) int {
	most := maxBytes
	if high.IsUnicode() {
		most = maxUnits
	}
	n := TextWidth(low)
	if low.ID.family() == high.ID.family() {
		n = low.Len
	}
	if high.Len == Max || n == Max || low.ID == Text || low.ID == NText {
		return Max
	}
	return min(max(high.Len, n), most)
}

// TextWidth returns the length of the longest text that a value of t converts to, Max for one without bound.
func TextWidth(t Type) int {
	switch t.ID {
	case Bit:
		return 1
	case TinyInt:
		return 4
	case SmallInt:
		return 6
	case Int, SmallMoney:
		return 12
	case BigInt:
		return 24
	case Decimal, Numeric:
		return 41
	case Money, Float, Real:
		return 30
	case Date:
		return 10
	case Time:
		return 16
	case DateTime, SmallDateTime, DateTime2:
		return 27
	case DateTimeOffset:
		return 34
	case UniqueIdentifier:
		return 36
	case XML, Variant:
		return maxUnits
	}
	return t.Len
}

// numericShape is precision and scale of a number in decimal arithmetic.
func numericShape(t Type) (p, s uint8) {
	switch t.ID {
	case Bit:
		return 1, 0
	case TinyInt:
		return 3, 0
	case SmallInt:
		return 5, 0
	case Int:
		return 10, 0
	case BigInt:
		return 19, 0
	case Money:
		return 19, 4
	case SmallMoney:
		return 10, 4
	}
	return t.Prec, t.Scale
}
