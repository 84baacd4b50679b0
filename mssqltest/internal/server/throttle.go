package server

import (
	"sync/atomic"
	"time"
)

// throttle spaces the writes of one connection so that they do not exceed a rate; it models the limit that one connection
// to a server has. Only the connection's worker calls wait, so its state needs no lock.
type throttle struct {
	rate *atomic.Int64 // bytes a second, shared by all connections; 0 = no limit
	free time.Time     // when the bytes written so far have been sent at the rate
}

// throttleSlice bounds how many bytes go out at once, so that a slow rate trickles instead of coming in jumps.
const throttleSlice = 16 << 10

// slice is the largest piece of n bytes that may be written now.
func (t *throttle) slice(n int) int {
	if t.rate.Load() <= 0 {
		return n
	}
	return min(n, throttleSlice)
}

// wait blocks until n more bytes may be written, or done is closed.
func (t *throttle) wait(n int, done <-chan struct{}) {
	rate := t.rate.Load()
	if rate <= 0 {
		return
	}
	now := time.Now()
	if t.free.Before(now) {
		t.free = now
	}
	pause := t.free.Sub(now)
	t.free = t.free.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	if pause < time.Millisecond {
		return // timers are coarser than that; the debt is paid by a later write
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}
