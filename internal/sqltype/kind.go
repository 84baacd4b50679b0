package sqltype

// Kind is the inside form of a type: which Arrow layout holds its values and what a stored value means.
type Kind uint8

// The kinds. The comment after each is what one stored value is.
const (
	Unknown        Kind = iota
	Bit                 // Boolean
	TinyInt             // Uint8
	SmallInt            // Int16
	Int                 // Int32
	BigInt              // Int64
	Real                // Float32
	Float               // Float64
	Decimal             // Decimal128(precision, scale); also money and smallmoney
	Date                // Date32: days since 1970-01-01
	Time                // Time64[ns]: nanoseconds since midnight, always a multiple of 100
	DateTime2           // Int64: 100 ns ticks since 0001-01-01; also smalldatetime
	DateTime            // Int64: 1/300 s ticks since 1900-01-01, the server's own unit
	DateTimeOffset      // Struct{ticks Int64: 100 ns since 0001-01-01 in UTC; offset_minutes Int16}
	Text                // String: UTF-8
	Binary              // Binary
	RowVersion          // FixedSizeBinary(8)
	UUID                // FixedSizeBinary(16) in the order of the text form
	Variant             // String: the JSON object {"type":…,"value":…}
)
