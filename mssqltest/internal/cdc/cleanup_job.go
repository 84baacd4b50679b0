package cdc

import (
	"context"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// defaultRetention is how long the cleanup job keeps changes.
const defaultRetention = 4320 * time.Minute

// cleanupHour is when the cleanup job runs every day, in the server's time.
const cleanupHour = 2

// cleanupJob is the cleanup job of a database.
type cleanupJob struct {
	m  *Manager
	db *storage.Database
	id [16]byte

	mu        sync.Mutex
	retention time.Duration
	threshold int64
	hook      CleanupHook
	cancel    context.CancelFunc
	done      chan struct{}
}

func newCleanupJob(m *Manager, db *storage.Database) *cleanupJob {
	return &cleanupJob{m: m, db: db, id: newID(), retention: defaultRetention, threshold: defaultThreshold}
}

// SetCleanupHook sets what is called between the transactions of every cleanup of a database's job.
func (m *Manager) SetCleanupHook(db *storage.Database, hook CleanupHook) {
	if j := m.cleanup(db); j != nil {
		j.mu.Lock()
		j.hook = hook
		j.mu.Unlock()
	}
}

// RunCleanup runs the cleanup job of a database once, now.
func (m *Manager) RunCleanup(ctx context.Context, db *storage.Database) error {
	j := m.cleanup(db)
	if j == nil {
		return nil
	}
	return j.once(ctx)
}

func (m *Manager) cleanup(db *storage.Database) *cleanupJob {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.byDB[db]; s != nil {
		return s.cleanup
	}
	return nil
}

func (j *cleanupJob) once(ctx context.Context) error {
	j.mu.Lock()
	retention, threshold, hook := j.retention, j.threshold, j.hook
	j.mu.Unlock()
	return j.m.CleanupAll(ctx, j.db, retention, threshold, hook)
}

// start starts the job's goroutine, which cleans up every day; nothing happens if it runs.
func (j *cleanupJob) start() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	j.cancel, j.done = cancel, done
	go func() {
		defer close(done)
		for sleep(ctx, j.untilNext(time.Now())) {
			if err := j.once(ctx); err != nil && !sleep(ctx, retryInterval) {
				return
			}
		}
	}()
}

// untilNext is the time until the next run.
func (j *cleanupJob) untilNext(now time.Time) time.Duration {
	now = now.In(j.m.st.Location())
	next := time.Date(now.Year(), now.Month(), now.Day(), cleanupHour, 0, 0, 0, now.Location())
	if !next.After(now) {
		next = next.AddDate(0, 0, 1)
	}
	return next.Sub(now)
}

// Stop ends the job's goroutine and waits for it.
func (j *cleanupJob) Stop() {
	j.mu.Lock()
	cancel, done := j.cancel, j.done
	j.mu.Unlock()
	if done == nil {
		return
	}
	cancel()
	<-done
	j.mu.Lock()
	if j.done == done {
		j.cancel, j.done = nil, nil
	}
	j.mu.Unlock()
}
