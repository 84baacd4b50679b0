package value

import (
	"testing"
	"unsafe"
)

// TestValueSize holds the size of a value: a transaction of 200,000 rows is kept in memory.
func TestValueSize(t *testing.T) {
	if n := unsafe.Sizeof(Value{}); n > 40 {
		t.Errorf("a Value has %d bytes, want at most 40", n)
	}
}
