package kafka

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

// toMessage makes a message of a record. A record without a value is a message without a body, which a mapping cannot make.
func toMessage(h held) *service.Message {
	r := h.record
	m := service.NewMessage(r.Value)
	for _, header := range r.Headers {
		m.MetaSetMut(header.Key, string(header.Value))
	}
	m.MetaSetMut("kafka_topic", r.Topic)
	m.MetaSetMut("kafka_partition", int(r.Partition))
	m.MetaSetMut("kafka_offset", int(r.Offset))
	m.MetaSetMut("kafka_key", r.Key)
	m.MetaSetMut("kafka_timestamp_ms", r.Timestamp.UnixMilli())
	m.MetaSetMut("kafka_timestamp_unix", r.Timestamp.Unix())
	m.MetaSetMut("kafka_tombstone_message", r.Value == nil)
	m.MetaSetMut("kafka_lag", h.lag)
	return m
}
