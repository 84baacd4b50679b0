package exec

import (
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// SessionStatus is what sys.dm_exec_sessions shows of a session's state.
type SessionStatus struct {
	Database         int
	Isolation        storage.Isolation
	LockTimeout      time.Duration
	DeadlockPriority int
}

// Status is the session's state as of the begin of its last request. It may be called from any goroutine.
func (s *Session) Status() SessionStatus {
	s.statusMu.Lock()
	defer s.statusMu.Unlock()
	return s.status
}

// noteStatus keeps the state for Status; the session's own goroutine calls it, with statusMu held.
func (s *Session) noteStatus() {
	s.status = SessionStatus{Database: s.db.ID, Isolation: s.opt.Isolation, LockTimeout: s.opt.LockTimeout, DeadlockPriority: s.opt.DeadlockPriority}
}

// Owner is the session as the owner of application locks.
func (s *Session) Owner() *storage.Owner { return s.tran.owner }
