package tds

import (
	"encoding/binary"
	"fmt"
)

// The lengths with a meaning of their own (2.2.5.2.3 Data Type Dependent Data Streams, PARTLENTYPE).
const (
	plpNull    = 0xFFFFFFFFFFFFFFFF
	plpUnknown = 0xFFFFFFFFFFFFFFFE
)

// readPLP reads a value in chunks and joins them in the buffer. The Reader must be marked.
func readPLP(r *Reader) (span, bool) {
	total := r.Uint64()
	if r.err != nil || total == plpNull {
		return nullSpan, r.err == nil
	}
	if total != plpUnknown && total > uint64(r.limit) {
		r.fail(fmt.Errorf("value of %d bytes: %w", total, ErrTooLarge))
		return nullSpan, false
	}
	s := span{r.pos - r.keep, r.pos - r.keep}
	for first := true; ; first = false {
		n := r.Uint32()
		if r.err != nil {
			return nullSpan, false
		}
		if n == 0 {
			break
		}
		if first { // it stays where it is
			s = span{r.pos - r.keep, r.pos - r.keep}
		}
		if r.end-r.pos < int(n) && !r.fill(int(n)) {
			return nullSpan, false
		}
		if !first {
			copy(r.buf[r.keep+s.end:], r.buf[r.pos:r.pos+int(n)])
		}
		r.pos += int(n)
		s.end += int(n)
	}
	if total != plpUnknown && uint64(s.end-s.start) != total {
		r.malformed("value of %d bytes announced as %d", s.end-s.start, total)
		return nullSpan, false
	}
	return s, true
}

// AppendPLP writes v, nil for NULL, as one chunk after its known length.
func AppendPLP(dst, v []byte) []byte {
	if v == nil {
		return binary.LittleEndian.AppendUint64(dst, plpNull)
	}
	return AppendPLPEnd(AppendPLPChunk(binary.LittleEndian.AppendUint64(dst, uint64(len(v))), v))
}

// AppendPLPStart begins a value of unknown length; chunks and AppendPLPEnd follow.
func AppendPLPStart(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, plpUnknown)
}

// AppendPLPChunk writes a chunk. An empty one is left out, because it would end the value.
func AppendPLPChunk(dst, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
}

// AppendPLPEnd ends a value.
func AppendPLPEnd(dst []byte) []byte { return append(dst, 0, 0, 0, 0) }
