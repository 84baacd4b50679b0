package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
)

var errRefusedAtRandom = errors.New("refused at random")

// expectedRefusals leaves what Benthos says of them out of the log.
type expectedRefusals struct{ slog.Handler }

func (h expectedRefusals) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, errRefusedAtRandom.Error()) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h expectedRefusals) WithAttrs(attrs []slog.Attr) slog.Handler {
	return expectedRefusals{h.Handler.WithAttrs(attrs)}
}

func (h expectedRefusals) WithGroup(name string) slog.Handler {
	return expectedRefusals{h.Handler.WithGroup(name)}
}

// moodyOutput refuses one batch in twenty, some of them again when they come again, and remembers what came.
type moodyOutput struct {
	late bool // answers some batches late and out of order; needs max_in_flight above 1

	mu       sync.Mutex
	rng      *rand.Rand
	stubborn map[string]int // by first change: how often it is still refused
	came     []cameBatch
	written  chan struct{} // closed and made anew with every batch
}

// cameBatch is a batch that came to the output.
type cameBatch struct {
	changes []orderChange
	refused bool
}

func newMoodyOutput(seed uint64, late bool) *moodyOutput {
	return &moodyOutput{late: late, rng: rand.New(rand.NewPCG(seed, 2)), stubborn: map[string]int{}, written: make(chan struct{})}
}

func (*moodyOutput) Connect(context.Context) error { return nil }
func (*moodyOutput) Close(context.Context) error   { return nil }

func (o *moodyOutput) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	changes, err := orderChanges(batch)
	if err != nil {
		return err // the log at the input has it, too
	}
	o.mu.Lock()
	refused, patience := o.refuses(changes[0].id), 0
	if o.late && o.rng.IntN(4) == 0 {
		patience = 1 + o.rng.IntN(4)
	}
	o.came = append(o.came, cameBatch{changes, refused})
	close(o.written)
	o.written = make(chan struct{})
	o.mu.Unlock()
	o.hold(ctx, patience)
	if refused {
		return errRefusedAtRandom
	}
	return nil
}

// refuses decides about a batch by its first change. The third batch is refused four times, so that no run goes without.
func (o *moodyOutput) refuses(first string) bool {
	left, known := o.stubborn[first]
	switch {
	case left > 0:
		o.stubborn[first]--
		return true
	case known:
		delete(o.stubborn, first)
		return false
	case len(o.came) == 2:
		o.stubborn[first] = 3
		return true
	case o.rng.IntN(20) == 0:
		o.stubborn[first] = []int{0, 0, 1, 3}[o.rng.IntN(4)]
		return true
	}
	return false
}

// hold waits until that many later batches came, a short time each.
func (o *moodyOutput) hold(ctx context.Context, patience int) {
	for range patience {
		o.mu.Lock()
		written := o.written
		o.mu.Unlock()
		select {
		case <-written:
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

func (o *moodyOutput) all() []cameBatch {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.came
}

// judgeArrival holds what came to an output that takes one batch at a time against what docs/delivery.md promises: a lane
// goes on where it was or goes back to what was refused, and the last occurrence of every change is in order.
func judgeArrival(came []cameBatch, truth *orderTruth, strict bool) error {
	type state struct {
		next, refused int // refused is the place of the first refused batch, -1 without one
	}
	lanes := map[string]*state{}
	last := map[string]int{}
	n := 0
	for i, b := range came {
		lane, g, err := placeBatch(orderEvent{changes: b.changes, batch: i}, truth)
		if err != nil {
			return err
		}
		for _, c := range b.changes {
			last[c.id] = n
			n++
		}
		s := lanes[lane]
		if s == nil {
			s = &state{next: g.from, refused: -1}
			lanes[lane] = s
		}
		switch {
		case s.refused >= 0 && g.from == s.refused:
			s.refused = -1
		case g.from != s.next:
			return fmt.Errorf("batch %d of lane %q begins at %d, neither at %d nor at the refused %d", i, lane, g.from, s.next, s.refused)
		case strict && s.refused >= 0:
			return fmt.Errorf("batch %d of lane %q at %d came ahead of the refused one at %d", i, lane, g.from, s.refused)
		}
		s.next = g.to
		if b.refused && (s.refused < 0 || g.from < s.refused) {
			s.refused = g.from
		}
	}
	for lane, changes := range truth.lanes {
		before := -1
		for place, id := range changes {
			at, ok := last[id]
			if !ok {
				return fmt.Errorf("change %d of lane %q never came", place, lane)
			}
			if at < before {
				return fmt.Errorf("the last occurrence of change %d of lane %q is before that of the change before it", place, lane)
			}
			before = at
		}
	}
	return nil
}
