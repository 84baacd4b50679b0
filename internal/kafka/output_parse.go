package kafka

import (
	"errors"
	"fmt"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

// outputConfig is what the fields of the output say.
type outputConfig struct {
	opts      []kgo.Opt
	topic     *service.InterpolatedString
	key       *service.InterpolatedString
	partition *service.InterpolatedString
	timestamp *service.InterpolatedString
	headers   *headerFilter // nil for none
	policy    service.BatchPolicy
	inFlight  int
}

func parseOutput(conf *service.ParsedConfig) (outputConfig, error) {
	p := &parser{conf: conf}
	cfg := outputConfig{
		opts:      append(p.connection(), p.producing()...),
		topic:     p.interpolated(fieldTopic),
		key:       p.interpolated(fieldKey),
		partition: p.interpolated(fieldPartition),
		timestamp: p.interpolated(fieldTimestampMs),
		policy:    field(p, conf.FieldBatchPolicy, fieldBatching),
		inFlight:  field(p, conf.FieldInt, fieldMaxInFlight),
	}
	cfg.headers = p.headers()
	if cfg.inFlight < 1 {
		p.failed(fieldMaxInFlight, errors.New("it must be at least 1"))
	}
	manual := p.optionalText(fieldPartitioner) == "manual"
	if manual != (cfg.partition != nil) {
		p.failed(fieldPartition, errors.New("it is for partitioner: manual, which needs it"))
	}
	return cfg, p.err()
}

func (p *parser) producing() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ProduceRequestTimeout(p.duration(fieldTimeout)),
		kgo.ProducerBatchMaxBytes(p.size(fieldMaxMessage)),
		kgo.BrokerMaxWriteBytes(p.size(fieldBrokerWriteMax)),
		p.partitioner(),
	}
	if p.flag(fieldAutoTopics) {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	acks := p.text(fieldAcks)
	switch acks {
	case "leader":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	case "none":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	default:
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	}
	if !p.flag(fieldIdempotentWrite) {
		opts = append(opts, kgo.DisableIdempotentWrite())
	} else if acks != "all" {
		p.failed(fieldAcks, fmt.Errorf("%q: idempotent_write needs all", acks))
	}
	if c := p.compression(); c != nil {
		opts = append(opts, kgo.ProducerBatchCompression(*c))
	}
	return opts
}

func (p *parser) partitioner() kgo.Opt {
	switch name := p.optionalText(fieldPartitioner); name {
	case "round_robin":
		return kgo.RecordPartitioner(kgo.RoundRobinPartitioner())
	case "least_backup":
		return kgo.RecordPartitioner(kgo.LeastBackupPartitioner())
	case "manual":
		return kgo.RecordPartitioner(kgo.ManualPartitioner())
	default:
		return kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))
	}
}

// compression is nil for the client's own choice.
func (p *parser) compression() *kgo.CompressionCodec {
	var c kgo.CompressionCodec
	switch p.optionalText(fieldCompression) {
	case "lz4":
		c = kgo.Lz4Compression()
	case "snappy":
		c = kgo.SnappyCompression()
	case "gzip":
		c = kgo.GzipCompression()
	case "zstd":
		c = kgo.ZstdCompression()
	case "none":
		c = kgo.NoCompression()
	default:
		return nil
	}
	return &c
}
