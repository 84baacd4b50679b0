package sqltype

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// params says which parameters a type's declaration has.
type params uint8

const (
	noParams params = iota
	lengthParam
	unitsParam // declared in UTF-16 code units, catalogued in bytes
	precisionScaleParams
	scaleParam
	maxOnly // no parameter, always up to 2 GB
)

// entry is one row of the type table.
type entry struct {
	name       string
	aliases    []string
	params     params
	maxAllowed bool
	collated   bool
	lob        bool // can be a LOB although Length does not say Max
	kind       Kind
	digits     int // -1: the column's scale
	tds        string
	inside     func(Type) arrow.DataType
	exported   func(Type) (arrow.DataType, error)
	common     func(Type) Common
	message    string // for docs/types.md
	example    string // for docs/types.md
	loss       string
}

// table is the type table. Its order is that of docs/types.md.
var table = []entry{
	{name: "bit", kind: Bit, tds: "BITTYPE, BITNTYPE", inside: fixed(arrow.FixedWidthTypes.Boolean), common: commonOf(CommonBoolean),
		message: "true or false", example: `true`},
	{name: "tinyint", kind: TinyInt, tds: "INT1TYPE, INTNTYPE", inside: fixed(arrow.PrimitiveTypes.Uint8), common: commonOf(CommonInt32),
		message: "integer", example: `255`},
	{name: "smallint", kind: SmallInt, tds: "INT2TYPE, INTNTYPE", inside: fixed(arrow.PrimitiveTypes.Int16), common: commonOf(CommonInt32),
		message: "integer", example: `-32768`},
	{name: "int", aliases: []string{"integer"}, kind: Int, tds: "INT4TYPE, INTNTYPE", inside: fixed(arrow.PrimitiveTypes.Int32), common: commonOf(CommonInt32),
		message: "integer", example: `2147483647`},
	{name: "bigint", kind: BigInt, tds: "INT8TYPE, INTNTYPE", inside: fixed(arrow.PrimitiveTypes.Int64), common: commonOf(CommonInt64),
		message: "integer, all digits", example: `9223372036854775807`,
		loss: "none here; a consumer that reads JSON numbers as doubles loses digits above 2^53"},
	{name: "decimal", aliases: []string{"dec"}, params: precisionScaleParams, kind: Decimal, digits: -1, tds: "DECIMALNTYPE", inside: decimalOf, common: decimalCommon,
		message: "string, as many digits after the point as the scale", example: `"1.50"`},
	{name: "numeric", params: precisionScaleParams, kind: Decimal, digits: -1, tds: "NUMERICNTYPE", inside: decimalOf, common: decimalCommon,
		message: "string, as many digits after the point as the scale", example: `"-0.05"`},
	{name: "money", kind: Decimal, digits: 4, tds: "MONEYTYPE, MONEYNTYPE", inside: fixed(&arrow.Decimal128Type{Precision: 19, Scale: 4}), common: decimalCommon,
		message: "string, 4 digits after the point", example: `"922337203685477.5807"`},
	{name: "smallmoney", kind: Decimal, digits: 4, tds: "MONEY4TYPE, MONEYNTYPE", inside: fixed(&arrow.Decimal128Type{Precision: 10, Scale: 4}), common: decimalCommon,
		message: "string, 4 digits after the point", example: `"-214748.3648"`},
	{name: "real", kind: Real, tds: "FLT4TYPE, FLTNTYPE", inside: fixed(arrow.PrimitiveTypes.Float32), common: commonOf(CommonFloat32),
		message: "shortest number that reads back as the same 32 bits", example: `0.1`},
	{name: "float", aliases: []string{"double precision"}, kind: Float, tds: "FLT8TYPE, FLTNTYPE", inside: fixed(arrow.PrimitiveTypes.Float64), common: commonOf(CommonFloat64),
		message: "shortest number that reads back as the same 64 bits", example: `1.7976931348623157e+308`},
	{name: "date", kind: Date, tds: "DATENTYPE", inside: fixed(arrow.FixedWidthTypes.Date32), common: commonOf(CommonDate),
		message: "string", example: `"2024-02-29"`},
	{name: "time", params: scaleParam, kind: Time, digits: -1, tds: "TIMENTYPE", inside: fixed(arrow.FixedWidthTypes.Time64ns), common: timeCommon,
		message: "string, as many digits after the point as the scale", example: `"23:59:59.9999999"`},
	{name: "datetime2", params: scaleParam, kind: DateTime2, digits: -1, tds: "DATETIME2NTYPE", inside: fixed(arrow.PrimitiveTypes.Int64), exported: datetime2Exported,
		common: timestampCommon, message: "string without a zone, as many digits after the point as the scale", example: `"9999-12-31T23:59:59.9999999"`,
		loss: "exported Arrow at scale 7 is timestamp[ns], which ends in 2262: a value outside is an error naming table, column and value"},
	{name: "datetime", kind: DateTime, digits: 3, tds: "DATETIMETYPE, DATETIMNTYPE", inside: fixed(arrow.PrimitiveTypes.Int64), exported: timestampExported(arrow.Millisecond),
		common: timestampCommon, message: "string without a zone, 3 digits: the server's 1/300 s rounded as the server shows it", example: `"2024-02-29T23:59:59.997"`,
		loss: "none: each 1/300 s has its own millisecond, so the rounding can be undone"},
	{name: "smalldatetime", kind: DateTime2, digits: 0, tds: "DATETIM4TYPE, DATETIMNTYPE", inside: fixed(arrow.PrimitiveTypes.Int64), exported: timestampExported(arrow.Second),
		common: timestampCommon, message: "string without a zone", example: `"2079-06-06T23:59:00"`},
	{name: "datetimeoffset", params: scaleParam, kind: DateTimeOffset, digits: -1, tds: "DATETIMEOFFSETNTYPE", inside: fixed(offsetStruct(arrow.PrimitiveTypes.Int64, "ticks")), exported: offsetExported,
		common: instantCommon, message: "string in RFC 3339 with the value's own offset, as many digits after the point as the scale", example: `"2024-02-29T23:59:59.1234567+09:00"`,
		loss: "exported Arrow at scale 7 holds timestamp[ns, UTC], which ends in 2262: a value outside is an error naming table, column and value"},
	{name: "char", aliases: []string{"character"}, params: lengthParam, collated: true, kind: Text, tds: "BIGCHARTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string, padding blanks kept", example: `"ab   "`, loss: textLoss},
	{name: "varchar", params: lengthParam, maxAllowed: true, collated: true, kind: Text, tds: "BIGVARCHRTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string, decoded by the column's collation", example: `"é€"`, loss: textLoss},
	{name: "text", params: maxOnly, collated: true, kind: Text, tds: "TEXTTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string", example: `"long text"`, loss: textLoss},
	{name: "nchar", params: unitsParam, collated: true, kind: Text, tds: "NCHARTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string, padding blanks kept", example: `"名  "`, loss: textLoss},
	{name: "nvarchar", params: unitsParam, maxAllowed: true, collated: true, kind: Text, tds: "NVARCHARTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string", example: `"名前"`, loss: textLoss},
	{name: "ntext", params: maxOnly, collated: true, kind: Text, tds: "NTEXTTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string", example: `"long text"`, loss: textLoss},
	{name: "sysname", kind: Text, collated: true, tds: "NVARCHARTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string", example: `"dbo"`, loss: textLoss},
	{name: "xml", params: maxOnly, kind: Text, tds: "XMLTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string, as the server serializes it (it drops the declaration and insignificant white space itself)", example: `"<a>é&amp;</a>"`},
	{name: "json", params: maxOnly, kind: Text, tds: "read as nvarchar(max)", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string that holds the JSON text", example: `"{\"a\":1}"`},
	{name: "vector", params: maxOnly, kind: Text, tds: "read as nvarchar(max)", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonString),
		message: "string that holds a JSON array", example: `"[1.0000000e+000,2.0000000e+000]"`,
		loss: "the text is the server's own conversion, which shows 8 significant digits of each 32-bit element"},
	{name: "binary", params: lengthParam, kind: Binary, tds: "BIGBINARYTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64 (RFC 4648, section 4)", example: `"3q2+7w=="`},
	{name: "varbinary", params: lengthParam, maxAllowed: true, kind: Binary, tds: "BIGVARBINTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64", example: `"3q2+7w=="`},
	{name: "image", params: maxOnly, kind: Binary, tds: "IMAGETYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64", example: `"3q2+7w=="`},
	{name: "rowversion", aliases: []string{"timestamp"}, kind: RowVersion, tds: "BIGBINARYTYPE", inside: fixed(&arrow.FixedSizeBinaryType{ByteWidth: 8}), common: commonOf(CommonByteArray),
		message: "string in base64, 8 bytes; the same in a snapshot and in the stream", example: `"AAAAAAAAB9E="`},
	{name: "uniqueidentifier", kind: UUID, tds: "GUIDTYPE", inside: fixed(&arrow.FixedSizeBinaryType{ByteWidth: 16}), exported: uuidExported, common: commonOf(CommonUUID),
		message: "string, upper case with hyphens", example: `"01234567-89AB-CDEF-0123-456789ABCDEF"`},
	{name: "sql_variant", kind: Variant, tds: "SSVARIANTTYPE", inside: fixed(arrow.BinaryTypes.String), common: commonOf(CommonAny),
		message: "object of the value's own type and its value in that type's form", example: `{"type":"decimal(5,2)","value":"1.50"}`, loss: textLoss},
	{name: "hierarchyid", kind: Binary, tds: "UDTTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64: the serialized instance", example: `"WsA="`},
	{name: "geometry", lob: true, kind: Binary, tds: "UDTTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64: the serialized instance (MS-SSCLRT)", example: `"AAAAAAEMAAAAAAAA8D8AAAAAAAAAQA=="`},
	{name: "geography", lob: true, kind: Binary, tds: "UDTTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "string in base64: the serialized instance (MS-SSCLRT)", example: `"5hAAAAEMAAAAAAAA8D8AAAAAAAAAQA=="`},
	{name: CLR, lob: true, kind: Binary, tds: "UDTTYPE", inside: fixed(arrow.BinaryTypes.Binary), common: commonOf(CommonByteArray),
		message: "any other CLR type: string in base64, the serialized instance", example: `"gAAAAQ=="`},
}

const textLoss = "text that is not valid Unicode (a lone surrogate, bytes outside the code page) is an error naming table, column and row, or becomes U+FFFD with `on_invalid_text: replace`"

var byName = func() map[string]*entry {
	m := make(map[string]*entry, 2*len(table))
	for i := range table {
		e := &table[i]
		m[e.name] = e
		for _, a := range e.aliases {
			m[a] = e
		}
	}
	return m
}()

// lookup finds the entry of a type name, nil if there is none. Names of system types are compared without regard to case.
func lookup(name string) *entry {
	if e, ok := byName[name]; ok {
		return e
	}
	return byName[strings.ToLower(name)]
}
