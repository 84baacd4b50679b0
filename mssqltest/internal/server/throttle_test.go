package server

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rate atomic.Int64
		rate.Store(1 << 20)
		th := throttle{rate: &rate}
		start := time.Now()
		done := make(chan struct{})
		for left := 5 << 20; left > 0; {
			n := th.slice(left)
			th.wait(n, done)
			left -= n
		}
		// What is sent last may still be under way when wait returns.
		if took := time.Since(start); took < 4900*time.Millisecond || took > 5*time.Second {
			t.Errorf("5 MiB at 1 MiB/s took %v", took)
		}
		rate.Store(0)
		start = time.Now()
		th.wait(1<<30, done)
		if took := time.Since(start); took != 0 {
			t.Errorf("no limit, and still %v", took)
		}
		rate.Store(1)
		close(done)
		th.wait(1000, done)
		th.wait(1000, done)
		if took := time.Since(start); took != 0 {
			t.Errorf("a closed connection waited %v", took)
		}
	})
}
