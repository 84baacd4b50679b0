package cdc

import (
	"context"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// Intervals of the capture job.
const (
	idleInterval    = 5 * time.Minute // between dummy rows of lsn_time_mapping in a quiet database
	retryInterval   = 5 * time.Second // after a scan that failed
	scanTransaction = 500             // transactions that one look at the log takes (sp_cdc_add_job, @maxtrans)
)

// Job is the capture job of a database.
type Job struct {
	m  *Manager
	db *storage.Database
	id [16]byte

	// scanning is held by the one scan that runs: the job's own or one by hand. It is a channel so that waiting for it
	// ends with the context.
	scanning chan struct{}

	mu       sync.Mutex
	delay    time.Duration
	maxTrans int64
	maxScans int64
	polling  int64 // seconds
	once     bool  // @continuous = 0: the job ends after one round
	cancel   context.CancelFunc
	done     chan struct{}
	sessions sessionLog
	injected []injection
}

func newJob(m *Manager, db *storage.Database, delay time.Duration) *Job {
	return &Job{m: m, db: db, id: newID(), scanning: make(chan struct{}, 1), delay: delay, maxTrans: scanTransaction, maxScans: 10, polling: 5}
}

// Start starts the job's goroutine; nothing happens if it runs or the Manager is closed.
func (j *Job) Start() {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if !j.m.closed {
		j.start()
	}
}

// start is Start for a caller that holds the Manager's mutex.
func (j *Job) start() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done != nil && !ended(j.done) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	j.cancel, j.done = cancel, done
	go func() {
		defer close(done)
		j.run(ctx)
	}()
}

// Stop ends the job's goroutine, also out of a wait for a lock, and waits for it.
func (j *Job) Stop() {
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

// Running reports whether the job is started.
func (j *Job) Running() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done != nil && !ended(j.done)
}

// ended reports whether a goroutine has closed its channel.
func ended(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// SetDelay sets how long the job waits after a commit before it scans the log.
func (j *Job) SetDelay(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.delay = d
}

func (j *Job) scanDelay() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.delay
}

// run scans whenever the log has grown, and writes a dummy row when nothing happened for idleInterval.
func (j *Job) run(ctx context.Context) {
	for ctx.Err() == nil {
		watch := j.db.LogWatch()
		wait := j.untilDummy(ctx)
		if len(j.db.LogRecords(storage.LSN{}, 1)) > 0 {
			if !sleep(ctx, j.scanDelay()) {
				return
			}
			if err := j.Scan(ctx); err != nil {
				if !sleep(ctx, retryInterval) {
					return
				}
			}
			if j.single() {
				return
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-watch:
		case <-timer.C:
			if err := j.Idle(ctx); err != nil {
				sleep(ctx, retryInterval)
			}
		}
		timer.Stop()
	}
}

func (j *Job) single() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.once
}

// untilDummy is the time until the next dummy row is due.
func (j *Job) untilDummy(ctx context.Context) time.Duration {
	root := j.db.Root()
	t, ok := root.Object(schemaName, timeMapping).(*storage.Table)
	if !ok {
		return idleInterval
	}
	row, err := j.m.firstRow(ctx, root, t, 0, storage.Range{Reverse: true})
	if row == nil || err != nil {
		return idleInterval
	}
	return max(time.Until(row.Vals[2].GoTime(j.m.st.Location()).Add(idleInterval)), time.Second)
}

// sleep waits for d or until ctx ends, which it reports as false.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// acquire waits for the right to scan.
func (j *Job) acquire(ctx context.Context) error {
	select {
	case j.scanning <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *Job) release() { <-j.scanning }
