package compat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/mssqltest"
)

// Bounds of waits. On the stand-in they pass in virtual time.
const (
	waitBound = 60 * time.Second // for what has to come
	quiet     = 3 * time.Second  // after which nothing more is said to come
	saveTime  = 2500 * time.Millisecond
)

// rig is a database and the input that reads it, which may be started more than once.
type rig struct {
	t    testing.TB
	ctx  context.Context
	db   *database
	addr string // where the input connects; "" is the primary
	file string // of positions

	login  string
	config string
	p      *pipeline
	wire   atomic.Pointer[network] // of p, for rules, which run on the server's goroutines
	taken  map[*received]bool      // what expect has had
	noted  map[string]string       // values of $names
	starts int
	accept func() // ends the refusal of logins
}

// onStandIn runs a test on a stand-in of its own, in virtual time.
func onStandIn(t *testing.T, o databaseOptions, f func(r *rig)) {
	t.Helper()
	if os.Getenv(dsnVariable) != "" {
		t.Skip("only on the stand-in: it turns knobs that a real server does not have")
	}
	synctest.Test(t, func(t *testing.T) { f(newRig(t, standInDatabase(t.Context(), t, o))) })
}

func newRig(t testing.TB, db *database) *rig {
	t.Helper()
	r := &rig{
		t: t, ctx: t.Context(), db: db, file: filepath.Join(t.TempDir(), "positions.json"),
		taken: map[*received]bool{}, noted: map[string]string{},
	}
	t.Cleanup(func() {
		if r.p != nil {
			r.end(false, 0)
		}
	})
	return r
}

func (r *rig) control() *mssqltest.Control { return r.db.server.Control() }

func (r *rig) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, waitBound)
}

func (r *rig) sql(script string) {
	r.t.Helper()
	if err := execScript(r.ctx, r.db.admin, script); err != nil {
		r.t.Fatal(err)
	}
}

// sqlError runs a script whose last batch has to fail with an error of the server.
func (r *rig) sqlError(number int32, script string) error {
	list := batches(script)
	if n := len(list) - 1; n > 0 {
		if err := execScript(r.ctx, r.db.admin, strings.Join(list[:n], "\nGO\n")); err != nil {
			return err
		}
	}
	err := execScript(r.ctx, r.db.admin, list[len(list)-1])
	var me mssql.Error
	if !asError(err, &me) {
		return fmt.Errorf("got %w, want error %d", err, number)
	}
	for _, e := range append(me.All, me) {
		if e.Number == number {
			return nil
		}
	}
	return fmt.Errorf("got error %d (%s), want %d", me.Number, me.Message, number)
}

func (r *rig) enable(table string) {
	r.t.Helper()
	r.sql(enableText("dbo", table, "", ""))
}

func (r *rig) scan() {
	r.t.Helper()
	ctx, cancel := r.bounded()
	defer cancel()
	if err := r.db.scan(ctx); err != nil {
		r.t.Fatalf("waiting for the capture job: %v", err)
	}
}

// ownStore finds a configuration that says where positions are kept.
var ownStore = regexp.MustCompile(`checkpoint_(file|cache)`)

// yaml is the input's configuration.
func (r *rig) yaml(host string) string {
	var b strings.Builder
	b.WriteString("label: compat\nmssql_cdc:\n")
	if !strings.Contains(r.config, "connection_string:") {
		fmt.Fprintf(&b, "  connection_string: %q\n", r.db.dsn(host, r.login))
	}
	if !ownStore.MatchString(r.config) {
		fmt.Fprintf(&b, "  checkpoint_file: %q\n", r.file)
	}
	if r.db.server == nil && !strings.Contains(r.config, "exclude:") {
		fmt.Fprintf(&b, "  exclude: ['dbo\\.%s']\n", markerTable)
	}
	for line := range strings.Lines(r.config) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// tryStart starts the input.
func (r *rig) tryStart() error {
	if r.p != nil {
		return fmt.Errorf("the input runs already")
	}
	r.starts++
	host := fmt.Sprintf("%s-%d.compat.invalid", strings.ReplaceAll(r.db.name, "_", "-"), r.starts)
	n := newNetwork(host, func(ctx context.Context) (net.Conn, error) {
		addr := r.addr
		if addr == "" {
			addr = r.db.base.Host
		}
		return r.db.dial(ctx, addr)
	})
	r.wire.Store(n)
	p, err := startPipeline(r.yaml(host), n)
	if err != nil {
		n.forget()
		return err
	}
	r.p = p
	return nil
}

// start starts the input with a configuration.
func (r *rig) start(config string) {
	r.t.Helper()
	r.config = config
	if err := r.tryStart(); err != nil {
		r.t.Fatalf("starting the input: %v\n%s", err, r.yaml("…"))
	}
}

// end stops the input, or lets it die. It has within to do so; 0 is the bound of all waits.
func (r *rig) end(crash bool, within time.Duration) {
	r.t.Helper()
	p := r.p
	r.p = nil
	if within == 0 {
		within = waitBound
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var positions []byte
	var missing error
	if crash {
		positions, missing = os.ReadFile(r.file)
		p.network.die()
	}
	if err := p.stop(ctx); err != nil {
		r.t.Errorf("stopping the input: %v\nlog:\n%s", err, p.log)
	}
	p.network.forget()
	switch {
	case !crash:
	case missing != nil:
		_ = os.Remove(r.file) // it was not there when the process died
	default:
		if err := os.WriteFile(r.file, positions, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	if rest := r.pending(p); len(rest) > 0 {
		r.t.Errorf("%d changes came that were not expected:\n%s", len(rest), list(rest))
	}
	r.nothingOpen()
}

// pending is what came and was not expected yet.
func (r *rig) pending(p *pipeline) (out []*received) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return r.left(p)
}

// left is pending under p.mu.
func (r *rig) left(p *pipeline) (out []*received) {
	for _, m := range p.received {
		if !r.taken[m] {
			out = append(out, m)
		}
	}
	return out
}

// nothingOpen checks that an input that has ended has left nothing behind on the server.
func (r *rig) nothingOpen() {
	r.t.Helper()
	if r.db.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitBound) // the test's own has ended when it cleans up
	defer cancel()
	left := func() (n int) {
		for _, c := range r.control().Connections() {
			if strings.HasPrefix(c.App, "mssqlcdc") {
				n++
			}
		}
		return n
	}
	if err := poll(ctx, func() (bool, error) { return left() == 0, nil }); err != nil {
		r.t.Errorf("%d connections of the input are left", left())
	}
	if n := r.control().OpenTransactions(); n > 0 {
		r.t.Errorf("%d transactions are left open; locks: %v", n, r.control().Locks())
	}
}

// idle checks that the running input holds nothing on the server.
func (r *rig) idle() error {
	r.pass(0)
	c := r.control()
	if n := c.OpenTransactions(); n > 0 {
		return fmt.Errorf("%d transactions are open", n)
	}
	if l := c.Locks(); len(l) > 0 {
		return fmt.Errorf("locks are held: %v", l)
	}
	return nil
}

// crash ends the input as a process that is killed.
func (r *rig) crash() { r.t.Helper(); r.end(true, 0) }

// stop ends the input in good order.
func (r *rig) stop() { r.t.Helper(); r.end(false, 0) }

// restart starts it again as it was.
func (r *rig) restart() { r.t.Helper(); r.start(r.config) }

// pass lets time go by.
func (r *rig) pass(d time.Duration) {
	pause(r.ctx, d)
	if r.db.server != nil {
		synctest.Wait()
	}
}

// saved waits until acknowledged positions are saved, which happens once a second.
func (r *rig) saved() { r.pass(saveTime) }

func (r *rig) hold() { r.p.change(func() { r.p.holding = true }) }

// ack acknowledges the n oldest held batches; all, and those to come, below 0.
func (r *rig) ack(n int) error {
	ctx, cancel := r.bounded()
	defer cancel()
	if n < 0 {
		r.p.change(func() { r.p.holding = false })
	}
	return r.p.resolve(ctx, n, nil)
}

// ackNewest acknowledges the batch that came last, alone.
func (r *rig) ackNewest() error {
	var ack service.AckFunc
	r.p.change(func() {
		if n := len(r.p.held); n > 0 {
			ack, r.p.held = r.p.held[n-1], r.p.held[:n-1]
		}
	})
	if ack == nil {
		return errors.New("nothing is held")
	}
	return ack(r.ctx, nil)
}

func (r *rig) refuse(n int) error {
	ctx, cancel := r.bounded()
	defer cancel()
	return r.p.resolve(ctx, n, errRefused)
}

// logged waits for a line of the log.
func (r *rig) logged(text string) error {
	ctx, cancel := r.bounded()
	defer cancel()
	err := poll(ctx, func() (bool, error) { return r.p.log.count(text) > 0, nil })
	if err != nil {
		return fmt.Errorf("no line of the log has %q:\n%s", text, r.p.log)
	}
	return nil
}
