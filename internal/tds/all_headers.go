package tds

import "encoding/binary"

// The header types.
const (
	headerNotifications = 1
	headerTransaction   = 2
	headerActivity      = 3
)

// AllHeaders precedes SQLBatch, RPC and transaction manager requests (2.2.5.3 Packet Data Stream Headers).
type AllHeaders struct {
	Transaction   uint64 // descriptor from ENVCHANGE, 0 = none
	Outstanding   uint32 // requests, 1 without MARS
	Activity      []byte // trace activity: GUID and sequence, 20 bytes
	Notifications []byte // query notification, undecoded
}

// Append writes the headers. The transaction descriptor is always among them, because servers insist on it.
func (h *AllHeaders) Append(dst []byte) []byte {
	at := len(dst)
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, 0)
	if h.Notifications != nil {
		dst = le.AppendUint16(le.AppendUint32(dst, uint32(6+len(h.Notifications))), headerNotifications)
		dst = append(dst, h.Notifications...)
	}
	dst = le.AppendUint16(le.AppendUint32(dst, 18), headerTransaction)
	dst = le.AppendUint64(dst, h.Transaction)
	dst = le.AppendUint32(dst, max(h.Outstanding, 1))
	if h.Activity != nil {
		dst = le.AppendUint16(le.AppendUint32(dst, uint32(6+len(h.Activity))), headerActivity)
		dst = append(dst, h.Activity...)
	}
	le.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

// Decode reads the headers from a complete message; headers of an unknown type are skipped.
func (h *AllHeaders) Decode(r *Reader) {
	*h = AllHeaders{}
	total := int(r.Uint32())
	if total < 4 && r.err == nil {
		r.malformed("headers of %d bytes", total)
	}
	if r.err != nil {
		return
	}
	b := r.part(total - 4)
	for b.Len() > 0 && b.err == nil {
		n := int(b.Uint32())
		if n < 6 && b.err == nil {
			b.malformed("header of %d bytes", n)
		}
		if b.err != nil {
			break
		}
		one := b.part(n - 4)
		switch one.Uint16() {
		case headerTransaction:
			h.Transaction, h.Outstanding = one.Uint64(), one.Uint32()
			b.finish(one, "transaction descriptor")
			continue
		case headerActivity:
			h.Activity = one.clone(one.Len())
		case headerNotifications:
			h.Notifications = one.clone(one.Len())
		}
		one.Rest()
		b.finish(one, "header")
	}
	r.finish(b, "ALL_HEADERS")
}
