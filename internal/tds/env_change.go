package tds

import (
	"encoding/binary"
	"strconv"
)

// EnvType says what an ENVCHANGE changes (2.2.7.9 ENVCHANGE).
type EnvType uint8

// The kinds of change. Text stands for B_VARCHAR values, bytes for B_VARBYTE.
const (
	EnvDatabase        EnvType = 1  // text
	EnvLanguage        EnvType = 2  // text
	EnvCharset         EnvType = 3  // text
	EnvPacketSize      EnvType = 4  // text: a decimal number
	EnvUnicodeLCID     EnvType = 5  // text
	EnvUnicodeFlags    EnvType = 6  // text
	EnvCollation       EnvType = 7  // bytes: a Collation
	EnvBeginTran       EnvType = 8  // bytes: new descriptor
	EnvCommitTran      EnvType = 9  // bytes: old descriptor
	EnvRollbackTran    EnvType = 10 // bytes: old descriptor
	EnvEnlistDTC       EnvType = 11 // bytes: new descriptor
	EnvDefectTran      EnvType = 12 // bytes
	EnvMirrorPartner   EnvType = 13 // text
	EnvPromoteTran     EnvType = 15 // bytes with a ULONG length: the DTC token
	EnvTranManager     EnvType = 16 // bytes
	EnvTranEnded       EnvType = 17 // bytes: old descriptor
	EnvResetConnDone   EnvType = 18 // nothing
	EnvUserInstance    EnvType = 19 // text
	EnvRouting         EnvType = 20 // Routing
	EnvEnhancedRouting EnvType = 21 // bytes with a USHORT length
)

// Routing tells a client to connect elsewhere.
type Routing struct {
	Protocol uint8 // 0 = TCP
	Port     uint16
	Server   string
}

// EnvChange is an ENVCHANGE. Its kind says which fields hold the values.
type EnvChange struct {
	Type     EnvType
	New, Old string
	NewBytes []byte
	OldBytes []byte
	Routing  *Routing
}

// EnvTransaction is the change by which a server tells a transaction's descriptor; the kind says whether it began.
func EnvTransaction(kind EnvType, descriptor uint64) EnvChange {
	d := binary.LittleEndian.AppendUint64(nil, descriptor)
	if kind == EnvBeginTran || kind == EnvEnlistDTC {
		return EnvChange{Type: kind, NewBytes: d}
	}
	return EnvChange{Type: kind, OldBytes: d}
}

// Transaction is the descriptor of the transaction that began or ended, 0 if there is none in it.
func (e *EnvChange) Transaction() uint64 {
	for _, b := range [][]byte{e.NewBytes, e.OldBytes} {
		if len(b) == 8 {
			return binary.LittleEndian.Uint64(b)
		}
	}
	return 0
}

// PacketSize is the new packet size of EnvPacketSize, 0 if it is not a legal one.
func (e *EnvChange) PacketSize() int {
	n, err := strconv.Atoi(e.New)
	if err != nil || n < MinPacketSize || n > MaxPacketSize {
		return 0
	}
	return n
}

func (t EnvType) isText() bool {
	switch t {
	case EnvDatabase, EnvLanguage, EnvCharset, EnvPacketSize, EnvUnicodeLCID, EnvUnicodeFlags, EnvMirrorPartner,
		EnvUserInstance:
		return true
	}
	return false
}

// Append writes the token.
func (e *EnvChange) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenEnvChange)
	dst = append(dst, byte(e.Type))
	switch {
	case e.Type.isText():
		dst = appendBText(appendBText(dst, e.New), e.Old)
	case e.Type == EnvRouting:
		route := e.Routing
		if route == nil {
			route = &Routing{}
		}
		length := len(dst)
		dst = append(dst, 0, 0, route.Protocol)
		dst = binary.LittleEndian.AppendUint16(dst, route.Port)
		dst = appendUSText(dst, cutUTF16(route.Server, 1024))
		binary.LittleEndian.PutUint16(dst[length:], uint16(len(dst)-length-2))
		dst = append(dst, 0, 0)
	case e.Type == EnvPromoteTran:
		v := e.NewBytes[:min(len(e.NewBytes), 0x8000)]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
		dst = append(append(dst, v...), 0)
	case e.Type == EnvEnhancedRouting:
		v := e.NewBytes[:min(len(e.NewBytes), 0x8000)]
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(v)))
		dst = append(append(dst, v...), 0, 0)
	default:
		for _, v := range [][]byte{e.NewBytes, e.OldBytes} {
			v = v[:min(len(v), 0xFF)]
			dst = append(append(dst, byte(len(v))), v...)
		}
	}
	return endBody(dst, at)
}

// Decode reads what follows the token byte.
func (e *EnvChange) Decode(r *Reader) {
	b := r.body()
	*e = EnvChange{Type: EnvType(b.Uint8())}
	switch {
	case e.Type.isText():
		e.New, e.Old = b.BText(), b.BText()
	case e.Type == EnvRouting:
		value := b.body()
		e.Routing = &Routing{Protocol: value.Uint8(), Port: value.Uint16(), Server: value.USText()}
		b.finish(value, "routing")
		b.Bytes(int(b.Uint16()))
	case e.Type == EnvPromoteTran:
		e.NewBytes = b.clone(int(b.Uint32()))
		e.OldBytes = b.clone(int(b.Uint8()))
	case e.Type == EnvEnhancedRouting:
		e.NewBytes = b.clone(int(b.Uint16()))
		e.OldBytes = b.clone(int(b.Uint16()))
	case e.Type == 0 || e.Type == 14 || e.Type > EnvEnhancedRouting: // unknown, so its values are as well
		e.NewBytes = b.clone(b.Len())
	default:
		e.NewBytes = b.clone(int(b.Uint8()))
		e.OldBytes = b.clone(int(b.Uint8()))
	}
	r.finish(b, "ENVCHANGE")
}
