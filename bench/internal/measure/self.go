//go:build unix

package measure

import (
	"os"
	"syscall"
	"time"
)

// Self is what this process has used so far, all its threads together.
func Self() Usage {
	u := Usage{Wall: time.Since(began), PeakRSS: peakRSS(os.Getpid())}
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.User, u.Sys = time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())
	}
	return u
}
