package tds

import (
	"encoding/binary"
	"fmt"
)

// The column flags (2.2.7.4 COLMETADATA).
const (
	ColumnNullable        = 0x0001
	ColumnCaseSensitive   = 0x0002
	ColumnUpdatable       = 0x0004
	ColumnUpdatableUnsure = 0x0008 // what servers say of a plain SELECT's columns
	ColumnIdentity        = 0x0010
	ColumnComputed        = 0x0020
	ColumnFixedLenCLR     = 0x0100
	ColumnSparseSet       = 0x0400
	ColumnEncrypted       = 0x0800
	ColumnHidden          = 0x2000
	ColumnKey             = 0x4000
	ColumnNullableUnknown = 0x8000
)

// ColumnMeta describes one column.
type ColumnMeta struct {
	UserType uint32
	Flags    uint16
	Info     TypeInfo
	Table    []string // name parts, for text, ntext and image
	Name     string
}

// Nullable tells whether NBCROW and NULL cells are possible by the flags.
func (c *ColumnMeta) Nullable() bool { return c.Flags&ColumnNullable != 0 }

func (c *ColumnMeta) append(dst []byte, bulk bool) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, c.UserType)
	dst = binary.LittleEndian.AppendUint16(dst, c.Flags)
	dst = c.Info.Append(dst)
	if c.Info.HasTextPointer() {
		if bulk {
			dst = appendUSText(dst, joinParts(c.Table))
		} else {
			dst = appendParts(dst, c.Table)
		}
	}
	return appendBText(dst, c.Name)
}

func (c *ColumnMeta) decode(r *Reader, bulk bool) {
	c.UserType, c.Flags = r.Uint32(), r.Uint16()
	if r.err == nil && c.Flags&ColumnEncrypted != 0 {
		r.fail(fmt.Errorf("offset %d: encrypted columns are not supported", r.Offset()))
		return
	}
	c.Info.Decode(r)
	if c.Info.HasTextPointer() {
		if bulk {
			c.Table = []string{r.USText()}
		} else {
			c.Table = decodeParts(r)
		}
	}
	c.Name = r.BText()
}

// appendParts writes a name of several parts, as servers do since TDS 7.2.
func appendParts(dst []byte, parts []string) []byte {
	parts = parts[:min(len(parts), 0xFF)]
	dst = append(dst, byte(len(parts)))
	for _, p := range parts {
		dst = appendUSText(dst, p)
	}
	return dst
}

func decodeParts(r *Reader) []string {
	n := int(r.Uint8())
	parts := make([]string, 0, n)
	for range n {
		if r.err != nil {
			return nil
		}
		parts = append(parts, r.USText())
	}
	return parts
}

func joinParts(parts []string) string {
	s := ""
	for i, p := range parts {
		if i > 0 {
			s += "."
		}
		s += p
	}
	return s
}
