package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

var bulkHosts atomic.Int64

// bulkRig is a database that the output writes to, in virtual time.
type bulkRig struct {
	t    *testing.T
	srv  *mssqltest.Server
	ctl  *mssqltest.Control
	host string
	wire *wire // between the output and the server; nil for none
	runs []*bulkRun
}

// onBulk runs a test on a stand-in of its own, in virtual time.
func onBulk(t *testing.T, server mssqltest.Config, test func(*testing.T, *bulkRig)) {
	t.Helper()
	srv, err := mssqltest.New(server)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer srv.Close()
		if err := srv.ListenMemory(); err != nil {
			t.Fatal(err)
		}
		r := &bulkRig{t: t, srv: srv, ctl: srv.Control(), host: fmt.Sprintf("bulk-%d.invalid", bulkHosts.Add(1))}
		defer session.RegisterInProcess(r.host, func(ctx context.Context) (net.Conn, error) { return r.wire.dial(ctx, srv) })()
		defer func() {
			for _, run := range r.runs {
				run.stop()
			}
		}()
		test(t, r)
		if n := r.ctl.OpenTransactions(); n != 0 {
			t.Errorf("%d transactions are left open", n)
		}
	})
}

func (r *bulkRig) sql(script string) {
	r.t.Helper()
	if err := r.srv.Exec(script); err != nil {
		r.t.Fatal(err)
	}
}

// rows are the rows of a query, cells joined by |.
func (r *bulkRig) rows(query string) []string {
	r.t.Helper()
	rows, err := r.srv.Query(query)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = strings.Join(row, "|")
	}
	return out
}

// want compares the rows of a query.
func (r *bulkRig) want(query string, want ...string) {
	r.t.Helper()
	wantTexts(r.t, query, r.rows(query), want...)
}

func (r *bulkRig) dsn(params ...string) string {
	return strings.Replace(r.srv.ConnString(params...), r.srv.Addr(), r.host, 1)
}

// bulkRun is one life of the output.
type bulkRun struct {
	rig     *bulkRig
	output  *bulkOutput
	log     *cdcLog
	metrics *cdcMetrics
	end     func(context.Context) error
}

// start connects the output with these fields.
func (r *bulkRig) start(fields string) *bulkRun {
	r.t.Helper()
	run := r.make(fields)
	if err := run.output.Connect(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	return run
}

// make parses these fields. What passes is tried again every second.
func (r *bulkRig) make(fields string) *bulkRun {
	r.t.Helper()
	run := &bulkRun{rig: r, log: &cdcLog{}, metrics: newCDCMetrics()}
	env := service.GlobalEnvironment().Clone()
	err := env.RegisterMetricsExporter("recorded", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Logger) (service.MetricsExporter, error) {
		return run.metrics, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	build := env.NewResourceBuilder()
	build.SetLogger(slog.New(run.log))
	if err := build.SetMetricsYAML("recorded: {}"); err != nil {
		r.t.Fatal(err)
	}
	res, end, err := build.BuildSuspended()
	if err != nil {
		r.t.Fatal(err)
	}
	run.end = end
	if !strings.Contains(fields, "connection_string:") {
		fields += fmt.Sprintf("\nconnection_string: %q", r.dsn())
	}
	conf, err := bulkSpec().ParseYAML(fields, env)
	if err != nil {
		r.t.Fatal(err)
	}
	out, _, _, err := newBulkOutput(conf, res)
	if err != nil {
		r.t.Fatal(err)
	}
	run.output = out.(*bulkOutput)
	r.runs = append(r.runs, run)
	return run
}

func (r *bulkRun) stop() {
	r.rig.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cdcBound)
	defer cancel()
	if err := errors.Join(r.output.Close(ctx), r.end(ctx)); err != nil {
		r.rig.t.Errorf("stopping the output: %v", err)
	}
	if n := r.metrics.get("mssql_bulk_connections", ""); n != 0 {
		r.rig.t.Errorf("%v connections are left", n)
	}
}

// bulkBatch makes messages of JSON bodies.
func bulkBatch(bodies ...string) service.MessageBatch {
	var b service.MessageBatch
	for _, body := range bodies {
		b = append(b, service.NewMessage([]byte(body)))
	}
	return b
}

// write loads a batch and gives the errors of its rows by index; any other error ends the test.
func (r *bulkRun) write(batch service.MessageBatch) map[int]error {
	r.rig.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*cdcBound)
	defer cancel()
	index := batch.Index() // it marks the messages
	err := r.output.WriteBatch(ctx, batch)
	failed := map[int]error{}
	var rows *service.BatchError
	switch {
	case err == nil:
	case errors.As(err, &rows):
		rows.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
			if err != nil {
				failed[i] = err
			}
			return true
		})
	default:
		r.rig.t.Fatalf("writing a batch: %v\nlog:\n%s", err, r.log)
	}
	return failed
}

// lands loads a batch that no row of may be refused.
func (r *bulkRun) lands(bodies ...string) {
	r.rig.t.Helper()
	if failed := r.write(bulkBatch(bodies...)); len(failed) > 0 {
		r.rig.t.Fatalf("refused: %v\nlog:\n%s", failed, r.log)
	}
}

// refuses loads a batch of which exactly these rows are refused, with errors that have these texts.
func (r *bulkRun) refuses(batch service.MessageBatch, want map[int][]string) {
	r.rig.t.Helper()
	failed := r.write(batch)
	for i, texts := range want {
		for _, text := range texts {
			if failed[i] == nil || !strings.Contains(failed[i].Error(), text) {
				r.rig.t.Errorf("row %d: %v, want an error with %q", i, failed[i], text)
			}
		}
	}
	for i, err := range failed {
		if want[i] == nil {
			r.rig.t.Errorf("row %d is refused: %v", i, err)
		}
	}
}
