//go:build !unix

package measure

import "time"

// Self is the wall clock alone on this system.
func Self() Usage { return Usage{Wall: time.Since(began)} }
