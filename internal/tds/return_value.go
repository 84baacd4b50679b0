package tds

import "encoding/binary"

// The RETURNVALUE status values.
const (
	ReturnOutput = 0x01 // an OUTPUT parameter
	ReturnUDF    = 0x02 // the result of a function
)

// ReturnValue is an output parameter (2.2.7.19 RETURNVALUE).
type ReturnValue struct {
	Ordinal  uint16
	Name     string
	Status   uint8
	UserType uint32
	Flags    uint16
	Info     TypeInfo
	Value    []byte // nil is NULL
}

// Append writes the token.
func (v *ReturnValue) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(append(dst, byte(TokenReturnValue)), v.Ordinal)
	dst = append(appendBText(dst, v.Name), v.Status)
	dst = binary.LittleEndian.AppendUint32(dst, v.UserType)
	dst = binary.LittleEndian.AppendUint16(dst, v.Flags)
	return v.Info.AppendCell(v.Info.Append(dst), v.Value)
}

// Decode reads what follows the token byte. Value is a copy.
func (v *ReturnValue) Decode(r *Reader) {
	*v = ReturnValue{Ordinal: r.Uint16(), Name: r.BText(), Status: r.Uint8(), UserType: r.Uint32(), Flags: r.Uint16()}
	v.Info.Decode(r)
	if r.err != nil {
		return
	}
	if cell := v.Info.DecodeCell(r); cell != nil {
		v.Value = append([]byte{}, cell...)
	}
}
