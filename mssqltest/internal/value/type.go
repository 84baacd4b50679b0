package value

import (
	"fmt"

	"example.com/mssqlcdc/mssqltest/internal/collate"
)

// ID is a system type, numbered as sys.types.system_type_id.
type ID uint8

// The system types.
const (
	Null             ID = 0
	Image            ID = 34
	Text             ID = 35
	UniqueIdentifier ID = 36
	Date             ID = 40
	Time             ID = 41
	DateTime2        ID = 42
	DateTimeOffset   ID = 43
	TinyInt          ID = 48
	SmallInt         ID = 52
	Int              ID = 56
	SmallDateTime    ID = 58
	Real             ID = 59
	Money            ID = 60
	DateTime         ID = 61
	Float            ID = 62
	Variant          ID = 98
	NText            ID = 99
	Bit              ID = 104
	Decimal          ID = 106
	Numeric          ID = 108
	SmallMoney       ID = 122
	BigInt           ID = 127
	VarBinary        ID = 165
	VarChar          ID = 167
	Binary           ID = 173
	Char             ID = 175
	RowVersion       ID = 189
	NVarChar         ID = 231
	NChar            ID = 239
	CLR              ID = 240 // hierarchyid, geometry, geography: Type.Name says which; the value is its serialized bytes
	XML              ID = 241
)

// Max is Type.Len of the (max) types, and of text, ntext, image, xml.
const Max = -1

// The longest lengths that are not max.
const (
	maxBytes     = 8000
	maxUnits     = 4000
	maxPrecision = 38
)

// Type is the type of a column, a variable or an expression.
type Type struct {
	ID    ID
	Len   int   // char, varchar, binary, varbinary: bytes; nchar, nvarchar: code units; Max; else 0
	Prec  uint8 // decimal, numeric
	Scale uint8 // decimal, numeric, time, datetime2, datetimeoffset
	Coll  *collate.Collation
	Name  string // alias type (sysname), CLR type; "" for a plain system type
}

type typeInfo struct {
	name       string
	precedence uint8 // the smaller wins
	family     family
}

// family groups the types that convert alike.
type family uint8

const (
	famNone family = iota
	famInt
	famDecimal
	famMoney
	famFloat
	famText
	famBinary
	famGUID
	famDateTime    // datetime, smalldatetime
	famNewDateTime // date, time, datetime2, datetimeoffset
	famVariant
	famXML
	famCLR
	famLOBText // text, ntext
	famImage
)

// types is the data type precedence of Transact-SQL ("Data type precedence").
var types = [256]typeInfo{
	CLR:              {"udt", 1, famCLR},
	Variant:          {"sql_variant", 2, famVariant},
	XML:              {"xml", 3, famXML},
	DateTimeOffset:   {"datetimeoffset", 4, famNewDateTime},
	DateTime2:        {"datetime2", 5, famNewDateTime},
	DateTime:         {"datetime", 6, famDateTime},
	SmallDateTime:    {"smalldatetime", 7, famDateTime},
	Date:             {"date", 8, famNewDateTime},
	Time:             {"time", 9, famNewDateTime},
	Float:            {"float", 10, famFloat},
	Real:             {"real", 11, famFloat},
	Decimal:          {"decimal", 12, famDecimal},
	Numeric:          {"numeric", 12, famDecimal},
	Money:            {"money", 13, famMoney},
	SmallMoney:       {"smallmoney", 14, famMoney},
	BigInt:           {"bigint", 15, famInt},
	Int:              {"int", 16, famInt},
	SmallInt:         {"smallint", 17, famInt},
	TinyInt:          {"tinyint", 18, famInt},
	Bit:              {"bit", 19, famInt},
	NText:            {"ntext", 20, famLOBText},
	Text:             {"text", 21, famLOBText},
	Image:            {"image", 22, famImage},
	RowVersion:       {"timestamp", 23, famBinary},
	UniqueIdentifier: {"uniqueidentifier", 24, famGUID},
	NVarChar:         {"nvarchar", 25, famText},
	NChar:            {"nchar", 26, famText},
	VarChar:          {"varchar", 27, famText},
	Char:             {"char", 28, famText},
	VarBinary:        {"varbinary", 29, famBinary},
	Binary:           {"binary", 30, famBinary},
	Null:             {"NULL", 31, famNone},
}

func (id ID) family() family { return types[id].family }

// String returns the name of the system type; timestamp for rowversion, as a server says.
func (id ID) String() string { return types[id].name }

// IsChar says whether t is a character type, text and ntext among them: a type with a collation.
func (t Type) IsChar() bool { f := t.ID.family(); return f == famText || f == famLOBText }

// IsUnicode says whether t holds UTF-16.
func (t Type) IsUnicode() bool {
	return t.ID == NVarChar || t.ID == NChar || t.ID == NText || t.ID == XML
}

// IsBinary says whether t is binary, varbinary, rowversion or image.
func (t Type) IsBinary() bool { f := t.ID.family(); return f == famBinary || f == famImage }

// IsNumber says whether t is an exact or approximate number, money and bit among them.
func (t Type) IsNumber() bool {
	switch t.ID.family() {
	case famInt, famDecimal, famMoney, famFloat:
		return true
	}
	return false
}

// IsInteger says whether t is bit, tinyint, smallint, int or bigint.
func (t Type) IsInteger() bool { return t.ID.family() == famInt }

// IsDateTime says whether t is a date or time type.
func (t Type) IsDateTime() bool { f := t.ID.family(); return f == famDateTime || f == famNewDateTime }

// IsLOB says whether t is a (max) type, text, ntext, image, xml or CLR.
func (t Type) IsLOB() bool {
	switch t.ID {
	case Text, NText, Image, XML, CLR:
		return true
	}
	return t.Len == Max && (t.ID.family() == famText || t.ID.family() == famBinary)
}

// collation returns the collation of a character type, the default one if it has none.
func (t Type) collation() *collate.Collation {
	if t.Coll != nil {
		return t.Coll
	}
	return collate.Default()
}

// MaxLength returns sys.columns.max_length: bytes, -1 for max, 16 for text and image.
func (t Type) MaxLength() int {
	switch t.ID {
	case Bit, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Real, SmallMoney, SmallDateTime:
		return 4
	case BigInt, Float, Money, DateTime, RowVersion:
		return 8
	case Date:
		return 3
	case Time:
		return 3 + timeExtra(t.Scale)
	case DateTime2:
		return 6 + timeExtra(t.Scale)
	case DateTimeOffset:
		return 8 + timeExtra(t.Scale)
	case Decimal, Numeric:
		return DecimalBytes(t.Prec)
	case UniqueIdentifier, Text, NText, Image:
		return 16
	case Variant:
		return 8016
	case XML:
		return Max
	case CLR:
		if t.Name == "hierarchyid" {
			return 892
		}
		return Max
	case NVarChar, NChar:
		if t.Len != Max {
			return 2 * t.Len
		}
	}
	return t.Len
}

// timeExtra is what a fractional scale adds to the three bytes of a time.
func timeExtra(scale uint8) int {
	switch {
	case scale <= 2:
		return 0
	case scale <= 4:
		return 1
	}
	return 2
}

// DecimalBytes returns the storage of a decimal of precision p: 5, 9, 13 or 17 bytes.
func DecimalBytes(p uint8) int {
	switch {
	case p <= 9:
		return 5
	case p <= 19:
		return 9
	case p <= 28:
		return 13
	}
	return 17
}

// Precision and scale as sys.columns gives them for every type.
func (t Type) CatalogPrecision() (precision, scale uint8) {
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
	case Real:
		return 24, 0
	case Float:
		return 53, 0
	case Decimal, Numeric:
		return t.Prec, t.Scale
	case DateTime:
		return 23, 3
	case SmallDateTime:
		return 16, 0
	case Date:
		return 10, 0
	case Time:
		return 8 + fraction(t.Scale), t.Scale
	case DateTime2:
		return 19 + fraction(t.Scale), t.Scale
	case DateTimeOffset:
		return 26 + fraction(t.Scale), t.Scale
	}
	return 0, 0
}

func fraction(scale uint8) uint8 {
	if scale == 0 {
		return 0
	}
	return 1 + scale
}

// String returns the type as DDL writes it: "nvarchar(160)", "decimal(10,2)", "sysname".
func (t Type) String() string {
	if t.Name != "" {
		return t.Name
	}
	switch t.ID {
	case Char, VarChar, NChar, NVarChar, Binary, VarBinary:
		if t.Len == Max {
			return t.ID.String() + "(max)"
		}
		return fmt.Sprintf("%s(%d)", t.ID, t.Len)
	case Decimal, Numeric:
		return fmt.Sprintf("%s(%d,%d)", t.ID, t.Prec, t.Scale)
	case Time, DateTime2, DateTimeOffset:
		return fmt.Sprintf("%s(%d)", t.ID, t.Scale)
	}
	return t.ID.String()
}
