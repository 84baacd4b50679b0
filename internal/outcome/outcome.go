// Package outcome keeps why an input ended on its own, for the exit code of the standalone binary: Benthos has no way for an
// input to end the process with an error.
package outcome

import "sync/atomic"

var failure atomic.Pointer[error]

// Fail notes the first failure of the process.
func Fail(err error) { failure.CompareAndSwap(nil, &err) }

// Err is that failure, or nil.
func Err() error {
	if p := failure.Load(); p != nil {
		return *p
	}
	return nil
}
