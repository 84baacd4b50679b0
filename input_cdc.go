package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/outcome"
	"example.com/mssqlcdc/internal/session"
)

// cdcInput is the input mssql_cdc. Benthos calls Connect and ReadBatch from one goroutine, Close from another.
type cdcInput struct {
	cfg      capture.Config
	newStore func(capture.Observer) (checkpoint.Store, error)
	include  []string
	exclude  []string
	writer   *messageWriter
	batcher  *service.Batcher // runs the processors of a batching policy; nil without
	observer *cdcObserver
	log      *service.Logger

	mu        sync.Mutex
	flow      *capture.Flow
	connected chan struct{} // holds a token while no Connect is running
	warned    map[string]bool
}

func newCDCInput(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchInput, error) {
	p := cdcParser{conf: conf, mgr: mgr}
	in, err := p.parse()
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Connect checks the database, takes the positions and starts to read. It waits while another process holds the lease. A
// second call while it runs waits for the first.
func (in *cdcInput) Connect(ctx context.Context) error {
	select {
	case <-in.connected:
		defer func() { in.connected <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	in.mu.Lock()
	running := in.flow != nil
	in.mu.Unlock()
	if running {
		return nil
	}
	report := diagnose.Run(ctx, in.checks())
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := diagnose.Worst(report.Findings); err != nil {
		return err
	}
	in.writer.database = report.Database.Name
	in.warn(report.Findings)
	store, err := in.newStore(in.observer)
	if err != nil {
		return err
	}
	cfg := in.cfg
	cfg.Store = store
	flow, err := capture.Start(ctx, cfg)
	if err != nil {
		return errors.Join(diagnose.Wrap(err), store.Close(ctx))
	}
	in.mu.Lock()
	in.flow = flow
	in.mu.Unlock()
	return nil
}

// checks are those of a start.
func (in *cdcInput) checks() diagnose.Options {
	return diagnose.Options{Session: in.cfg.Session, Include: in.include, Exclude: in.exclude, Signals: in.cfg.Signals}
}

// warn logs each warning once; one that many tables have is one line.
func (in *cdcInput) warn(findings []diagnose.Finding) {
	tables := map[diagnose.Finding][]string{}
	var order []diagnose.Finding
	for _, f := range findings {
		if f.Severity != diagnose.Warning || in.warned[f.String()] {
			continue
		}
		in.warned[f.String()] = true
		same := diagnose.Finding{Check: f.Check, Severity: f.Severity, Message: f.Message, Remedy: f.Remedy}
		if tables[same] == nil {
			order = append(order, same)
		}
		tables[same] = append(tables[same], f.Table)
	}
	for _, f := range order {
		names := tables[f]
		f.Table = strings.Join(names, ", ")
		if n := len(names); n > 5 {
			f.Table = fmt.Sprintf("%s and %d more tables", strings.Join(names[:5], ", "), n-5)
		}
		in.log.Warn(f.String())
	}
}

// ReadBatch gives the next batch. An error that one table can be blamed for never gets here: it parks the table.
func (in *cdcInput) ReadBatch(ctx context.Context) (service.MessageBatch, service.AckFunc, error) {
	in.mu.Lock()
	flow := in.flow
	in.mu.Unlock()
	if flow == nil {
		return nil, nil, service.ErrNotConnected
	}
	for {
		b, err := flow.Next(ctx)
		if err != nil {
			return nil, nil, in.ended(ctx, flow, err)
		}
		messages, err := in.messages(ctx, b)
		switch {
		case ctx.Err() != nil:
			b.Ack(ctx.Err())
			return nil, nil, ctx.Err()
		case err != nil:
			b.Fail(err)
		case len(messages) == 0: // filtered by a processor of the batching policy
			b.Ack(nil)
		default:
			ack := b.Delivery()
			return messages, func(_ context.Context, err error) error {
				ack(err)
				return nil
			}, nil
		}
	}
}

// messages writes a batch's messages, and runs the processors of the batching policy on them.
func (in *cdcInput) messages(ctx context.Context, b *capture.Batch) (service.MessageBatch, error) {
	messages, err := in.writer.write(b)
	if err != nil || in.batcher == nil {
		return messages, err
	}
	for _, m := range messages {
		in.batcher.Add(m)
	}
	return in.batcher.Flush(ctx)
}

// ended turns the end of a flow into what Benthos understands.
func (in *cdcInput) ended(ctx context.Context, flow *capture.Flow, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	in.mu.Lock()
	if in.flow == flow {
		in.flow = nil
	}
	in.mu.Unlock()
	// What is acknowledged is saved now: the next Connect begins there.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	if closeErr := flow.Close(closing); closeErr != nil && !errors.Is(closeErr, checkpoint.ErrLeaseLost) {
		in.log.Warnf("closing: %v", closeErr)
	}
	switch {
	case errors.Is(err, capture.ErrTable):
		in.log.Errorf("the input ends, because on_table_error is stop: %v", err)
		outcome.Fail(err)
		return service.ErrEndOfInput
	case errors.Is(err, capture.ErrSnapshotsDone):
		return service.ErrEndOfInput
	case errors.Is(err, checkpoint.ErrLeaseLost):
		in.log.Warn("another process has taken over these positions; this one waits as a standby")
	case !errors.Is(err, session.ErrClosed):
		in.log.Errorf("reading stopped and begins anew: %v", err)
	}
	return service.ErrNotConnected
}

// closeBound is how long the end of a flow may take to save the last positions.
const closeBound = 10 * time.Second

// Close stops reading, saves what is acknowledged and gives the positions free.
func (in *cdcInput) Close(ctx context.Context) error {
	in.mu.Lock()
	flow := in.flow
	in.flow = nil
	in.mu.Unlock()
	var errs []error
	if flow != nil {
		saving, cancel := context.WithTimeout(ctx, closeBound)
		defer cancel()
		errs = append(errs, flow.Close(saving))
	}
	if in.batcher != nil {
		errs = append(errs, in.batcher.Close(ctx))
	}
	return errors.Join(errs...)
}

// ConnectionTest makes the checks of a start without starting: connection, login, rights, CDC state, tables.
func (in *cdcInput) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	report := diagnose.Run(ctx, in.checks())
	if err := diagnose.Worst(report.Findings); err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}
