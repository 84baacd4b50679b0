package sysrow

import (
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// SysType is a row of sys.types.
type SysType struct {
	Name             string
	System           value.ID
	User             int32 // user_type_id
	MaxLength        int16
	Precision, Scale uint8
	Collated         bool
	NotNull          bool
	Alias            bool
	CLR              bool
}

// Types lists the types of every database (Microsoft Learn, "sys.types (Transact-SQL)").
var Types = []SysType{
	{Name: "image", System: value.Image, User: 34, MaxLength: 16},
	{Name: "text", System: value.Text, User: 35, MaxLength: 16, Collated: true},
	{Name: "uniqueidentifier", System: value.UniqueIdentifier, User: 36, MaxLength: 16},
	{Name: "date", System: value.Date, User: 40, MaxLength: 3, Precision: 10},
	{Name: "time", System: value.Time, User: 41, MaxLength: 5, Precision: 16, Scale: 7},
	{Name: "datetime2", System: value.DateTime2, User: 42, MaxLength: 8, Precision: 27, Scale: 7},
	{Name: "datetimeoffset", System: value.DateTimeOffset, User: 43, MaxLength: 10, Precision: 34, Scale: 7},
	{Name: "tinyint", System: value.TinyInt, User: 48, MaxLength: 1, Precision: 3},
	{Name: "smallint", System: value.SmallInt, User: 52, MaxLength: 2, Precision: 5},
	{Name: "int", System: value.Int, User: 56, MaxLength: 4, Precision: 10},
	{Name: "smalldatetime", System: value.SmallDateTime, User: 58, MaxLength: 4, Precision: 16},
	{Name: "real", System: value.Real, User: 59, MaxLength: 4, Precision: 24},
	{Name: "money", System: value.Money, User: 60, MaxLength: 8, Precision: 19, Scale: 4},
	{Name: "datetime", System: value.DateTime, User: 61, MaxLength: 8, Precision: 23, Scale: 3},
	{Name: "float", System: value.Float, User: 62, MaxLength: 8, Precision: 53},
	{Name: "sql_variant", System: value.Variant, User: 98, MaxLength: 8016},
	{Name: "ntext", System: value.NText, User: 99, MaxLength: 16, Collated: true},
	{Name: "bit", System: value.Bit, User: 104, MaxLength: 1, Precision: 1},
	{Name: "decimal", System: value.Decimal, User: 106, MaxLength: 17, Precision: 38, Scale: 38},
	{Name: "numeric", System: value.Numeric, User: 108, MaxLength: 17, Precision: 38, Scale: 38},
	{Name: "smallmoney", System: value.SmallMoney, User: 122, MaxLength: 4, Precision: 10, Scale: 4},
	{Name: "bigint", System: value.BigInt, User: 127, MaxLength: 8, Precision: 19},
	{Name: "hierarchyid", System: value.CLR, User: 128, MaxLength: 892, CLR: true},
	{Name: "geometry", System: value.CLR, User: 129, MaxLength: -1, CLR: true},
	{Name: "geography", System: value.CLR, User: 130, MaxLength: -1, CLR: true},
	{Name: "varbinary", System: value.VarBinary, User: 165, MaxLength: 8000},
	{Name: "varchar", System: value.VarChar, User: 167, MaxLength: 8000, Collated: true},
	{Name: "binary", System: value.Binary, User: 173, MaxLength: 8000},
	{Name: "char", System: value.Char, User: 175, MaxLength: 8000, Collated: true},
	{Name: "timestamp", System: value.RowVersion, User: 189, MaxLength: 8},
	{Name: "nvarchar", System: value.NVarChar, User: 231, MaxLength: 8000, Collated: true},
	{Name: "nchar", System: value.NChar, User: 239, MaxLength: 8000, Collated: true},
	{Name: "xml", System: value.XML, User: 241, MaxLength: -1},
	{Name: "sysname", System: value.NVarChar, User: 256, MaxLength: 256, Collated: true, NotNull: true, Alias: true},
}

// TypeRow finds the row of sys.types of a column type: the alias or CLR type by its name, else the system type.
func TypeRow(t value.Type) SysType {
	var system SysType
	for _, s := range Types {
		if s.System != t.ID {
			continue
		}
		if t.Name != "" && s.Name == t.Name {
			return s
		}
		if system.Name == "" {
			system = s
		}
	}
	return system
}

// MaxLength is sys.columns.max_length: bytes, -1 for the (max) types and xml.
func MaxLength(t value.Type) int16 { return int16(t.MaxLength()) }

// Precision is sys.columns.precision.
func Precision(t value.Type) uint8 {
	p, _ := t.CatalogPrecision()
	return p
}

// Scale is sys.columns.scale.
func Scale(t value.Type) uint8 {
	_, s := t.CatalogPrecision()
	return s
}
