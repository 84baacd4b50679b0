// Package body writes the bodies of messages from record batches.
//
// A JSON is planned once per schema of a table; Bind ties it to a record batch, and AppendRow and AppendKey append the body and the
// key of a row to the caller's buffer. The forms of the values are those of internal/sqltype, so a snapshot, the stream and a key
// spell a value the same way. A column that is "unchanged" is left out, never written as null.
//
// JSON: RFC 8259.
package body
