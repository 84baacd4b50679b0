package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// output is the output redpanda. Benthos calls WriteBatch up to max_in_flight times at once.
type output struct {
	cfg outputConfig
	log *service.Logger

	mu     sync.Mutex
	client *kgo.Client
}

func newOutput(conf *service.ParsedConfig, mgr *service.Resources) (*output, service.BatchPolicy, int, error) {
	cfg, err := parseOutput(conf)
	if err != nil {
		return nil, service.BatchPolicy{}, 0, err
	}
	return &output{cfg: cfg, log: mgr.Logger()}, cfg.policy, cfg.inFlight, nil
}

// Connect reaches the cluster. The client makes connections anew by itself from then on.
func (o *output) Connect(ctx context.Context) error {
	o.mu.Lock()
	client := o.client
	o.mu.Unlock()
	if client != nil {
		return nil
	}
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.WithLogger(clientLog{o.log})}, o.cfg.opts...)...)
	if err != nil {
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	o.mu.Lock()
	o.client = client
	o.mu.Unlock()
	return nil
}

// WriteBatch writes the records of a batch and waits for all answers. It refuses the records that are to blame, and returns
// ErrNotConnected for what is no record's fault: Benthos then writes the same batch again before any other.
func (o *output) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	o.mu.Lock()
	client := o.client
	o.mu.Unlock()
	if client == nil {
		return service.ErrNotConnected
	}
	w := &write{batch: batch, answered: make(chan struct{})}
	w.open.Store(1)
	e := o.evaluator(batch)
	for i := range batch {
		r, err := e.record(i)
		if err != nil {
			w.refuse(i, err)
			continue
		}
		w.open.Add(1)
		client.Produce(ctx, r, func(r *kgo.Record, err error) {
			defer w.close()
			if err != nil {
				w.failed(i, fmt.Errorf("writing to topic %s: %w", r.Topic, err), o.blames(err))
			}
		})
	}
	w.close()
	select {
	case <-w.answered:
	case <-ctx.Done(): // what was sent cannot be called back, so no answer may come for as long as the brokers are away
		return ctx.Err()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.passing != nil:
		o.log.Errorf("%v; the batch is written again", w.passing)
		if err := pause(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", w.passing, service.ErrNotConnected)
	case w.refused != nil:
		return w.refused
	default:
		return nil
	}
}

// pause keeps a batch that fails at once from being written as fast as the processor goes.
func pause(ctx context.Context) error {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// blames tells whether an error is the record's own fault.
func (o *output) blames(err error) bool {
	if errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp) {
		return true
	}
	if o.cfg.partition != nil && strings.Contains(err.Error(), "invalid record partitioning choice") { // the client has no value for it
		return true
	}
	if _, fixed := o.cfg.topic.Static(); fixed {
		return false
	}
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.InvalidTopicException) || errors.Is(err, kerr.TopicAuthorizationFailed)
}

// write is a batch on its way. Answers come on goroutines of the client.
type write struct {
	batch    service.MessageBatch
	open     atomic.Int64 // answers that are missing, and one until all is sent
	answered chan struct{}

	mu      sync.Mutex
	refused *service.BatchError
	passing error
}

func (w *write) close() {
	if w.open.Add(-1) == 0 {
		close(w.answered)
	}
}

func (w *write) failed(i int, err error, blamed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !blamed {
		w.passing = err
		return
	}
	w.refuseLocked(i, err)
}

func (w *write) refuse(i int, err error) { w.failed(i, err, true) }

func (w *write) refuseLocked(i int, err error) {
	if w.refused == nil {
		w.refused = service.NewBatchError(w.batch, err)
	}
	w.refused = w.refused.Failed(i, err)
}

// Close ends the client. Batches that are being written are over by then.
func (o *output) Close(context.Context) error {
	o.mu.Lock()
	client := o.client
	o.client = nil
	o.mu.Unlock()
	if client != nil {
		client.Close()
	}
	return nil
}

// ConnectionTest reaches a broker and goes again.
func (o *output) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	return testConnection(ctx, o.cfg.opts)
}

// evaluator makes records of the messages of a batch.
type evaluator struct {
	cfg              *outputConfig
	batch            service.MessageBatch
	topic, key       *service.MessageBatchInterpolationExecutor
	partition, stamp *service.MessageBatchInterpolationExecutor
}

func (o *output) evaluator(batch service.MessageBatch) *evaluator {
	e := &evaluator{cfg: &o.cfg, batch: batch, topic: batch.InterpolationExecutor(o.cfg.topic)}
	if o.cfg.key != nil {
		e.key = batch.InterpolationExecutor(o.cfg.key)
	}
	if o.cfg.partition != nil {
		e.partition = batch.InterpolationExecutor(o.cfg.partition)
	}
	if o.cfg.timestamp != nil {
		e.stamp = batch.InterpolationExecutor(o.cfg.timestamp)
	}
	return e
}

func (e *evaluator) record(i int) (*kgo.Record, error) {
	r := &kgo.Record{}
	var err error
	if r.Topic, err = e.topic.TryString(i); err != nil {
		return nil, fmt.Errorf("finding the topic: %w", err)
	}
	if r.Value, err = e.batch[i].AsBytes(); err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	if e.key != nil {
		key, err := e.key.TryBytes(i)
		if err != nil {
			return nil, fmt.Errorf("finding the key: %w", err)
		}
		if len(key) > 0 {
			r.Key = key
		}
	}
	if e.partition != nil {
		n, err := number(e.partition, i, 32)
		if err != nil {
			return nil, fmt.Errorf("finding the partition: %w", err)
		}
		r.Partition = int32(n)
	}
	if e.stamp != nil {
		n, err := number(e.stamp, i, 64)
		if err != nil {
			return nil, fmt.Errorf("finding the timestamp: %w", err)
		}
		r.Timestamp = time.UnixMilli(n)
	}
	if e.cfg.headers != nil {
		err = e.cfg.headers.each(e.batch[i], func(k, v string) error {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
			return nil
		})
	}
	return r, err
}

func number(x *service.MessageBatchInterpolationExecutor, i, bits int) (int64, error) {
	text, err := x.TryString(i)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}
