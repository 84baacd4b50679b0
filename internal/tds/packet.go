package tds

import (
	"encoding/binary"
	"fmt"
)

// PacketType says what a message is (2.2.3.1.1 Type).
type PacketType uint8

// The packet types.
const (
	PacketSQLBatch     PacketType = 1
	PacketRPC          PacketType = 3
	PacketReply        PacketType = 4
	PacketAttention    PacketType = 6 // no body: the header is the message
	PacketBulkLoad     PacketType = 7
	PacketFedAuthToken PacketType = 8
	PacketTransMgr     PacketType = 14
	PacketLogin7       PacketType = 16
	PacketSSPI         PacketType = 17
	PacketPrelogin     PacketType = 18
)

// String is the type's name in the specification.
func (t PacketType) String() string {
	switch t {
	case PacketSQLBatch:
		return "SQLBatch"
	case PacketRPC:
		return "RPC"
	case PacketReply:
		return "reply"
	case PacketAttention:
		return "Attention"
	case PacketBulkLoad:
		return "BulkLoad"
	case PacketFedAuthToken:
		return "FedAuthToken"
	case PacketTransMgr:
		return "TransMgrReq"
	case PacketLogin7:
		return "LOGIN7"
	case PacketSSPI:
		return "SSPI"
	case PacketPrelogin:
		return "PRELOGIN"
	}
	return fmt.Sprintf("packet type 0x%02X", uint8(t))
}

// Status holds a packet's flags (2.2.3.1.2 Status).
type Status uint8

// The status bits.
const (
	StatusEOM           Status = 0x01 // the last packet of its message
	StatusIgnore        Status = 0x02 // with StatusEOM: forget the message
	StatusReset         Status = 0x08 // RESETCONNECTION, on the first packet of a request
	StatusResetSkipTran Status = 0x10 // RESETCONNECTIONSKIPTRAN
)

// Sizes of packets (2.2.3.1.3 Length).
const (
	HeaderSize        = 8
	MinPacketSize     = 512
	MaxPacketSize     = 32767
	DefaultPacketSize = 4096
)

// Header begins every packet (2.2.3.1 Packet Header). Its numbers are big-endian.
type Header struct {
	Type   PacketType
	Status Status
	Length uint16 // of the packet, header included
	SPID   uint16
	ID     uint8
	Window uint8
}

// Append writes the header.
func (h Header) Append(dst []byte) []byte {
	dst = append(dst, byte(h.Type), byte(h.Status))
	dst = binary.BigEndian.AppendUint16(dst, h.Length)
	dst = binary.BigEndian.AppendUint16(dst, h.SPID)
	return append(dst, h.ID, h.Window)
}

// ParseHeader reads the first eight bytes of a packet.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, fmt.Errorf("decoding packet header of %d bytes: %w", len(b), ErrMalformed)
	}
	h := Header{
		Type:   PacketType(b[0]),
		Status: Status(b[1]),
		Length: binary.BigEndian.Uint16(b[2:]),
		SPID:   binary.BigEndian.Uint16(b[4:]),
		ID:     b[6],
		Window: b[7],
	}
	if h.Length < HeaderSize || h.Length > MaxPacketSize {
		return h, fmt.Errorf("decoding packet header: %w: length %d", ErrMalformed, h.Length)
	}
	return h, nil
}
