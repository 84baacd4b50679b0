package kafka

import (
	"github.com/redpanda-data/benthos/v4/public/service"
)

const (
	fieldTopics              = "topics"
	fieldRegexpTopics        = "regexp_topics"
	fieldRegexpTopicsInclude = "regexp_topics_include"
	fieldRegexpTopicsExclude = "regexp_topics_exclude"
	fieldConsumerGroup       = "consumer_group"
	fieldStartOffset         = "start_offset"
	fieldStartFromOldest     = "start_from_oldest"
	fieldRackID              = "rack_id"
	fieldInstanceID          = "instance_id"
	fieldRebalanceTimeout    = "rebalance_timeout"
	fieldSessionTimeout      = "session_timeout"
	fieldHeartbeatInterval   = "heartbeat_interval"
	fieldFetchMaxBytes       = "fetch_max_bytes"
	fieldFetchMaxWait        = "fetch_max_wait"
	fieldFetchMinBytes       = "fetch_min_bytes"
	fieldFetchMaxPartition   = "fetch_max_partition_bytes"
	fieldIsolation           = "transaction_isolation_level"
	fieldCommitPeriod        = "commit_period"
	fieldPartitionBuffer     = "partition_buffer_bytes"
	fieldMaxYieldBatch       = "max_yield_batch_bytes"
	fieldLagRefresh          = "topic_lag_refresh_period"
	fieldAutoReplayNacks     = "auto_replay_nacks"
)

const inputDescription = `
It is part of the standalone binary. Redpanda Connect has a component of the same name and with the same fields, so a pipeline runs in both.

== Order

Each partition is read in its order. One batch of a partition is out at a time, and the next one is given out after the acknowledgement. A batch that is refused goes out again before anything else of its partition, so what comes last for a key is what is last in the partition. Several partitions are out at the same time. Set ` + "`pipeline.threads: 1`" + ` and the output's ` + "`max_in_flight: 1`" + ` when batches of several partitions must not be written at the same time.

== Delivery

At least once. With a ` + "`consumer_group`" + `, the offsets of what is acknowledged are committed, and nothing beyond. When partitions go to another member, what is out of them is waited for first, up to half of the ` + "`rebalance_timeout`" + `; what is not acknowledged until then comes again there.

== Metadata

- ` + "`kafka_topic`, `kafka_partition`, `kafka_offset`" + `: where the record is
- ` + "`kafka_key`" + `: its key, as bytes
- ` + "`kafka_timestamp_ms`, `kafka_timestamp_unix`" + `: its time, in milliseconds and in seconds since 1970
- ` + "`kafka_tombstone_message`" + `: true when it has no value; the message then has no body
- ` + "`kafka_lag`" + `: how many records of the partition were behind it when it was fetched
- a key for each header; of headers with the same name the last one counts

The metric ` + "`redpanda_lag`" + ` (labels topic and partition) is the number of records that are not acknowledged yet.
`

func inputSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Beta().
		Categories("Services").
		Summary("Reads topics of a Kafka cluster, each partition in its order.").
		Description(inputDescription).
		Fields(connectionFields()...).
		Fields(
			service.NewStringListField(fieldTopics).
				Description("What to read: topics, or partitions of them. `shop:3` is partition 3 of shop, `shop:0-5` are six of them, and `shop:3:100` is partition 3 from offset 100. Partitions are for use without a `consumer_group`. An item may have several, divided by commas.").
				Example([]string{"shop.dbo.orders", "shop.dbo.customers"}).
				Example([]string{"shop.dbo.orders:0-3"}).
				Optional(),
			service.NewStringListField(fieldRegexpTopicsInclude).
				Description("Patterns instead of `topics`: every topic is read whose name one of them matches anywhere in it; write `^` and `$` for the whole name.").
				Example([]string{`^shop\.dbo\.`}).
				Optional(),
			service.NewStringListField(fieldRegexpTopicsExclude).
				Description("Topics that one of these patterns matches are not read, whatever the patterns of what to read say.").
				Optional(),
			service.NewStringField(fieldConsumerGroup).
				Description("The group whose members share the partitions, and under which offsets are committed. Without it all partitions are read, from `start_offset` at each start.").
				Optional(),
			service.NewStringAnnotatedEnumField(fieldStartOffset, map[string]string{
				"earliest":  "The oldest record that is there.",
				"latest":    "What is written from now on.",
				"committed": "Nowhere: a partition without a committed offset is not read, and an error is logged.",
			}).
				Description("Where to begin in a partition that has no committed offset, or whose committed offset is not there any more.").
				Default("earliest").
				Advanced(),
			service.NewBoolField(fieldStartFromOldest).
				Description("The older form of `start_offset`: true is earliest, false is latest.").
				Optional().
				Deprecated(),
			service.NewStringAnnotatedEnumField(fieldIsolation, map[string]string{
				"read_uncommitted": "All records.",
				"read_committed":   "Of records that were written in transactions, those of committed ones.",
			}).
				Description("Which records of transactions are read.").
				Default("read_uncommitted"),
			service.NewStringField(fieldMaxYieldBatch).
				Description("How many bytes of records are a batch. A record that is larger is a batch of its own. Since one batch of a partition is out at a time, this bounds what an output can write at once: 1MB suits `mssql_bulk`.").
				Default("32KB").
				Example("1MB").
				Advanced(),
			service.NewStringField(fieldPartitionBuffer).
				Description("How many bytes of a partition are held ready. A partition with more is not fetched until that many have gone out.").
				Default("1MB").
				Advanced(),
			service.NewDurationField(fieldCommitPeriod).
				Description("How often offsets are committed. They are committed as well when partitions go to another member, and at the end.").
				Default("5s").
				Advanced(),
			service.NewDurationField(fieldLagRefresh).
				Description("How often the metric `redpanda_lag` is set.").
				Default("5s").
				Advanced(),
			service.NewBoolField(fieldAutoReplayNacks).
				Description("Whether a refused batch goes out again, without end. If false, it is dropped, and its offsets count as done.").
				Default(true),
		).
		Fields(groupFields()...).
		Fields(fetchFields()...).
		LintRule(inputLint)
}

// groupFields are the fields of a member of a consumer group.
func groupFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField(fieldInstanceID).
			Description("A name that stays the same when this member is restarted, for static membership: the group waits for it for the `session_timeout` instead of giving its partitions away. It must be unique in the group.").
			Default("").
			Advanced(),
		service.NewDurationField(fieldRebalanceTimeout).
			Description("How long members have to finish and commit when the group is rebalanced.").
			Default("45s").
			Advanced(),
		service.NewDurationField(fieldSessionTimeout).
			Description("A member that was not heard of for this long loses its partitions.").
			Default("1m").
			Advanced(),
		service.NewDurationField(fieldHeartbeatInterval).
			Description("How often a member says that it is there. At most a third of `session_timeout`.").
			Default("3s").
			Advanced(),
	}
}

// fetchFields bound what a broker sends at once.
func fetchFields() []*service.ConfigField {
	return []*service.ConfigField{
		service.NewStringField(fieldRackID).
			Description("Where this client is. A broker then lets it read from a replica in the same rack.").
			Default("").
			Advanced(),
		service.NewStringField(fieldFetchMaxBytes).
			Description("Most bytes that a broker should send at once. It sends a batch of records that is larger all the same.").
			Default("50MiB").
			Advanced(),
		service.NewStringField(fieldFetchMaxPartition).
			Description("Most bytes of one partition that a broker should send at once. It sends a batch of records that is larger all the same.").
			Default("1MiB").
			Advanced(),
		service.NewStringField(fieldFetchMinBytes).
			Description("A broker waits for this many bytes, up to `fetch_max_wait`.").
			Default("1B").
			Advanced(),
		service.NewDurationField(fieldFetchMaxWait).
			Description("How long a broker waits for `fetch_min_bytes`.").
			Default("5s").
			Advanced(),
	}
}

const inputLint = `
let topics = this.topics.or([])
let include = this.regexp_topics_include.or([])
let explicit = $topics.any(t -> t.contains(":"))
root = if $topics.length() == 0 && $include.length() == 0 {
  "topics or regexp_topics_include must say what to read"
} else if $topics.length() > 0 && $include.length() > 0 {
  "topics and regexp_topics_include exclude each other"
} else if $explicit && this.consumer_group.or("") != "" {
  "single partitions cannot be read with a consumer_group, which divides the partitions itself"
} else if $explicit && this.regexp_topics.or(false) {
  "single partitions cannot be read with regexp_topics"
}
`
