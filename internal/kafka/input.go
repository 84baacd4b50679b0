package kafka

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"
)

// input is the input redpanda. Benthos calls Connect and ReadBatch from one goroutine, Close from another.
type input struct {
	cfg inputConfig
	log *service.Logger
	lag func(laneKey, int64)

	mu       sync.Mutex
	consumer *consumer
}

func newInput(conf *service.ParsedConfig, mgr *service.Resources) (*input, error) {
	cfg, err := parseInput(conf)
	if err != nil {
		return nil, err
	}
	gauge := mgr.Metrics().NewGauge("redpanda_lag", "topic", "partition")
	lag := func(k laneKey, n int64) { gauge.Set(n, k.topic, strconv.Itoa(int(k.partition))) }
	return &input{cfg: cfg, log: mgr.Logger(), lag: lag}, nil
}

// Connect reaches the cluster. The client makes connections anew by itself from then on.
func (in *input) Connect(ctx context.Context) error {
	in.mu.Lock()
	running := in.consumer != nil
	in.mu.Unlock()
	if running {
		return nil
	}
	c, err := startConsumer(ctx, in.cfg, in.log, in.lag)
	if err != nil {
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	in.mu.Lock()
	in.consumer = c
	in.mu.Unlock()
	return nil
}

// ReadBatch gives out the next batch of some partition.
func (in *input) ReadBatch(ctx context.Context) (service.MessageBatch, service.AckFunc, error) {
	in.mu.Lock()
	c := in.consumer
	in.mu.Unlock()
	if c == nil {
		return nil, nil, service.ErrNotConnected
	}
	d, resume, err := c.lanes.next(ctx)
	if err != nil {
		return nil, nil, err
	}
	k := d.lane.key
	if resume {
		c.client.ResumeFetchPartitions(map[string][]int32{k.topic: {k.partition}})
	}
	batch := make(service.MessageBatch, len(d.records))
	for i, h := range d.records {
		batch[i] = toMessage(h)
	}
	return batch, func(_ context.Context, err error) error {
		if err != nil && !in.cfg.replay {
			in.log.Warnf("dropping %d refused messages of topic %s, partition %d from offset %d: %v", len(d.records), k.topic, k.partition, d.records[0].record.Offset, err)
		}
		c.lanes.resolve(d, err != nil && in.cfg.replay)
		return nil
	}, nil
}

// Close commits what is acknowledged and leaves the group.
func (in *input) Close(ctx context.Context) error {
	in.mu.Lock()
	c := in.consumer
	in.consumer = nil
	in.mu.Unlock()
	if c != nil {
		c.close(ctx)
	}
	return nil
}

// ConnectionTest reaches a broker and goes again.
func (in *input) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	return testConnection(ctx, in.cfg.opts)
}
