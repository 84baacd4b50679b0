package tds

import "encoding/binary"

// MaxDay is 9999-12-31 counted from 0001-01-01.
const MaxDay = 3652058

// UnixDay is 1970-01-01 counted from 0001-01-01.
const UnixDay = 719162

// maxOffset bounds the offset of a datetimeoffset, in minutes.
const maxOffset = 840

// ticksPerDay counts the units of 10^-scale seconds in a day.
var ticksPerDay = [8]uint64{
	86_400, 864_000, 8_640_000, 86_400_000, 864_000_000, 8_640_000_000, 86_400_000_000, 864_000_000_000,
}

// per100ns is how many 100 ns one unit of a scale is.
var per100ns = [8]uint64{10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1}

// timeSize is the size of a time's ticks (2.2.5.5.1.8 Date/Times).
func timeSize(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}

// Ticks100ns turns ticks of a scale into 100 ns.
func Ticks100ns(ticks uint64, scale uint8) int64 {
	return int64(ticks * per100ns[min(scale, 7)])
}

// TicksOf turns 100 ns into ticks of a scale, cutting what the scale cannot hold.
func TicksOf(t100ns int64, scale uint8) uint64 {
	return uint64(t100ns) / per100ns[min(scale, 7)]
}

// uintLE reads a little-endian number of three to five bytes.
func uintLE(b []byte) uint64 {
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// DecodeDate reads a cell of DATEN: days since 0001-01-01.
func DecodeDate(cell []byte) (days int32, ok bool) {
	if len(cell) != 3 {
		return 0, false
	}
	days = int32(cell[0]) | int32(cell[1])<<8 | int32(cell[2])<<16
	return days, days <= MaxDay
}

// AppendDate writes days since 0001-01-01.
func AppendDate(dst []byte, days int32) []byte {
	return append(dst, byte(days), byte(days>>8), byte(days>>16))
}

// DecodeTime reads a cell of TIMEN: ticks of 10^-scale seconds since midnight.
func DecodeTime(cell []byte, scale uint8) (ticks uint64, ok bool) {
	if scale > 7 || len(cell) != timeSize(scale) {
		return 0, false
	}
	ticks = uintLE(cell)
	return ticks, ticks < ticksPerDay[scale]
}

// AppendTime writes ticks of 10^-scale seconds since midnight.
func AppendTime(dst []byte, ticks uint64, scale uint8) []byte {
	return AppendInt(dst, int64(ticks), timeSize(scale))
}

// DecodeDateTime2 reads a cell of DATETIME2N.
func DecodeDateTime2(cell []byte, scale uint8) (days int32, ticks uint64, ok bool) {
	n := len(cell) - 3
	if n < 0 {
		return 0, 0, false
	}
	ticks, okTime := DecodeTime(cell[:n], scale)
	days, okDate := DecodeDate(cell[n:])
	return days, ticks, okTime && okDate
}

// AppendDateTime2 writes a cell of DATETIME2N.
func AppendDateTime2(dst []byte, days int32, ticks uint64, scale uint8) []byte {
	return AppendDate(AppendTime(dst, ticks, scale), days)
}

// DecodeDateTimeOffset reads a cell of DATETIMEOFFSETN. Days and ticks are UTC; the offset is in minutes.
func DecodeDateTimeOffset(cell []byte, scale uint8) (days int32, ticks uint64, offset int16, ok bool) {
	n := len(cell) - 2
	if n < 0 {
		return 0, 0, 0, false
	}
	days, ticks, ok = DecodeDateTime2(cell[:n], scale)
	offset = int16(binary.LittleEndian.Uint16(cell[n:]))
	return days, ticks, offset, ok && offset >= -maxOffset && offset <= maxOffset
}

// AppendDateTimeOffset writes a cell of DATETIMEOFFSETN; days and ticks are UTC.
func AppendDateTimeOffset(dst []byte, days int32, ticks uint64, scale uint8, offset int16) []byte {
	return binary.LittleEndian.AppendUint16(AppendDateTime2(dst, days, ticks, scale), uint16(offset))
}

// DecodeDateTime reads an eight-byte cell of DATETIME or DATETIMN: days since 1900-01-01 and 1/300 s of the day.
func DecodeDateTime(cell []byte) (days int32, ticks uint32, ok bool) {
	if len(cell) != 8 {
		return 0, 0, false
	}
	days, ticks = int32(binary.LittleEndian.Uint32(cell)), binary.LittleEndian.Uint32(cell[4:])
	return days, ticks, days >= -53690 && days <= 2958463 && ticks < 86400*300
}

// AppendDateTime writes days since 1900-01-01 and 1/300 s of the day.
func AppendDateTime(dst []byte, days int32, ticks uint32) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(dst, uint32(days)), ticks)
}

// DecodeSmallDateTime reads a four-byte cell of DATETIM4 or DATETIMN: days since 1900-01-01 and minutes of the day.
func DecodeSmallDateTime(cell []byte) (days, minutes uint16, ok bool) {
	if len(cell) != 4 {
		return 0, 0, false
	}
	days, minutes = binary.LittleEndian.Uint16(cell), binary.LittleEndian.Uint16(cell[2:])
	return days, minutes, minutes < 24*60
}

// AppendSmallDateTime writes days since 1900-01-01 and minutes of the day.
func AppendSmallDateTime(dst []byte, days, minutes uint16) []byte {
	return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(dst, days), minutes)
}
