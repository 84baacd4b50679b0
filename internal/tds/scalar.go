package tds

import (
	"encoding/binary"
	"math"
)

// Int64 reads a cell of INT1, INT2, INT4, INT8, BIT or their nullable twins; one byte is unsigned.
func Int64(cell []byte) (int64, bool) {
	switch len(cell) {
	case 1:
		return int64(cell[0]), true
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(cell))), true
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(cell))), true
	case 8:
		return int64(binary.LittleEndian.Uint64(cell)), true
	}
	return 0, false
}

// AppendInt writes the low size bytes of v: 1, 2, 4 or 8.
func AppendInt(dst []byte, v int64, size int) []byte {
	for range size {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// Float64 reads a cell of FLT4, FLT8 or FLTN.
func Float64(cell []byte) (float64, bool) {
	switch len(cell) {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(cell))), true
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(cell)), true
	}
	return 0, false
}

// AppendFloat writes v in four bytes or in eight.
func AppendFloat(dst []byte, v float64, size int) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// DecodeMoney reads a cell of MONEY, MONEY4 or MONEYN as a count of 1/10,000. The eight-byte form has its high half
// first.
func DecodeMoney(cell []byte) (int64, bool) {
	switch len(cell) {
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(cell))), true
	case 8:
		high := int64(int32(binary.LittleEndian.Uint32(cell)))
		return high<<32 | int64(binary.LittleEndian.Uint32(cell[4:])), true
	}
	return 0, false
}

// AppendMoney writes a count of 1/10,000 in four bytes or in eight.
func AppendMoney(dst []byte, v int64, size int) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(v>>32))
	return binary.LittleEndian.AppendUint32(dst, uint32(v))
}

// DecodeGUID reads a cell of GUID into the order of its text form: the wire has the first three groups little-endian.
func DecodeGUID(cell []byte) ([16]byte, bool) {
	if len(cell) != 16 {
		return [16]byte{}, false
	}
	return swapGUID([16]byte(cell)), true
}

// AppendGUID writes a GUID that is in the order of its text form.
func AppendGUID(dst []byte, g [16]byte) []byte {
	g = swapGUID(g)
	return append(dst, g[:]...)
}

func swapGUID(g [16]byte) [16]byte {
	g[0], g[1], g[2], g[3] = g[3], g[2], g[1], g[0]
	g[4], g[5] = g[5], g[4]
	g[6], g[7] = g[7], g[6]
	return g
}
