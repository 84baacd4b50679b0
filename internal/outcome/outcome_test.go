package outcome

import (
	"errors"
	"testing"
)

func TestTheFirstFailureCounts(t *testing.T) {
	if err := Err(); err != nil {
		t.Fatalf("a failure of nothing: %v", err)
	}
	first := errors.New("first")
	Fail(first)
	Fail(errors.New("second"))
	if err := Err(); !errors.Is(err, first) {
		t.Fatalf("Err = %v, want the first failure", err)
	}
}
