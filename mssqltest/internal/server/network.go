package server

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Network is a set of in-memory listeners by address. Its connections are net.Pipes, whose blocking is durable to
// testing/synctest. DialContext has the form that go-mssqldb's Connector.Dialer wants.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*memListener
}

// Listen makes a listener at addr ("127.0.0.1:1433"), which must be free.
func (n *Network) Listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[addr] != nil {
		return nil, fmt.Errorf("listening in memory on %s: address in use", addr)
	}
	l := &memListener{network: n, addr: memAddr(addr), accept: make(chan net.Conn), done: make(chan struct{})}
	if n.listeners == nil {
		n.listeners = map[string]*memListener{}
	}
	n.listeners[addr] = l
	return l, nil
}

// DialContext connects to the listener at addr; without one it fails as a refused TCP connection does.
func (n *Network) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "mem", Addr: memAddr(addr), Err: errRefused}
	if l == nil {
		return nil, refused
	}
	client, server := net.Pipe()
	select {
	case l.accept <- server:
		return client, nil
	case <-l.done:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errRefused = fmt.Errorf("connection refused")

type memAddr string

func (memAddr) Network() string  { return "mem" }
func (a memAddr) String() string { return string(a) }

type memListener struct {
	network *Network
	addr    memAddr
	accept  chan net.Conn
	done    chan struct{}
	once    sync.Once
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
	})
	return nil
}

func (l *memListener) Addr() net.Addr { return l.addr }
