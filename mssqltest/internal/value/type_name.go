package value

import (
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
)

// names maps what DDL may write to types; the defaults of length, precision and scale are those of a column.
var names = map[string]Type{
	"bit": {ID: Bit}, "tinyint": {ID: TinyInt}, "smallint": {ID: SmallInt}, "int": {ID: Int}, "integer": {ID: Int}, "bigint": {ID: BigInt},
	"decimal": {ID: Decimal, Prec: 18}, "dec": {ID: Decimal, Prec: 18}, "numeric": {ID: Numeric, Prec: 18},
	"money": {ID: Money}, "smallmoney": {ID: SmallMoney}, "float": {ID: Float}, "double precision": {ID: Float}, "real": {ID: Real},
	"date": {ID: Date}, "time": {ID: Time, Scale: 7}, "datetime": {ID: DateTime}, "smalldatetime": {ID: SmallDateTime},
	"datetime2": {ID: DateTime2, Scale: 7}, "datetimeoffset": {ID: DateTimeOffset, Scale: 7},
	"char": {ID: Char, Len: 1}, "character": {ID: Char, Len: 1}, "varchar": {ID: VarChar, Len: 1}, "char varying": {ID: VarChar, Len: 1}, "character varying": {ID: VarChar, Len: 1},
	"nchar": {ID: NChar, Len: 1}, "national char": {ID: NChar, Len: 1}, "national character": {ID: NChar, Len: 1},
	"nvarchar": {ID: NVarChar, Len: 1}, "national char varying": {ID: NVarChar, Len: 1}, "national character varying": {ID: NVarChar, Len: 1},
	"binary": {ID: Binary, Len: 1}, "varbinary": {ID: VarBinary, Len: 1}, "binary varying": {ID: VarBinary, Len: 1},
	"text": {ID: Text, Len: Max}, "ntext": {ID: NText, Len: Max}, "image": {ID: Image, Len: Max}, "xml": {ID: XML, Len: Max}, "national text": {ID: NText, Len: Max},
	"uniqueidentifier": {ID: UniqueIdentifier}, "sql_variant": {ID: Variant}, "timestamp": {ID: RowVersion, Len: 8}, "rowversion": {ID: RowVersion, Len: 8},
	"sysname":     {ID: NVarChar, Len: 128, Name: "sysname"},
	"hierarchyid": {ID: CLR, Len: 892, Name: "hierarchyid"}, "geometry": {ID: CLR, Len: Max, Name: "geometry"}, "geography": {ID: CLR, Len: Max, Name: "geography"},
}

// ParseTypeName returns the type that DDL writes as name with its arguments, lengths or precision and scale; Max for
// "max". A length that is not given is 1; CAST and CONVERT take 30 then, which is the caller's to say.
// Errors: 2715 unknown type, 2716 argument not allowed, 131 length, 2750, 2751 precision and scale, 1002 scale.
func ParseTypeName(name string, args ...int) (Type, error) {
	t, ok := names[strings.ToLower(strings.Trim(name, "[]"))]
	if !ok {
		return Type{}, sqlerr.New(2715, 1, name)
	}
	if t.IsChar() && t.Coll == nil {
		t.Coll = collate.Default()
	}
	if len(args) == 0 {
		return t, nil
	}
	switch t.ID {
	case Char, VarChar, Binary, VarBinary, NChar, NVarChar:
		return withLength(t, args)
	case Decimal, Numeric:
		return withPrecision(t, args)
	case Time, DateTime2, DateTimeOffset:
		if args[0] < 0 || args[0] > 7 || len(args) > 1 {
			return Type{}, sqlerr.New(1002, args[0])
		}
		t.Scale = uint8(args[0])
		return t, nil
	case Float:
		if args[0] < 1 || args[0] > 53 || len(args) > 1 {
			return Type{}, sqlerr.New(2750, 1, args[0], 53)
		}
		if args[0] <= 24 {
			return Type{ID: Real}, nil
		}
		return t, nil
	}
	return Type{}, sqlerr.New(2716, 1, t.ID)
}

func withLength(t Type, args []int) (Type, error) {
	n := args[0]
	if t.Name != "" || len(args) > 1 {
		return Type{}, sqlerr.New(2716, 1, t.ID)
	}
	most := maxBytes
	if t.IsUnicode() {
		most = maxUnits
	}
	if n == Max && (t.ID == VarChar || t.ID == NVarChar || t.ID == VarBinary) {
		t.Len = Max
		return t, nil
	}
	if n < 1 {
		return Type{}, sqlerr.New(1001)
	}
	if n > most {
		return Type{}, sqlerr.New(131, n, t.ID, most)
	}
	t.Len = n
	return t, nil
}

func withPrecision(t Type, args []int) (Type, error) {
	p, s := args[0], 0
	if len(args) > 1 {
		s = args[1]
	}
	if p < 1 || p > maxPrecision {
		return Type{}, sqlerr.New(2750, 1, p, maxPrecision)
	}
	if s < 0 || s > p {
		return Type{}, sqlerr.New(2751, 1, s, p)
	}
	t.Prec, t.Scale = uint8(p), uint8(s)
	return t, nil
}
