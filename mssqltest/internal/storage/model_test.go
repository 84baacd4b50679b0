package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
	"pgregory.net/rapid"
)

// state is a table as a plain map from id to a.
type state map[int]int

func (s state) rows() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s)) {
		out = append(out, show(&Row{Vals: []value.Value{num(id), num(s[id])}}))
	}
	return out
}

func (s state) duplicate() bool {
	seen := map[int]bool{}
	for _, a := range s {
		if seen[a] {
			return true
		}
		seen[a] = true
	}
	return false
}

// modelTx is an open transaction beside what it should see: its pending changes (nil is a deletion) over a base.
type modelTx struct {
	tx      *Tx
	pending map[int]*int
	base    state // of SNAPSHOT
	at      int   // model.commits then
	stable  bool  // SERIALIZABLE has read everything: nobody may commit a change
	saved   map[int]*int
	names   int
}

func (m *modelTx) over(s state) state {
	out := maps.Clone(s)
	for id, a := range m.pending {
		if a == nil {
			delete(out, id)
		} else {
			out[id] = *a
		}
	}
	return out
}

// model runs random transactions, three at a time without waiting, against maps.
type model struct {
	*rapid.T
	d         *testDB
	rcsi      bool
	committed state
	commits   int // with changes
	open      []*modelTx
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{T: rt, d: newTestDB(t), committed: state{}}
		m.rcsi = rapid.Bool().Draw(rt, "rcsi")
		m.d.db.UpdateProps(func(p *Props) { p.ReadCommittedSnapshot = m.rcsi })
		rt.Repeat(map[string]func(*rapid.T){
			"begin":    m.begin,
			"insert":   m.insert,
			"update":   m.update,
			"shift":    m.shift,
			"delete":   m.remove,
			"read":     m.read,
			"save":     m.save,
			"back":     m.back,
			"commit":   m.commit,
			"rollback": m.rollback,
		})
		for len(m.open) > 0 {
			m.end(m.open[0])
		}
		m.d.wantCommitted(m.committed.rows()...)
		wantNoLocks(t, m.d.in)
	})
}

func (m *model) begin(t *rapid.T) {
	if len(m.open) == 3 {
		t.Skip()
	}
	level := rapid.SampledFrom([]Isolation{ReadCommitted, ReadCommitted, RepeatableRead, Serializable, Snapshot}).Draw(t, "level")
	x := &modelTx{pending: map[int]*int{}}
	x.tx = m.d.in.Begin(TxOptions{Isolation: level, LockTimeout: func() time.Duration { return 0 }})
	x.tx.Root(m.d.db)
	if level == Snapshot {
		x.base, x.at = maps.Clone(m.committed), m.commits
	}
	m.open = append(m.open, x)
}

func (m *model) pick(t *rapid.T) *modelTx {
	if len(m.open) == 0 {
		t.Skip()
	}
	return m.open[rapid.IntRange(0, len(m.open)-1).Draw(t, "tx")]
}

func drawID(t *rapid.T) int { return rapid.IntRange(0, 9).Draw(t, "id") }
func drawA(t *rapid.T) int  { return rapid.IntRange(0, 14).Draw(t, "a") }

// settle judges the outcome of a statement that should have made change.
func (m *model) settle(t *rapid.T, x *modelTx, err error, want map[int]*int, conflictKeys bool) {
	var se *sqlerr.Error
	switch {
	case err == nil:
		maps.Copy(x.pending, want)
		if x.over(m.committed).duplicate() {
			t.Fatalf("a duplicate got in: %v", x.over(m.committed))
		}
	case !errors.As(err, &se):
		t.Fatal(err)
	case se.Number == 1222:
	case se.Number == 3960:
		if x.base == nil || x.at == m.commits {
			t.Fatalf("conflict without a change: %v", err)
		}
		m.forget(x)
		x.tx.Rollback()
	case se.Number == 2601 || se.Number == 2627:
		after := modelTx{pending: maps.Clone(x.pending)}
		maps.Copy(after.pending, want)
		if !conflictKeys && !after.over(m.committed).duplicate() {
			t.Fatalf("%v, but there is no duplicate in %v", err, after.over(m.committed))
		}
	default:
		t.Fatal(err)
	}
}

func (m *model) insert(t *rapid.T) {
	x, id, a := m.pick(t), drawID(t), drawA(t)
	_, taken := x.over(m.committed)[id]
	err := m.d.tryInsert(x.tx, fmt.Sprintf("%d,%d", id, a))
	if err == nil && taken {
		t.Fatalf("key %d was inserted twice", id)
	}
	m.settle(t, x, err, map[int]*int{id: &a}, taken)
}

// view is what the transaction's target scan reads.
func (m *model) view(x *modelTx) state {
	if x.base != nil {
		return x.over(x.base)
	}
	return x.over(m.committed)
}

func (m *model) update(t *rapid.T) {
	x, id, a := m.pick(t), drawID(t), drawA(t)
	want := map[int]*int{}
	if old, ok := m.view(x)[id]; ok && old != a {
		want[id] = &a
	}
	m.settle(t, x, m.d.setA(x.tx, id, a), want, false)
}

func (m *model) remove(t *rapid.T) {
	x, id := m.pick(t), drawID(t)
	want := map[int]*int{}
	if _, ok := m.view(x)[id]; ok {
		want[id] = nil
	}
	m.settle(t, x, m.d.delete(x.tx, id), want, false)
}

// shift moves all keys and all values by one, in one set.
func (m *model) shift(t *rapid.T) {
	x, by := m.pick(t), rapid.SampledFrom([]int{-1, 1}).Draw(t, "by")
	want := map[int]*int{}
	before := m.view(x)
	for id := range before {
		want[id] = nil
	}
	for id, a := range before {
		a += by
		want[id+by] = &a
	}
	err := m.d.update(bg, x.tx, Range{}, func(v []value.Value) []value.Value {
		return []value.Value{num(int(v[0].Int()) + by), num(int(v[1].Int()) + by), v[2]}
	})
	m.settle(t, x, err, want, x.base != nil)
}

func (m *model) read(t *rapid.T) {
	x := m.pick(t)
	index := rapid.SampledFrom([]int{byKey, byA, byB}).Draw(t, "index")
	got, err := m.d.read(x.tx, index, Range{Reverse: rapid.Bool().Draw(t, "reverse")}, Access{})
	views := x.base != nil || m.rcsi && x.tx.Isolation() == ReadCommitted
	if err != nil {
		if wantNumberQuiet(err) != 1222 || views {
			t.Fatalf("reading: %v", err)
		}
		return
	}
	slices.Sort(got)
	want := m.view(x).rows()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("read %q, want %q", got, want)
	}
	x.stable = x.stable || x.tx.Isolation() == Serializable
}

func wantNumberQuiet(err error) int32 {
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return se.Number
	}
	return 0
}

func (m *model) save(t *rapid.T) {
	x := m.pick(t)
	x.names++
	x.tx.Savepoint(fmt.Sprint(x.names))
	x.saved = maps.Clone(x.pending)
}

func (m *model) back(t *rapid.T) {
	x := m.pick(t)
	if x.saved == nil {
		t.Skip()
	}
	if err := x.tx.RollbackTo(fmt.Sprint(x.names)); err != nil {
		t.Fatal(err)
	}
	x.pending = maps.Clone(x.saved)
}

func (m *model) forget(x *modelTx) {
	m.open = slices.DeleteFunc(m.open, func(y *modelTx) bool { return x == y })
}

func (m *model) end(x *modelTx) {
	m.forget(x)
	before := m.committed
	m.committed = x.over(m.committed)
	for _, y := range m.open {
		if y.stable && !maps.Equal(before, m.committed) {
			m.Fatalf("a change came in beside SERIALIZABLE: %v, now %v", before, m.committed)
		}
	}
	if len(x.pending) > 0 {
		m.commits++
	}
	if _, err := x.tx.Commit(); err != nil {
		m.Fatal(err)
	}
	var got []string
	for r := range m.d.db.Root().Rows(m.d.t) {
		got = append(got, show(r))
	}
	if !slices.Equal(got, m.committed.rows()) {
		m.Fatalf("committed %q, want %q", got, m.committed.rows())
	}
}

func (m *model) commit(t *rapid.T) { m.end(m.pick(t)) }

func (m *model) rollback(t *rapid.T) {
	x := m.pick(t)
	m.forget(x)
	x.tx.Rollback()
}
