package tds

import "encoding/binary"

// Order lists the columns, from 1, by which the rows are sorted (2.2.7.17 ORDER).
type Order []uint16

// Append writes the token.
func (o Order) Append(dst []byte) []byte {
	dst, at := beginBody(dst, TokenOrder)
	for _, c := range o[:min(len(o), 0x7FFF)] {
		dst = binary.LittleEndian.AppendUint16(dst, c)
	}
	return endBody(dst, at)
}

// Decode reads what follows the token byte.
func (o *Order) Decode(r *Reader) {
	b := r.body()
	*o = make(Order, 0, b.Len()/2)
	for b.Len() >= 2 {
		*o = append(*o, b.Uint16())
	}
	r.finish(b, "ORDER")
}
