package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// wait pauses before the next try.
func (l *bulkLanding) wait(ctx context.Context, cause error, committing bool) error {
	l.out.observer.retries.Incr(1)
	if committing && l.out.fence == nil {
		l.out.observer.unknown.Incr(1)
		l.out.log.Warnf("the connection was lost while a load was committed, so its rows are loaded again and may be there twice: %v", cause)
	}
	if !l.told && !committing {
		l.out.log.Warnf("a batch is tried again until it lands: %v", cause)
	}
	l.told = true
	d := l.pause.NextBackOff()
	if d == backoff.Stop {
		return fmt.Errorf("%w: %w", service.ErrNotConnected, cause)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// persist tries something again, after pauses, while its errors are ones that pass. The end of ctx, and of the pauses, end it as
// well.
func (l *bulkLanding) persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || ctx.Err() != nil || errors.Is(err, service.ErrNotConnected) || causeOf(err) != causePasses {
			return err
		}
		if err := l.wait(ctx, err, false); err != nil {
			return err
		}
	}
}

func (l *bulkLanding) recovered() {
	if l.told {
		l.told = false
		l.out.log.Info("the batch that was tried again has landed")
	}
	l.pause.Reset()
}

func (l *bulkLanding) forgetAll() {
	if l.worker != nil {
		clear(l.worker.tables)
	}
}

// stale describes a table anew, if that is long ago, and tells whether it has changed since.
func (l *bulkLanding) stale(ctx context.Context, w *bulkWorker, j *bulkJob) bool {
	if time.Since(j.table.loaded) < staleAfter {
		return false
	}
	w.forget(j.name)
	t, err := w.table(ctx, j.name)
	if err != nil || !reflect.DeepEqual(t.target, j.table.target) {
		return true
	}
	j.table.loaded = t.loaded
	w.tables[j.name] = j.table // with its plans
	return false
}

// reopen takes back the refusals of rows.
func (l *bulkLanding) reopen(rows []int) {
	for _, i := range rows {
		delete(l.failed, i)
	}
}
