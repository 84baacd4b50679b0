package server

import (
	"bufio"
	"context"
	"log"
	"net"
	"sync/atomic"
	"time"

	"example.com/mssqlcdc/internal/tds"
	"example.com/mssqlcdc/mssqltest/internal/exec"
)

// loginTimeout bounds how long a client may take from its first byte to the end of its login.
const loginTimeout = 30 * time.Second

// conn is one client. Its fields belong to the worker goroutine, which serve runs on; what other goroutines may touch is
// the request queue, the atomics, and close.
type conn struct {
	srv *Server
	ep  Endpoint
	id  int

	ctx    context.Context
	cancel context.CancelFunc
	nc     net.Conn // what was accepted
	rw     net.Conn // nc, or TLS over it

	requests *requests
	w        *tds.MessageWriter
	reply    reply
	throttle throttle
	cutting  bool
	cutAfter int64

	messages                   int
	login, app, host, database string
	utf8                       bool // the client asked for UTF8_SUPPORT
	session                    *exec.Session
	bulk                       *bulkLoad // INSERT BULK has been accepted, its rows are the next message
	closing                    bool      // after this answer

	number    atomic.Int64
	described atomic.Pointer[Event]
}

func newConn(s *Server, ep Endpoint, nc net.Conn, id int) *conn {
	c := &conn{srv: s, ep: ep, id: id, nc: nc, rw: nc, requests: newRequests(), throttle: throttle{rate: s.cfg.Rate}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.w = tds.NewMessageWriter(c, tds.DefaultPacketSize)
	c.reply.w = c.w
	c.described.Store(&Event{Conn: id, Kind: KindConnect, Replica: ep.Name})
	return c
}

func (c *conn) spid() int { return int(c.number.Load()) }

func (c *conn) summary() Event { return *c.described.Load() }

// close ends the connection at once; it may be called from any goroutine and more than once.
func (c *conn) close() {
	c.cancel()
	_ = c.nc.Close()
}

// serve runs the connection to its end.
func (c *conn) serve() {
	defer c.close()
	if v := c.ask(c.ctx, KindConnect, ""); v.Drop || v.Cut {
		if v.Drop {
			<-c.ctx.Done()
		}
		return
	}
	_ = c.nc.SetDeadline(time.Now().Add(loginTimeout))
	if err := c.open(); err != nil {
		return
	}
	_ = c.nc.SetDeadline(time.Time{})
	defer c.endSession()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer c.cancel()
		c.requests.read(c.ctx, bufio.NewReaderSize(c.rw, 32<<10))
	}()
	defer func() {
		c.close()
		<-ended
	}()
	for req := range c.requests.queue {
		if !c.handle(req) {
			return
		}
		c.requests.next()
	}
}

// endSession closes the session, also when a fault has left it in a state that it cannot be closed from.
func (c *conn) endSession() {
	defer func() {
		if v := recover(); v != nil {
			log.Printf("mssqltest: connection %d: closing session: %v", c.id, v)
		}
	}()
	c.session.Close()
}

// Write sends bytes of an answer, at the rate that the server allows and up to where a rule cuts them off.
func (c *conn) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n := c.throttle.slice(len(p))
		if c.cutting {
			n = int(min(int64(n), c.cutAfter))
			if n <= 0 {
				c.close()
				return total, net.ErrClosed
			}
			c.cutAfter -= int64(n)
		}
		c.throttle.wait(n, c.ctx.Done())
		m, err := c.rw.Write(p[:n])
		total += m
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}
