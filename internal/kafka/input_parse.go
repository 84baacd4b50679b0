package kafka

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

// inputConfig is what the fields of the input say.
type inputConfig struct {
	opts         []kgo.Opt
	group        string
	yieldBytes   int
	bufferBytes  int
	commitPeriod time.Duration
	lagPeriod    time.Duration
	revokeWait   time.Duration
	replay       bool
}

func parseInput(conf *service.ParsedConfig) (inputConfig, error) {
	p := &parser{conf: conf}
	cfg := inputConfig{
		opts:         p.connection(),
		group:        p.optionalText(fieldConsumerGroup),
		yieldBytes:   int(p.size(fieldMaxYieldBatch)),
		bufferBytes:  int(p.size(fieldPartitionBuffer)),
		commitPeriod: p.duration(fieldCommitPeriod),
		lagPeriod:    p.duration(fieldLagRefresh),
		revokeWait:   p.duration(fieldRebalanceTimeout) / 2,
		replay:       p.flag(fieldAutoReplayNacks),
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{fieldCommitPeriod, cfg.commitPeriod}, {fieldLagRefresh, cfg.lagPeriod}} {
		if f.d <= 0 {
			p.failed(f.name, fmt.Errorf("%s is no period", f.d))
		}
	}
	start := p.start()
	cfg.opts = append(cfg.opts, p.what(start, cfg.group != "")...)
	cfg.opts = append(cfg.opts, p.fetching(start)...)
	if cfg.group != "" {
		cfg.opts = append(cfg.opts, p.member(cfg.group)...)
	}
	return cfg, p.err()
}

// start is where a partition without an offset begins.
func (p *parser) start() kgo.Offset {
	name := p.text(fieldStartOffset)
	if p.conf.Contains(fieldStartFromOldest) {
		name = "latest"
		if p.flag(fieldStartFromOldest) {
			name = "earliest"
		}
	}
	switch name {
	case "latest":
		return kgo.NewOffset().AtEnd()
	case "committed":
		return kgo.NoResetOffset()
	default:
		return kgo.NewOffset().AtStart()
	}
}

// what are the options that say which topics or partitions are read.
func (p *parser) what(start kgo.Offset, group bool) (opts []kgo.Opt) {
	set, err := parseTopics(p.optionalTexts(fieldTopics), start)
	if err != nil {
		p.failed(fieldTopics, err)
	}
	include, exclude := p.optionalTexts(fieldRegexpTopicsInclude), p.optionalTexts(fieldRegexpTopicsExclude)
	patterns := len(include) > 0
	if p.conf.Contains(fieldRegexpTopics) && p.flag(fieldRegexpTopics) {
		patterns, include = true, append(include, set.topics...)
		set.topics = nil
	}
	for _, list := range [][]string{include, exclude} {
		for _, pattern := range list {
			if _, err := regexp.Compile(pattern); err != nil {
				p.failed(fieldRegexpTopicsInclude, err)
			}
		}
	}
	switch {
	case patterns && len(set.topics)+len(set.partitions) > 0:
		p.failed(fieldTopics, errors.New("it excludes regexp_topics_include"))
	case patterns:
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics(include...))
		if len(exclude) > 0 {
			opts = append(opts, kgo.ConsumeExcludeTopics(exclude...))
		}
	case len(exclude) > 0:
		p.failed(fieldRegexpTopicsExclude, errors.New("it needs regexp_topics_include"))
	case len(set.partitions) > 0 && group:
		p.failed(fieldTopics, errors.New("single partitions cannot be read with a consumer_group"))
	case len(set.partitions) > 0:
		opts = append(opts, kgo.ConsumePartitions(set.partitions))
	case len(set.topics) > 0:
		opts = append(opts, kgo.ConsumeTopics(set.topics...))
	default:
		p.failed(fieldTopics, errors.New("no topic is named"))
	}
	return opts
}

func (p *parser) fetching(start kgo.Offset) []kgo.Opt {
	isolation := kgo.ReadUncommitted()
	if p.text(fieldIsolation) == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	most := p.size(fieldFetchMaxBytes)
	opts := []kgo.Opt{
		kgo.ConsumeResetOffset(start),
		kgo.FetchIsolationLevel(isolation),
		kgo.Rack(p.text(fieldRackID)),
		kgo.FetchMaxBytes(most),
		kgo.FetchMaxPartitionBytes(p.size(fieldFetchMaxPartition)),
		kgo.FetchMinBytes(p.size(fieldFetchMinBytes)),
		kgo.FetchMaxWait(p.duration(fieldFetchMaxWait)),
	}
	if most > brokerMaxRead {
		opts = append(opts, kgo.BrokerMaxReadBytes(most))
	}
	return opts
}

// brokerMaxRead is the client's default for the largest answer that it takes; what may be fetched must not be above it.
const brokerMaxRead = 100 << 20

// member are the options of a member of a group. A rebalance waits while records are taken over from the client, so that none
// of a partition that is gone can get in after it.
func (p *parser) member(group string) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.RebalanceTimeout(p.duration(fieldRebalanceTimeout)),
		kgo.SessionTimeout(p.duration(fieldSessionTimeout)),
		kgo.HeartbeatInterval(p.duration(fieldHeartbeatInterval)),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	}
	if id := p.text(fieldInstanceID); id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	return opts
}
