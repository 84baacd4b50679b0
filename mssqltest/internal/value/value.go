// Package value is the stand-in's scalar values: SQL Server's types, conversion, comparison, arithmetic and sort keys.
package value

import "example.com/mssqlcdc/mssqltest/internal/collate"

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

// Type is the type of a column, a variable or an expression.
type Type struct {
	ID    ID
	Len   int   // char, varchar, binary, varbinary: bytes; nchar, nvarchar: code units; Max; else 0
	Prec  uint8 // decimal, numeric
	Scale uint8 // decimal, numeric, time, datetime2, datetimeoffset
	Coll  *collate.Collation
	Name  string // alias type (sysname), CLR type; "" for a plain system type
}
