package exec

import (
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// StatementStats is what one statement cost.
type StatementStats struct {
	SPID         int
	Text         string
	RowsExamined int64
	RowsReturned int64
	Duration     time.Duration
}

// Instance is what all sessions of a server share. Its fields are set before the first session.
type Instance struct {
	Storage  *storage.Instance
	Registry *Registry
	// ServerName is @@SERVERNAME, Version is @@VERSION; both have defaults.
	ServerName string
	Version    string
	// Hooks are called for definitions.
	Hooks Hooks
	// Stats, if set, is called after each statement, on the session's goroutine.
	Stats func(StatementStats)
	// Before, if set, is called before each statement with its text, on the session's goroutine; an *sqlerr.Error from it
	// makes the statement fail. after, if not nil, is called when the statement has ended.
	Before func(spid int, text string) (after func(), err error)
	// Kill, if set, ends the connection of a session for KILL.
	Kill func(spid int) bool

	mu       sync.Mutex
	sessions map[int]*Session
	nextSPID int
	temps    int // temporary tables made so far
	parsed   parseCache
}

// New makes an instance over its storage and its registry.
func New(st *storage.Instance, reg *Registry) *Instance {
	return &Instance{
		Storage: st, Registry: reg, Hooks: reg.Hooks, ServerName: "MSSQLTEST", Version: defaultVersion,
		sessions: map[int]*Session{}, nextSPID: 51,
	}
}

const defaultVersion = "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64) \n\tmssqltest, a stand-in for tests\n\tDeveloper Edition (64-bit)"

// Sessions lists the sessions by SPID, in no order.
func (in *Instance) Sessions() []*Session {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := make([]*Session, 0, len(in.sessions))
	for _, s := range in.sessions {
		out = append(out, s)
	}
	return out
}

// Session finds a session by its SPID, nil if there is none.
func (in *Instance) Session(spid int) *Session {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.sessions[spid]
}
