package tds

import "encoding/binary"

// ServerMessage is an ERROR (2.2.7.10) or, with Class 10 and below, an INFO (2.2.7.13).
type ServerMessage struct {
	Info    bool // TokenInfo instead of TokenError
	Number  int32
	State   uint8
	Class   uint8
	Message string
	Server  string
	Proc    string
	Line    uint32
}

// maxMessageUnits keeps an ERROR's body, which also holds two names, within its USHORT length.
const maxMessageUnits = 32000

// Append writes the token. A text that the token cannot hold is cut.
func (m *ServerMessage) Append(dst []byte) []byte {
	t := TokenError
	if m.Info {
		t = TokenInfo
	}
	dst, at := beginBody(dst, t)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(m.Number))
	dst = append(dst, m.State, m.Class)
	dst = appendUSText(dst, cutUTF16(m.Message, maxMessageUnits))
	dst = appendBText(dst, m.Server)
	dst = appendBText(dst, m.Proc)
	dst = binary.LittleEndian.AppendUint32(dst, m.Line)
	return endBody(dst, at)
}

// cutUTF16 cuts s to n code units at the end of a character.
func cutUTF16(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := 0; i < len(s); {
		c, size := decodeWTF8(s[i:])
		if n--; c >= 0x10000 {
			n--
		}
		if n < 0 {
			return s[:i]
		}
		i += size
	}
	return s
}

// Decode reads what follows the token byte; Info is left as it is.
func (m *ServerMessage) Decode(r *Reader) {
	b := r.body()
	m.Number = int32(b.Uint32())
	m.State, m.Class = b.Uint8(), b.Uint8()
	m.Message, m.Server, m.Proc = b.USText(), b.BText(), b.BText()
	m.Line = b.Uint32()
	r.finish(b, "ERROR or INFO")
}
