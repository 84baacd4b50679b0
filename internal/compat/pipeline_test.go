package compat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc"
	"example.com/mssqlcdc/internal/session"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

// pipeline is the input mssql_cdc as Benthos runs it, with the test in the place of the outputs.
type pipeline struct {
	input   *service.ResourceInput
	close   func(context.Context) error
	network *network
	log     *logLines
	read    chan struct{} // closed when reading has ended
	cancel  context.CancelFunc

	mu       sync.Mutex
	received []*received
	held     []service.AckFunc
	holding  bool
	batches  int // given out so far
	err      error
	changed  chan struct{} // closed and made anew with every change
}

// received is a message that came.
type received struct {
	batch     int
	table, op string
	body      []byte // nil without one
	meta      map[string]any
}

func (r *received) String() string {
	text := "-"
	if r.body != nil {
		text = string(r.body)
	}
	return fmt.Sprintf("%s %s %s key=%v", r.table, r.op, text, r.meta["key"])
}

// startPipeline builds the input from YAML and begins to read.
func startPipeline(yaml string, n *network) (*pipeline, error) {
	p := &pipeline{network: n, log: &logLines{}, read: make(chan struct{}), changed: make(chan struct{})}
	b := service.NewResourceBuilder()
	b.SetLogger(slog.New(p.log))
	if err := b.AddInputYAML(yaml); err != nil {
		return nil, err
	}
	res, stop, err := b.BuildSuspended()
	if err != nil {
		return nil, err
	}
	p.close = stop
	if err := res.AccessInput(context.Background(), "compat", func(i *service.ResourceInput) { p.input = i }); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go p.run(ctx)
	return p, nil
}

func (p *pipeline) run(ctx context.Context) {
	defer close(p.read)
	for {
		batch, ack, err := p.input.ReadBatch(ctx)
		if err != nil {
			p.change(func() { p.err = err })
			return
		}
		var list []*received
		for _, m := range batch {
			list = append(list, newReceived(m))
		}
		held := false
		p.change(func() {
			p.batches++
			for _, r := range list {
				r.batch = p.batches
			}
			p.received = append(p.received, list...)
			if held = p.holding; held {
				p.held = append(p.held, ack)
			}
		})
		if !held {
			_ = ack(ctx, nil) // after the end nobody wants it
		}
	}
}

func newReceived(m *service.Message) *received {
	r := &received{meta: map[string]any{}}
	_ = m.MetaWalkMut(func(key string, v any) error { // the function gives no error
		r.meta[key] = v
		return nil
	})
	schema, _ := r.meta["database_schema"].(string)
	table, _ := r.meta["table"].(string)
	r.table = schema + "." + table
	r.op, _ = r.meta["operation"].(string)
	if b, err := m.AsBytes(); err == nil && b != nil {
		r.body = append([]byte{}, b...)
	}
	return r
}

// change changes what p.mu covers and wakes who waits for it.
func (p *pipeline) change(f func()) {
	p.mu.Lock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
}

// wait waits until f, called under p.mu, says so.
func (p *pipeline) wait(ctx context.Context, f func() bool) error {
	for {
		p.mu.Lock()
		ok, changed, err := f(), p.changed, p.err
		p.mu.Unlock()
		if ok {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the input has ended: %w", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// resolve answers the n oldest batches that are held, waiting for them; below 0 it answers all that there are.
func (p *pipeline) resolve(ctx context.Context, n int, cause error) error {
	if n >= 0 {
		if err := p.wait(ctx, func() bool { return len(p.held) >= n }); err != nil {
			return fmt.Errorf("waiting for %d batches: %w", n, err)
		}
	}
	var acks []service.AckFunc
	p.change(func() {
		if n < 0 {
			n = len(p.held)
		}
		acks = append(acks, p.held[:n]...)
		p.held = p.held[n:]
	})
	for _, ack := range acks {
		if err := ack(ctx, cause); err != nil {
			return fmt.Errorf("answering a batch: %w", err)
		}
	}
	return nil
}

var errStopped = errors.New("the test has stopped the pipeline")

// stop ends the input as a service that is stopped does: what is out is refused.
func (p *pipeline) stop(ctx context.Context) error {
	p.cancel()
	<-p.read
	done := make(chan error, 1)
	go func() { done <- p.close(ctx) }()
	err := p.resolve(ctx, -1, errStopped)
	return errors.Join(err, <-done)
}

// network is how one input reaches the server. It can be cut for good, as a process that dies is.
type network struct {
	host   string
	forget func()
	dialTo func(context.Context) (net.Conn, error)

	mu    sync.Mutex
	conns []net.Conn
	dead  bool
}

func newNetwork(host string, dial func(context.Context) (net.Conn, error)) *network {
	n := &network{host: host, dialTo: dial}
	n.forget = session.RegisterInProcess(host, n.dial)
	return n
}

func (n *network) dial(ctx context.Context) (net.Conn, error) {
	if n.isDead() {
		return nil, errors.New("the process has died")
	}
	c, err := n.dialTo(ctx)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.conns = append(n.conns, c)
	n.mu.Unlock()
	if n.isDead() {
		_ = c.Close() // as die does
	}
	return c, nil
}

func (n *network) isDead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

// die closes every connection and refuses those to come.
func (n *network) die() {
	n.mu.Lock()
	n.dead = true
	conns := n.conns
	n.conns = nil
	n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // a dead process says no goodbye
	}
}

// logLines keeps what is logged.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logLines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logLines) WithGroup(string) slog.Handler                    { return l }

func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Time.UTC().Format(time.TimeOnly)+" "+r.Level.String()+" "+r.Message)
	return nil
}

// count counts the lines that have a text.
func (l *logLines) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
