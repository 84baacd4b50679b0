package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/mssqlcdc/mssqltest/internal/exec"
)

// Encryption is what the server does about TLS inside PRELOGIN packets ([MS-TDS] 2.2.6.5 PRELOGIN, ENCRYPTION).
type Encryption int

const (
	// EncryptOff answers that encryption is not supported.
	EncryptOff Encryption = iota
	// EncryptAuto gives each client what it asks for: nothing, the login alone, or everything.
	EncryptAuto
	// EncryptRequired insists on everything.
	EncryptRequired
)

// Config is what a server needs; Instance and Authenticate are required, Certificates unless Encryption is off.
type Config struct {
	Instance *exec.Instance
	// Authenticate checks a login's password.
	Authenticate func(login, password string) bool
	Encryption   Encryption
	Certificates *Certificates
	// PacketSize is given to clients that ask for none, MaxPacketSize is the most that any gets.
	PacketSize, MaxPacketSize int
	// Rate limits what is sent on each connection, in bytes a second; 0 = no limit. It may change at any time.
	Rate *atomic.Int64
	// Hook, if set, decides on every event of every connection.
	Hook Hook
	// Statement, if set, is told of every statement of every session when it has ended.
	Statement func(exec.StatementStats)
}

// Endpoint is what a listener stands for.
type Endpoint struct {
	// Name is "" for the primary.
	Name string
	// Replica is what sessions of the listener read from, asked when a client logs in; nil, or a nil result, is the primary.
	Replica func() *exec.Replica
}

// Server accepts connections and owns their goroutines: Close ends all of them and waits.
type Server struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	bySPID    map[int]*conn
	lastID    int
}

// New makes a server that listens nowhere yet. The instance's hooks for statements and KILL are taken over.
func New(cfg Config) (*Server, error) {
	if cfg.Encryption != EncryptOff && cfg.Certificates == nil {
		return nil, errors.New("making server: encryption without a certificate")
	}
	if cfg.Rate == nil {
		cfg.Rate = new(atomic.Int64)
	}
	s := &Server{cfg: cfg, listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, bySPID: map[int]*conn{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	cfg.Instance.Before = s.beforeStatement
	cfg.Instance.Stats = cfg.Statement
	cfg.Instance.Kill = s.Kill
	return s, nil
}

// Listen serves the clients that l accepts, until l or the server is closed.
func (s *Server) Listen(l net.Listener, ep Endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("listening on %v: %w", l.Addr(), net.ErrClosed)
	}
	s.listeners[l] = struct{}{}
	s.wg.Go(func() { s.accept(l, ep) })
	return nil
}

func (s *Server) accept(l net.Listener, ep Endpoint) {
	for {
		nc, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
				return
			}
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				continue
			}
			return
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = nc.Close()
			return
		}
		s.lastID++
		c := newConn(s, ep, nc, s.lastID)
		s.conns[c] = struct{}{}
		s.wg.Go(func() {
			c.serve()
			s.remove(c)
		})
		s.mu.Unlock()
	}
}

// remove forgets a connection that has ended.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.bySPID[c.spid()] == c {
		delete(s.bySPID, c.spid())
	}
}

// Close ends all listeners and connections and waits for their goroutines. Open transactions are rolled back.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.Cut(func(Event) bool { return true })
	s.cancel()
	s.wg.Wait()
}

// Cut closes the connections that match, without a word to their clients, and returns how many they were.
func (s *Server) Cut(match func(Event) bool) int {
	n := 0
	for _, c := range s.connections() {
		if match(c.summary()) {
			c.close()
			n++
		}
	}
	return n
}

// Connections describes the open connections.
func (s *Server) Connections() []Event {
	var out []Event
	for _, c := range s.connections() {
		out = append(out, c.summary())
	}
	return out
}

// OpenRequests counts the connections that are working on a request.
func (s *Server) OpenRequests() int {
	n := 0
	for _, c := range s.connections() {
		if c.requests.running() {
			n++
		}
	}
	return n
}

// connections are those that have not been closed, by number.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		if c.ctx.Err() == nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
	return out
}

// Kill ends the session with that number as KILL does, and reports whether there was one.
func (s *Server) Kill(spid int) bool {
	s.mu.Lock()
	c := s.bySPID[spid]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.close()
	return true
}

// bySession finds the connection of a session, nil for a session without one.
func (s *Server) bySession(spid int) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bySPID[spid]
}

// beforeStatement asks the hook about a statement; it runs on the connection's worker. What it returns is called when
// the statement has ended.
func (s *Server) beforeStatement(spid int, text string) (after func(), err error) {
	c := s.bySession(spid)
	if c == nil || s.cfg.Hook == nil {
		return nil, nil
	}
	v := c.ask(c.ctx, KindStatement, text)
	if v.Err != nil {
		return v.After, v.Err
	}
	return v.After, c.ctx.Err()
}
