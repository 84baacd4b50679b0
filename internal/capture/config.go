package capture

import (
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Config is what a Flow reads and how. Session, Tables, Store, Observer and the bounds are required.
type Config struct {
	Session session.Config
	Tables  *catalog.Matcher
	Start   StartFrom
	Store   checkpoint.Store

	MaxRows  int           // most changes of one batch
	MaxBytes int           // most bytes of one batch, as the record batch counts them
	Period   time.Duration // how long changes of a table gather before its next batch is read; 0 = not at all

	Limit          int // most changes read and not yet acknowledged
	MaxConnections int
	MaxInFlight    int // most batches of a lane that are out; 0 = no bound of its own
	Global         bool

	Snapshots    Snapshots
	Signals      catalog.Name // the table that asks for snapshots while the flow runs; zero for none
	PollInterval time.Duration
	Heartbeat    time.Duration

	StopOnTableError   bool // end the flow when a table cannot go on, instead of parking it
	StopOnRefusal      bool // a refused batch stops its table, instead of being given out again
	ReplaceInvalidText bool

	Observer Observer
}

// Validate reports every value out of its range at once.
func (c Config) Validate() error {
	var errs []error
	positive := func(name string, v int) {
		if v < 1 {
			errs = append(errs, fmt.Errorf("%s must be at least 1", name))
		}
	}
	positive("batch count", c.MaxRows)
	positive("batch bytes", c.MaxBytes)
	positive("checkpoint_limit", c.Limit)
	positive("max_connections", c.MaxConnections)
	if c.Limit > 0 && c.MaxRows > c.Limit {
		errs = append(errs, fmt.Errorf("checkpoint_limit (%d) must not be below batching.count (%d), or no batch ever fits", c.Limit, c.MaxRows))
	}
	if c.Snapshots.On || c.Snapshots.OnGap || c.Signals.Object != "" {
		positive("snapshot_max_batch_size", c.Snapshots.ChunkRows)
		positive("max_parallel_snapshot_tables", c.Snapshots.Tables)
	}
	if c.PollInterval <= 0 {
		errs = append(errs, errors.New("poll_interval must be above 0"))
	}
	if c.Heartbeat <= 0 {
		errs = append(errs, errors.New("heartbeat_interval must be above 0"))
	}
	return errors.Join(append(errs, c.Session.Validate())...)
}

// StartFrom is where a table without a stored position begins.
type StartFrom struct {
	Latest bool
	LSN    checkpoint.LSN // begin after this transaction
	Time   time.Time      // begin with the first transaction committed at or after it
}

// ParseStartFrom reads start_from: "earliest", "latest", 0x and 20 hexadecimal digits, or an RFC 3339 time.
func ParseStartFrom(s string) (StartFrom, error) {
	switch s {
	case "earliest":
		return StartFrom{}, nil
	case "latest":
		return StartFrom{Latest: true}, nil
	}
	if len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		lsn, err := checkpoint.ParseLSN(s)
		if err == nil && lsn.IsZero() {
			err = errors.New("an LSN of zeros means unknown; use earliest")
		}
		if err != nil {
			return StartFrom{}, fmt.Errorf("parsing start_from: %w", err)
		}
		return StartFrom{LSN: lsn}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return StartFrom{}, fmt.Errorf("parsing start_from: %q is none of earliest, latest, 0x and 20 hexadecimal digits, or a time such as 2026-03-01T00:00:00Z", s)
	}
	return StartFrom{Time: t}, nil
}

// State is what a table is doing.
type State int

// The states, as the metric mssql_cdc_table_state numbers them.
const (
	Streaming State = iota // reads, or waits for changes
	Waiting                // for the capture job or for a replica that lags behind
	Retrying               // a transient error; its next attempt is near
	Parked                 // cannot go on; tried again with growing pauses
	Stopped                // a batch was refused and auto_replay_nacks is off
	Gone                   // its capture instance is no more
)

var stateNames = [...]string{"streaming", "waiting", "retrying", "parked", "stopped", "gone"}

func (s State) String() string { return stateNames[s] }

// Observer is told what happens, for logs and metrics. Its methods are called from many goroutines and must not block.
type Observer interface {
	// Polled: the high watermark was read. Age is how long ago its transaction was committed, by the server's clock.
	Polled(high checkpoint.LSN, age time.Duration, tables, behind int)
	// Read: a page of a table was read.
	Read(table string, rows int, bytes int64, took time.Duration)
	// Position: everything up to pos of a table is acknowledged, and lag behind the watermark.
	Position(table string, pos checkpoint.Position, lag time.Duration)
	// State: a table changed its state; cause says why, nil for Streaming.
	State(table string, s State, cause error)
	// Snapshot: so many rows of about total were given out of a table's snapshot, and whether that is all.
	Snapshot(table string, rows, total int64, finished bool)
	// Connections: that many connections more (or, below 0, less) read a table.
	Connections(table string, change int)
	// Redelivered: that many changes of a table were refused, and go out again unless the table is stopped.
	Redelivered(table string, rows int, cause error)
	// Saved: positions of that many tables were saved, or could not be.
	Saved(tables int, err error)
	// Signal: what became of a signal, Obeyed, Ignored or Refused, in words.
	Signal(fate, text string)
	// Queue: so many tables wait for a snapshot that a signal has asked for, or are being read; and whether that rests.
	Queue(tables int, paused bool)
	// Window: of a chunk of such a snapshot so many rows were given out, and so many were dropped because they had changed.
	Window(table string, given, dropped int)
	// Note: something that a user would wonder about, once.
	Note(table, text string)
}
