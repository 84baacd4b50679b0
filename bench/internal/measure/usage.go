package measure

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Usage is what was used up to a moment, or between two.
type Usage struct {
	Wall      time.Duration
	User, Sys time.Duration
	PeakRSS   int64 // bytes, since the process began; 0 where it is not known
}

// CPU is the processor time, of the program and of the kernel for it.
func (u Usage) CPU() time.Duration { return u.User + u.Sys }

// Since is what was used after an earlier moment. The peak stays that of the whole
// process.
func (u Usage) Since(start Usage) Usage {
	return Usage{Wall: u.Wall - start.Wall, User: u.User - start.User, Sys: u.Sys - start.Sys, PeakRSS: u.PeakRSS}
}

// CPUPerRow is the processor time for each of n rows, in nanoseconds.
func (u Usage) CPUPerRow(n int64) float64 { return float64(u.CPU()) / float64(n) }

// RowsPerSecond is n rows over the wall clock.
func (u Usage) RowsPerSecond(n int64) float64 { return float64(n) / u.Wall.Seconds() }

// began is what the wall clock of this process counts from.
var began = time.Now()

// peakRSS reads the largest resident set of a process so far.
func peakRSS(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(status, []byte("\nVmHWM:"))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
