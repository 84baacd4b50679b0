package tds

import (
	"encoding/binary"
	"fmt"
)

// maxVariant bounds a sql_variant cell: 8000 bytes of data, the type and its properties (2.2.5.5.4 SQL_VARIANT Values).
const maxVariant = 8016

// VariantSize is the size that a SSVARIANT TypeInfo declares.
const VariantSize = 8009

// Variant is what a sql_variant cell holds: a base type with its properties, and the raw value, which is never NULL.
type Variant struct {
	Info  TypeInfo
	Value []byte
}

// Append writes the cell (without its length).
func (v *Variant) Append(dst []byte) []byte {
	t := &v.Info
	tr := &traits[t.Type]
	dst = append(dst, byte(t.Type))
	switch {
	case tr.decimal:
		dst = append(dst, 2, t.Prec, t.Scale)
	case tr.scaled:
		dst = append(dst, 1, t.Scale)
	case tr.collation:
		dst = append(append(dst, 7), t.Collation[:]...)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(t.Size))
	case tr.layout == layoutShort:
		dst = binary.LittleEndian.AppendUint16(append(dst, 2), uint16(t.Size))
	default:
		dst = append(dst, 0)
	}
	return append(dst, v.Value...)
}

// DecodeVariant takes a sql_variant cell apart. The value aliases the cell.
func DecodeVariant(cell []byte) (Variant, error) {
	r := NewReader(cell)
	v := Variant{Info: TypeInfo{Type: DataType(r.Uint8())}}
	t := &v.Info
	tr := &traits[t.Type]
	props := r.part(int(r.Uint8()))
	switch {
	case r.err != nil:
	case tr.layout == layoutUnknown || tr.layout > layoutShort || t.Type == TypeNull:
		r.fail(&UnsupportedTypeError{t.Type})
	case tr.decimal:
		t.decodeDigits(props)
		t.Size = 17
	case tr.scaled:
		if t.Scale = props.Uint8(); t.Scale > 7 {
			r.malformed("%v of scale %d", t.Type, t.Scale)
		}
		t.Size = tr.size + timeSize(t.Scale)
	case tr.layout == layoutShort:
		if tr.collation {
			copy(t.Collation[:], props.Bytes(len(t.Collation)))
		}
		t.Size = int(props.Uint16())
	case tr.sized:
		t.Size = r.Len()
	default:
		t.Size = tr.size
	}
	if tr.layout == layoutShort && t.Size > 8000 {
		r.malformed("%v of size %d", t.Type, t.Size)
	}
	r.finish(props, "properties")
	v.Value = r.Rest()
	if v.Value == nil {
		v.Value = []byte{}
	}
	if r.err == nil {
		r.err = t.Fits(v.Value)
	}
	if r.err != nil {
		return Variant{}, fmt.Errorf("decoding sql_variant: %w", r.err)
	}
	return v, nil
}
