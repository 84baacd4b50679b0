package checkpoint

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
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
	// Owner names this process in the lease; empty is host, process and a random number. Two stores must not have the same.
	Owner string
	// Lease is how long a process that has gone away keeps others waiting; 0 is 30 s.
	Lease time.Duration
	// OnStandby is told once per Load when another process holds the lease.
	OnStandby func(owner string, remaining time.Duration)
}

// SQLStore keeps positions in a table. A lease row, held by owner and epoch and expiring by the server's clock, makes sure that
// one process saves: each save is one transaction that begins by renewing the lease and fails when the epoch is not ours.
type SQLStore struct {
	cfg   SQLConfig
	texts map[int][2]string // of saves, by number of positions

	turn chan struct{} // holds a token while nobody uses the session and the fields below

	session Session
	found   bool // the table exists
	held    bool
	epoch   int64
	closed  bool
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
		cfg.Owner = newOwner()
	}
	if n := len(utf16.Encode([]rune(cfg.Owner))); n > 200 {
		return nil, fmt.Errorf("configuring the checkpoint table: the owner has %d characters, more than 200", n)
	}
	s := &SQLStore{cfg: cfg, texts: map[int][2]string{}, turn: make(chan struct{}, 1), closing: make(chan struct{}), lost: make(chan struct{})}
	s.turn <- struct{}{}
	return s, nil
}

func newOwner() string {
	host, err := os.Hostname()
	if err != nil || len(host) > 100 {
		host = "host"
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), hex.EncodeToString(b[:]))
}

// take waits for the session.
func (s *SQLStore) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.closed {
		s.turn <- struct{}{}
		return ErrClosed
	}
	return nil
}

func (s *SQLStore) give() { s.turn <- struct{}{} }

// Load opens the session, makes the table if it is missing, waits for the lease, and gives the positions. After ErrLeaseLost it is
// called again.
func (s *SQLStore) Load(ctx context.Context) (map[string]Position, error) {
	s.stopRenewing()
	told := false
	for {
		positions, owner, remaining, err := s.tryLoad(ctx)
		if err != nil || positions != nil {
			return positions, err
		}
		if !told && s.cfg.OnStandby != nil {
			told = true
			s.cfg.OnStandby(owner, remaining)
		}
		timer := time.NewTimer(min(max(remaining, shortestWait), longestWait))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("waiting for the lease of %s in %s, which %s holds: %w", s.cfg.Key, s.cfg.Table, owner, ctx.Err())
		case <-s.closing:
			timer.Stop()
			return nil, ErrClosed
		}
	}
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

// query runs a text on the session, opening it first. After a failure the session is closed: what state it is in is not known.
func (s *SQLStore) query(ctx context.Context, text, declaration string, args ...driver.Value) ([][]driver.Value, error) {
	if s.session == nil {
		session, err := s.cfg.Open(ctx)
		if err != nil {
			return nil, err
		}
		s.session = session
	}
	rows, err := s.session.Query(ctx, strings.ReplaceAll(text, "{table}", s.cfg.Table), declaration, args...)
	if err != nil {
		return nil, errors.Join(err, s.closeSession())
	}
	return rows, nil
}

func (s *SQLStore) closeSession() error {
	if s.session == nil {
		return nil
	}
	session := s.session
	s.session = nil
	if err := session.Close(); err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	return nil
}

// Numbers of server errors.
const (
	errDuplicateKey  = 2627
	errDuplicateName = 2714
)

// hasNumber reports whether err carries one of these numbers, as mssql.Error does.
func hasNumber(err error, numbers ...int32) bool {
	var e interface{ SQLErrorNumber() int32 }
	return errors.As(err, &e) && slices.Contains(numbers, e.SQLErrorNumber())
}

func (s *SQLStore) ensureTable(ctx context.Context) error {
	if s.found {
		return nil
	}
	rows, err := s.query(ctx, sqlTableExists, declName, s.cfg.Table)
	if err != nil {
		return fmt.Errorf("looking for the checkpoint table %s: %w", s.cfg.Table, err)
	}
	if len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] != nil {
		s.found = true
		return nil
	}
	if _, err := s.query(ctx, sqlCreateTable, ""); err != nil && !hasNumber(err, errDuplicateName) {
		return fmt.Errorf("creating the checkpoint table %s: %w; an administrator can create it with: %s", s.cfg.Table, err,
			strings.ReplaceAll(sqlCreateTable, "{table}", s.cfg.Table))
	}
	s.found = true
	return nil
}

func (s *SQLStore) readPositions(ctx context.Context) (map[string]Position, error) {
	rows, err := s.query(ctx, sqlLoad, declPipeline, s.cfg.Key)
	if err != nil {
		return nil, err
	}
	positions := make(map[string]Position, len(rows))
	for _, row := range rows {
		if len(row) != 2 {
			return nil, fmt.Errorf("a row has %d columns, not 2", len(row))
		}
		table, ok1 := row[0].(string)
		text, ok2 := row[1].(string)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("the row of table %v has a %T for its position", row[0], row[1])
		}
		p, err := ParsePosition(text)
		if err != nil {
			return nil, fmt.Errorf("the row of table %s: %w", table, err)
		}
		positions[table] = p
	}
	return positions, nil
}

// Save keeps the positions in one transaction (of up to 256; positions stand for themselves, so more of them take more). It
// fails with ErrLeaseLost, and saves nothing, when another process has taken the lease.
func (s *SQLStore) Save(ctx context.Context, changed map[string]Position) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.give()
	if !s.held {
		return fmt.Errorf("saving positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, ErrLeaseLost)
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(changed)), mostPositions) {
		saved, err := s.saveChunk(ctx, chunk, changed)
		if err != nil {
			return fmt.Errorf("saving positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
		}
		if !saved {
			s.lose()
			return fmt.Errorf("saving positions of %s in %s: %w", s.cfg.Key, s.cfg.Table, ErrLeaseLost)
		}
	}
	return nil
}

func (s *SQLStore) saveChunk(ctx context.Context, tables []string, changed map[string]Position) (saved bool, _ error) {
	// The number is rounded up to a power of two by saving the last one again: few texts, few plans in the server's cache.
	n := 1 << bits.Len(uint(len(tables)-1))
	args := make([]driver.Value, 0, 4+2*n)
	args = append(args, s.cfg.Key, s.cfg.Owner, s.epoch, s.cfg.Lease.Milliseconds())
	for i := range n {
		table := tables[min(i, len(tables)-1)]
		if err := checkTable(table); err != nil {
			return false, err
		}
		if len(utf16.Encode([]rune(table))) > 520 {
			return false, fmt.Errorf("the name of table %s is longer than 520 characters", table)
		}
		text, err := changed[table].MarshalJSON()
		if err != nil {
			return false, err
		}
		if len(text) > 2000 {
			return false, fmt.Errorf("the position of table %s is longer than 2000 characters", table)
		}
		args = append(args, table, string(text))
	}
	text, ok := s.texts[n]
	if !ok {
		text[0], text[1] = saveText(n)
		s.texts[n] = text
	}
	rows, err := s.query(ctx, text[0], text[1], args...)
	if err != nil {
		return false, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return false, errors.New("the statement gave no answer")
	}
	answer, ok := rows[0][0].(int64)
	return ok && answer == 1, nil
}

// Close ends the lease, so that a standby need not wait for its expiry, and closes the session. It waits, within ctx, for what is
// running. With a ctx that has ended the lease is left to expire.
func (s *SQLStore) Close(ctx context.Context) error {
	s.stopRenewing()
	select {
	case <-s.turn:
	default:
		select {
		case <-s.turn:
		case <-ctx.Done():
			return fmt.Errorf("closing the store of %s in %s: %w", s.cfg.Key, s.cfg.Table, ctx.Err())
		}
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
		if _, err = s.query(ctx, sqlRelease, declRelease, s.cfg.Key, s.cfg.Owner, s.epoch); err != nil {
			err = fmt.Errorf("releasing the lease of %s in %s: %w", s.cfg.Key, s.cfg.Table, err)
		}
	}
	s.held = false
	return errors.Join(err, s.closeSession())
}
