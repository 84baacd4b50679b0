package tds

import "encoding/binary"

// The TDS versions that matter here, as LOGINACK and LOGIN7 number them.
const (
	Version72 = 0x72090002
	Version73 = 0x730B0003
	Version74 = 0x74000004
	Version80 = 0x08000000 // LOGIN7 over a strict connection only
)

// LoginAck accepts a login (2.2.7.14 LOGINACK).
type LoginAck struct {
	Interface  uint8 // 1 = SQL_TSQL
	TDSVersion uint32
	Program    string
	// Version of the server: major, minor, and the build number in big-endian order. Some clients refuse 0.0.0.0.
	Version [4]byte
}

// Append writes the token. Unlike all other numbers the TDS version is big-endian.
func (a *LoginAck) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenLoginAck)
	dst = binary.BigEndian.AppendUint32(append(dst, a.Interface), a.TDSVersion)
	dst = appendBText(dst, a.Program)
	return endBody(append(dst, a.Version[:]...), at)
}

// Decode reads what follows the token byte.
func (a *LoginAck) Decode(r *Reader) {
	b := r.body()
	a.Interface = b.Uint8()
	if v := b.Bytes(4); v != nil {
		a.TDSVersion = binary.BigEndian.Uint32(v)
	}
	a.Program = b.BText()
	copy(a.Version[:], b.Bytes(4))
	r.finish(b, "LOGINACK")
}
