package checkpoint

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unicode/utf16"

	"example.com/mssqlcdc/internal/crashpoint"
)

const (
	defaultLease = 30 * time.Second
	shortestWait = 20 * time.Millisecond
	longestWait  = 5 * time.Second
	releaseBound = 5 * time.Second
)

// Session is a connection to the server that has the table. The store uses it from one goroutine at a time.
type Session interface {
	// Query runs text through sp_executesql with the parameters of declaration and gives all rows of its result, none for a text
	// without one.
	Query(ctx context.Context, text, declaration string, args ...driver.Value) ([][]driver.Value, error)
	Close() error
}

// SQLConfig says where positions are kept. Open, Table and Key are required.
type SQLConfig struct {
	Open  func(ctx context.Context) (Session, error)
	Table string // quoted: [dbo].[mssql_cdc_checkpoint]
	Key   string // of the pipeline
	// Owner names this process in the lease; empty is a NewOwner. Stores that may be open at the same time must not have the same; one
	// that takes the place of another should, or it waits for a lease that nobody holds.
	Owner string
	// Lease is how long a process that has gone away keeps others waiting; 0 is 30 s.
	Lease time.Duration
	// Takeover takes the lease from a process that holds it. That process cannot save any more, learns it at its next save or
	// renewal, and then waits like any standby: what it has given out in the meantime is given out again.
	Takeover bool
	// OnStandby is told once per Load when another process holds the lease.
	OnStandby func(owner string, remaining time.Duration)
}

// SQLStore keeps positions in a table. A lease row, held by owner and epoch and expiring by the server's clock, makes sure that
// one process saves: each save is one transaction that begins by renewing the lease and fails when the epoch is not ours.
type SQLStore struct {
	cfg   SQLConfig
	texts map[int][2]string // of saves, by number of positions

	turn // of the session and the fields below

	session Session
	found   bool // the table exists
	held    bool
	epoch   int64
	closing chan struct{} // closed with the store

	mu      sync.Mutex    // of the fields below; never held while anything is waited for
	lost    chan struct{} // of the lease last taken, closed when it is lost
	stop    context.CancelFunc
	stopped chan struct{} // closed when the goroutine that renews has ended
}

var _ Store = (*SQLStore)(nil)

// NewSQLStore checks the configuration. Nothing is opened before Load.
func NewSQLStore(cfg SQLConfig) (*SQLStore, error) {
	if cfg.Open == nil || cfg.Table == "" {
		return nil, errors.New("configuring the checkpoint table: it has no name or no connection")
	}
	if n := len(utf16.Encode([]rune(cfg.Key))); n == 0 || n > 128 {
		return nil, fmt.Errorf("configuring the checkpoint table: the key has %d characters, not 1 to 128", n)
	}
	if cfg.Lease < 0 || cfg.Lease > 24*time.Hour {
		return nil, fmt.Errorf("configuring the checkpoint table: a lease of %v is out of range", cfg.Lease)
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Owner == "" {
		cfg.Owner = NewOwner()
	}
	if n := len(utf16.Encode([]rune(cfg.Owner))); n > 200 {
		return nil, fmt.Errorf("configuring the checkpoint table: the owner has %d characters, more than 200", n)
	}
	return &SQLStore{cfg: cfg, texts: map[int][2]string{}, turn: newTurn(), closing: make(chan struct{}), lost: make(chan struct{})}, nil
}

// NewOwner makes a name for SQLConfig.Owner: host, process and a random number.
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil || len(host) > 100 {
		host = "host"
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(b[:]))
}

// Load opens the session, makes the table if it is missing, waits for the lease, and gives the positions. After ErrLeaseLost it is
// called again. One Load runs at a time.
func (s *SQLStore) Load(ctx context.Context) (map[string]Position, error) {
	s.stopRenewing()
	holder := ""
	for ctx.Err() == nil {
		positions, owner, remaining, err := s.tryLoad(ctx)
		if err != nil || positions != nil {
			return positions, err
		}
		if holder == "" && s.cfg.OnStandby != nil {
			s.cfg.OnStandby(owner, remaining)
		}
		holder = owner
		timer := time.NewTimer(min(max(remaining, shortestWait), longestWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		case <-s.closing:
			timer.Stop()
			return nil, ErrClosed
		}
	}
	if holder == "" {
		return nil, fmt.Errorf("loading positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, ctx.Err())
	}
	return nil, fmt.Errorf("waiting for the lease of %s in %s, which %s holds: %w", s.cfg.Key, s.cfg.Table, holder, ctx.Err())
}

// tryLoad gives positions, or who holds the lease for how long.
func (s *SQLStore) tryLoad(ctx context.Context) (_ map[string]Position, owner string, remaining time.Duration, _ error) {
	if err := s.take(ctx); err != nil {
		return nil, "", 0, err
	}
	defer s.give()
	if err := s.ensureTable(ctx); err != nil {
		return nil, "", 0, err
	}
	owner, remaining, err := s.acquire(ctx)
	if err != nil {
		return nil, "", 0, fmt.Errorf("taking the lease of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
	}
	if !s.held {
		return nil, owner, remaining, nil
	}
	positions, err := s.readPositions(ctx)
	if err != nil {
		return nil, "", 0, fmt.Errorf("reading positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
	}
	s.startRenewing()
	return positions, "", 0, nil
}

// Peek gives the positions without taking the lease, and says who holds it. It makes no table, and needs no Load.
func (s *SQLStore) Peek(ctx context.Context) (positions map[string]Position, holder string, _ error) {
	if err := s.take(ctx); err != nil {
		return nil, "", err
	}
	defer s.give()
	if found, err := s.findTable(ctx); err != nil || !found {
		return map[string]Position{}, "", err
	}
	owner, remaining, _, err := s.holder(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("looking for the lease of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
	}
	if remaining > 0 && owner != s.cfg.Owner {
		holder = owner
	}
	if positions, err = s.readPositions(ctx); err != nil {
		return nil, "", fmt.Errorf("reading positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
	}
	return positions, holder, nil
}

// Close ends the lease, so that a standby need not wait for its expiry, and closes the session. It waits, within ctx, for what is
// running. With a ctx that has ended the lease is left to expire.
func (s *SQLStore) Close(ctx context.Context) error {
	s.stopRenewing()
	if err := s.takeToClose(ctx); err != nil {
		return fmt.Errorf("closing the store of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
	}
	err := s.closeInTurn(ctx)
	s.give()
	s.stopRenewing() // of a Load that was faster
	return err
}

func (s *SQLStore) closeInTurn(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.closing)
	var err error
	if s.held && s.session != nil && ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(ctx, releaseBound)
		defer cancel()
		// Once more on a new session, or the next process would wait for a lease that nobody holds.
		for range 2 {
			if _, err = s.query(ctx, sqlRelease, declRelease, s.cfg.Key, s.cfg.Owner, s.epoch); err == nil {
				break
			}
		}
		if err != nil {
			err = fmt.Errorf("releasing the lease of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
		}
		crashpoint.Hit(crashpoint.LeaseFreed)
	}
	s.held = false
	return errors.Join(err, s.closeSession())
}
