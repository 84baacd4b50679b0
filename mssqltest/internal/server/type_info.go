package server

import (
	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// fixedTypes are the types that have a form without NULL, and their nullable twins.
var fixedTypes = map[value.ID]struct {
	fixed, nullable tds.DataType
	size            int
}{
	value.TinyInt:       {tds.TypeInt1, tds.TypeIntN, 1},
	value.SmallInt:      {tds.TypeInt2, tds.TypeIntN, 2},
	value.Int:           {tds.TypeInt4, tds.TypeIntN, 4},
	value.BigInt:        {tds.TypeInt8, tds.TypeIntN, 8},
	value.Bit:           {tds.TypeBit, tds.TypeBitN, 1},
	value.Real:          {tds.TypeFlt4, tds.TypeFltN, 4},
	value.Float:         {tds.TypeFlt8, tds.TypeFltN, 8},
	value.SmallMoney:    {tds.TypeMoney4, tds.TypeMoneyN, 4},
	value.Money:         {tds.TypeMoney, tds.TypeMoneyN, 8},
	value.SmallDateTime: {tds.TypeDateTim4, tds.TypeDateTimN, 4},
	value.DateTime:      {tds.TypeDateTime, tds.TypeDateTimN, 8},
}

// typeInfo is how a type goes out. NOT NULL columns of types that have one use the fixed form, as SQL Server does:
// clients take nullability from it. A varchar in a UTF-8 collation goes as nvarchar to a client that did not ask for
// UTF8_SUPPORT ([MS-TDS] 2.2.6.4 LOGIN7, FEATUREEXT).
func typeInfo(t value.Type, nullable, utf8 bool) tds.TypeInfo {
	if f, ok := fixedTypes[t.ID]; ok {
		if nullable {
			return tds.Nullable(f.nullable, f.size)
		}
		return tds.Fixed(f.fixed)
	}
	coll := wireCollation(t.Coll)
	wide := asWide(t, utf8)
	switch t.ID {
	case value.Decimal:
		return tds.DecimalType(tds.TypeDecimalN, t.Prec, t.Scale)
	case value.Numeric:
		return tds.DecimalType(tds.TypeNumericN, t.Prec, t.Scale)
	case value.UniqueIdentifier:
		return tds.Nullable(tds.TypeGUID, 16)
	case value.Date:
		return tds.TemporalType(tds.TypeDateN, 0)
	case value.Time:
		return tds.TemporalType(tds.TypeTimeN, t.Scale)
	case value.DateTime2:
		return tds.TemporalType(tds.TypeDateTime2N, t.Scale)
	case value.DateTimeOffset:
		return tds.TemporalType(tds.TypeDateTimeOffsetN, t.Scale)
	case value.Char:
		if wide {
			return tds.CharType(tds.TypeNChar, min(2*t.Len, 8000), coll)
		}
		return tds.CharType(tds.TypeBigChar, t.Len, coll)
	case value.VarChar:
		if wide {
			return tds.CharType(tds.TypeNVarChar, wideSize(t.Len), coll)
		}
		return tds.CharType(tds.TypeBigVarChar, byteSize(t.Len), coll)
	case value.NChar:
		return tds.CharType(tds.TypeNChar, 2*t.Len, coll)
	case value.NVarChar:
		return tds.CharType(tds.TypeNVarChar, wideSize(t.Len), coll)
	case value.Binary:
		return tds.Nullable(tds.TypeBigBinary, t.Len)
	case value.RowVersion:
		return tds.Nullable(tds.TypeBigBinary, 8)
	case value.VarBinary:
		return tds.Nullable(tds.TypeBigVarBinary, byteSize(t.Len))
	case value.Text:
		return tds.CharType(tds.TypeText, 0x7FFFFFFF, coll)
	case value.NText:
		return tds.CharType(tds.TypeNText, 0x7FFFFFFE, coll)
	case value.Image:
		return tds.Nullable(tds.TypeImage, 0x7FFFFFFF)
	case value.Variant:
		return tds.Nullable(tds.TypeSSVariant, tds.VariantSize)
	case value.XML:
		return tds.TypeInfo{Type: tds.TypeXML}
	case value.CLR:
		return tds.TypeInfo{Type: tds.TypeUDT, UDT: &tds.UDTInfo{
			MaxSize: 0xFFFF, Database: "master", Schema: "sys", Name: t.Name,
			Assembly: "Microsoft.SqlServer.Types.Sql" + t.Name + ", Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91",
		}}
	}
	return tds.Nullable(tds.TypeIntN, 4) // an untyped NULL is an int to clients
}

// asWide reports whether char data goes out as UTF-16.
func asWide(t value.Type, utf8 bool) bool { return !utf8 && t.Coll != nil && t.Coll.UTF8 }

func byteSize(n int) int {
	if n == value.Max || n > 8000 {
		return tds.MaxSize
	}
	return max(n, 1)
}

func wideSize(n int) int {
	if n == value.Max || n > 4000 {
		return tds.MaxSize
	}
	return max(2*n, 2)
}

func wireCollation(c *collate.Collation) tds.Collation {
	if c == nil {
		c = collate.Default()
	}
	return tds.Collation(c.Wire())
}

// columnMeta describes a result column ([MS-TDS] 2.2.7.4 COLMETADATA).
func columnMeta(c *exec.Column, utf8 bool) tds.ColumnMeta {
	m := tds.ColumnMeta{Name: c.Name, Info: typeInfo(c.Type, c.Nullable, utf8), Table: c.Table}
	if c.Type.ID == value.RowVersion {
		m.UserType = 80
	}
	if c.Nullable {
		m.Flags |= tds.ColumnNullable
	}
	if c.Updatable {
		m.Flags |= tds.ColumnUpdatableUnsure
	}
	if c.Identity {
		m.Flags |= tds.ColumnIdentity
	}
	if c.Computed {
		m.Flags |= tds.ColumnComputed
	}
	if m.Info.HasTextPointer() && len(m.Table) == 0 {
		m.Table = []string{""}
	}
	return m
}

// valueType is the type that a TYPE_INFO from a client stands for.
func valueType(ti *tds.TypeInfo) value.Type {
	for id, f := range fixedTypes {
		if ti.Type == f.fixed || ti.Type == f.nullable && ti.Size == f.size {
			return value.Type{ID: id}
		}
	}
	coll := collate.FromWire([5]byte(ti.Collation))
	switch ti.Type {
	case tds.TypeDecimal, tds.TypeDecimalN:
		return value.Type{ID: value.Decimal, Prec: ti.Prec, Scale: ti.Scale}
	case tds.TypeNumeric, tds.TypeNumericN:
		return value.Type{ID: value.Numeric, Prec: ti.Prec, Scale: ti.Scale}
	case tds.TypeGUID:
		return value.Type{ID: value.UniqueIdentifier}
	case tds.TypeDateN:
		return value.Type{ID: value.Date}
	case tds.TypeTimeN:
		return value.Type{ID: value.Time, Scale: ti.Scale}
	case tds.TypeDateTime2N:
		return value.Type{ID: value.DateTime2, Scale: ti.Scale}
	case tds.TypeDateTimeOffsetN:
		return value.Type{ID: value.DateTimeOffset, Scale: ti.Scale}
	case tds.TypeChar, tds.TypeBigChar:
		return value.Type{ID: value.Char, Len: max(ti.Size, 1), Coll: coll}
	case tds.TypeVarChar, tds.TypeBigVarChar:
		return value.Type{ID: value.VarChar, Len: declaredBytes(ti.Size), Coll: coll}
	case tds.TypeNChar:
		return value.Type{ID: value.NChar, Len: max(ti.Size/2, 1), Coll: coll}
	case tds.TypeNVarChar:
		if ti.Size == tds.MaxSize {
			return value.Type{ID: value.NVarChar, Len: value.Max, Coll: coll}
		}
		return value.Type{ID: value.NVarChar, Len: max(ti.Size/2, 1), Coll: coll}
	case tds.TypeBinary, tds.TypeBigBinary:
		return value.Type{ID: value.Binary, Len: max(ti.Size, 1)}
	case tds.TypeVarBinary, tds.TypeBigVarBinary:
		return value.Type{ID: value.VarBinary, Len: declaredBytes(ti.Size)}
	case tds.TypeText:
		return value.Type{ID: value.Text, Len: value.Max, Coll: coll}
	case tds.TypeNText:
		return value.Type{ID: value.NText, Len: value.Max, Coll: coll}
	case tds.TypeImage:
		return value.Type{ID: value.Image, Len: value.Max}
	case tds.TypeSSVariant:
		return value.Type{ID: value.Variant}
	case tds.TypeXML:
		return value.Type{ID: value.XML, Len: value.Max}
	case tds.TypeUDT:
		t := value.Type{ID: value.CLR, Len: value.Max}
		if ti.UDT != nil {
			t.Name = ti.UDT.Name
		}
		return t
	}
	return value.Type{ID: value.NVarChar, Len: 1, Coll: collate.Default()}
}

func declaredBytes(n int) int {
	if n == tds.MaxSize {
		return value.Max
	}
	return max(n, 1)
}
