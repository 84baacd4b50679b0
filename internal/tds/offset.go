package tds

import "encoding/binary"

// Offset tells where a keyword stands in the batch (2.2.7.16 OFFSET), after SET OFFSETS.
type Offset struct {
	Keyword uint16
	At      uint16
}

// Append writes the token.
func (o *Offset) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, byte(TokenOffset)), o.Keyword)
	return binary.LittleEndian.AppendUint16(dst, o.At)
}

// Decode reads what follows the token byte.
func (o *Offset) Decode(r *Reader) { o.Keyword, o.At = r.Uint16(), r.Uint16() }
