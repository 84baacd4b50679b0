package tds

import "encoding/binary"

// ReturnStatus is what a procedure returned (2.2.7.18 RETURNSTATUS).
type ReturnStatus int32

// Append writes the token.
func (s ReturnStatus) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, byte(TokenReturnStatus)), uint32(s))
}

// Decode reads what follows the token byte.
func (s *ReturnStatus) Decode(r *Reader) { *s = ReturnStatus(r.Uint32()) }
