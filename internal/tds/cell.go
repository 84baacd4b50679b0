package tds

import (
	"encoding/binary"
	"fmt"
)

// CellError reports a cell whose length its column does not allow. The stream cannot be read further.
type CellError struct {
	Column int // from 0; -1 outside a row
	Type   DataType
	Length int64
}

// Error tells the column, counted from 1 as servers do.
func (e *CellError) Error() string {
	if e.Column < 0 {
		return fmt.Sprintf("a value of %d bytes is not legal for %v", e.Length, e.Type)
	}
	return fmt.Sprintf("column %d: a cell of %d bytes is not legal for %v", e.Column+1, e.Length, e.Type)
}

// Unwrap makes it an ErrMalformed.
func (e *CellError) Unwrap() error { return ErrMalformed }

// cellPlan is what the cell loop has to know of a column, worked out once.
type cellPlan struct {
	layout  layout
	typ     DataType
	param   bool // text types: without text pointer
	lengths uint32
	size    int // fixed: of the cell; else the largest legal length
}

// plan prepares for reading cells of t. Param says that they are values of RPC parameters.
func (t *TypeInfo) plan(param bool) cellPlan {
	tr := &traits[t.Type]
	p := cellPlan{layout: tr.layout, typ: t.Type, param: param, lengths: tr.lengths, size: t.Size}
	switch {
	case t.IsPLP():
		p.layout = layoutPLP
	case tr.scaled:
		p.lengths = 1 << t.Size
	case tr.decimal:
		p.size = 17
		if param { // mssql-jdbc sends the magnitude of a parameter in as few bytes as it has
			p.lengths = 1<<18 - 1<<2
		}
	}
	return p
}

// span is where a cell lies, counted from the kept start of a Reader's buffer; start is -1 for NULL.
type span struct{ start, end int }

var nullSpan = span{-1, -1}

// cell reads one cell. The Reader must be marked.
func (p *cellPlan) cell(r *Reader) (span, bool) {
	n := 0
	switch p.layout {
	case layoutFixed:
		if n = p.size; n == 0 {
			return nullSpan, r.err == nil
		}
	case layoutByte:
		if r.pos == r.end && !r.fill(1) {
			return nullSpan, false
		}
		n = int(r.buf[r.pos])
		r.pos++
		if n == 0 {
			return nullSpan, true
		}
		if n > p.size || p.lengths != 0 && p.lengths>>n&1 == 0 {
			return p.refuse(r, int64(n))
		}
	case layoutShort:
		if r.end-r.pos < 2 && !r.fill(2) {
			return nullSpan, false
		}
		n = int(binary.LittleEndian.Uint16(r.buf[r.pos:]))
		r.pos += 2
		if n == 0xFFFF {
			return nullSpan, true
		}
		if n > p.size {
			return p.refuse(r, int64(n))
		}
	case layoutPLP:
		return readPLP(r)
	case layoutText:
		var ok bool
		if n, ok = p.textLength(r); n < 0 || !ok {
			return nullSpan, ok
		}
	case layoutVariant:
		total := r.Uint32()
		if total == 0 || r.err != nil {
			return nullSpan, r.err == nil
		}
		if total < 2 || total > maxVariant {
			return p.refuse(r, int64(total))
		}
		n = int(total)
	}
	if r.end-r.pos < n && !r.fill(n) {
		return nullSpan, false
	}
	s := span{r.pos - r.keep, r.pos - r.keep + n}
	r.pos += n
	return s, true
}

// refuse keeps a CellError without a column, which the row loop adds.
func (p *cellPlan) refuse(r *Reader, n int64) (span, bool) {
	r.fail(&CellError{Column: -1, Type: p.typ, Length: n})
	return nullSpan, false
}

// textLength reads what goes before the data of text, ntext and image; -1 is NULL.
func (p *cellPlan) textLength(r *Reader) (int, bool) {
	if !p.param {
		n := int(r.Uint8())
		if n == 0 || r.err != nil {
			return -1, r.err == nil
		}
		r.Bytes(n + 8) // text pointer and timestamp
	}
	n := r.Uint32()
	if r.err != nil {
		return -1, false
	}
	if p.param && n == 0xFFFFFFFF {
		return -1, true
	}
	if n > 0x7FFFFFFF {
		p.refuse(r, int64(n))
		return -1, false
	}
	return int(n), true
}

// DecodeCell reads one cell as rows and RETURNVALUE have it; nil is NULL. It aliases the Reader's buffer.
func (t *TypeInfo) DecodeCell(r *Reader) []byte { return t.decodeCell(r, false) }

// DecodeParamCell reads the value of an RPC parameter; nil is NULL. It aliases the Reader's buffer.
func (t *TypeInfo) DecodeParamCell(r *Reader) []byte { return t.decodeCell(r, true) }

func (t *TypeInfo) decodeCell(r *Reader, param bool) []byte {
	p := t.plan(param)
	r.mark()
	defer r.release()
	s, ok := p.cell(r)
	if !ok || s.start < 0 {
		return nil
	}
	return r.buf[r.keep+s.start : r.keep+s.end : r.keep+s.end]
}

// Fits reports why a value cannot be a cell of t; nil if it can.
func (t *TypeInfo) Fits(v []byte) error {
	p := t.plan(false)
	legal := true
	switch p.layout {
	case layoutFixed:
		legal = len(v) == p.size
	case layoutByte:
		legal = v == nil || len(v) > 0 && len(v) <= p.size && (p.lengths == 0 || p.lengths>>len(v)&1 == 1)
	case layoutShort:
		legal = len(v) <= p.size
	case layoutText:
		legal = len(v) <= 0x7FFFFFFF
	case layoutVariant:
		legal = v == nil || len(v) >= 2 && len(v) <= maxVariant
	}
	if !legal {
		return &CellError{Column: -1, Type: t.Type, Length: int64(len(v))}
	}
	return nil
}

// AppendCell writes v, nil for NULL, as a cell of a row. The value must fit (see Fits): a fixed type given another size
// is padded with zeros or cut, so that the stream keeps its shape.
func (t *TypeInfo) AppendCell(dst, v []byte) []byte { return t.appendCell(dst, v, false) }

// AppendParamCell writes v, nil for NULL, as the value of an RPC parameter.
func (t *TypeInfo) AppendParamCell(dst, v []byte) []byte { return t.appendCell(dst, v, true) }

func (t *TypeInfo) appendCell(dst, v []byte, param bool) []byte {
	tr := &traits[t.Type]
	switch {
	case tr.layout == layoutFixed:
		v = v[:min(len(v), tr.size)]
		dst = append(dst, v...)
		for n := len(v); n < tr.size; n++ {
			dst = append(dst, 0)
		}
		return dst
	case tr.layout == layoutByte:
		v = v[:min(len(v), 0xFF)]
		return append(append(dst, byte(len(v))), v...)
	case t.IsPLP():
		return AppendPLP(dst, v)
	case tr.layout == layoutShort:
		if v == nil {
			return append(dst, 0xFF, 0xFF)
		}
		v = v[:min(len(v), 0xFFFE)]
		return append(binary.LittleEndian.AppendUint16(dst, uint16(len(v))), v...)
	case tr.layout == layoutText:
		return appendTextCell(dst, v, param)
	default:
		return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
}

// textPointer is the pointer and the timestamp that clients without a real one send.
const textPointer = "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF" + "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"

func appendTextCell(dst, v []byte, param bool) []byte {
	switch {
	case v == nil && param:
		return append(dst, 0xFF, 0xFF, 0xFF, 0xFF)
	case v == nil:
		return append(dst, 0)
	case !param:
		dst = append(dst, textPointer...)
	}
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
}
