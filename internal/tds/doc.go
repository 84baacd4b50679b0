// Package tds is the wire form of MS-TDS 7.4, in both directions: what a client and a server write and read, and
// nothing of when they do so. It opens no connection, starts no goroutine, sets no deadline and knows no SQL value
// beyond the bytes of a cell.
//
// Three layers, each usable alone:
//
//   - Packets and messages: [Header], [MessageReader] (one message at a time as an io.Reader), [MessageWriter]
//     (splits a message into packets), [HandshakeConn] (TLS records inside PRELOGIN packets).
//   - Requests: [Prelogin], [Login7], [SQLBatch], [RPCRequest], [TransMgrRequest], [BulkReader]; each has
//     Append(dst) []byte and a Parse function over one complete message body.
//   - Replies: [ColMetaData], [AppendRow], [AppendNBCRow], [Done], [ServerMessage], [EnvChange], [LoginAck] and the
//     other tokens; each has Append(dst) []byte, which writes the token byte too, and Decode(*Reader), which expects
//     the token byte to be consumed. [TokenReader] streams a reply token by token for a client.
//
// A cell is the raw value without its length prefix, and nil is NULL: an INTN(4) is four bytes, a DECIMALN a sign byte
// and a little-endian magnitude, a DATETIME2N its ticks and its three-byte date, an NVARCHAR its UTF-16, whether or not
// it came in chunks. A fixed-length type gives the same bytes as its nullable twin. [TypeInfo] reads and writes cells;
// the Decode and Append functions of this package turn them into Go scalars and back ([Int64], [DecodeDecimal],
// [DecodeDateTime2], [AppendUTF16] and so on).
//
// Decoding goes through [Reader], which checks bounds and keeps its first error, so a decoder is written without error
// checks and asks Err once. Counts and lengths from the wire never size an allocation before the bytes they announce
// have arrived, and a caller's limit bounds what one token or one row may hold.
//
// Not spoken: TDS before 7.2, MARS, table-valued parameters, column encryption keys, COMPUTE (ALTROW) and the types
// that need a feature this package does not negotiate (json, vector).
//
// Section numbers in comments are those of [MS-TDS]: Tabular Data Stream Protocol,
// https://learn.microsoft.com/openspecs/windows_protocols/ms-tds.
package tds
