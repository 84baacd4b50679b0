package changetable

import (
	"runtime"
	"strings"
	"testing"
)

// A thousand readers that each had a page to read keep together what one of them may: the pool is shared and bounded.
func TestReadersShareMemory(t *testing.T) {
	const readers, size = 1000, 200_000 // 200 MB of pages in all
	text := strings.Repeat("x", size/10)
	kept := make([]*Reader, readers)
	before := heap()
	for i := range kept {
		f := &fake{start: 2, max: 11}
		for n := range 10 {
			f.rows = append(f.rows, change{lsn: n + 2, cmd: 1, seq: 1, op: Insert, id: n, text: text, mask: []byte{3}})
		}
		kept[i] = newTestReader(t, f, nil)
		p, err := kept[i].Read(t.Context(), begin(), lsn(11), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Rows != 10 || p.Bytes < size {
			t.Fatalf("a page of %d rows and %d bytes", p.Rows, p.Bytes)
		}
		p.Release()
	}
	grown := heap() - before
	if perReader := grown / readers; perReader > size/4 {
		t.Errorf("%d readers keep %d MiB, %d KiB each", readers, grown>>20, perReader>>10)
	}
	if n := pages.Kept(); n > maxKept {
		t.Errorf("the pool keeps %d bytes, more than %d", n, maxKept)
	}
	runtime.KeepAlive(kept)
}

// heap is the memory that is in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
