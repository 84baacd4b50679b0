package rowset

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	smallestClass = 6  // 64 bytes
	largestClass  = 26 // 64 MiB; larger slices are not kept

	defaultPoolLimit = 32 << 20
)

// Pool is a free list of slices, by power of two. It is a memory.Allocator, so that the buffers of a record batch return to it
// when their last reference goes, from any goroutine and in any order.
type Pool struct {
	mem   memory.Allocator
	limit int

	mu     sync.Mutex
	free   [largestClass + 1][][]byte
	kept   int
	closed bool
}

// NewPool makes a pool that keeps at most limit bytes for reuse (0 = 32 MiB) and takes what it lacks from mem (nil = the Go heap).
func NewPool(mem memory.Allocator, limit int) *Pool {
	if mem == nil {
		mem = memory.NewGoAllocator()
	}
	if limit <= 0 {
		limit = defaultPoolLimit
	}
	return &Pool{mem: mem, limit: limit}
}

// Allocate gives a slice of at least size bytes with whatever contents; its length is the capacity of its class.
func (p *Pool) Allocate(size int) []byte {
	c := classOf(size)
	if c > largestClass {
		return p.mem.Allocate(size)
	}
	p.mu.Lock()
	if n := len(p.free[c]); n > 0 {
		b := p.free[c][n-1]
		p.free[c][n-1] = nil
		p.free[c] = p.free[c][:n-1]
		p.kept -= len(b)
		p.mu.Unlock()
		return b
	}
	p.mu.Unlock()
	n := 1 << c
	return p.mem.Allocate(n)[:n:n]
}

// Reallocate gives a slice of at least size bytes that begins with the contents of b, which goes back to the pool.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:cap(b)]
	}
	n := p.Allocate(size)
	copy(n, b)
	p.Free(b)
	return n
}

// Free takes back a slice of Allocate, whole or cut at its end.
func (p *Pool) Free(b []byte) {
	b = b[:cap(b)]
	if len(b) == 0 {
		return
	}
	if c := classOf(len(b)); c <= largestClass && len(b) == 1<<c {
		p.mu.Lock()
		if !p.closed && p.kept+len(b) <= p.limit {
			p.free[c] = append(p.free[c], b)
			p.kept += len(b)
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
	p.mem.Free(b)
}

// Close gives what is kept back to the allocator below, and what is still out as it comes in.
func (p *Pool) Close() {
	p.mu.Lock()
	free := p.free
	p.free, p.kept, p.closed = [largestClass + 1][][]byte{}, 0, true
	p.mu.Unlock()
	for _, class := range free {
		for _, b := range class {
			p.mem.Free(b)
		}
	}
}

// Kept is the number of bytes that wait for reuse.
func (p *Pool) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept
}

func classOf(size int) int {
	if size <= 1<<smallestClass {
		return smallestClass
	}
	return bits.Len(uint(size - 1))
}
