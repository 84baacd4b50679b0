package positions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	_ "example.com/mssqlcdc"
	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// rig is a database with tables t1, t2 and Odd.t, and the folder of a pipeline.
type rig struct {
	t        *testing.T
	srv      *mssqltest.Server
	dsn      string
	dir      string
	pipeline string
	terminal bool
	answers  string // what a person types
}

const rigSchema = `
CREATE TABLE dbo.t1 (id int NOT NULL PRIMARY KEY, v int NULL);
CREATE TABLE dbo.t2 (id int NOT NULL PRIMARY KEY, v int NULL);
CREATE TABLE dbo.[odd.t] (id int NOT NULL PRIMARY KEY, v int NULL);
EXEC sys.sp_cdc_enable_db;
` + enableRig

const enableRig = `EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't1', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't2', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'odd.t', @capture_instance = N'odd', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
`

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, srv: mssqltest.Start(t, mssqltest.Config{Database: "shop"}), dir: t.TempDir()}
	r.dsn = reach(t, r.srv)
	r.exec(rigSchema)
	r.scan()
	r.yaml("")
	return r
}

var hosts struct {
	sync.Mutex
	n int
}

// reach gives a connection string that leads to a stand-in of this process.
func reach(t *testing.T, srv *mssqltest.Server) string {
	t.Helper()
	hosts.Lock()
	hosts.n++
	host := fmt.Sprintf("positions-%d", hosts.n)
	hosts.Unlock()
	addr := srv.Addr()
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) }))
	return strings.Replace(srv.ConnString(), addr, host, 1)
}

// yaml writes the pipeline, with more fields of the input, each line indented by four.
func (r *rig) yaml(fields string, more ...string) {
	r.t.Helper()
	r.pipeline = r.write("pipeline.yaml", fmt.Sprintf("input:\n  mssql_cdc:\n    connection_string: %q\n    poll_interval: 5ms\n%s\noutput:\n  drop: {}\n%s", r.dsn, fields, strings.Join(more, "\n")))
}

func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *rig) exec(script string) {
	r.t.Helper()
	if err := r.srv.Exec(script); err != nil {
		r.t.Fatal(err)
	}
}

// scan waits until the capture job has handled every commit.
func (r *rig) scan() {
	r.t.Helper()
	if err := r.srv.Control().CaptureScan(r.t.Context(), ""); err != nil {
		r.t.Fatal(err)
	}
}

// lsns gives the commit LSNs of a change table, in order.
func (r *rig) lsns(instance string) (out []checkpoint.LSN) {
	r.t.Helper()
	r.scan()
	rows, err := r.srv.Query("SELECT DISTINCT CONVERT(varchar(30), __$start_lsn, 1) FROM cdc." + instance + "_CT ORDER BY 1")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		lsn, err := checkpoint.ParseLSN(row[0])
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, lsn)
	}
	return out
}

// insert makes one transaction of a row in t1 for each number.
func (r *rig) insert(table string, ids ...int) {
	r.t.Helper()
	for _, id := range ids {
		r.exec(fmt.Sprintf("INSERT %s VALUES (%d, %d)", table, id, id))
	}
}

// try runs the command and gives what it prints.
func (r *rig) try(args ...string) (string, error) {
	r.t.Helper()
	var out bytes.Buffer
	app := &cli.App{Name: "mssqlcdc", Writer: &out, ErrWriter: &out, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{Command(Options{In: strings.NewReader(r.answers), Out: &out, Terminal: r.terminal})}}
	err := app.RunContext(r.t.Context(), append([]string{"mssqlcdc", "positions"}, args...))
	return out.String(), err
}

// must runs the command, which has to work and to print all of want.
func (r *rig) must(args []string, want ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("positions %q: %v\n%s", args, err, out)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			r.t.Errorf("positions %q does not print %q:\n%s", args, w, out)
		}
	}
	return out
}

// refuse runs the command, which has to fail with all of want, and to write nothing.
func (r *rig) refuse(args []string, want ...string) {
	r.t.Helper()
	before := r.stored()
	out, err := r.try(args...)
	if err == nil {
		r.t.Errorf("positions %q works:\n%s", args, out)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			r.t.Errorf("positions %q: %v, want %q in it", args, err, w)
		}
	}
	if after := r.stored(); fmt.Sprint(before) != fmt.Sprint(after) {
		r.t.Errorf("positions %q changed %v to %v", args, before, after)
	}
}

// stored are the positions of the pipeline, as list has them; nil when it cannot.
func (r *rig) stored() map[string]checkpoint.Position {
	r.t.Helper()
	out, err := r.try("list", "--json", "--offline", "--index", "0", r.pipeline)
	if err != nil {
		return nil
	}
	var l []listing
	if err := json.Unmarshal([]byte(out), &l); err != nil || len(l) != 1 {
		r.t.Fatalf("list --json: %v in\n%s", err, out)
	}
	positions := map[string]checkpoint.Position{}
	for _, p := range l[0].Positions {
		positions[p.Table] = *p.Position
	}
	return positions
}

// running is a pipeline that runs, with what has come out of it.
type running struct {
	t      *testing.T
	stream *service.Stream
	ended  chan error
	log    *lockedBuffer

	mu   sync.Mutex
	rows []string
	come chan struct{}
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs the pipeline of the rig.
func (r *rig) start() *running {
	r.t.Helper()
	text, err := os.ReadFile(r.pipeline)
	if err != nil {
		r.t.Fatal(err)
	}
	p := &running{t: r.t, ended: make(chan error, 1), come: make(chan struct{}, 1), log: &lockedBuffer{}}
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(string(text)); err != nil {
		r.t.Fatal(err)
	}
	if err := b.AddConsumerFunc(func(_ context.Context, m *service.Message) error {
		body, err := m.AsBytes()
		if err != nil {
			return err
		}
		table, _ := m.MetaGet("table")
		p.mu.Lock()
		p.rows = append(p.rows, table+string(body))
		p.mu.Unlock()
		select {
		case p.come <- struct{}{}:
		default:
		}
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	if p.stream, err = b.Build(); err != nil {
		r.t.Fatal(err)
	}
	go func() { p.ended <- p.stream.Run(context.Background()) }()
	return p
}

// wait waits until a row with the text has come.
func (p *running) wait(text string) {
	p.t.Helper()
	p.waitFor(text, func(all string) bool { return strings.Contains(all, text) })
}

// waitFor waits until what has come is right.
func (p *running) waitFor(what string, right func(all string) bool) {
	p.t.Helper()
	bound := time.NewTimer(30 * time.Second)
	defer bound.Stop()
	for !right(strings.Join(p.all(), "\n")) {
		select {
		case <-p.come:
		case <-bound.C:
			p.t.Fatalf("%s has not come; what has: %q", what, p.all())
		}
	}
}

func (p *running) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.rows...)
}

// stop ends the pipeline in order: what is acknowledged is saved.
func (p *running) stop() []string {
	p.t.Helper()
	if err := p.stream.StopWithin(10 * time.Second); err != nil {
		p.t.Errorf("stopping: %v", err)
	}
	<-p.ended
	return p.all()
}
