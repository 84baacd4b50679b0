package mssqltest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Every test of this package ends with all goroutines of its servers ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
