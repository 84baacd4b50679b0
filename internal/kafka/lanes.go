package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lanes are the partitions that are read at the moment.
type lanes struct {
	yieldBytes  int
	bufferBytes int
	dynamic     bool // without a group, a partition is ours when a record of it comes

	mu      sync.Mutex
	all     map[laneKey]*lane
	order   []*lane       // in turns
	changed chan struct{} // holds a token when next should look again
}

func newLanes(yieldBytes, bufferBytes int, dynamic bool) *lanes {
	return &lanes{yieldBytes: yieldBytes, bufferBytes: bufferBytes, dynamic: dynamic, all: map[laneKey]*lane{}, changed: make(chan struct{}, 1)}
}

func (s *lanes) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func eachPartition(m map[string][]int32, do func(laneKey)) {
	for topic, partitions := range m {
		for _, p := range partitions {
			do(laneKey{topic, p})
		}
	}
}

// assign begins lanes for the partitions.
func (s *lanes) assign(m map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eachPartition(m, func(k laneKey) { s.begin(k) })
}

func (s *lanes) begin(k laneKey) *lane {
	if l := s.all[k]; l != nil {
		return l
	}
	l := &lane{key: k}
	s.all[k] = l
	s.order = append(s.order, l)
	return l
}

// add takes over what was fetched of a partition, and tells whether its fetching should pause. What is of a partition that is
// not ours any more is left out.
func (s *lanes) add(k laneKey, records []*kgo.Record, highWatermark int64) (pause bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.all[k]
	if l == nil && s.dynamic {
		l = s.begin(k)
	}
	if l == nil {
		return false
	}
	l.add(records, highWatermark)
	s.wake()
	if l.bytes > s.bufferBytes && !l.paused {
		l.paused = true
		return true
	}
	return false
}

// next waits for a batch of any lane, in turns. resume tells that the lane's fetching should go on.
func (s *lanes) next(ctx context.Context) (d *delivery, resume bool, err error) {
	for {
		d, resume, at := s.pick(time.Now())
		if d != nil {
			return d, resume, nil
		}
		if err := s.wait(ctx, at); err != nil {
			return nil, false, err
		}
	}
}

// wait ends when something changed, or at the time when a refused batch may go out again.
func (s *lanes) wait(ctx context.Context, at time.Time) error {
	var pause <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		pause = t.C
	}
	select {
	case <-s.changed:
	case <-pause:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *lanes) pick(now time.Time) (d *delivery, resume bool, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.order {
		ok, later := l.ready(now)
		if !ok {
			if !later.IsZero() && (at.IsZero() || later.Before(at)) {
				at = later
			}
			continue
		}
		d := l.take(s.yieldBytes)
		s.order = append(append(s.order[:i:i], s.order[i+1:]...), l) // to the end of the queue
		if l.paused && l.bytes <= s.bufferBytes/2 {
			l.paused = false
			return d, true, time.Time{}
		}
		return d, false, time.Time{}
	}
	return nil, false, at
}

func (s *lanes) resolve(d *delivery, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.lane.resolve(d, refused, time.Now())
	s.wake()
}

// settle lets no more of the partitions out, and waits until what is out of them is resolved, or ctx is over.
func (s *lanes) settle(ctx context.Context, m map[string][]int32) {
	s.mu.Lock()
	var out []*delivery
	eachPartition(m, func(k laneKey) {
		if l := s.all[k]; l != nil {
			l.leaving = true
			if l.out != nil {
				out = append(out, l.out)
			}
		}
	})
	s.mu.Unlock()
	for _, d := range out {
		select {
		case <-d.over:
		case <-ctx.Done():
			return
		}
	}
}

// drop forgets the partitions. Answers to what is still out of them do not count any more.
func (s *lanes) drop(m map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	eachPartition(m, func(k laneKey) {
		l := s.all[k]
		if l == nil {
			return
		}
		l.gone = true
		delete(s.all, k)
		for i := range s.order {
			if s.order[i] == l {
				s.order = append(s.order[:i:i], s.order[i+1:]...)
				break
			}
		}
	})
}

// acknowledged lists the offsets that may be committed and are not yet.
func (s *lanes) acknowledged() map[string]map[int32]kgo.EpochOffset {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]map[int32]kgo.EpochOffset{}
	for k, l := range s.all {
		if l.done == l.stored {
			continue
		}
		if out[k.topic] == nil {
			out[k.topic] = map[int32]kgo.EpochOffset{}
		}
		out[k.topic][k.partition] = kgo.EpochOffset{Epoch: l.done.epoch, Offset: l.done.offset}
	}
	return out
}

// committed notes that the broker has stored an offset.
func (s *lanes) committed(k laneKey, o kgo.EpochOffset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.all[k]; l != nil {
		l.stored = mark{offset: o.Offset, epoch: o.Epoch}
	}
}

// lag gives, for each partition, how many records are not acknowledged yet. One of which no record came is left out.
func (s *lanes) lag(each func(laneKey, int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, l := range s.all {
		first, known := l.done.offset, l.done.offset > 0
		switch {
		case known:
		case l.out != nil:
			first, known = l.out.records[0].record.Offset, true
		case l.again != nil:
			first, known = l.again.records[0].record.Offset, true
		case len(l.waiting) > 0:
			first, known = l.waiting[0].record.Offset, true
		}
		if known {
			each(k, max(0, l.newest-first))
		}
	}
}
