package capture

import "time"

// lane is a sequence of batches whose order is kept: one table's under ordering table, everything under ordering global.
//
// Batches stay in the lane until they and all before them are acknowledged. A refusal turns the lane back: nothing more is
// given out until everything that is out is resolved, then the refused batch and all after it are given out again in
// order, as after a restart. Benthos' own redelivery puts a refused batch behind later ones, so it is not used.
//
// What is out may never be resolved while nothing more comes: an output that gathers a fixed number of messages holds the
// rest of them. So the wait has an end, overdue, after which answers to what was out no longer count.
//
// A lane has no lock of its own; the Flow's is held around every call.
type lane struct {
	maxOut int // most batches out at a time; 0 is no bound
	queue  []*Batch
	next   int // queue[next:] is not given out
	out    int // given out and not resolved
	pushed int // how many batches there were
	back   int // index of the first refused batch, -1 when none is
	turns  int // how often the lane was turned back
	stop   bool

	vain int       // how often it was turned back since a batch last left it
	rest time.Time // nothing is given out before
}

func newLane(maxOut int) *lane { return &lane{maxOut: maxOut, back: -1} }

// push appends a batch that was read.
func (l *lane) push(b *Batch) {
	b.lane = l
	l.pushed++
	l.queue = append(l.queue, b)
}

// take returns the next batch to give out, or nil when there is none or the lane has to wait for what is out.
func (l *lane) take() *Batch {
	if l.stop || l.maxOut > 0 && l.out >= l.maxOut {
		return nil
	}
	if l.back >= 0 {
		if l.out > 0 || time.Now().Before(l.rest) {
			return nil
		}
		for _, b := range l.queue[l.back:l.next] {
			b.acked = false
		}
		l.next, l.back = l.back, -1
	}
	if l.next == len(l.queue) {
		return nil
	}
	b := l.queue[l.next]
	l.next++
	l.out++
	b.Attempt++
	return b
}

// refuse resolves a batch that is out as not delivered.
func (l *lane) refuse(b *Batch) {
	l.out--
	for i, q := range l.queue[:l.next] {
		if q == b {
			if l.back < 0 {
				l.turns++
				l.vain++
				l.rest = time.Now().Add(l.pause())
			}
			if l.back < 0 || i < l.back {
				l.back = i
			}
			return
		}
	}
}

// pause is how long a lane rests before it gives out again: not at all after a first refusal, then longer and longer, so that an
// output that refuses everything at once is not asked without end.
func (l *lane) pause() time.Duration {
	if l.vain < 2 {
		return 0
	}
	return min(10*time.Millisecond<<min(l.vain-2, 10), maxRest)
}

// maxRest is the longest pause of a lane between two attempts.
const maxRest = 2 * time.Second

// overdue ends the wait of a lane that was turned back for the n-th time. It tells whether the lane still waited.
func (l *lane) overdue(n int) bool {
	if l.turns != n || l.back < 0 || l.out == 0 || l.stop {
		return false
	}
	l.out = 0
	for i, b := range l.queue[:l.next] {
		if !b.acked {
			b.superseded, b.out = b.Attempt, false
			l.back = min(l.back, i)
		}
	}
	return true
}

// deliver resolves a batch that is out as delivered, and returns the batches that leave the lane with it.
func (l *lane) deliver(b *Batch) []*Batch {
	l.out--
	b.acked = true
	n := 0
	for n < l.next && l.queue[n].acked && (l.back < 0 || n < l.back) {
		n++
	}
	if n == 0 {
		return nil
	}
	l.vain = 0
	done := append([]*Batch(nil), l.queue[:n]...)
	clear(l.queue[:n])
	l.queue = l.queue[n:]
	l.next -= n
	if l.back >= 0 {
		l.back -= n
	}
	return done
}

// abandon returns what a lane that stands still holds and will not give out any more. The batches keep their places: nothing
// behind a refused one may be saved.
func (l *lane) abandon() (left []*Batch) {
	if !l.stop || l.back < 0 {
		return nil
	}
	for _, b := range l.queue[l.back:] {
		if !b.out && !b.abandoned {
			b.abandoned = true
			left = append(left, b)
		}
	}
	return left
}

// empty says that everything that was pushed is acknowledged.
func (l *lane) empty() bool { return len(l.queue) == 0 }

// past says that the first n batches that were pushed are acknowledged.
func (l *lane) past(n int) bool { return l.pushed-len(l.queue) >= n }

// drop empties a lane whose table is gone or parked, and returns what was in it. Batches that are out are resolved into
// nothing later.
func (l *lane) drop() []*Batch {
	all := l.queue
	l.queue, l.next, l.out, l.back = nil, 0, 0, -1
	return all
}
