package exec

import (
	"context"
	"strings"
	"testing"
)

// TestBulkTablock: with TABLOCK, loads of a heap go beside each other; where there is an index they exclude each other.
func TestBulkTablock(t *testing.T) {
	in := newInstance(t)
	a, b := open(t, in, SessionOptions{}), open(t, in, SessionOptions{})
	batchText(t, a, "CREATE TABLE heap (a int); CREATE TABLE keyed (a int PRIMARY KEY)")
	batchText(t, b, "SET LOCK_TIMEOUT 0")
	for table, beside := range map[string]bool{"heap": true, "keyed": false} {
		text := "INSERT BULK " + table + " (a int) WITH (TABLOCK)"
		first, err := a.Bulk(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.Bulk(context.Background(), text)
		switch {
		case beside && err != nil:
			t.Errorf("%s: %v", table, err)
		case !beside && (err == nil || !strings.Contains(err.Error(), "1222")):
			t.Errorf("%s: two loads at a time (%v)", table, err)
		}
		if second != nil {
			second.Abort()
		}
		first.Abort()
	}
}
