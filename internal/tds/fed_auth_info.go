package tds

import "encoding/binary"

// The ids of FEDAUTHINFO options.
const (
	FedAuthSTSURL = 1
	FedAuthSPN    = 2
)

// FedAuthOption is one option; its data are UTF-16.
type FedAuthOption struct {
	ID   uint8
	Data []byte
}

// FedAuthInfo tells a client where to get its token (2.2.7.12 FEDAUTHINFO).
type FedAuthInfo []FedAuthOption

// fedAuthEntry is the size of an option's entry: id, length and offset.
const fedAuthEntry = 9

// Append writes the token.
func (f FedAuthInfo) Append(dst []byte) []byte {
	dst = append(dst, byte(TokenFedAuthInfo), 0, 0, 0, 0)
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(f)))
	offset := 4 + fedAuthEntry*len(f)
	for _, o := range f {
		dst = binary.LittleEndian.AppendUint32(append(dst, o.ID), uint32(len(o.Data)))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(offset))
		offset += len(o.Data)
	}
	for _, o := range f {
		dst = append(dst, o.Data...)
	}
	binary.LittleEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
	return dst
}

// Decode reads what follows the token byte. Options are found by their offsets, so unread bytes are no error.
func (f *FedAuthInfo) Decode(r *Reader) {
	*f = nil
	body := r.Bytes(int(r.Uint32()))
	b := NewReader(body)
	count, total := int(b.Uint32()), uint64(0)
	for range count {
		o := FedAuthOption{ID: b.Uint8()}
		n, at := uint64(b.Uint32()), uint64(b.Uint32())
		if b.err == nil && at+n > uint64(len(body)) {
			b.malformed("option %d lies outside", o.ID)
		}
		// Options that share bytes could ask for far more memory than arrived.
		if total += n; b.err == nil && total > uint64(len(body)) {
			b.malformed("options overlap")
		}
		if b.err != nil {
			break
		}
		o.Data = append([]byte{}, body[at:at+n]...)
		*f = append(*f, o)
	}
	b.pos = b.end
	if r.err == nil {
		r.finish(b, "FEDAUTHINFO")
	}
}
