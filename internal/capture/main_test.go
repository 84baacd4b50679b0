package capture

import (
	"testing"

	"go.uber.org/goleak"
)

// Every flow of this package's tests leaves no goroutine behind. Tests in a bubble of testing/synctest fail by themselves
// when one is left at their end.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
