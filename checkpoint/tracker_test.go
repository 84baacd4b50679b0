package checkpoint

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// at makes the n-th position.
func at(n int) Position {
	var l LSN
	binary.BigEndian.PutUint64(l[2:], uint64(n))
	return Position{Instance: "i", LSN: l, Done: true}
}

func TestTrackerOutOfOrder(t *testing.T) {
	tr := NewTracker(0)
	if p, ok := tr.Newest(); ok {
		t.Fatalf("Newest of nothing = %s", p)
	}
	var tickets []Ticket
	for n := 1; n <= 3; n++ {
		k, ok := tr.Add(at(n), 1)
		if !ok {
			t.Fatal("no room without a limit")
		}
		tickets = append(tickets, k)
	}
	steps := []struct {
		ack   int
		want  int // 0: none
		moved bool
	}{{3, 0, false}, {3, 0, false}, {1, 1, true}, {1, 1, false}, {2, 3, true}, {2, 3, false}, {3, 3, false}}
	for i, s := range steps {
		p, moved := tr.Ack(tickets[s.ack-1])
		want := Position{}
		if s.want > 0 {
			want = at(s.want)
		}
		if !p.Equal(want) || moved != s.moved {
			t.Errorf("step %d: Ack(%d) = %s, %v, want %s, %v", i, s.ack, p, moved, want, s.moved)
		}
	}
	if n, w := tr.Pending(); n != 0 || w != 0 {
		t.Errorf("Pending = %d, %d, want 0, 0", n, w)
	}
}

func TestTrackerLimit(t *testing.T) {
	tr := NewTracker(10)
	big, ok := tr.Add(at(1), 25)
	if !ok {
		t.Fatal("a single heavy entry has no room")
	}
	if _, ok := tr.Add(at(2), 1); ok {
		t.Fatal("room beside an entry above the limit")
	}
	tr.Ack(big)
	a, _ := tr.Add(at(2), 4)
	b, ok := tr.Add(at(3), 6)
	if !ok {
		t.Fatal("no room up to the limit")
	}
	if _, ok := tr.Add(at(4), 1); ok {
		t.Fatal("room above the limit")
	}
	tr.Ack(b)
	if _, ok := tr.Add(at(4), 6); !ok {
		t.Fatal("no room after an acknowledgement out of order")
	}
	if p, moved := tr.Ack(a); !moved || !p.Equal(at(3)) {
		t.Errorf("Ack = %s, %v", p, moved)
	}
	if _, ok := tr.Add(at(5), 0); !ok {
		t.Error("no room for an entry without weight")
	}
}

func TestTrackerForget(t *testing.T) {
	tr := NewTracker(2)
	first, _ := tr.Add(at(1), 1)
	old, _ := tr.Add(at(2), 1)
	tr.Ack(first)
	tr.Forget()
	again, ok := tr.Add(at(2), 2)
	if !ok {
		t.Fatal("what was forgotten still takes room")
	}
	if p, moved := tr.Ack(old); moved || !p.Equal(at(1)) {
		t.Errorf("a late acknowledgement of a forgotten entry moves to %s", p)
	}
	if p, moved := tr.Ack(again); !moved || !p.Equal(at(2)) {
		t.Errorf("Ack = %s, %v", p, moved)
	}
	if p, moved := tr.Ack(Ticket(99)); moved || !p.Equal(at(2)) {
		t.Errorf("Ack of a ticket from nowhere = %s, %v", p, moved)
	}
}

// The newest position is always that of the longest prefix that is acknowledged.
func TestTrackerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := NewTracker(0)
		var tickets []Ticket
		acked := map[int]bool{}
		prefix := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(tickets) == 0 || rapid.Bool().Draw(t, "add") {
				k, _ := tr.Add(at(len(tickets)+1), 1)
				tickets = append(tickets, k)
				continue
			}
			i := rapid.IntRange(0, len(tickets)-1).Draw(t, "ack")
			acked[i] = true
			before := prefix
			for acked[prefix] {
				prefix++
			}
			p, moved := tr.Ack(tickets[i])
			want := Position{}
			if prefix > 0 {
				want = at(prefix)
			}
			if !p.Equal(want) || moved != (prefix > before) {
				t.Fatalf("Ack(%d) = %s, %v, want %s, %v", i, p, moved, want, prefix > before)
			}
		}
	})
}

func TestTrackerFromManyGoroutines(t *testing.T) {
	const n = 2000
	tr := NewTracker(0)
	tickets := make([]Ticket, n)
	for i := range n {
		tickets[i], _ = tr.Add(at(i+1), 1)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { tickets[i], tickets[j] = tickets[j], tickets[i] })
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range n {
				tr.Ack(tickets[(i+g*n/4)%n])
			}
		})
	}
	wg.Wait()
	if p, ok := tr.Newest(); !ok || !p.Equal(at(n)) {
		t.Errorf("Newest = %s, want %s", p, at(n))
	}
	if k, w := tr.Pending(); k != 0 || w != 0 {
		t.Errorf("Pending = %d, %d", k, w)
	}
}
