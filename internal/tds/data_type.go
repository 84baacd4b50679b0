package tds

import "fmt"

// DataType is the type byte of a TYPE_INFO (2.2.5.4 Data Type Definitions).
type DataType uint8

// The types. Fixed-length ones have no NULL; the N types are their nullable twins.
const (
	TypeNull     DataType = 0x1F
	TypeInt1     DataType = 0x30 // tinyint
	TypeBit      DataType = 0x32
	TypeInt2     DataType = 0x34
	TypeInt4     DataType = 0x38
	TypeDateTim4 DataType = 0x3A // smalldatetime
	TypeFlt4     DataType = 0x3B // real
	TypeMoney    DataType = 0x3C
	TypeDateTime DataType = 0x3D
	TypeFlt8     DataType = 0x3E // float
	TypeMoney4   DataType = 0x7A // smallmoney
	TypeInt8     DataType = 0x7F

	TypeGUID            DataType = 0x24
	TypeIntN            DataType = 0x26
	TypeDecimal         DataType = 0x37 // legacy form of TypeDecimalN
	TypeNumeric         DataType = 0x3F // legacy form of TypeNumericN
	TypeBitN            DataType = 0x68
	TypeDecimalN        DataType = 0x6A
	TypeNumericN        DataType = 0x6C
	TypeFltN            DataType = 0x6D
	TypeMoneyN          DataType = 0x6E
	TypeDateTimN        DataType = 0x6F
	TypeDateN           DataType = 0x28
	TypeTimeN           DataType = 0x29
	TypeDateTime2N      DataType = 0x2A
	TypeDateTimeOffsetN DataType = 0x2B

	TypeVarBinary DataType = 0x25 // legacy, one-byte length
	TypeVarChar   DataType = 0x27 // legacy, one-byte length
	TypeBinary    DataType = 0x2D // legacy, one-byte length
	TypeChar      DataType = 0x2F // legacy, one-byte length

	TypeBigVarBinary DataType = 0xA5
	TypeBigVarChar   DataType = 0xA7
	TypeBigBinary    DataType = 0xAD
	TypeBigChar      DataType = 0xAF
	TypeNVarChar     DataType = 0xE7
	TypeNChar        DataType = 0xEF

	TypeText      DataType = 0x23
	TypeImage     DataType = 0x22
	TypeNText     DataType = 0x63
	TypeSSVariant DataType = 0x62

	TypeUDT DataType = 0xF0
	TypeXML DataType = 0xF1
	TypeTVP DataType = 0xF3 // refused
)

// layout is how a type's TYPE_INFO and cells look.
type layout uint8

const (
	layoutUnknown layout = iota
	layoutFixed          // cell: the bytes
	layoutByte           // cell: length byte, 0 = NULL
	layoutShort          // cell: USHORT length, 0xFFFF = NULL; PLP if the declared size is 0xFFFF
	layoutPLP            // cell: PARTLENTYPE
	layoutText           // cell: text pointer, timestamp, ULONG length
	layoutVariant        // cell: ULONG length, 0 = NULL
)

// typeTraits describes one DataType.
type typeTraits struct {
	name      string
	layout    layout
	size      int    // fixed layout: of the cell; byte layout without a declared size: of the cell
	lengths   uint32 // byte layout: bit n set = a cell of n bytes is legal; 0 = any
	sized     bool   // TYPE_INFO declares a size
	collation bool
	decimal   bool // TYPE_INFO declares precision and scale
	scaled    bool // TYPE_INFO declares a scale
}

const (
	lengths4or8    = 1<<4 | 1<<8
	lengthsInt     = 1<<1 | 1<<2 | 1<<4 | 1<<8
	lengthsDecimal = 1<<5 | 1<<9 | 1<<13 | 1<<17
)

var traits = [256]typeTraits{
	TypeNull:     {name: "NULL", layout: layoutFixed, size: 0},
	TypeInt1:     {name: "INT1", layout: layoutFixed, size: 1},
	TypeBit:      {name: "BIT", layout: layoutFixed, size: 1},
	TypeInt2:     {name: "INT2", layout: layoutFixed, size: 2},
	TypeInt4:     {name: "INT4", layout: layoutFixed, size: 4},
	TypeInt8:     {name: "INT8", layout: layoutFixed, size: 8},
	TypeDateTim4: {name: "DATETIM4", layout: layoutFixed, size: 4},
	TypeDateTime: {name: "DATETIME", layout: layoutFixed, size: 8},
	TypeFlt4:     {name: "FLT4", layout: layoutFixed, size: 4},
	TypeFlt8:     {name: "FLT8", layout: layoutFixed, size: 8},
	TypeMoney4:   {name: "MONEY4", layout: layoutFixed, size: 4},
	TypeMoney:    {name: "MONEY", layout: layoutFixed, size: 8},

	TypeGUID:            {name: "GUID", layout: layoutByte, sized: true, lengths: 1 << 16},
	TypeIntN:            {name: "INTN", layout: layoutByte, sized: true, lengths: lengthsInt},
	TypeBitN:            {name: "BITN", layout: layoutByte, sized: true, lengths: 1 << 1},
	TypeFltN:            {name: "FLTN", layout: layoutByte, sized: true, lengths: lengths4or8},
	TypeMoneyN:          {name: "MONEYN", layout: layoutByte, sized: true, lengths: lengths4or8},
	TypeDateTimN:        {name: "DATETIMN", layout: layoutByte, sized: true, lengths: lengths4or8},
	TypeDecimal:         {name: "DECIMAL", layout: layoutByte, sized: true, lengths: lengthsDecimal, decimal: true},
	TypeNumeric:         {name: "NUMERIC", layout: layoutByte, sized: true, lengths: lengthsDecimal, decimal: true},
	TypeDecimalN:        {name: "DECIMALN", layout: layoutByte, sized: true, lengths: lengthsDecimal, decimal: true},
	TypeNumericN:        {name: "NUMERICN", layout: layoutByte, sized: true, lengths: lengthsDecimal, decimal: true},
	TypeDateN:           {name: "DATEN", layout: layoutByte, size: 3, lengths: 1 << 3},
	TypeTimeN:           {name: "TIMEN", layout: layoutByte, scaled: true},
	TypeDateTime2N:      {name: "DATETIME2N", layout: layoutByte, size: 3, scaled: true},
	TypeDateTimeOffsetN: {name: "DATETIMEOFFSETN", layout: layoutByte, size: 5, scaled: true},

	TypeVarBinary: {name: "VARBINARY", layout: layoutByte, sized: true},
	TypeVarChar:   {name: "VARCHAR", layout: layoutByte, sized: true},
	TypeBinary:    {name: "BINARY", layout: layoutByte, sized: true},
	TypeChar:      {name: "CHAR", layout: layoutByte, sized: true},

	TypeBigVarBinary: {name: "BIGVARBINARY", layout: layoutShort, sized: true},
	TypeBigVarChar:   {name: "BIGVARCHAR", layout: layoutShort, sized: true, collation: true},
	TypeBigBinary:    {name: "BIGBINARY", layout: layoutShort, sized: true},
	TypeBigChar:      {name: "BIGCHAR", layout: layoutShort, sized: true, collation: true},
	TypeNVarChar:     {name: "NVARCHAR", layout: layoutShort, sized: true, collation: true},
	TypeNChar:        {name: "NCHAR", layout: layoutShort, sized: true, collation: true},

	TypeText:      {name: "TEXT", layout: layoutText, sized: true, collation: true},
	TypeNText:     {name: "NTEXT", layout: layoutText, sized: true, collation: true},
	TypeImage:     {name: "IMAGE", layout: layoutText, sized: true},
	TypeSSVariant: {name: "SSVARIANT", layout: layoutVariant, sized: true},

	TypeUDT: {name: "UDT", layout: layoutPLP},
	TypeXML: {name: "XML", layout: layoutPLP},
}

// String is the type's name in the specification.
func (t DataType) String() string {
	if name := traits[t].name; name != "" {
		return name
	}
	return fmt.Sprintf("type 0x%02X", uint8(t))
}

// FixedSize is the cell size of a fixed-length type; false for every other.
func (t DataType) FixedSize() (int, bool) {
	tr := &traits[t]
	return tr.size, tr.layout == layoutFixed
}

// UnsupportedTypeError reports a type that this package does not speak.
type UnsupportedTypeError struct{ Type DataType }

// Error names the type.
func (e *UnsupportedTypeError) Error() string {
	if e.Type == TypeTVP {
		return "table-valued parameters are not supported"
	}
	return fmt.Sprintf("data %v is not supported", e.Type)
}
