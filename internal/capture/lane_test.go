package capture

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// numbered makes a lane with n batches, told apart by Rows.
func numbered(maxOut, n int) *lane {
	l := newLane(maxOut)
	for i := range n {
		l.push(&Batch{Rows: i})
	}
	return l
}

func takeAll(l *lane) (out []*Batch) {
	for b := l.take(); b != nil; b = l.take() {
		out = append(out, b)
	}
	return out
}

func numbers(bs []*Batch) (out []int) {
	for _, b := range bs {
		out = append(out, b.Rows)
	}
	return out
}

func same(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestLaneGoesBackInOrderAfterARefusal(t *testing.T) {
	l := numbered(0, 5)
	out := takeAll(l)
	if got := numbers(l.deliver(out[0])); !same(got, []int{0}) {
		t.Fatalf("acknowledging 0 frees %v", got)
	}
	if got := l.deliver(out[3]); got != nil {
		t.Fatalf("acknowledging 3 before 1 and 2 frees %v", numbers(got))
	}
	l.refuse(out[1])
	if b := l.take(); b != nil {
		t.Fatalf("batch %d is given out while 2 and 4 are out", b.Rows)
	}
	l.deliver(out[2])
	l.refuse(out[4])
	if got := numbers(takeAll(l)); !same(got, []int{1, 2, 3, 4}) {
		t.Fatalf("after the refusal of 1 and 4: %v are given out, want 1 2 3 4", got)
	}
	if out[3].Attempt != 2 || out[0].Attempt != 1 {
		t.Fatalf("attempts of 3 and 0: %d and %d", out[3].Attempt, out[0].Attempt)
	}
}

func TestLaneWithOneInFlightGivesNothingAhead(t *testing.T) {
	l := numbered(1, 3)
	first := l.take()
	if b := l.take(); b != nil {
		t.Fatalf("batch %d is given out before the acknowledgement of 0", b.Rows)
	}
	l.refuse(first)
	if again := l.take(); again != first {
		t.Fatal("the refused batch is not the next one")
	}
	l.deliver(first)
	if b := l.take(); b == nil || b.Rows != 1 {
		t.Fatal("1 does not follow 0")
	}
}

func TestLaneDoesNotWaitForEver(t *testing.T) {
	l := numbered(0, 4)
	out := takeAll(l)
	l.deliver(out[3])
	l.refuse(out[2])
	if b := l.take(); b != nil {
		t.Fatalf("batch %d is given out while 0 and 1 are out", b.Rows)
	}
	if l.overdue(0) || !l.overdue(1) || l.overdue(1) {
		t.Fatal("the wait ends at another time than once, for the turn that it belongs to")
	}
	if got := numbers(takeAll(l)); !same(got, []int{0, 1, 2, 3}) {
		t.Fatalf("after the wait %v are given out, want everything from the first that is open", got)
	}
	if out[0].superseded != 1 || out[0].Attempt != 2 {
		t.Fatalf("the first delivery of 0 still counts: superseded %d, attempt %d", out[0].superseded, out[0].Attempt)
	}
}

// A lane whose batches are refused again and again rests longer each time, and not at all once one was delivered.
func TestLaneRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := numbered(0, 2)
		var rests []time.Duration
		for range 12 {
			began := time.Now()
			for l.take() == nil {
				<-time.After(time.Millisecond)
			}
			rests = append(rests, time.Since(began))
			l.refuse(l.queue[0])
		}
		if rests[0] != 0 || rests[1] != 0 || rests[2] < 10*time.Millisecond || rests[3] < 20*time.Millisecond || rests[11] < maxRest/2 || rests[11] > maxRest {
			t.Errorf("rests of %v", rests)
		}
		<-time.After(maxRest)
		l.deliver(l.take())
		l.refuse(l.take())
		if l.take() == nil {
			t.Error("a first refusal after a delivery makes the lane rest")
		}
	})
}

func TestLaneDropGivesEverythingUp(t *testing.T) {
	l := numbered(0, 3)
	l.take()
	if got := numbers(l.drop()); !same(got, []int{0, 1, 2}) || !l.empty() {
		t.Fatalf("dropped %v, empty %t", got, l.empty())
	}
}

// Whatever is acknowledged and refused in whatever order: what leaves the lane leaves in order and once, the deliveries go back
// to the first refused batch and on in order from there, and the last delivery of every batch is in order.
func TestLaneKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxOut := rapid.IntRange(0, 3).Draw(t, "maxOut")
		n := rapid.IntRange(1, 12).Draw(t, "batches")
		l := newLane(maxOut)
		pushed, left := 0, 0
		var out []*Batch
		var given []int
		refused := -1
		for left < n {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if pushed < n {
					l.push(&Batch{Rows: pushed})
					pushed++
				}
			case 1:
				b := l.take()
				if b == nil {
					break
				}
				if refused >= 0 {
					if b.Rows != refused {
						t.Fatalf("after the refusal of %d comes %d", refused, b.Rows)
					}
					refused = -1
				} else if len(given) > 0 && b.Rows != given[len(given)-1]+1 {
					t.Fatalf("%d follows %d", b.Rows, given[len(given)-1])
				}
				given = append(given, b.Rows)
				out = append(out, b)
				if maxOut > 0 && len(out) > maxOut {
					t.Fatalf("%d batches are out", len(out))
				}
			default:
				if len(out) == 0 {
					break
				}
				i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
				b := out[i]
				out = append(out[:i], out[i+1:]...)
				if rapid.IntRange(0, 3).Draw(t, "refuse") == 0 {
					l.refuse(b)
					if refused < 0 || b.Rows < refused {
						refused = b.Rows
					}
					break
				}
				for _, d := range l.deliver(b) {
					if d.Rows != left {
						t.Fatalf("%d leaves, want %d", d.Rows, left)
					}
					left++
				}
			}
		}
		last := map[int]int{}
		for i, b := range given {
			last[b] = i
		}
		for b := 1; b < n; b++ {
			if last[b] < last[b-1] {
				t.Fatalf("the last delivery of %d is before that of %d: %v", b, b-1, given)
			}
		}
	})
}

// A lane that stands still gives back what it holds, what is out when it is answered, and each once. It never becomes empty.
func TestLaneThatStandsStillHoldsNothing(t *testing.T) {
	l := numbered(3, 5)
	out := takeAll(l)
	for _, b := range out {
		b.out = true
	}
	answer := func(b *Batch, ok bool) []int {
		b.out = false
		if ok {
			l.deliver(b)
		} else {
			l.refuse(b)
		}
		return numbers(l.abandon())
	}
	if got := answer(out[0], true); got != nil {
		t.Fatalf("a lane that goes on abandons %v", got)
	}
	l.stop = true
	if got := answer(out[1], false); !same(got, []int{1, 3, 4}) {
		t.Fatalf("abandoned %v, want the refused batch and what was not given out", got)
	}
	if l.overdue(1) {
		t.Error("a lane that stands still has nothing to wait for")
	}
	if got := answer(out[2], true); !same(got, []int{2}) || l.abandon() != nil || l.empty() || l.take() != nil {
		t.Fatalf("abandoned %v, want what was out", got)
	}
}
