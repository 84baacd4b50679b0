// Package body writes the bodies of messages from record batches, and reads them back into record batches.
//
// A JSON is planned once per schema of a table; Bind ties it to a record batch, and AppendRow and AppendKey append the body and the
// key of a row to the caller's buffer. The forms of the values are those of internal/sqltype, so a snapshot, the stream and a key
// spell a value the same way. A column that is "unchanged" is left out, never written as null.
//
// A Debezium puts the rows of a JSON into Debezium's envelope. An Export gives the columns of chosen rows in the exported forms of
// internal/sqltype, and AppendArrow writes a record batch as an Arrow IPC stream.
//
// A Decoder is planned once per target table; AppendJSON and AppendMap take messages, and Finish gives record batches in the inside
// forms of internal/sqltype. Every value that a JSON has written is read back as it was. JSON text is read strictly: what other readers
// overlook (invalid UTF-8, half surrogate pairs, fields that come twice, text after the object) refuses the message. ReadArrow takes
// bodies in Arrow's IPC format.
//
// JSON: RFC 8259. Arrow IPC: "Serialization and Interprocess Communication" of the Arrow columnar format.
package body
