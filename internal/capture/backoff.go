package capture

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is a growing pause with some randomness, so that many tables do not come back in step.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

// wait pauses until the time has come, the context ends, or stop is closed; stop may be nil.
func (b *backoff) wait(ctx context.Context, stop <-chan struct{}) { pause(ctx, b.step(), stop) }

// step is the next pause.
func (b *backoff) step() time.Duration {
	if b.next < b.min {
		b.next = b.min
	}
	d := b.next/2 + rand.N(b.next/2+1)
	b.next = min(2*b.next, b.max)
	return d
}

func (b *backoff) reset() { b.next = 0 }

// pause waits for d, for the end of the context, or until stop is closed; stop may be nil.
func pause(ctx context.Context, d time.Duration, stop <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-stop:
	case <-ctx.Done():
	}
}
