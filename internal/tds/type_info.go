package tds

import (
	"encoding/binary"
	"fmt"
)

// Collation is a COLLATION (2.2.5.1.2 Collation Rule Definition): LCID, flags and version in four bytes, and the sort id.
type Collation [5]byte

// DefaultCollation is SQL_Latin1_General_CP1_CI_AS.
var DefaultCollation = Collation{0x09, 0x04, 0xD0, 0x00, 0x34}

// MaxSize is the TypeInfo.Size of the (max) types.
const MaxSize = 0xFFFF

// UDTInfo names a CLR type (2.2.5.5.2 Common Language Runtime Instances).
type UDTInfo struct {
	MaxSize  uint16 // in COLMETADATA only
	Database string
	Schema   string
	Name     string
	Assembly string // qualified name, in COLMETADATA only
}

// XMLSchema names the schema collection of a typed xml column (2.2.5.5.3 XML Values).
type XMLSchema struct {
	Database   string
	Schema     string
	Collection string
}

// TypeInfo is a TYPE_INFO (2.2.5.6 Type Info Rule Definition).
type TypeInfo struct {
	Type      DataType
	Size      int // declared length in bytes, MaxSize for (max); of fixed types and dates the cell's size
	Prec      uint8
	Scale     uint8
	Collation Collation
	UDT       *UDTInfo   // for TypeUDT
	XML       *XMLSchema // for TypeXML with a schema
}

// Fixed is the TypeInfo of a fixed-length type.
func Fixed(t DataType) TypeInfo { return TypeInfo{Type: t, Size: traits[t].size} }

// Nullable is the TypeInfo of a type that needs nothing but a size: INTN, BITN, FLTN, MONEYN, DATETIMN, GUID, the
// binaries, IMAGE, SSVARIANT.
func Nullable(t DataType, size int) TypeInfo { return TypeInfo{Type: t, Size: size} }

// DecimalType is DECIMALN or NUMERICN with the size that its precision asks for.
func DecimalType(t DataType, prec, scale uint8) TypeInfo {
	return TypeInfo{Type: t, Size: DecimalSize(prec), Prec: prec, Scale: scale}
}

// TemporalType is DATEN, TIMEN, DATETIME2N or DATETIMEOFFSETN.
func TemporalType(t DataType, scale uint8) TypeInfo {
	ti := TypeInfo{Type: t, Scale: scale, Size: traits[t].size}
	if traits[t].scaled {
		ti.Size += timeSize(scale)
	}
	return ti
}

// CharType is a character type of size bytes (MaxSize for (max)) and a collation.
func CharType(t DataType, size int, c Collation) TypeInfo {
	return TypeInfo{Type: t, Size: size, Collation: c}
}

// IsPLP tells whether cells are sent in chunks: the (max) types, xml and CLR types.
func (t *TypeInfo) IsPLP() bool {
	switch traits[t.Type].layout {
	case layoutPLP:
		return true
	case layoutShort:
		return t.Size == MaxSize
	}
	return false
}

// HasTextPointer tells whether the type is text, ntext or image.
func (t *TypeInfo) HasTextPointer() bool { return traits[t.Type].layout == layoutText }

// Append writes the TYPE_INFO as COLMETADATA and RETURNVALUE have it.
func (t *TypeInfo) Append(dst []byte) []byte { return t.append(dst, false) }

// AppendParam writes the TYPE_INFO as an RPC parameter has it, which differs for CLR types.
func (t *TypeInfo) AppendParam(dst []byte) []byte { return t.append(dst, true) }

func (t *TypeInfo) append(dst []byte, param bool) []byte {
	tr := &traits[t.Type]
	dst = append(dst, byte(t.Type))
	switch {
	case !tr.sized:
	case tr.layout == layoutByte:
		dst = append(dst, byte(t.Size))
	case tr.layout == layoutShort:
		dst = binary.LittleEndian.AppendUint16(dst, uint16(t.Size))
	default:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(t.Size))
	}
	if tr.decimal {
		dst = append(dst, t.Prec, t.Scale)
	}
	if tr.scaled {
		dst = append(dst, t.Scale)
	}
	if tr.collation {
		dst = append(dst, t.Collation[:]...)
	}
	switch t.Type {
	case TypeXML:
		dst = t.appendXML(dst)
	case TypeUDT:
		dst = t.appendUDT(dst, param)
	}
	return dst
}

func (t *TypeInfo) appendXML(dst []byte) []byte {
	if t.XML == nil {
		return append(dst, 0)
	}
	dst = appendBText(append(dst, 1), t.XML.Database)
	dst = appendBText(dst, t.XML.Schema)
	return appendUSText(dst, t.XML.Collection)
}

func (t *TypeInfo) appendUDT(dst []byte, param bool) []byte {
	u := t.UDT
	if u == nil {
		u = &UDTInfo{MaxSize: 0xFFFF}
	}
	if !param {
		dst = binary.LittleEndian.AppendUint16(dst, u.MaxSize)
	}
	dst = appendBText(dst, u.Database)
	dst = appendBText(dst, u.Schema)
	dst = appendBText(dst, u.Name)
	if !param {
		dst = appendUSText(dst, u.Assembly)
	}
	return dst
}

// Decode reads a TYPE_INFO as COLMETADATA and RETURNVALUE have it.
func (t *TypeInfo) Decode(r *Reader) { t.decode(r, false) }

// DecodeParam reads a TYPE_INFO as an RPC parameter has it.
func (t *TypeInfo) DecodeParam(r *Reader) { t.decode(r, true) }

func (t *TypeInfo) decode(r *Reader, param bool) {
	*t = TypeInfo{Type: DataType(r.Uint8())}
	if r.err != nil {
		return
	}
	tr := &traits[t.Type]
	if tr.layout == layoutUnknown {
		r.fail(fmt.Errorf("offset %d: %w", r.Offset(), &UnsupportedTypeError{t.Type}))
		return
	}
	switch {
	case !tr.sized:
		t.Size = tr.size
	case tr.layout == layoutByte:
		t.Size = int(r.Uint8())
	case tr.layout == layoutShort:
		t.Size = int(r.Uint16())
	default:
		t.Size = int(r.Uint32())
	}
	if tr.decimal {
		t.decodeDigits(r)
	}
	if tr.scaled {
		if t.Scale = r.Uint8(); t.Scale > 7 {
			r.malformed("%v of scale %d", t.Type, t.Scale)
			return
		}
		t.Size += timeSize(t.Scale)
	}
	if tr.collation {
		copy(t.Collation[:], r.Bytes(len(t.Collation)))
	}
	switch t.Type {
	case TypeXML:
		t.decodeXML(r)
	case TypeUDT:
		t.decodeUDT(r, param)
	}
	if r.err == nil {
		t.checkSize(r)
	}
}

// decodeDigits reads the precision and the scale of a decimal.
func (t *TypeInfo) decodeDigits(r *Reader) {
	t.Prec, t.Scale = r.Uint8(), r.Uint8()
	if r.err == nil && (t.Prec == 0 || t.Prec > 38 || t.Scale > t.Prec) {
		r.malformed("%v(%d,%d)", t.Type, t.Prec, t.Scale)
	}
}

// checkSize refuses sizes that no type has. Decimals may declare anything: a client in use sends 106 always.
func (t *TypeInfo) checkSize(r *Reader) {
	tr := &traits[t.Type]
	switch {
	case tr.layout == layoutByte && tr.sized && !tr.decimal && tr.lengths != 0:
		if t.Size > 31 || tr.lengths>>t.Size&1 == 0 {
			r.malformed("%v of size %d", t.Type, t.Size)
		}
	case tr.layout == layoutShort && t.Size > 8000 && t.Size != MaxSize:
		r.malformed("%v of size %d", t.Type, t.Size)
	case tr.layout == layoutShort && t.Size == MaxSize && !t.mayBeMax():
		r.malformed("%v(max)", t.Type)
	}
}

func (t *TypeInfo) mayBeMax() bool {
	return t.Type == TypeNVarChar || t.Type == TypeBigVarChar || t.Type == TypeBigVarBinary
}

func (t *TypeInfo) decodeXML(r *Reader) {
	switch present := r.Uint8(); {
	case r.err != nil || present == 0:
	case present == 1:
		t.XML = &XMLSchema{Database: r.BText(), Schema: r.BText(), Collection: r.USText()}
	default:
		r.malformed("xml schema flag %d", present)
	}
}

func (t *TypeInfo) decodeUDT(r *Reader, param bool) {
	u := &UDTInfo{}
	if !param {
		u.MaxSize = r.Uint16()
	}
	u.Database, u.Schema, u.Name = r.BText(), r.BText(), r.BText()
	if !param {
		u.Assembly = r.USText()
	}
	t.UDT = u
}
