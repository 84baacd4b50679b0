package capture

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
)

// running is a flow with a consumer, which writes down every change that it gets and acknowledges it.
type running struct {
	r     *rig
	flow  *Flow
	store *mortalStore
	done  chan struct{} // the consumer has ended

	mu     sync.Mutex
	got    []string            // "table change", over all tables
	tables map[string][]string // changes by table
	ended  error               // what Next ended with
	gate   chan struct{}       // while not nil, acknowledgements wait for it
	decide func(*Batch) error  // nil: everything is acknowledged
	look   func(Run)           // called for every run
	closed bool
}

// start begins a flow of the rig's configuration with a consumer.
func (r *rig) start() *running {
	r.t.Helper()
	f, err := r.tryStart(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *rig) tryStart(ctx context.Context) (*running, error) {
	cfg := r.cfg
	c := &running{r: r, store: &mortalStore{Store: cfg.Store}, done: make(chan struct{}), tables: map[string][]string{}}
	cfg.Store = c.store
	flow, err := Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.flow = flow
	r.mu.Lock()
	r.flows = append(r.flows, c)
	r.mu.Unlock()
	go c.consume()
	return c, nil
}

func (c *running) consume() {
	defer close(c.done)
	for {
		b, err := c.flow.Next(context.Background())
		if err != nil {
			c.mu.Lock()
			c.ended = err
			c.mu.Unlock()
			return
		}
		c.mu.Lock()
		gate, decide := c.gate, c.decide
		c.mu.Unlock()
		if gate != nil {
			<-gate
		}
		c.take(b)
		var verdict error
		if decide != nil {
			verdict = decide(b)
		}
		b.Ack(verdict)
	}
}

// take writes the changes of a batch down.
func (c *running) take(b *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, run := range b.Runs {
		table := run.Table.Name.Object
		if run.Page.Operation(run.From) == changetable.After || run.Page.Operation(run.To-1) == changetable.Before {
			c.r.t.Errorf("a run of %s tears an update apart", table)
		}
		for row := run.From; row < run.To; row++ {
			text := rowText(run, row)
			c.got = append(c.got, table+" "+text)
			c.tables[table] = append(c.tables[table], text)
		}
		if c.look != nil {
			c.look(run)
		}
	}
}

// rowText is changeText of a row of tables with columns id and v.
func rowText(run Run, row int) string {
	p := run.Page
	lsn, seq := p.LSN(row), p.SeqVal(row)
	cell := func(name string) string {
		for i, f := range run.Layout.Schema.Fields()[:run.Layout.Captured] {
			if f.Name != name {
				continue
			}
			col := p.Record.Column(i)
			if col.IsNull(row) {
				return "NULL"
			}
			switch col := col.(type) {
			case *array.Int32:
				return strconv.Itoa(int(col.Value(row)))
			case *array.Int64:
				return strconv.FormatInt(col.Value(row), 10)
			}
			return col.ValueStr(row)
		}
		return "?"
	}
	return changeText(hex.EncodeToString(lsn[:]), strconv.Itoa(int(p.CommandID(row))), hex.EncodeToString(seq[:]),
		strconv.Itoa(int(p.Operation(row))), cell("id"), cell("v"))
}

// block makes acknowledgements wait until the function that it returns is called.
func (c *running) block() (release func()) {
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	return sync.OnceFunc(func() {
		c.mu.Lock()
		c.gate = nil
		c.mu.Unlock()
		close(gate)
	})
}

func (c *running) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// of are the changes that came of a table.
func (c *running) of(table string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.tables[table])
}

func (c *running) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// err is what the flow ended with, nil while it runs.
func (c *running) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// arrive waits until the truth of the tables has come, and checks that it came once and in order. before are what earlier
// flows have acknowledged.
func (c *running) arrive(tables ...string) {
	c.r.t.Helper()
	for _, table := range tables {
		want := c.r.truth[table]
		c.r.until(15*time.Minute, fmt.Sprintf("all %d changes of %s (%d came)", len(want), table, len(c.of(table))), func() bool {
			return len(c.of(table)) >= len(want)
		})
		if got := c.of(table); !slices.Equal(got, want) {
			c.r.t.Fatalf("table %s: %s", table, difference(got, want))
		}
	}
}

// arriveInOrder is arrive under ordering global: what came is the truth of all tables in commit order.
func (c *running) arriveInOrder(tables ...string) {
	c.r.t.Helper()
	var want []string
	for _, table := range tables {
		for _, change := range c.r.truth[table] {
			want = append(want, change+" of "+table)
		}
	}
	slices.Sort(want)
	c.r.until(15*time.Minute, fmt.Sprintf("all %d changes", len(want)), func() bool { return len(c.all()) >= len(want) })
	var got []string
	for _, g := range c.all() {
		table, change, _ := strings.Cut(g, " ")
		got = append(got, change+" of "+table)
	}
	if !slices.Equal(got, want) {
		c.r.t.Fatal(difference(got, want))
	}
}

// arriveAll is arrive or arriveInOrder, as the flow's ordering asks.
func (c *running) arriveAll(tables ...string) {
	c.r.t.Helper()
	if c.r.cfg.Global {
		c.arriveInOrder(tables...)
		return
	}
	c.arrive(tables...)
}

// difference shows where two sequences of changes part.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			return fmt.Sprintf("%d changes came, want %d; at %d:\n got  %q\n want %q", len(got), len(want), i, g, w)
		}
	}
	return ""
}

// close stops the flow and waits for its consumer.
func (c *running) close() {
	c.r.t.Helper()
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return
	}
	if err := c.flow.Close(context.Background()); err != nil && !c.store.killed() {
		c.r.t.Errorf("closing the flow: %v", err)
	}
	<-c.done
	if err := c.err(); !errors.Is(err, session.ErrClosed) && !errors.Is(err, ErrTable) && c.r.t.Context().Err() == nil {
		c.r.t.Errorf("the flow ended with: %v", err)
	}
}

// abandon closes a flow whose lease another process has.
func (c *running) abandon() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if err := c.flow.Close(context.Background()); err != nil && !errors.Is(err, checkpoint.ErrLeaseLost) {
		c.r.t.Logf("closing the flow: %v", err)
	}
	<-c.done
}

// crash ends the flow as the death of its process does: nothing more is saved.
func (c *running) crash() {
	c.store.kill()
	c.close()
}

// parked waits until a table is parked and gives the cause.
func (r *rig) parked(table string) error {
	r.t.Helper()
	r.until(4*time.Minute, table+" parked", func() bool { s, _ := r.seen.is(table); return s == Parked })
	_, err := r.seen.is(table)
	return err
}
