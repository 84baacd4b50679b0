package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge reports that a token, a row or a message is larger than the caller's limit.
var ErrTooLarge = errors.New("larger than the limit")

// ErrMalformed is wrapped by the errors about bytes that break the protocol.
var ErrMalformed = errors.New("malformed")

// initialBuffer is what a streaming Reader starts with: large enough that a socket read brings many rows.
const initialBuffer = 64 << 10

// Reader reads little-endian values from a slice or from a stream. It checks bounds and keeps its first error: after
// one every read gives zero values, and Err tells what went wrong first.
//
// Slices it gives out alias its buffer. Of a slice Reader they live as long as the slice; of a streaming Reader until
// the next read.
type Reader struct {
	buf   []byte // buf[pos:end] is unread
	pos   int
	end   int
	keep  int // start of the bytes that must stay in buf, -1 for none
	limit int // of bytes from keep (or pos) on
	base  int64
	src   io.Reader
	err   error
}

// NewReader reads from b. Values that came in several chunks are joined in place, so b must be the caller's to change.
func NewReader(b []byte) *Reader {
	return &Reader{buf: b, end: len(b), keep: -1, limit: len(b)}
}

// NewStreamReader reads from src as needed and keeps at most limit bytes of one item.
func NewStreamReader(src io.Reader, limit int) *Reader {
	return &Reader{keep: -1, limit: limit, src: src}
}

// Reset makes a streaming Reader read from src, keeping its buffer.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.pos, r.end, r.keep, r.base, r.err = src, 0, 0, -1, 0, nil
}

// Err is the first error, nil if there was none. Input that ends too early is io.ErrUnexpectedEOF.
func (r *Reader) Err() error { return r.err }

// Offset counts the bytes read so far.
func (r *Reader) Offset() int64 { return r.base + int64(r.pos) }

// Len counts the bytes that are at hand: for a slice Reader all that remain.
func (r *Reader) Len() int { return r.end - r.pos }

// fail keeps the first error.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = r.end
}

// malformed keeps an error about the protocol.
func (r *Reader) malformed(format string, args ...any) {
	r.fail(fmt.Errorf("offset %d: %w: %s", r.Offset(), ErrMalformed, fmt.Sprintf(format, args...)))
}

// More tells whether another byte exists. The end of the input between two items is not an error.
func (r *Reader) More() bool {
	if r.pos < r.end {
		return true
	}
	if r.err != nil || r.src == nil {
		return false
	}
	switch err := r.pull(1); {
	case err == nil:
		return true
	case err == io.EOF && r.pos == r.end:
		return false
	default:
		r.fail(err)
		return false
	}
}

// fill makes n bytes available from pos on; false keeps an error.
func (r *Reader) fill(n int) bool {
	if r.err != nil {
		return false
	}
	if r.src == nil {
		r.fail(io.ErrUnexpectedEOF)
		return false
	}
	if err := r.pull(n); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		r.fail(err)
		return false
	}
	return true
}

// pull reads until n bytes are unread. The buffer doubles only when it is full of bytes that did arrive, so an
// announced length costs nothing by itself.
func (r *Reader) pull(n int) error {
	start := r.pos
	if r.keep >= 0 {
		start = r.keep
	}
	if n > r.limit || r.pos-start > r.limit-n {
		return fmt.Errorf("item of more than %d bytes: %w", r.limit, ErrTooLarge)
	}
	for empty := 0; r.end-r.pos < n; {
		if start == r.end || r.end == len(r.buf) {
			start = r.makeRoom(start)
		}
		m, err := r.src.Read(r.buf[r.end:])
		r.end += m
		if m > 0 {
			empty = 0
			continue
		}
		if err != nil {
			return err
		}
		if empty++; empty == 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// makeRoom drops the bytes before start and, if there are none, doubles the buffer. It returns the new start.
func (r *Reader) makeRoom(start int) int {
	if start > 0 {
		r.base += int64(start)
		copy(r.buf, r.buf[start:r.end])
		r.pos -= start
		r.end -= start
		if r.keep >= 0 {
			r.keep = 0
		}
	}
	if r.end == len(r.buf) {
		bigger := make([]byte, max(initialBuffer, 2*len(r.buf)))
		copy(bigger, r.buf[:r.end])
		r.buf = bigger
	}
	return 0
}

// mark keeps the bytes from here on in the buffer, until release.
func (r *Reader) mark() { r.keep = r.pos }

// release ends what mark began. The kept bytes stay valid until the next read.
func (r *Reader) release() { r.keep = -1 }

// Bytes reads n bytes, aliasing the buffer.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 {
		r.malformed("negative length %d", n)
		return nil
	}
	if r.end-r.pos < n && !r.fill(n) {
		return nil
	}
	b := r.buf[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return b
}

// Rest reads all that remains of a slice Reader.
func (r *Reader) Rest() []byte { return r.Bytes(r.Len()) }

// Uint8 reads a byte.
func (r *Reader) Uint8() uint8 {
	if r.pos == r.end && !r.fill(1) {
		return 0
	}
	v := r.buf[r.pos]
	r.pos++
	return v
}

// Uint16 reads a USHORT.
func (r *Reader) Uint16() uint16 {
	if r.end-r.pos < 2 && !r.fill(2) {
		return 0
	}
	v := binary.LittleEndian.Uint16(r.buf[r.pos:])
	r.pos += 2
	return v
}

// Uint32 reads a ULONG.
func (r *Reader) Uint32() uint32 {
	if r.end-r.pos < 4 && !r.fill(4) {
		return 0
	}
	v := binary.LittleEndian.Uint32(r.buf[r.pos:])
	r.pos += 4
	return v
}

// Uint64 reads a ULONGLONG.
func (r *Reader) Uint64() uint64 {
	if r.end-r.pos < 8 && !r.fill(8) {
		return 0
	}
	v := binary.LittleEndian.Uint64(r.buf[r.pos:])
	r.pos += 8
	return v
}

// Text reads n UTF-16 code units.
func (r *Reader) Text(n int) string { return DecodeUTF16(r.Bytes(2 * n)) }

// BText reads a B_VARCHAR: a byte that counts the code units, and the text.
func (r *Reader) BText() string { return r.Text(int(r.Uint8())) }

// USText reads a US_VARCHAR: a USHORT that counts the code units, and the text.
func (r *Reader) USText() string { return r.Text(int(r.Uint16())) }

// within refuses an item without a length of its own that began at start and outgrew the limit.
func (r *Reader) within(start int64) {
	if r.err == nil && r.Offset()-start > int64(r.limit) {
		r.fail(fmt.Errorf("item of more than %d bytes: %w", r.limit, ErrTooLarge))
	}
}

// clone copies n bytes out of the buffer.
func (r *Reader) clone(n int) []byte {
	b := r.Bytes(n)
	if r.err != nil {
		return nil
	}
	return append(make([]byte, 0, n), b...)
}

// body reads a token's USHORT length and gives a Reader of just that many bytes.
func (r *Reader) body() *Reader { return r.part(int(r.Uint16())) }

// part gives a Reader of the next n bytes; if they are missing, it holds the error.
func (r *Reader) part(n int) *Reader {
	b := r.Bytes(n)
	return &Reader{buf: b, end: len(b), keep: -1, limit: len(b), base: r.Offset() - int64(len(b)), err: r.err}
}

// finish ends what part began: it hands the part's error on and refuses bytes that nobody read.
func (r *Reader) finish(part *Reader, what string) {
	if part.err == nil && part.Len() > 0 {
		part.malformed("%d bytes after the end", part.Len())
	}
	if part.err != nil && r.err == nil {
		r.fail(fmt.Errorf("decoding %s: %w", what, part.err))
	}
}
