package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumer is a client, what polls it, and what commits for it.
type consumer struct {
	cfg    inputConfig
	client *kgo.Client
	lanes  *lanes
	log    *service.Logger
	// measured takes the lag of a partition.
	measured func(laneKey, int64)

	life       context.Context // ends when the consumer is closed; it is no caller's
	cancel     context.CancelFunc
	running    sync.WaitGroup
	committing chan struct{} // holds a token while nobody commits
}

// startConsumer reaches the cluster and begins to read.
func startConsumer(ctx context.Context, cfg inputConfig, log *service.Logger, measured func(laneKey, int64)) (*consumer, error) {
	c := &consumer{cfg: cfg, log: log, measured: measured, committing: make(chan struct{}, 1)}
	c.lanes = newLanes(cfg.yieldBytes, cfg.bufferBytes, cfg.group == "")
	c.committing <- struct{}{}
	c.life, c.cancel = context.WithCancel(context.Background())
	opts := append([]kgo.Opt{kgo.WithLogger(clientLog{log})}, cfg.opts...)
	if cfg.group != "" {
		opts = append(opts, kgo.OnPartitionsAssigned(c.assigned), kgo.OnPartitionsRevoked(c.revoked), kgo.OnPartitionsLost(c.lost))
	}
	var err error
	if c.client, err = kgo.NewClient(opts...); err != nil {
		c.cancel()
		return nil, err
	}
	if err := c.client.Ping(ctx); err != nil {
		c.close(ctx)
		return nil, err
	}
	c.running.Go(func() { c.poll(c.life) })
	c.running.Go(func() { c.tick(c.life) })
	return c, nil
}

// poll moves what was fetched to the lanes until ctx is over.
func (c *consumer) poll(ctx context.Context) {
	said := map[string]bool{}
	for ctx.Err() == nil {
		fetches := c.client.PollFetches(ctx)
		var pause map[string][]int32
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			k := laneKey{p.Topic, p.Partition}
			if err := p.Err; err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				c.say(said, k, err)
			}
			if c.lanes.add(k, p.Records, p.HighWatermark) {
				if pause == nil {
					pause = map[string][]int32{}
				}
				pause[k.topic] = append(pause[k.topic], k.partition)
			}
		})
		if pause != nil {
			c.client.PauseFetchPartitions(pause)
		}
		c.client.AllowRebalance()
	}
}

// say logs what is wrong with a partition once.
func (c *consumer) say(said map[string]bool, k laneKey, err error) {
	if key := k.topic + "\x00" + err.Error(); !said[key] {
		said[key] = true
		c.log.Errorf("reading topic %s, partition %d: %v; it is tried again", k.topic, k.partition, err)
	}
}

// tick commits and measures from time to time.
func (c *consumer) tick(ctx context.Context) {
	commit, lag := time.NewTicker(c.cfg.commitPeriod), time.NewTicker(c.cfg.lagPeriod)
	defer commit.Stop()
	defer lag.Stop()
	for {
		select {
		case <-commit.C:
			c.commit(ctx)
		case <-lag.C:
			c.lanes.lag(c.measured)
		case <-ctx.Done():
			return
		}
	}
}

// commit stores the offsets of what is acknowledged. What cannot be stored now is tried again the next time.
func (c *consumer) commit(ctx context.Context) {
	if c.hold(ctx) {
		c.store(ctx, c.client)
		c.release()
	}
}

// hold waits until no commit is under way, and keeps others from beginning one.
func (c *consumer) hold(ctx context.Context) bool {
	select {
	case <-c.committing:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *consumer) release() { c.committing <- struct{}{} }

func (c *consumer) store(ctx context.Context, client *kgo.Client) {
	if c.cfg.group == "" {
		return
	}
	offsets := c.lanes.acknowledged()
	client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				c.log.Warnf("committing offsets: %v; it is tried again", err)
			}
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				k := laneKey{t.Topic, p.Partition}
				switch err := kerr.ErrorForCode(p.ErrorCode); {
				case err == nil:
					c.lanes.committed(k, offsets[k.topic][k.partition])
				case !passing(err):
					c.log.Warnf("committing offset of topic %s, partition %d: %v; it is tried again", k.topic, k.partition, err)
				}
			}
		}
	})
}

// passing tells whether a commit was refused only because the group is being rebalanced.
func passing(err error) bool {
	return errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.UnknownMemberID)
}

// assigned is called as soon as the client exists, maybe before startConsumer knows it; so are the next two.
func (c *consumer) assigned(_ context.Context, client *kgo.Client, m map[string][]int32) {
	c.lanes.assign(m)
	// A partition that was paused when it left may be back.
	client.ResumeFetchPartitions(m)
}

// revoked gives partitions away in order: what is out of them is waited for, what is acknowledged is committed, and only then
// may another member begin. No other commit runs until they are forgotten, so none can set back what that member commits.
func (c *consumer) revoked(ctx context.Context, client *kgo.Client, m map[string][]int32) {
	bound, cancel := context.WithTimeout(c.life, c.cfg.revokeWait)
	c.lanes.settle(bound, m)
	cancel()
	if c.hold(ctx) {
		// The client calls this without partitions as well; committing then keeps what is acknowledged from being read twice.
		c.store(ctx, client)
		defer c.release()
	}
	c.lanes.drop(m)
}

// lost forgets partitions that another member may have already: nothing may be committed for them.
func (c *consumer) lost(_ context.Context, _ *kgo.Client, m map[string][]int32) { c.lanes.drop(m) }

// close ends reading, commits what is acknowledged, and leaves the group.
func (c *consumer) close(ctx context.Context) {
	c.cancel()
	c.running.Wait()
	c.commit(ctx)
	c.client.CloseAllowingRebalance()
}
