package tds

import "encoding/binary"

// Decimal is the value of a decimal or numeric cell without its scale: a sign and a magnitude of up to 128 bits.
type Decimal struct {
	Neg    bool
	Hi, Lo uint64
}

// DecimalSize is the size of a cell of a precision: its sign and 4, 8, 12 or 16 bytes.
func DecimalSize(prec uint8) int {
	switch {
	case prec <= 9:
		return 5
	case prec <= 19:
		return 9
	case prec <= 28:
		return 13
	}
	return 17
}

// DecodeDecimal reads a cell of DECIMALN or NUMERICN, with a magnitude of 1 to 16 bytes. A negative zero becomes zero.
func DecodeDecimal(cell []byte) (Decimal, bool) {
	if len(cell) < 2 || len(cell) > 17 {
		return Decimal{}, false
	}
	var m [16]byte
	copy(m[:], cell[1:])
	d := Decimal{Lo: binary.LittleEndian.Uint64(m[:]), Hi: binary.LittleEndian.Uint64(m[8:])}
	d.Neg = cell[0] == 0 && d.Lo|d.Hi != 0
	return d, cell[0] <= 1
}

// AppendDecimal writes a cell of size bytes: 5, 9, 13 or 17. The magnitude must fit (see Decimal.Fits).
func AppendDecimal(dst []byte, d Decimal, size int) []byte {
	sign := byte(1)
	if d.Neg && d.Lo|d.Hi != 0 {
		sign = 0
	}
	var m [16]byte
	binary.LittleEndian.PutUint64(m[:], d.Lo)
	binary.LittleEndian.PutUint64(m[8:], d.Hi)
	return append(append(dst, sign), m[:min(max(size-1, 0), 16)]...)
}

// Fits tells whether the magnitude has room in a cell of size bytes.
func (d Decimal) Fits(size int) bool {
	switch size {
	case 5:
		return d.Hi == 0 && d.Lo>>32 == 0
	case 9:
		return d.Hi == 0
	case 13:
		return d.Hi>>32 == 0
	}
	return size == 17
}
