//go:build unix

package crashtest

import (
	"net"
	"sync/atomic"
)

// gate is a listener behind which the server can be gone.
type gate struct {
	net.Listener
	down atomic.Bool
}

// Accept lets nobody in while the server is gone.
func (g *gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil || !g.down.Load() {
			return c, err
		}
		_ = c.Close() // as a server that is not there
	}
}
