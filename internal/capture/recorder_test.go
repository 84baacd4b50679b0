package capture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/mssqlcdc/checkpoint"
)

// recorder is an Observer that remembers.
type recorder struct {
	mu      sync.Mutex
	state   map[string]State
	cause   map[string]error
	states  map[string][]State
	notes   []string
	pages   map[string]int
	saves   []time.Time
	saveErr []error
	conns   int
	polled  string
	signals []string // fate and text
	windows []string // table, given, dropped
	queue   string
	rows    map[string][]int64 // of snapshots by table
}

func newRecorder() *recorder {
	return &recorder{state: map[string]State{}, cause: map[string]error{}, states: map[string][]State{}, pages: map[string]int{}, rows: map[string][]int64{}}
}

func (o *recorder) lock() func() { o.mu.Lock(); return o.mu.Unlock }

func (o *recorder) Polled(high checkpoint.LSN, _ time.Duration, tables, behind int) {
	defer o.lock()()
	o.polled = fmt.Sprintf("watermark %s, %d of %d tables behind", high, behind, tables)
}

func (o *recorder) Read(table string, _ int, _ int64, _ time.Duration) {
	defer o.lock()()
	o.pages[table]++
}

func (o *recorder) Position(string, checkpoint.Position, time.Duration) {}

func (o *recorder) State(table string, s State, cause error) {
	defer o.lock()()
	o.state[table], o.cause[table] = s, cause
	o.states[table] = append(o.states[table], s)
}

func (o *recorder) Connections(_ string, change int) {
	defer o.lock()()
	o.conns += change
}

func (o *recorder) Redelivered(string, int, error) {}

func (o *recorder) Snapshot(table string, rows, _ int64, _ bool) {
	defer o.lock()()
	o.rows[table] = append(o.rows[table], rows)
}

func (o *recorder) Signal(fate, text string) {
	defer o.lock()()
	o.signals = append(o.signals, fate+": "+text)
}

func (o *recorder) Queue(tables int, paused bool) {
	defer o.lock()()
	o.queue = fmt.Sprintf("%d waiting, paused %v", tables, paused)
}

func (o *recorder) Window(table string, given, dropped int) {
	defer o.lock()()
	o.windows = append(o.windows, fmt.Sprintf("%s given %d dropped %d", table, given, dropped))
}

func (o *recorder) queued() string {
	defer o.lock()()
	return o.queue
}

func (o *recorder) windowed() []string {
	defer o.lock()()
	return slices.Clone(o.windows)
}

// signalled tells whether the fate of a signal contains a text.
func (o *recorder) signalled(part string) bool {
	defer o.lock()()
	return slices.ContainsFunc(o.signals, func(n string) bool { return strings.Contains(n, part) })
}

func (o *recorder) Saved(_ int, err error) {
	defer o.lock()()
	o.saves = append(o.saves, time.Now())
	o.saveErr = append(o.saveErr, err)
}

func (o *recorder) Note(table, text string) {
	defer o.lock()()
	o.notes = append(o.notes, table+": "+text)
}

// is gives the state of table dbo.name and what caused it.
func (o *recorder) is(name string) (State, error) {
	defer o.lock()()
	return o.state["dbo."+name], o.cause["dbo."+name]
}

// was tells whether a table has ever been in a state.
func (o *recorder) was(name string, s State) bool {
	defer o.lock()()
	return slices.Contains(o.states["dbo."+name], s)
}

// noted tells whether a note contains a text.
func (o *recorder) noted(part string) bool {
	defer o.lock()()
	return slices.ContainsFunc(o.notes, func(n string) bool { return strings.Contains(n, part) })
}

func (o *recorder) String() string {
	defer o.lock()()
	var b strings.Builder
	for _, table := range slices.Sorted(maps.Keys(o.state)) {
		fmt.Fprintf(&b, "%s: %s %v, pages %d, states %v\n", table, o.state[table], o.cause[table], o.pages[table], o.states[table])
	}
	fmt.Fprintln(&b, o.polled)
	for _, n := range append(append(o.notes, o.signals...), o.windows...) {
		fmt.Fprintln(&b, n)
	}
	fmt.Fprintln(&b, o.queue)
	return b.String()
}
