package cdc

import (
	"context"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// StartMode says when change_tables.start_lsn of a new instance gets its value. Public sources disagree about what a
// server shows before the capture job has seen the instance, so that each form can be had.
type StartMode int

// The start modes.
const (
	// StartAtScan leaves start_lsn NULL until the capture job handles the instance.
	StartAtScan StartMode = iota
	// StartAtEnable sets start_lsn at once, above the largest LSN of lsn_time_mapping; sys.fn_cdc_get_min_lsn gives it.
	StartAtEnable
	// StartHidden sets start_lsn at once but sys.fn_cdc_get_min_lsn gives NULL until the capture job has handled the instance.
	StartHidden
)

// Options are the choices of one database; the zero value is what a current server does.
type Options struct {
	// WithoutCommandID makes change tables of the old kind: no __$command_id, clustered on start_lsn, seqval, operation.
	WithoutCommandID bool
	Start            StartMode
	// EmptyUpdates keeps updates that changed no captured column: rows with an empty mask.
	EmptyUpdates bool
	// NullRowOnDenied makes the change functions give one row of NULLs to a caller without rights, instead of error 229.
	NullRowOnDenied bool
}

// Manager is change data capture of one server.
type Manager struct {
	st *storage.Instance

	mu     sync.Mutex
	closed bool
	delay  time.Duration
	manual bool // jobs are made stopped
	maxLOB int64
	byDB   map[*storage.Database]*dbState
}

// dbState is what the Manager knows of a database beyond its tables.
type dbState struct {
	options Options
	job     *Job
	cleanup *cleanupJob
	// handled holds the change tables whose enable marker the capture job has seen, for StartHidden.
	handled map[int32]bool
}

// Register adds the procedures, functions and views of change data capture to a registry and returns their Manager,
// which the server closes before its storage.
func Register(reg *exec.Registry, st *storage.Instance) *Manager {
	m := &Manager{st: st, maxLOB: 65536, byDB: map[*storage.Database]*dbState{}}
	m.registerProcs(reg)
	m.registerJobProcs(reg)
	m.registerHelp(reg)
	m.registerScalars(reg)
	m.registerViews(reg)
	m.registerHooks(reg)
	return m
}

// stateLocked finds or makes the state of a database. m.mu is held.
func (m *Manager) stateLocked(db *storage.Database) *dbState {
	s := m.byDB[db]
	if s == nil {
		s = &dbState{handled: map[int32]bool{}}
		m.byDB[db] = s
	}
	return s
}

// Configure sets the options of a database; they apply to instances that are enabled afterwards.
func (m *Manager) Configure(db *storage.Database, o Options) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stateLocked(db).options = o
}

func (m *Manager) options(db *storage.Database) Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stateLocked(db).options
}

// SetDelay sets how long the capture jobs that are made from now on wait after a commit before they scan the log.
func (m *Manager) SetDelay(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay = d
}

// SetManual leaves the capture jobs that are made from now on stopped until sp_cdc_start_job or Job.Start.
func (m *Manager) SetManual(manual bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.manual = manual
}

// Job is the capture job of a database, nil where there is none.
func (m *Manager) Job(db *storage.Database) *Job {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.byDB[db]; s != nil {
		return s.job
	}
	return nil
}

// Close stops all jobs and waits for them.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	var jobs []interface{ Stop() }
	for _, s := range m.byDB {
		if s.job != nil {
			jobs = append(jobs, s.job)
		}
		if s.cleanup != nil {
			jobs = append(jobs, s.cleanup)
		}
	}
	m.mu.Unlock()
	for _, j := range jobs {
		j.Stop()
	}
}

// addJobs makes the jobs that a database lacks and starts them: the first enabled table does, and sp_cdc_add_job.
func (m *Manager) addJobs(db *storage.Database, capture, cleanup, start bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stateLocked(db)
	if capture && s.job == nil {
		s.job = newJob(m, db, m.delay)
	}
	if cleanup && s.cleanup == nil {
		s.cleanup = newCleanupJob(m, db)
	}
	if m.closed || !start {
		return
	}
	if capture && !m.manual {
		s.job.start()
	}
	if cleanup {
		s.cleanup.start()
	}
}

// dropJobs stops and forgets jobs.
func (m *Manager) dropJobs(db *storage.Database, capture, cleanup bool) {
	m.mu.Lock()
	s := m.stateLocked(db)
	var jobs []interface{ Stop() }
	if capture && s.job != nil {
		jobs = append(jobs, s.job)
		s.job = nil
	}
	if cleanup && s.cleanup != nil {
		jobs = append(jobs, s.cleanup)
		s.cleanup = nil
	}
	m.mu.Unlock()
	for _, j := range jobs {
		j.Stop()
	}
}

// setHandled notes that the capture job has seen the enable marker of a change table.
func (m *Manager) setHandled(db *storage.Database, object int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stateLocked(db).handled[object] = true
}

func (m *Manager) isHandled(db *storage.Database, object int32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stateLocked(db).handled[object]
}

// atomic runs f in a transaction of its own. f's error, or the loss of its transaction, undoes everything.
func (m *Manager) atomic(ctx context.Context, f func(tx *storage.Tx) error) (storage.LSN, error) {
	if err := ctx.Err(); err != nil {
		return storage.LSN{}, err
	}
	tx := m.st.Begin(storage.TxOptions{})
	tx.BeginStatement()
	if err := f(tx); err != nil {
		tx.EndStatement(false)
		tx.Rollback()
		return storage.LSN{}, err
	}
	tx.EndStatement(true)
	return tx.Commit()
}
