package mssqltest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/cdc"
	"example.com/mssqlcdc/mssqltest/internal/collate"
	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/server"
	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/syscat"
)

// memoryAddress is where a server listens in memory.
const memoryAddress = "127.0.0.1:1433"

// Server is a stand-in SQL Server. Its methods may be called from any goroutine.
type Server struct {
	cfg     Config
	storage *storage.Instance
	exec    *exec.Instance
	cdc     *cdc.Manager
	net     *server.Server
	memory  server.Network
	certs   *server.Certificates
	rules   ruleSet
	rate    atomic.Int64
	stats   statementLog
	control *Control

	mu       sync.Mutex
	primary  *Replica // what the first listener stands for
	replicas []*Replica
	address  string
	caFile   string
	closed   bool
}

// Start makes a server that listens in memory and is closed when the test ends.
func Start(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	if err := s.ListenMemory(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// New makes a server that does not listen yet.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("making server: %w", err)
	}
	coll := collate.Default()
	if cfg.Collation != "" {
		var ok bool
		if coll, ok = collate.Lookup(cfg.Collation); !ok {
			return nil, fmt.Errorf("making server: unknown collation %q", cfg.Collation)
		}
	}
	s := &Server{cfg: cfg, storage: storage.NewInstance(storage.Options{Location: cfg.Location, Collation: coll})}
	s.rate.Store(cfg.Throttle)
	s.control = &Control{s: s}
	s.primary = &Replica{s: s, primary: true}
	if _, err := s.storage.CreateDatabase(cfg.Database, coll); err != nil {
		return nil, fmt.Errorf("making server: %w", err)
	}
	if err := s.storage.Logins.CreateLogin(storage.Login{Name: "sa"}, cfg.Password); err != nil {
		return nil, fmt.Errorf("making server: %w", err)
	}
	reg := exec.NewRegistry()
	syscat.Register(reg)
	s.cdc = cdc.Register(reg, s.storage)
	s.exec = exec.New(s.storage, reg)
	s.cdc.SetDelay(cfg.CaptureDelay)
	s.cdc.SetManual(cfg.CaptureStopped)
	net := server.Config{
		Instance: s.exec, Authenticate: s.storage.Logins.CheckPassword, PacketSize: cfg.PacketSize, MaxPacketSize: cfg.MaxPacketSize,
		Rate: &s.rate, Hook: s.rules.decide, Statement: s.stats.add,
	}
	if cfg.Encryption != "off" {
		if s.certs, err = server.NewCertificates(); err != nil {
			return nil, fmt.Errorf("making server: %w", err)
		}
		net.Certificates = s.certs
		net.Encryption = server.EncryptAuto
		if cfg.Encryption == "required" {
			net.Encryption = server.EncryptRequired
		}
	}
	if s.net, err = server.New(net); err != nil {
		return nil, err
	}
	return s, nil
}

// ListenMemory makes the server reachable through DialContext, at 127.0.0.1:1433.
func (s *Server) ListenMemory() error {
	l, err := s.memory.Listen(memoryAddress)
	if err != nil {
		return err
	}
	return s.Listen(l)
}

// Listen serves the clients of a listener, which the server then owns.
func (s *Server) Listen(l net.Listener) error {
	s.mu.Lock()
	if s.address == "" {
		s.address = l.Addr().String()
	}
	s.mu.Unlock()
	return s.net.Listen(l, s.primary.endpoint())
}

// DialContext connects to a listener in memory, by its address. It makes the server a dialer for go-mssqldb.
func (s *Server) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.memory.DialContext(ctx, network, addr)
}

// Addr is the address of the first listener.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// ConnString is a connection string of go-mssqldb for login sa at the first listener. Parameters in the form
// "name=value" are added to it or replace what it has. With encryption it verifies the server's certificate, by CAFile.
func (s *Server) ConnString(params ...string) string { return s.connString(s.Addr(), params) }

func (s *Server) connString(addr string, params []string) string {
	q := url.Values{"database": {s.cfg.Database}, "encrypt": {"disable"}}
	if s.cfg.Encryption != "off" {
		q.Set("encrypt", "true")
		if f, err := s.CAFile(); err == nil {
			q.Set("certificate", f)
		}
	}
	for _, p := range params {
		k, v, _ := strings.Cut(p, "=")
		q.Set(k, v)
	}
	if q.Get("encrypt") == "disable" {
		q.Del("certificate")
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", s.cfg.Password), Host: addr, RawQuery: q.Encode()}
	return u.String()
}

// CA is the certificate of the authority that signed the server's, as PEM; nil without encryption.
func (s *Server) CA() []byte {
	if s.certs == nil {
		return nil
	}
	return s.certs.CAPEM
}

// CAFile is the path of a file with CA, which Close removes.
func (s *Server) CAFile() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caFile != "" || s.certs == nil {
		return s.caFile, nil
	}
	f, err := os.CreateTemp("", "mssqltest-ca-*.pem")
	if err != nil {
		return "", fmt.Errorf("writing certificate: %w", err)
	}
	_, err = f.Write(s.certs.CAPEM)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("writing certificate: %w", err)
	}
	s.caFile = f.Name()
	return s.caFile, nil
}

// Control is where faults are injected and knobs are turned.
func (s *Server) Control() *Control { return s.control }

// Close ends all connections, rolling back what is open, stops the capture jobs, and waits for every goroutine.
func (s *Server) Close() {
	s.mu.Lock()
	closed, file, replicas := s.closed, s.caFile, s.replicas
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	s.net.Close()
	s.cdc.Close()
	for _, r := range replicas {
		r.unsubscribe()
	}
	if file != "" {
		_ = os.Remove(file)
	}
}
