package tds

// SSPI is a token of an integrated login (2.2.7.22 SSPI).
type SSPI []byte

// Append writes the token.
func (s SSPI) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenSSPI)
	return endBody(append(dst, s[:min(len(s), 0xFFFF)]...), at)
}

// Decode reads what follows the token byte; it copies.
func (s *SSPI) Decode(r *Reader) { *s = r.clone(int(r.Uint16())) }
