package tds

import "encoding/binary"

// StateValue is one piece of a session's state, opaque to the client.
type StateValue struct {
	ID    uint8
	Value []byte
}

// SessionState is what a client needs to recover a session (2.2.7.21 SESSIONSTATE).
type SessionState struct {
	Sequence uint32
	Status   uint8 // 1 = recoverable
	Values   []StateValue
}

// longStateLength announces a ULONG length.
const longStateLength = 0xFF

// Append writes the token.
func (s *SessionState) Append(dst []byte) []byte {
	dst = append(dst, byte(TokenSessionState), 0, 0, 0, 0)
	at := len(dst)
	dst = append(binary.LittleEndian.AppendUint32(dst, s.Sequence), s.Status)
	for _, v := range s.Values {
		if dst = append(dst, v.ID); len(v.Value) < longStateLength {
			dst = append(dst, byte(len(v.Value)))
		} else {
			dst = binary.LittleEndian.AppendUint32(append(dst, longStateLength), uint32(len(v.Value)))
		}
		dst = append(dst, v.Value...)
	}
	binary.LittleEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
	return dst
}

// Decode reads what follows the token byte.
func (s *SessionState) Decode(r *Reader) {
	b := r.part(int(r.Uint32()))
	*s = SessionState{Sequence: b.Uint32(), Status: b.Uint8()}
	for b.Len() > 0 {
		v := StateValue{ID: b.Uint8()}
		n := int(b.Uint8())
		if n == longStateLength {
			n = int(b.Uint32())
		}
		v.Value = b.clone(n)
		s.Values = append(s.Values, v)
	}
	r.finish(b, "SESSIONSTATE")
}
