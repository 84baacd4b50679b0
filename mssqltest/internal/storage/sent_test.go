package storage

import "testing"

// A row is kept in a few shapes, and only from the second time on that it is asked for.
func TestSent(t *testing.T) {
	r := &Row{}
	if b, seen := r.Sent("a"); b != nil || seen {
		t.Errorf("a new row: %q, %v", b, seen)
	}
	if b, seen := r.Sent("a"); b != nil || !seen {
		t.Errorf("the second time: %q, %v", b, seen)
	}
	for _, shape := range []string{"a", "b", "c", "d"} {
		r.Keep(shape, []byte(shape))
	}
	for shape, want := range map[string]string{"a": "a", "b": "b", "c": "c", "d": ""} {
		if b, seen := r.Sent(shape); string(b) != want || !seen {
			t.Errorf("shape %s: %q, %v", shape, b, seen)
		}
	}
}
