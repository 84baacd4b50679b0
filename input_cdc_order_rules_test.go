package mssqlcdc

import (
	"fmt"
	"testing"
)

// orderLine is what is given out of a lane and not taken back: the batches from the newest return on.
type orderLine struct {
	reached int // place of the change after the last one
	batches []*orderGiven
}

type orderGiven struct {
	batch, from, to           int // places from to to-1 of the lane
	firstStmt, lastStmt       int // the lowest and highest statement that wrote its rows, 0 for deletes alone
	resolving, acked, refused bool
	refusedAt                 int // index of the event after which the component knew, 0 before
}

// orderVerdict is what a log says of one run of the component.
type orderVerdict struct {
	lines    map[string]*orderLine
	batches  int
	refusals int
	returns  int            // how often a lane went back
	first    map[string]int // place where each lane began
	start    map[string]int // … and where it had to begin at the latest
}

// complete says that every change of the truth was acknowledged and no lane is about to go back.
func (v *orderVerdict) complete(truth *orderTruth) bool {
	for lane, changes := range truth.lanes {
		l := v.lines[lane]
		if l == nil {
			l = &orderLine{reached: v.start[lane]}
		}
		if l.reached != len(changes) {
			return false
		}
		for _, g := range l.batches {
			if !g.acked {
				return false
			}
		}
	}
	return true
}

// prefix is how many changes of each lane are acknowledged with nothing unacknowledged before them.
func (v *orderVerdict) prefix(lane string) int {
	l := v.lines[lane]
	if l == nil {
		return v.start[lane]
	}
	for _, g := range l.batches {
		if !g.acked {
			return g.from
		}
	}
	return l.reached
}

// judgeOrder holds a log against the truth:
//
//   - the changes of a batch follow each other without a hole, and in the order of the statements that made them;
//   - a batch follows the last one, or goes back to the first refused one, and that only when all that is out is resolved;
//   - a ReadBatch that began after the component knew of a refusal never gives what is further on;
//   - with maxOut 1 nothing is given out while something is unresolved, so that nothing is ever ahead.
//
// start gives the place at which the first batch of each lane may begin at the latest; nil is the beginning.
func judgeOrder(events []orderEvent, truth *orderTruth, maxOut int, start map[string]int) (*orderVerdict, error) {
	v := &orderVerdict{lines: map[string]*orderLine{}, first: map[string]int{}, start: start}
	given := map[int]*orderGiven{}
	lastAsked := 0
	for i, e := range events {
		switch e.kind {
		case asked:
			lastAsked = i
		case resolving:
			g := given[e.batch]
			if g.resolving {
				return v, fmt.Errorf("batch %d is resolved twice", e.batch)
			}
			g.resolving, g.acked, g.refused = true, !e.refused, e.refused
			if e.refused {
				v.refusals++
			}
		case resolved:
			if e.refused {
				given[e.batch].refusedAt = i
			}
		case gave:
			v.batches++
			lane, g, err := placeBatch(e, truth)
			if err != nil {
				return v, fmt.Errorf("batch %d: %w", e.batch, err)
			}
			given[e.batch] = g
			if err := v.give(lane, g, maxOut, lastAsked); err != nil {
				return v, fmt.Errorf("batch %d of lane %q, changes %d to %d: %w", e.batch, lane, g.from, g.to-1, err)
			}
		}
	}
	return v, nil
}

// placeBatch finds the places of a batch's changes.
func placeBatch(e orderEvent, truth *orderTruth) (string, *orderGiven, error) {
	if len(e.changes) == 0 {
		return "", nil, fmt.Errorf("it is empty")
	}
	lane := truth.lane(e.changes[0].table)
	first, ok := truth.places[e.changes[0].id]
	g := &orderGiven{batch: e.batch, from: first, to: first + len(e.changes)}
	for i, c := range e.changes {
		if l := truth.lane(c.table); l != lane {
			return "", nil, fmt.Errorf("changes of %s and %s", lane, l)
		}
		if !ok || first+i >= len(truth.lanes[lane]) || truth.lanes[lane][first+i] != c.id {
			return "", nil, fmt.Errorf("change %s in the place of the one after %d changes behind %s", c.id, i, e.changes[0].id)
		}
		if c.stmt == 0 {
			continue
		}
		if c.stmt < g.lastStmt {
			return "", nil, fmt.Errorf("change %s was written by statement %d, and comes after one of statement %d", c.id, c.stmt, g.lastStmt)
		}
		if g.firstStmt == 0 {
			g.firstStmt = c.stmt
		}
		g.lastStmt = c.stmt
	}
	return lane, g, nil
}

// give takes the next batch of a lane.
func (v *orderVerdict) give(lane string, g *orderGiven, maxOut, lastAsked int) error {
	l := v.lines[lane]
	if l == nil {
		if g.from > v.start[lane] {
			return fmt.Errorf("the lane begins there, %d changes too late", g.from-v.start[lane])
		}
		v.first[lane] = g.from
		l = &orderLine{reached: g.from}
		v.lines[lane] = l
	}
	back, known, out := -1, false, 0
	for i, x := range l.batches {
		if !x.resolving {
			out++
		}
		if x.refused {
			if back < 0 {
				back = i
			}
			known = known || x.refusedAt > 0 && x.refusedAt < lastAsked
		}
	}
	if maxOut > 0 && out >= maxOut {
		return fmt.Errorf("%d batches are out", out)
	}
	switch {
	case back >= 0 && g.from == l.batches[back].from:
		if out > 0 {
			return fmt.Errorf("the lane goes back while %d batches are out", out)
		}
		v.returns++
		l.batches = l.batches[:back]
	case g.from != l.reached:
		return fmt.Errorf("the lane was at %d", l.reached)
	case known:
		return fmt.Errorf("batch %d was refused, and the lane goes on", l.batches[back].batch)
	case maxOut == 1 && back >= 0:
		return fmt.Errorf("it is ahead of the refused batch %d", l.batches[back].batch)
	}
	if n := len(l.batches); n > 0 && g.firstStmt > 0 && g.firstStmt < l.batches[n-1].lastStmt {
		return fmt.Errorf("it has a row of statement %d after one of statement %d", g.firstStmt, l.batches[n-1].lastStmt)
	}
	l.batches = append(l.batches, g)
	l.reached = g.to
	return nil
}

// TestOrderRules shows that the rules find what is wrong.
func TestOrderRules(t *testing.T) {
	truth := &orderTruth{lanes: map[string][]string{}, places: map[string]int{}}
	for i := range 9 {
		id := fmt.Sprint(i)
		truth.lanes["a"], truth.places[id] = append(truth.lanes["a"], id), i
	}
	read := func(batch, from, to int) []orderEvent {
		e := orderEvent{kind: gave, batch: batch}
		for i := from; i < to; i++ {
			e.changes = append(e.changes, orderChange{id: fmt.Sprint(i), table: "a"})
		}
		return []orderEvent{{kind: asked}, e}
	}
	ack := func(batch int, refused bool) []orderEvent {
		return []orderEvent{{kind: resolving, batch: batch, refused: refused}, {kind: resolved, batch: batch, refused: refused}}
	}
	const yes, no = false, true // acknowledged, refused
	early := append(read(2, 3, 6), ack(1, no)...)
	early = []orderEvent{early[0], early[2], early[3], early[1]} // asked before, given after the refusal
	for _, tc := range []struct {
		name   string
		maxOut int
		steps  [][]orderEvent
		ok     bool
	}{
		{"in order", 0, [][]orderEvent{read(1, 0, 3), read(2, 3, 6), ack(2, yes), ack(1, yes), read(3, 6, 9), ack(3, yes)}, true},
		{"back to the refused", 0, [][]orderEvent{read(1, 0, 3), read(2, 3, 6), ack(1, no), ack(2, yes), read(3, 0, 3), ack(3, yes), read(4, 3, 9), ack(4, yes)}, true},
		{"asked before the refusal", 0, [][]orderEvent{read(1, 0, 3), early, ack(2, yes), read(3, 0, 9), ack(3, yes)}, true},
		{"hole between batches", 0, [][]orderEvent{read(1, 0, 3), read(2, 4, 6)}, false},
		{"late start", 0, [][]orderEvent{read(1, 1, 3)}, false},
		{"goes on after a refusal", 0, [][]orderEvent{read(1, 0, 3), ack(1, no), read(2, 3, 6)}, false},
		{"goes back too early", 0, [][]orderEvent{read(1, 0, 3), read(2, 3, 6), ack(1, no), read(3, 0, 3)}, false},
		{"goes back to the second refused", 0, [][]orderEvent{read(1, 0, 3), read(2, 3, 6), ack(2, no), ack(1, no), read(3, 3, 6)}, false},
		{"goes back for nothing", 0, [][]orderEvent{read(1, 0, 3), ack(1, yes), read(2, 0, 3)}, false},
		{"two out", 1, [][]orderEvent{read(1, 0, 3), read(2, 3, 6)}, false},
		{"one out", 1, [][]orderEvent{read(1, 0, 3), ack(1, no), read(2, 0, 3), ack(2, yes), read(3, 3, 9), ack(3, yes)}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var events []orderEvent
			for _, s := range tc.steps {
				events = append(events, s...)
			}
			v, err := judgeOrder(events, truth, tc.maxOut, nil)
			if (err == nil) != tc.ok || tc.ok && !v.complete(truth) {
				t.Errorf("complete %v, error %v", v.complete(truth), err)
			}
		})
	}
}
