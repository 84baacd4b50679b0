package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// Bounds of waits, in virtual time.
const (
	cdcBound = time.Minute     // for what has to come
	cdcQuiet = 3 * time.Second // after which nothing more is said to come
)

// cdcHosts numbers the host names under which stand-ins are reached.
var cdcHosts atomic.Int64

// cdcRig is a database that the input reads as Benthos runs it, in virtual time.
type cdcRig struct {
	t    *testing.T
	srv  *mssqltest.Server
	ctl  *mssqltest.Control
	host string
	file string // of positions
	wire *wire  // between the input and the server; nil for none
	runs []*cdcRun
}

// onCDC runs a test on a stand-in of its own, in virtual time. CDC is enabled in its database.
func onCDC(t *testing.T, server mssqltest.Config, test func(*testing.T, *cdcRig)) {
	t.Helper()
	srv, err := mssqltest.New(server) // outside the bubble: making certificates is slow
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer srv.Close()
		if err := srv.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		r := &cdcRig{t: t, srv: srv, ctl: srv.Control(), host: fmt.Sprintf("cdc-%d.invalid", cdcHosts.Add(1)), file: filepath.Join(t.TempDir(), "positions.json")}
		defer session.RegisterInProcess(r.host, func(ctx context.Context) (net.Conn, error) { return r.wire.dial(ctx, srv) })()
		defer func() {
			for _, run := range r.runs {
				run.stop()
			}
		}()
		r.sql("EXEC sys.sp_cdc_enable_db")
		test(t, r)
	})
}

// sql runs a script, after a tick of the clock, and waits for the capture job.
func (r *cdcRig) sql(script string) {
	r.t.Helper()
	pass(10 * time.Millisecond)
	if err := r.srv.Exec(script); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// cell is the only value that a query gives.
func (r *cdcRig) cell(query string) string {
	r.t.Helper()
	rows, err := r.srv.Query(query)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		r.t.Fatalf("%s gives %v, want one value", query, rows)
	}
	return rows[0][0]
}

// table makes a table and enables CDC for it; columns are its definition.
func (r *cdcRig) table(name, columns string) {
	r.t.Helper()
	r.sql("CREATE TABLE dbo." + name + " (" + columns + ")")
	r.enable(name, "dbo_"+name)
}

// enable gives a table a capture instance.
func (r *cdcRig) enable(table, instance string) {
	r.t.Helper()
	r.sql(fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @capture_instance = N'%s', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0", table, instance))
}

// dsn is a connection string for the rig's host, with parameters added or replaced.
func (r *cdcRig) dsn(params ...string) string {
	return strings.Replace(r.srv.ConnString(params...), r.srv.Addr(), r.host, 1)
}

// yaml is a configuration of the input: fields with their defaults where it needs some, and the test's own.
func (r *cdcRig) yaml(fields string) string {
	var b strings.Builder
	b.WriteString("label: rig\nmssql_cdc:\n")
	if !strings.Contains(fields, "connection_string:") || strings.Contains(fields, "checkpoint_cache_connection_string:") {
		fmt.Fprintf(&b, "  connection_string: %q\n", r.dsn())
	}
	if !strings.Contains(fields, "checkpoint_") || strings.HasPrefix(strings.TrimSpace(fields), "checkpoint_limit") {
		fmt.Fprintf(&b, "  checkpoint_file: %q\n", r.file)
	}
	for line := range strings.Lines(fields) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// start runs the input with these fields.
func (r *cdcRig) start(fields string) *cdcRun {
	r.t.Helper()
	return r.startWith(fields, "")
}

// startWith runs the input with resources in YAML beside it.
func (r *cdcRig) startWith(fields, resources string) *cdcRun {
	r.t.Helper()
	run := &cdcRun{rig: r, log: &cdcLog{}, metrics: newCDCMetrics()}
	env := service.GlobalEnvironment().Clone()
	err := env.RegisterMetricsExporter("recorded", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Logger) (service.MetricsExporter, error) {
		return run.metrics, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	b := env.NewResourceBuilder()
	b.SetLogger(slog.New(run.log))
	err = errors.Join(b.SetMetricsYAML("recorded: {}"), b.AddInputYAML(r.yaml(fields)))
	if resources != "" {
		err = errors.Join(err, b.AddYAML(resources))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	res, end, err := b.BuildSuspended()
	if err != nil {
		r.t.Fatal(err)
	}
	run.end = end
	if err := res.AccessInput(context.Background(), "rig", func(i *service.ResourceInput) { run.input = i }); err != nil {
		r.t.Fatal(err)
	}
	r.runs = append(r.runs, run)
	return run
}

// cdcRun is one life of the input.
type cdcRun struct {
	rig     *cdcRig
	input   *service.ResourceInput
	end     func(context.Context) error
	log     *cdcLog
	metrics *cdcMetrics
	left    []*cdcMessage // of the last batch, for take
	out     []*cdcDelivery
	stopped bool
}

// cdcDelivery is a batch that was read and not answered.
type cdcDelivery struct {
	ack  service.AckFunc
	done bool
}

var errCDCStopped = errors.New("the test has stopped the input")

// stop ends the input, and returns how long that took.
func (r *cdcRun) stop() time.Duration {
	r.rig.t.Helper()
	if r.stopped {
		return 0
	}
	r.stopped = true
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.end(ctx) }()
	for _, d := range r.out { // Benthos waits for the answers
		if !d.done {
			_ = d.ack(ctx, errCDCStopped) // after the end nobody wants it
		}
	}
	if err := <-ended; err != nil {
		r.rig.t.Errorf("stopping the input: %v", err)
	}
	return time.Since(began)
}

// read gives the next batch, for the caller to answer.
func (r *cdcRun) read() (service.MessageBatch, func(error)) {
	r.rig.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
	defer cancel()
	batch, ack, err := r.input.ReadBatch(ctx)
	if err != nil {
		r.rig.t.Fatalf("reading a batch: %v\nlog:\n%s", err, r.log)
	}
	d := &cdcDelivery{ack: ack}
	r.out = append(r.out, d)
	return batch, func(cause error) {
		r.rig.t.Helper()
		d.done = true
		if err := ack(context.Background(), cause); err != nil {
			r.rig.t.Errorf("answering a batch: %v", err)
		}
	}
}

// batch gives the messages of the next batch, acknowledged.
func (r *cdcRun) batch() []*cdcMessage {
	r.rig.t.Helper()
	batch, ack := r.read()
	out := newCDCMessages(r.rig.t, batch)
	ack(nil)
	return out
}

// take gives the next n messages, of as many batches as they come in.
func (r *cdcRun) take(n int) []*cdcMessage {
	r.rig.t.Helper()
	for len(r.left) < n {
		r.left = append(r.left, r.batch()...)
	}
	out := r.left[:n:n]
	r.left = r.left[n:]
	return out
}

// one gives the next message, which has to be the only one of its batch.
func (r *cdcRun) one() *cdcMessage {
	r.rig.t.Helper()
	all := r.batch()
	if len(all) != 1 {
		r.rig.t.Fatalf("a batch of %d messages, want one: %v", len(all), all)
	}
	return all[0]
}

// nothing fails if a batch comes within a time.
func (r *cdcRun) nothing(d time.Duration) {
	r.rig.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	batch, _, err := r.input.ReadBatch(ctx)
	switch {
	case err == nil:
		r.rig.t.Fatalf("a batch of %d came: %v", len(batch), newCDCMessages(r.rig.t, batch))
	case !errors.Is(err, context.DeadlineExceeded):
		r.rig.t.Fatalf("reading a batch: %v\nlog:\n%s", err, r.log)
	}
}

// drains acknowledges whatever comes until a time has passed.
func (r *cdcRun) drains(d time.Duration) (out []*cdcMessage) {
	r.rig.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for {
		batch, ack, err := r.input.ReadBatch(ctx)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				r.rig.t.Fatalf("reading a batch: %v", err)
			}
			return out
		}
		out = append(out, newCDCMessages(r.rig.t, batch)...)
		if err := ack(ctx, nil); err != nil {
			r.rig.t.Errorf("answering a batch: %v", err)
		}
	}
}

// until lets time pass until something is so.
func (r *cdcRun) until(what string, ok func() bool) {
	r.rig.t.Helper()
	for began := time.Now(); ; pass(50 * time.Millisecond) {
		synctest.Wait()
		if ok() {
			return
		}
		if time.Since(began) > 10*cdcBound {
			r.rig.t.Fatalf("waited %s for %s\nlog:\n%s", 10*cdcBound, what, r.log)
		}
	}
}

// logs waits for a line with a text.
func (r *cdcRun) logs(text string) {
	r.rig.t.Helper()
	r.until(fmt.Sprintf("a log line with %q", text), func() bool { return r.log.count(text) > 0 })
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// column takes one thing of each message.
func column[T any](all []*cdcMessage, of func(*cdcMessage) T) []T {
	out := make([]T, len(all))
	for i, m := range all {
		out[i] = of(m)
	}
	return out
}

func operations(all []*cdcMessage) []string {
	return column(all, func(m *cdcMessage) string { return m.text("operation") })
}

func bodies(all []*cdcMessage) []string {
	return column(all, func(m *cdcMessage) string { return m.body })
}

// wantTexts compares lists of texts.
func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}
