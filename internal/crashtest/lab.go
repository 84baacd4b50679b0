//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
	"example.com/mssqlcdc/mssqltest"
)

// The stores of positions.
const (
	InFile  = "file"
	InTable = "table"
	InCache = "cache"
)

// Options are what a test chooses of a Lab.
type Options struct {
	Seed   uint64
	Store  string // InFile, InTable or InCache
	Fields string // of the input, as YAML lines
}

// Lab is a server with a workload, the processes that read it, and their journal.
type Lab struct {
	t        testing.TB
	workload Workload
	opts     Options
	seed     uint64
	srv      *mssqltest.Server
	gate     *gate
	dir      string
	journal  *Journal
	target   *Target // nil: processes write into the journal
	copy     *Copy
	history  *History
	starts   []map[string]Position

	mu        sync.Mutex
	processes []*Process
	phases    map[crashpoint.Point]int // how often a process died after a step
	steps     map[crashpoint.Point]int // how often a step was made
}

// NewLab makes the server and its tables. Nothing reads or changes them yet.
func NewLab(t testing.TB, w Workload, o Options) *Lab {
	t.Helper()
	l := &Lab{t: t, workload: w, opts: o, seed: o.Seed, journal: newJournal(), dir: t.TempDir(), phases: map[crashpoint.Point]int{}, steps: map[crashpoint.Point]int{}}
	var err error
	if l.srv, err = mssqltest.New(mssqltest.Config{Database: w.Database}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.srv.Close)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.gate = &gate{Listener: tcp}
	if err := l.srv.Listen(l.gate); err != nil {
		t.Fatal(err)
	}
	l.exec(w.Setup)
	l.exec(fmt.Sprintf("ALTER DATABASE %s SET ALLOW_SNAPSHOT_ISOLATION ON", quote(w.Database)))
	l.exec("EXEC sys.sp_cdc_enable_db")
	for i, n := range w.Tables {
		l.exec(fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = %s, @source_name = %s, @capture_instance = N'%s', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0",
			literal(n.Schema), literal(n.Table), instance(i)))
	}
	t.Cleanup(func() {
		for _, p := range l.processes {
			p.Kill()
			<-p.ended
		}
		if t.Failed() {
			for _, p := range l.processes {
				t.Logf("process %d:\n%s", p.Run, p.log.String())
			}
		}
	})
	return l
}

// instance names the capture instance of table number i.
func instance(i int) string { return fmt.Sprintf("t%d", i) }

func (l *Lab) exec(script string) {
	l.t.Helper()
	if err := l.srv.Exec(script); err != nil {
		l.t.Fatalf("%v in\n%.400s", err, script)
	}
}

func (l *Lab) query(text string) [][]string {
	l.t.Helper()
	rows, err := l.srv.Query(text)
	if err != nil {
		l.t.Fatalf("%v in\n%s", err, text)
	}
	return rows
}

// Write changes rows until the function that it returns is called: a transaction in each pause.
func (l *Lab) Write(pause time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	rng := rand.New(rand.NewPCG(l.seed, 99))
	go func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-ticker.C:
			}
			script := "SET XACT_ABORT ON; BEGIN TRANSACTION;\n" + l.workload.Next(rng) + ";\nCOMMIT;"
			if err := l.srv.Exec(script); err != nil {
				done <- fmt.Errorf("writing: %w in\n%s", err, script)
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		l.t.Helper()
		cancel()
		if err := <-done; err != nil {
			l.t.Error(err)
		}
	})
}

// Start runs the pipeline in a new process, which dies when it has made these steps, the first one after skip hits of it.
func (l *Lab) Start(skip int, crash ...crashpoint.Point) *Process {
	l.t.Helper()
	if l.opts.Store == InTable && len(l.processes) > 0 {
		// As if the lease of the dead process had run out.
		l.exec("UPDATE dbo.mssql_cdc_checkpoint SET expires_at = DATEADD(second, -1, SYSUTCDATETIME()) WHERE source_table = N''")
	}
	l.starts = append(l.starts, l.Positions())
	p, err := spawn(l, len(l.processes), job{Config: l.config(), Crash: crash, Skip: skip, Run: len(l.processes)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.processes = append(l.processes, p)
	return p
}

// config is the stream that a process runs.
func (l *Lab) config() string {
	var b strings.Builder
	switch {
	case l.copy != nil:
		return l.copy.config()
	case l.history != nil:
		return l.history.config()
	}
	output := "pipeline: {threads: 1}\noutput: {journal: {}}\n"
	if l.target != nil {
		output = l.target.config()
	}
	fmt.Fprintf(&b, "http: {enabled: false}\nlogger: {level: WARN}\n%s", output)
	fmt.Fprintf(&b, "input:\n  mssql_cdc:\n    connection_string: %q\n    stream_snapshot: true\n    before_image: message\n    metadata: [snapshot_id]\n    poll_interval: 50ms\n", l.srv.ConnString())
	switch l.opts.Store {
	case InFile:
		fmt.Fprintf(&b, "    checkpoint_file: %q\n", l.file())
	case InCache:
		b.WriteString("    checkpoint_cache: positions\n")
	}
	for line := range strings.Lines(l.opts.Fields) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	if l.opts.Store == InCache {
		fmt.Fprintf(&b, "cache_resources:\n  - label: positions\n    file: {directory: %q}\n", l.dir)
	}
	return b.String()
}

func (l *Lab) file() string { return filepath.Join(l.dir, "positions.json") }

// died counts where a process has died.
func (l *Lab) died(p *Process) {
	last, hits := p.Last()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target != nil {
		last = p.lastOutput // it is dead: nobody else looks
	}
	l.phases[last]++
	for step, n := range hits {
		l.steps[step] += n
	}
}

// Phases says after which steps processes have died, and how often each step was made at all.
func (l *Lab) Phases() (died, made map[crashpoint.Point]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phases, l.steps
}

// Cut breaks every connection.
func (l *Lab) Cut() { l.srv.Control().Cut(nil) }

// Gone makes the server go away, or come back.
func (l *Lab) Gone(gone bool) {
	l.gate.down.Store(gone)
	if gone {
		l.Cut()
	}
}

// rawPositions is the text of the stored positions by table.
func (l *Lab) rawPositions() map[string][]byte {
	l.t.Helper()
	if l.opts.Store == InTable {
		out := map[string][]byte{}
		if l.query("SELECT COUNT(*) FROM sys.tables WHERE name = N'mssql_cdc_checkpoint'")[0][0] == "0" {
			return out
		}
		for _, row := range l.query("SELECT source_table, position FROM dbo.mssql_cdc_checkpoint WHERE source_table <> N''") {
			out[row[0]] = []byte(row[1])
		}
		return out
	}
	name := l.file()
	if l.opts.Store == InCache {
		name = filepath.Join(l.dir, "mssql_cdc")
	}
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return splitPositions(l.t, text)
}
