package kafka

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

const (
	fieldTopic           = "topic"
	fieldKey             = "key"
	fieldPartition       = "partition"
	fieldPartitioner     = "partitioner"
	fieldIdempotentWrite = "idempotent_write"
	fieldAcks            = "acks"
	fieldCompression     = "compression"
	fieldAutoTopics      = "allow_auto_topic_creation"
	fieldTimeout         = "timeout"
	fieldMaxMessage      = "max_message_bytes"
	fieldBrokerWriteMax  = "broker_write_max_bytes"
	fieldTimestampMs     = "timestamp_ms"
	fieldMetadata        = "metadata"
	fieldMaxInFlight     = "max_in_flight"
	fieldBatching        = "batching"
)

const outputDescription = `
It is part of the standalone binary. Redpanda Connect has a component of the same name and with the same fields, so a pipeline runs in both.

A message without a body becomes a record without a value, which is a tombstone in a compacted topic. The tombstones of ` + "`mssql_cdc`" + ` are such messages; a mapping cannot make one, since ` + "`root = null`" + ` is a body of four bytes.

== Order

The records of a batch are written in its order. Set ` + "`max_in_flight: 1`" + ` and ` + "`pipeline.threads: 1`" + ` where order matters: with more, batches are written at the same time. Records with the same key go to the same partition.

== What cannot be written

A record that is too large, or that the broker finds invalid, is refused by itself, and the others of its batch are written. What is not a record's fault is tried again in place, so that nothing overtakes it: brokers that are away, a topic that is not there, a right that is missing. A topic that cannot be written and whose name comes from the message is the record's fault.
`

func outputSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Beta().
		Categories("Services").
		Summary("Writes messages to topics of a Kafka cluster, and waits until they are stored.").
		Description(outputDescription).
		Fields(connectionFields()...).
		Fields(
			service.NewInterpolatedStringField(fieldTopic).
				Description("The topic of each message.").
				Example("orders").
				Example("shop.${! @database_schema }.${! @table }"),
			service.NewInterpolatedStringField(fieldKey).
				Description("The key of each message. A record whose key is empty has none.").
				Example(`${! @key.or("") }`).
				Optional(),
			service.NewInterpolatedStringField(fieldPartition).
				Description("The partition of each message, for `partitioner: manual`.").
				Example("${! @kafka_partition }").
				Optional(),
			service.NewStringAnnotatedEnumField(fieldPartitioner, map[string]string{
				"murmur2_hash": "By a hash of the key, as Kafka's own clients do it; records without a key go to one partition for a while, then to another.",
				"round_robin":  "In turns, whatever the key.",
				"least_backup": "The one for which the fewest records wait, whatever the key.",
				"manual":       "As `partition` says.",
			}).
				Description("How the partition of a record is found. By default as `murmur2_hash` does it.").
				Optional().
				Advanced(),
			service.NewInterpolatedStringField(fieldTimestampMs).
				Description("The time of each record in milliseconds since 1970. Unset, it is the time of writing.").
				Example("${! @commit_ts_ms }").
				Optional().
				Advanced(),
			service.NewMetadataFilterField(fieldMetadata).
				Description("Which metadata become headers. None do by default, and then what reads the topic knows neither operation nor table.").
				Example(map[string]any{"include_patterns": []string{".*"}}).
				Optional(),
			service.NewIntField(fieldMaxInFlight).
				Description("Batches that are written at the same time. 1 keeps their order.").
				Default(256),
			service.NewBatchPolicyField(fieldBatching),
			service.NewBoolField(fieldIdempotentWrite).
				Description("Whether the brokers drop what is sent to them twice because an answer got lost. Old clusters need the right IDEMPOTENT_WRITE for it.").
				Default(true).
				Advanced(),
			service.NewStringAnnotatedEnumField(fieldAcks, map[string]string{
				"all":    "All replicas in sync have the record. `idempotent_write` needs it.",
				"leader": "The leader has it; it is lost when the leader fails before others have it.",
				"none":   "Nobody is asked; records may be lost.",
			}).
				Description("When a record counts as stored.").
				Default("all").
				Advanced(),
			service.NewStringEnumField(fieldCompression, "lz4", "snappy", "gzip", "none", "zstd").
				Description("How batches of records are compressed. By default with snappy.").
				Optional().
				Advanced(),
			service.NewBoolField(fieldAutoTopics).
				Description("Whether a topic that is not there may be made by the broker, if its settings allow that.").
				Default(true).
				Advanced(),
			service.NewDurationField(fieldTimeout).
				Description("How long a broker may take to store what it was sent, before it is sent again.").
				Default("10s").
				Advanced(),
			service.NewStringField(fieldMaxMessage).
				Description("The largest record, which is also the largest batch of records; a larger one is refused. The broker's or topic's `max.message.bytes` must allow it.").
				Default("1MiB").
				Example("10MiB").
				Advanced(),
			service.NewStringField(fieldBrokerWriteMax).
				Description("Most bytes that are sent to a broker in one request; its `socket.request.max.bytes` must allow it.").
				Default("100MiB").
				Advanced(),
		).
		LintRule(outputLint)
}

const outputLint = `
root = if this.partitioner.or("") == "manual" && this.partition.or("") == "" {
  "partitioner: manual needs partition"
} else if this.partitioner.or("") != "manual" && this.partition.or("") != "" {
  "partition needs partitioner: manual"
} else if this.idempotent_write.or(true) && this.acks.or("all") != "all" {
  "idempotent_write needs acks: all"
}
`
