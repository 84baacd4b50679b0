package capture

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/mssqlcdc/internal/session"
)

// idleBound is how long a connection stays open with nothing to read.
const idleBound = time.Minute

// conns are the connections that read change tables: at most as many as there are slots. A connection is held for one page
// and given back, so that nothing is open while a reader waits for the pipeline.
type conns struct {
	open  func(context.Context) (*session.Conn, error)
	slots chan struct{}

	mu     sync.Mutex
	idle   []idleConn // the one used last at the end
	closed bool
}

type idleConn struct {
	conn  *session.Conn
	since time.Time
}

func newConns(n int, open func(context.Context) (*session.Conn, error)) *conns {
	return &conns{open: open, slots: make(chan struct{}, n)}
}

// get waits for a slot and gives a connection in it. Every get is followed by a put.
func (p *conns) get(ctx context.Context) (*session.Conn, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1].conn
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	c, err := p.open(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return c, nil
}

// put gives a connection back. One that a request failed on is closed: its session may be on a server that is going away.
func (p *conns) put(c *session.Conn, failed bool) {
	defer func() { <-p.slots }()
	p.mu.Lock()
	keep := !failed && !p.closed && !c.Broken()
	if keep {
		p.idle = append(p.idle, idleConn{c, time.Now()})
	}
	p.mu.Unlock()
	if !keep {
		_ = c.Close() // the request's own error is what counts
	}
}

// reap closes connections that had nothing to do for a while.
func (p *conns) reap() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) > idleBound {
		n++
	}
	old := append([]idleConn(nil), p.idle[:n]...)
	p.idle = p.idle[n:]
	p.mu.Unlock()
	for _, c := range old {
		_ = c.conn.Close() // idle: nothing to lose
	}
}

// close closes what is idle; what is in use is closed when it is given back.
func (p *conns) close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.conn.Close())
	}
	return errors.Join(errs...)
}
