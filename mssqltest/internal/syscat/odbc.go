package syscat

import (
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// odbcType is what sp_columns and sp_datatype_info say of a type (Microsoft Learn, "sp_columns (Transact-SQL)"; the
// codes are those of ODBC's sql.h and of msodbcsql.h).
type odbcType struct {
	dataType    int // of ODBC 3
	dataType2   int // of ODBC 2, which has its own codes for date and time
	precision   int
	length      int
	scale       any // nil where there is none
	radix       any
	sqlType     int
	datetimeSub any
	octets      any
	ssType      int // TDS type as SQL Server 4.2 clients know it
	ssTypeNull  int
}

const (
	maxBytes     = 2147483647
	maxCodeUnits = 1073741823
)

// odbcOf describes a column type.
func odbcOf(t value.Type) odbcType {
	switch t.ID {
	case value.Bit:
		return fixed(-7, 1, 1, nil, nil, 50, 50)
	case value.TinyInt:
		return fixed(-6, 3, 1, 0, 10, 48, 38)
	case value.SmallInt:
		return fixed(5, 5, 2, 0, 10, 52, 38)
	case value.Int:
		return fixed(4, 10, 4, 0, 10, 56, 38)
	case value.BigInt:
		return fixed(-5, 19, 8, 0, 10, 63, 108)
	case value.Real:
		return fixed(7, 7, 4, nil, 10, 59, 109)
	case value.Float:
		return fixed(6, 15, 8, nil, 10, 62, 109)
	case value.Money:
		return fixed(3, 19, 21, 4, 10, 60, 110)
	case value.SmallMoney:
		return fixed(3, 10, 12, 4, 10, 122, 110)
	case value.Decimal:
		return fixed(3, int(t.Prec), int(t.Prec)+2, int(t.Scale), 10, 55, 106)
	case value.Numeric:
		return fixed(2, int(t.Prec), int(t.Prec)+2, int(t.Scale), 10, 63, 108)
	case value.DateTime:
		return datetime(93, 11, 23, 16, 3, 3, 61, 111)
	case value.SmallDateTime:
		return datetime(93, 11, 16, 16, 0, 3, 58, 111)
	case value.DateTime2:
		return datetime(93, -9, int(sysrow.Precision(t)), 16, int(t.Scale), 3, 0, 0)
	case value.Date:
		return datetime(91, -9, 10, 6, nil, 1, 0, 0)
	case value.Time:
		return datetime(-154, -9, int(sysrow.Precision(t)), 12, int(t.Scale), 0, 0, 0)
	case value.DateTimeOffset:
		return datetime(-155, -9, int(sysrow.Precision(t)), 20, int(t.Scale), 0, 0, 0)
	}
	return odbcString(t)
}

// odbcString describes the types whose values are strings of characters or bytes.
func odbcString(t value.Type) odbcType {
	switch t.ID {
	case value.Char:
		return str(1, t.Len, t.Len, 47, 39)
	case value.VarChar:
		n := lengthOr(t.Len, maxBytes)
		return str(12, n, n, 39, 39)
	case value.NChar:
		return str(-8, t.Len, 2*t.Len, 39, 39)
	case value.NVarChar:
		if t.Len == value.Max {
			return str(-9, maxCodeUnits, maxBytes-1, 39, 39)
		}
		return str(-9, t.Len, 2*t.Len, 39, 39)
	case value.Text:
		return str(-1, maxBytes, maxBytes, 35, 35)
	case value.NText:
		return str(-10, maxCodeUnits, maxBytes-1, 35, 35)
	case value.Binary:
		return str(-2, t.Len, t.Len, 45, 37)
	case value.VarBinary:
		n := lengthOr(t.Len, maxBytes)
		return str(-3, n, n, 37, 37)
	case value.Image:
		return str(-4, maxBytes, maxBytes, 34, 34)
	case value.RowVersion:
		o := str(-2, 8, 8, 45, 37)
		o.octets = 8
		return o
	case value.UniqueIdentifier:
		o := fixed(-11, 36, 16, nil, nil, 37, 37)
		return o
	case value.Variant:
		o := fixed(-150, 8000, 8000, nil, 10, 39, 39)
		return o
	case value.XML:
		o := str(-152, 0, 0, 0, 0)
		o.octets = 0
		return o
	case value.CLR:
		n := int(sysrow.MaxLength(t))
		if n < 0 {
			n = 0
		}
		o := str(-151, n, n, 23, 23)
		return o
	}
	return odbcType{}
}

func lengthOr(n, limit int) int {
	if n == value.Max {
		return limit
	}
	return n
}

func fixed(code, prec, length int, scale, radix any, ss, ssNull int) odbcType {
	return odbcType{dataType: code, dataType2: code, precision: prec, length: length, scale: scale, radix: radix, sqlType: code, ssType: ss, ssTypeNull: ssNull}
}

func str(code, prec, length, ss, ssNull int) odbcType {
	return odbcType{dataType: code, dataType2: code, precision: prec, length: length, sqlType: code, octets: length, ssType: ss, ssTypeNull: ssNull}
}

// datetime describes a date or time type; sub is SQL_DATETIME_SUB, 0 where the type is one of SQL Server's own.
func datetime(code, code2, prec, length int, scale any, sub, ss, ssNull int) odbcType {
	o := odbcType{dataType: code, dataType2: code2, precision: prec, length: length, scale: scale, sqlType: 9, datetimeSub: sub, ssType: ss, ssTypeNull: ssNull}
	if sub == 0 {
		o.sqlType, o.datetimeSub = code, nil
	}
	return o
}
