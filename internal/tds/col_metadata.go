package tds

import (
	"encoding/binary"
	"errors"
)

// noMetaData is the column count of a COLMETADATA that refers to an earlier one.
const noMetaData = 0xFFFF

// ColMetaData describes the rows that follow it (2.2.7.4 COLMETADATA).
type ColMetaData struct {
	Columns []ColumnMeta
	// NoMetaData marks the form without columns, which a server sends if it was asked to leave them out.
	NoMetaData bool
}

// Append writes the token as a server sends it.
func (m *ColMetaData) Append(dst []byte) []byte { return m.append(dst, false) }

// AppendBulk writes the token as clients send it in a bulk load (2.2.6.1 Bulk Load BCP), where the table name of text,
// ntext and image columns is one US_VARCHAR.
func (m *ColMetaData) AppendBulk(dst []byte) []byte { return m.append(dst, true) }

func (m *ColMetaData) append(dst []byte, bulk bool) []byte {
	dst = append(dst, byte(TokenColMetaData))
	if m.NoMetaData {
		return binary.LittleEndian.AppendUint16(dst, noMetaData)
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(m.Columns)))
	for i := range m.Columns {
		dst = m.Columns[i].append(dst, bulk)
	}
	return dst
}

// Decode reads what follows the token byte.
func (m *ColMetaData) Decode(r *Reader) { m.decode(r, false, false) }

// DecodeBulk reads what follows the token byte in a bulk load.
func (m *ColMetaData) DecodeBulk(r *Reader) { m.decode(r, true, false) }

// decode reads with cek the table of column encryption keys, which must be empty.
func (m *ColMetaData) decode(r *Reader, bulk, cek bool) {
	*m = ColMetaData{}
	n := int(r.Uint16())
	if n == noMetaData {
		m.NoMetaData = true
		return
	}
	if cek && r.Uint16() != 0 && r.err == nil {
		r.fail(errors.New("column encryption keys are not supported"))
	}
	// The columns grow with what arrives: the count alone must not cost memory.
	m.Columns = make([]ColumnMeta, 0, min(n, 64))
	start := r.Offset()
	for range n {
		var c ColumnMeta
		c.decode(r, bulk)
		r.within(start)
		if r.err != nil {
			return
		}
		m.Columns = append(m.Columns, c)
	}
}
