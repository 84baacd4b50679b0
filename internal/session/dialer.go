package session

import (
	"context"
	"net"
	"sync"
	"time"
)

// watchedDialer remembers the sockets of one login, so that it can be given up:
// the driver does not look at its context between dialling and the login's end.
type watchedDialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

func newDialer(dial func(ctx context.Context, network, address string) (net.Conn, error), keepAlive time.Duration) *watchedDialer {
	if dial == nil {
		d := &net.Dialer{KeepAlive: keepAlive}
		dial = d.DialContext
	}
	return &watchedDialer{dial: dial}
}

// DialContext dials and remembers the socket.
func (d *watchedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.conns = append(d.conns, conn)
	}
	d.mu.Unlock()
	if closed {
		_ = conn.Close() // its error adds nothing to the one below
		return nil, context.Canceled
	}
	return conn, nil
}

// last is the socket that was dialled last, which is the one that the driver uses.
func (d *watchedDialer) last() net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.conns) == 0 {
		return nil
	}
	return d.conns[len(d.conns)-1]
}

// closeAll closes every socket that was made, and every one to come.
func (d *watchedDialer) closeAll() {
	d.mu.Lock()
	conns := d.conns
	d.conns, d.closed = nil, true
	d.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // closing is how a blocked read is ended; there is nobody to tell
	}
}

// hostDialer leaves names to a dialler of the caller's, which may know better.
type hostDialer struct{ *watchedDialer }

// HostName marks the dialler as one that resolves names itself.
func (hostDialer) HostName() string { return "" }
