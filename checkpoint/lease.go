package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// acquire takes the lease if it is free, expired or already ours, with a new epoch. Otherwise it says who has it for how long.
func (s *SQLStore) acquire(ctx context.Context) (owner string, remaining time.Duration, _ error) {
	s.held = false
	if _, err := s.query(ctx, sqlMakeLease, declPipeline, s.cfg.Key); err != nil && !hasNumber(err, errDuplicateKey) {
		return "", 0, err
	}
	takeover := int64(0)
	if s.cfg.Takeover {
		takeover = 1
	}
	rows, err := s.query(ctx, sqlAcquire, declAcquire, s.cfg.Key, s.cfg.Owner, s.cfg.Lease.Milliseconds(), takeover)
	if err != nil {
		return "", 0, err
	}
	if len(rows) == 1 && len(rows[0]) == 1 {
		epoch, ok := rows[0][0].(int64)
		if !ok {
			return "", 0, fmt.Errorf("the epoch is a %T", rows[0][0])
		}
		s.held, s.epoch = true, epoch
		crashpoint.Hit(crashpoint.LeaseTaken)
		s.mu.Lock()
		s.lost = make(chan struct{})
		s.mu.Unlock()
		return "", 0, nil
	}
	owner, remaining, found, err := s.holder(ctx)
	if err == nil && !found {
		err = errors.New("the lease row has gone")
	}
	return owner, remaining, err
}

// holder says who has the lease, or had it last.
func (s *SQLStore) holder(ctx context.Context) (owner string, remaining time.Duration, found bool, _ error) {
	rows, err := s.query(ctx, sqlHolder, declPipeline, s.cfg.Key)
	if err != nil {
		return "", 0, false, err
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return "", 0, false, nil
	}
	owner, _ = rows[0][0].(string)
	ms, _ := rows[0][1].(int64)
	return owner, time.Duration(ms) * time.Millisecond, true, nil
}

// lose notes that the lease is somebody else's.
func (s *SQLStore) lose() {
	if s.held {
		s.held = false
		s.mu.Lock()
		close(s.lost)
		s.mu.Unlock()
	}
}

// Lost gives a channel that is closed when the lease that Load took is lost: another process may be giving out the same changes,
// so this one should stop. It belongs to the last Load.
func (s *SQLStore) Lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// startRenewing starts the goroutine that renews the lease three times per term. stopRenewing waits for it.
func (s *SQLStore) startRenewing() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.mu.Lock()
	s.stop, s.stopped = cancel, done
	s.mu.Unlock()
	go func() {
		defer close(done)
		s.renewUntil(ctx)
	}()
}

// stopRenewing ends the goroutine, which gives up what it has asked the server, and waits for it.
func (s *SQLStore) stopRenewing() {
	s.mu.Lock()
	stop, stopped := s.stop, s.stopped
	s.stop, s.stopped = nil, nil
	s.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}

func (s *SQLStore) renewUntil(ctx context.Context) {
	renewed := time.Now()
	ticker := time.NewTicker(s.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		held, err := s.renew(ctx)
		switch {
		case ctx.Err() != nil || !held:
			return
		case err == nil:
			renewed = began
		case time.Since(renewed) > s.cfg.Lease:
			// Nobody may have taken it, but anybody can.
			if s.take(ctx) == nil {
				s.lose()
				s.give()
			}
			return
		}
	}
}

// renew reports whether the lease is still ours, or cannot be known not to be.
func (s *SQLStore) renew(ctx context.Context) (held bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Lease/3)
	defer cancel()
	if err := s.take(ctx); err != nil {
		return true, err
	}
	defer s.give()
	if !s.held {
		return false, nil
	}
	rows, err := s.query(ctx, sqlRenew, declRenew, s.cfg.Key, s.cfg.Owner, s.epoch, s.cfg.Lease.Milliseconds())
	if err != nil {
		return true, err
	}
	if len(rows) != 1 {
		s.lose()
		return false, nil
	}
	crashpoint.Hit(crashpoint.LeaseKept)
	return true, nil
}
