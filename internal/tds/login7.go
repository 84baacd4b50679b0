package tds

import (
	"encoding/binary"
	"fmt"
)

// LOGIN7 flags that matter to a server or a client (2.2.6.4 LOGIN7).
const (
	Login7DumpLoad        = 0x10 // OptionFlags1: no BCP; not set = BCP and INSERT BULK allowed
	Login7UseDB           = 0x20 // OptionFlags1: changing the database is announced
	Login7Database        = 0x40 // OptionFlags1: a wrong database is fatal
	Login7SetLang         = 0x80 // OptionFlags1: changing the language is announced
	Login7Language        = 0x01 // OptionFlags2: a wrong language is fatal
	Login7ODBC            = 0x02 // OptionFlags2: ANSI defaults
	Login7IntSecurity     = 0x80 // OptionFlags2: integrated login
	Login7ReadOnlyIntent  = 0x20 // TypeFlags
	Login7ChangePassword  = 0x01 // OptionFlags3
	Login7UserInstance    = 0x02 // OptionFlags3
	Login7UnknownCollated = 0x08 // OptionFlags3: collations newer than TDS 7.2 are understood
	Login7Extension       = 0x10 // OptionFlags3: feature extensions follow
)

// Login7 is the login request (2.2.6.4 LOGIN7). Password and NewPassword are in clear here and obfuscated on the wire.
type Login7 struct {
	TDSVersion   uint32 // Version74, or Version80 on a strict connection
	PacketSize   uint32 // wanted; 0 leaves it to the server
	ProgVersion  uint32
	PID          uint32
	ConnectionID uint32
	OptionFlags1 uint8
	OptionFlags2 uint8
	TypeFlags    uint8
	OptionFlags3 uint8 // Login7Extension is set by Append if there are Features
	TimeZone     int32
	LCID         uint32

	HostName    string
	UserName    string
	Password    string
	AppName     string
	ServerName  string
	LibraryName string
	Language    string
	Database    string
	ClientID    [6]byte
	SSPI        []byte
	AttachFile  string
	NewPassword string
	Features    []Feature
}

const (
	login7Fixed   = 94  // bytes before the variable part
	login7MaxText = 128 // code units of most texts
)

// Append writes the message body. Texts are cut to 128 code units, as far as a server reads them.
func (l *Login7) Append(dst []byte) []byte {
	at := len(dst)
	flags3 := l.OptionFlags3 &^ Login7Extension
	if len(l.Features) > 0 {
		flags3 |= Login7Extension
	}
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, 0)
	for _, v := range []uint32{l.TDSVersion, l.PacketSize, l.ProgVersion, l.PID, l.ConnectionID} {
		dst = le.AppendUint32(dst, v)
	}
	dst = append(dst, l.OptionFlags1, l.OptionFlags2, l.TypeFlags, flags3)
	dst = le.AppendUint32(dst, uint32(l.TimeZone))
	dst = le.AppendUint32(dst, l.LCID)

	var data []byte
	field := func(units int, b []byte) {
		dst = le.AppendUint16(dst, uint16(login7Fixed+len(data)))
		dst = le.AppendUint16(dst, uint16(units))
		data = append(data, b...)
	}
	text := func(s string, limit int) {
		b := AppendUTF16(nil, cutUTF16(s, limit))
		field(len(b)/2, b)
	}
	password := func(s string) {
		b := AppendUTF16(nil, cutUTF16(s, login7MaxText))
		obfuscate(b)
		field(len(b)/2, b)
	}
	text(l.HostName, login7MaxText)
	text(l.UserName, login7MaxText)
	password(l.Password)
	text(l.AppName, login7MaxText)
	text(l.ServerName, login7MaxText)
	extension := -1
	if len(l.Features) > 0 {
		extension = len(data)
		field(4, []byte{0, 0, 0, 0})
	} else {
		field(0, nil)
	}
	text(l.LibraryName, login7MaxText)
	text(l.Language, login7MaxText)
	text(l.Database, login7MaxText)
	dst = append(dst, l.ClientID[:]...)
	// A longer SSPI blob is announced by the ULONG that ends the fixed part, but its offset is a USHORT all the same.
	field(min(len(l.SSPI), 0xFFFF), l.SSPI)
	text(l.AttachFile, 260)
	password(l.NewPassword)
	long := uint32(0)
	if len(l.SSPI) >= 0xFFFF {
		long = uint32(len(l.SSPI))
	}
	dst = le.AppendUint32(dst, long)
	if extension >= 0 {
		le.PutUint32(data[extension:], uint32(login7Fixed+len(data)))
		data = appendFeatures(data, l.Features)
	}
	dst = append(dst, data...)
	le.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

// obfuscate hides a password as LOGIN7 wants it: nibbles swapped, then XOR 0xA5. It keeps nobody from reading it.
func obfuscate(b []byte) {
	for i, c := range b {
		b[i] = (c<<4 | c>>4) ^ 0xA5
	}
}

// reveal undoes obfuscate.
func reveal(b []byte) {
	for i, c := range b {
		c ^= 0xA5
		b[i] = c<<4 | c>>4
	}
}

// login7Parser finds the variable parts of a LOGIN7.
type login7Parser struct {
	body []byte
	r    *Reader
}

// field reads an offset and a length, counted in units of size bytes.
func (p *login7Parser) field(size int, what string) []byte {
	at, n := int(p.r.Uint16()), int(p.r.Uint16())
	return p.slice(at, n*size, what)
}

func (p *login7Parser) slice(at, n int, what string) []byte {
	if n == 0 || p.r.err != nil {
		return nil
	}
	if at < login7Fixed || at+n > len(p.body) {
		p.r.malformed("%s lies outside the message", what)
		return nil
	}
	return p.body[at : at+n : at+n]
}

func (p *login7Parser) text(what string) string { return DecodeUTF16(p.field(2, what)) }

func (p *login7Parser) password(what string) string {
	b := append([]byte(nil), p.field(2, what)...)
	reveal(b)
	return DecodeUTF16(b)
}

// ParseLogin7 reads a message body. An error never shows its content.
func ParseLogin7(body []byte) (Login7, error) {
	var l Login7
	r := NewReader(body)
	if n := r.Uint32(); r.err == nil && int64(n) > int64(len(body)) {
		return l, fmt.Errorf("decoding LOGIN7: %w: length %d of a message of %d bytes", ErrMalformed, n, len(body))
	}
	l.TDSVersion, l.PacketSize, l.ProgVersion = r.Uint32(), r.Uint32(), r.Uint32()
	l.PID, l.ConnectionID = r.Uint32(), r.Uint32()
	l.OptionFlags1, l.OptionFlags2, l.TypeFlags, l.OptionFlags3 = r.Uint8(), r.Uint8(), r.Uint8(), r.Uint8()
	l.TimeZone, l.LCID = int32(r.Uint32()), r.Uint32()

	p := login7Parser{body: body, r: r}
	l.HostName = p.text("host name")
	l.UserName = p.text("user name")
	l.Password = p.password("password")
	l.AppName = p.text("application name")
	l.ServerName = p.text("server name")
	extension := p.field(1, "extension")
	l.LibraryName = p.text("library name")
	l.Language = p.text("language")
	l.Database = p.text("database")
	copy(l.ClientID[:], r.Bytes(len(l.ClientID)))
	sspiAt, sspiLen := int(r.Uint16()), int(r.Uint16())
	l.AttachFile = p.text("attached file")
	l.NewPassword = p.password("new password")
	if long := int(r.Uint32()); sspiLen == 0xFFFF && long > 0 {
		sspiLen = long
	}
	l.SSPI = append(l.SSPI, p.slice(sspiAt, sspiLen, "SSPI")...)
	if l.OptionFlags3&Login7Extension != 0 && r.err == nil {
		l.Features = p.features(extension)
	}
	if r.err != nil {
		return Login7{}, fmt.Errorf("decoding LOGIN7: %w", r.err)
	}
	return l, nil
}

// features follows the extension, which is only a pointer to the list.
func (p *login7Parser) features(extension []byte) []Feature {
	if len(extension) < 4 {
		p.r.malformed("extension of %d bytes", len(extension))
		return nil
	}
	at := int64(binary.LittleEndian.Uint32(extension))
	if at < login7Fixed || at >= int64(len(p.body)) {
		p.r.malformed("features lie outside the message")
		return nil
	}
	list := NewReader(p.body[at:])
	features := decodeFeatures(list)
	if list.err != nil {
		p.r.fail(fmt.Errorf("features: %w", list.err))
	}
	return features
}
