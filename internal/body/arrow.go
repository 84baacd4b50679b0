package body

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Magics of Apache Arrow's IPC format: a file begins with text, a stream with the continuation marker and a length.
var (
	arrowFile   = []byte("ARROW1")
	arrowStream = []byte{0xFF, 0xFF, 0xFF, 0xFF}
)

// IsArrow reports whether a body is Arrow IPC. No JSON text begins like that.
func IsArrow(body []byte) bool {
	return bytes.HasPrefix(body, arrowFile) || bytes.HasPrefix(body, arrowStream)
}

// mostExpansion is how many times its own size a body may take in memory, so that a broken length does not take all of it.
const mostExpansion = 64

// ReadArrow gives the record batches of an Arrow IPC stream or file. They are the caller's to release, and refer to body.
func ReadArrow(body []byte, mem memory.Allocator) (records []arrow.RecordBatch, err error) {
	if mem == nil {
		mem = memory.NewGoAllocator()
	}
	defer func() {
		if broken := recover(); broken != nil { // the library's readers panic on some broken inputs
			err = fmt.Errorf("reading Arrow IPC: %v", broken)
		}
		if err != nil {
			for _, r := range records {
				r.Release()
			}
			records = nil
		}
	}()
	bound := &boundedAllocator{mem: mem, left: 1<<20 + mostExpansion*len(body)}
	if bytes.HasPrefix(body, arrowFile) {
		return readArrowFile(body, bound)
	}
	if len(body) < 8 || int64(binary.LittleEndian.Uint32(body[4:])) > int64(len(body)-8) {
		return nil, errors.New("reading Arrow IPC: the stream ends inside of its schema")
	}
	r, err := ipc.NewReader(bytes.NewReader(body), ipc.WithAllocator(bound))
	if err != nil {
		return nil, fmt.Errorf("reading Arrow IPC: %w", err)
	}
	defer r.Release()
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		records = append(records, rec)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return records, fmt.Errorf("reading Arrow IPC: %w", err)
	}
	return records, nil
}

func readArrowFile(body []byte, mem memory.Allocator) (records []arrow.RecordBatch, err error) {
	f, err := ipc.NewFileReader(bytes.NewReader(body), ipc.WithAllocator(mem))
	if err != nil {
		return nil, fmt.Errorf("reading Arrow IPC: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	for i := range f.NumRecords() {
		rec, err := f.RecordBatchAt(i)
		if err != nil {
			return records, fmt.Errorf("reading Arrow IPC: record batch %d: %w", i+1, err)
		}
		records = append(records, rec)
	}
	return records, nil
}

// boundedAllocator panics when more is asked for than a body can mean; ReadArrow turns that into an error.
type boundedAllocator struct {
	mem  memory.Allocator
	left int
}

func (a *boundedAllocator) take(n int) {
	if a.left -= n; a.left < 0 {
		panic("its lengths are beyond its size")
	}
}

func (a *boundedAllocator) Allocate(size int) []byte {
	a.take(size)
	return a.mem.Allocate(size)
}

func (a *boundedAllocator) Reallocate(size int, b []byte) []byte {
	a.take(max(size-len(b), 0))
	return a.mem.Reallocate(size, b)
}

func (a *boundedAllocator) Free(b []byte) { a.mem.Free(b) }

// AppendArrow appends a record batch as an Arrow IPC stream of its own.
func AppendArrow(dst []byte, rec arrow.RecordBatch, mem memory.Allocator) ([]byte, error) {
	end := &appender{dst}
	w := ipc.NewWriter(end, ipc.WithSchema(rec.Schema()), ipc.WithAllocator(mem))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		return dst, fmt.Errorf("writing Arrow IPC: %w", err)
	}
	return end.bytes, nil
}

// appender is a slice to write to.
type appender struct{ bytes []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.bytes = append(a.bytes, b...)
	return len(b), nil
}
