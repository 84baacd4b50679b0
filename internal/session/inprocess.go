package session

import (
	"context"
	"net"
	"sync"
)

// inProcess are servers in this process, by host name.
var inProcess sync.Map

// RegisterInProcess makes connection strings with this host name reach a server of the same process through dial, without the
// network. The demo and tests use it.
func RegisterInProcess(host string, dial func(context.Context) (net.Conn, error)) (unregister func()) {
	inProcess.Store(host, dial)
	return func() { inProcess.Delete(host) }
}

// InProcess is the Dial of a configuration whose host is registered, nil for all others.
func InProcess(c Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	p, err := c.plan()
	if err != nil {
		return nil
	}
	v, ok := inProcess.Load(p.parsed.Host)
	if !ok {
		return nil
	}
	dial, ok := v.(func(context.Context) (net.Conn, error))
	if !ok {
		return nil
	}
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
}
