package tds

import "fmt"

// SQLBatch is a batch of T-SQL (2.2.6.7 SQLBatch).
type SQLBatch struct {
	Headers AllHeaders
	Text    string
}

// Append writes the message body.
func (b *SQLBatch) Append(dst []byte) []byte {
	return AppendUTF16(b.Headers.Append(dst), b.Text)
}

// ParseSQLBatch reads a message body.
func ParseSQLBatch(body []byte) (SQLBatch, error) {
	var b SQLBatch
	r := NewReader(body)
	b.Headers.Decode(r)
	if r.err == nil && r.Len()%2 != 0 {
		r.malformed("text of %d bytes", r.Len())
	}
	if r.err != nil {
		return SQLBatch{}, fmt.Errorf("decoding SQLBatch: %w", r.err)
	}
	b.Text = DecodeUTF16(r.Rest())
	return b, nil
}
