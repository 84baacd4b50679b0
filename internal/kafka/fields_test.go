package kafka

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kgo"
)

// optionCase sets a field to something that is not its default, and says which option of the client must change, and to what.
type optionCase struct {
	field, yaml string
	option      any
	want        any
}

const minimalInput = "seed_brokers: [one:9092]\ntopics: [t]\nconsumer_group: g\n"
const minimalOutput = "seed_brokers: [one:9092]\ntopic: t\n"

var connectionCases = []optionCase{
	{fieldClientID, "client_id: shop", kgo.ClientID, "shop"},
	{fieldMetadataMaxAge, "metadata_max_age: 2s", kgo.MetadataMaxAge, 2 * time.Second},
	{fieldRequestTimeoutOverhead, "request_timeout_overhead: 7s", kgo.RequestTimeoutOverhead, 7 * time.Second},
	{fieldConnIdleTimeout, "conn_idle_timeout: 31s", kgo.ConnIdleTimeout, 31 * time.Second},
}

var inputCases = []optionCase{
	{fieldConsumerGroup, "{}", kgo.ConsumerGroup, "g"},
	{fieldRackID, "rack_id: r1", kgo.Rack, "r1"},
	{fieldInstanceID, "instance_id: i1", kgo.InstanceID, "i1"},
	{fieldRebalanceTimeout, "rebalance_timeout: 33s", kgo.RebalanceTimeout, 33 * time.Second},
	{fieldSessionTimeout, "session_timeout: 44s", kgo.SessionTimeout, 44 * time.Second},
	{fieldHeartbeatInterval, "heartbeat_interval: 5s", kgo.HeartbeatInterval, 5 * time.Second},
	{fieldStartOffset, "start_offset: latest", kgo.ConsumeResetOffset, kgo.NewOffset().AtEnd()},
	{fieldStartOffset, "start_offset: committed", kgo.ConsumeResetOffset, kgo.NoResetOffset()},
	{fieldStartOffset, "{}", kgo.ConsumeResetOffset, kgo.NewOffset().AtStart()},
	{fieldStartFromOldest, "start_from_oldest: false", kgo.ConsumeResetOffset, kgo.NewOffset().AtEnd()},
	{fieldStartFromOldest, "{start_from_oldest: true, start_offset: latest}", kgo.ConsumeResetOffset, kgo.NewOffset().AtStart()},
	{fieldIsolation, "transaction_isolation_level: read_committed", kgo.FetchIsolationLevel, int8(1)},
	{fieldIsolation, "{}", kgo.FetchIsolationLevel, int8(0)},
	{fieldFetchMaxBytes, "fetch_max_bytes: 3MiB", kgo.FetchMaxBytes, int32(3 << 20)},
	{fieldFetchMaxPartition, "fetch_max_partition_bytes: 2MB", kgo.FetchMaxPartitionBytes, int32(2_000_000)},
	{fieldFetchMinBytes, "fetch_min_bytes: 1KB", kgo.FetchMinBytes, int32(1000)},
	{fieldFetchMaxWait, "fetch_max_wait: 1s", kgo.FetchMaxWait, time.Second},
}

var outputCases = []optionCase{
	{fieldTimeout, "timeout: 3s", kgo.ProduceRequestTimeout, 3 * time.Second},
	{fieldMaxMessage, "max_message_bytes: 2MiB", kgo.ProducerBatchMaxBytes, int32(2 << 20)},
	{fieldBrokerWriteMax, "broker_write_max_bytes: 50MiB", kgo.BrokerMaxWriteBytes, int32(50 << 20)},
	{fieldIdempotentWrite, "idempotent_write: false", kgo.DisableIdempotentWrite, true},
	{fieldIdempotentWrite, "{}", kgo.DisableIdempotentWrite, false},
	{fieldAcks, "{idempotent_write: false, acks: leader}", kgo.RequiredAcks, kgo.LeaderAck()},
	{fieldAcks, "{idempotent_write: false, acks: none}", kgo.RequiredAcks, kgo.NoAck()},
	{fieldAcks, "{}", kgo.RequiredAcks, kgo.AllISRAcks()},
	{fieldAutoTopics, "allow_auto_topic_creation: false", kgo.AllowAutoTopicCreation, false},
	{fieldAutoTopics, "{}", kgo.AllowAutoTopicCreation, true},
	{fieldCompression, "compression: lz4", kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.Lz4Compression()}},
	{fieldCompression, "compression: zstd", kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.ZstdCompression()}},
	{fieldCompression, "compression: gzip", kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.GzipCompression()}},
	{fieldCompression, "compression: snappy", kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.SnappyCompression()}},
	{fieldCompression, "compression: none", kgo.ProducerBatchCompression, []kgo.CompressionCodec{kgo.NoCompression()}},
}

// elsewhere says which tests fail when a field that is no option of the client is ignored.
var elsewhere = map[string]string{
	fieldSeedBrokers: "every test", fieldTLS: "TestTLS", fieldSASL: "TestSASL", fieldTopics: "every test",
	fieldRegexpTopics: "TestWhatIsRead", fieldRegexpTopicsInclude: "TestWhatIsRead", fieldRegexpTopicsExclude: "TestWhatIsRead",
	fieldMaxYieldBatch: "TestOneBatchOfAPartitionIsOutAtATime", fieldPartitionBuffer: "TestAPartitionIsPausedWhileItsBufferIsFull",
	fieldCommitPeriod: "TestOffsetsAreCommittedEachCommitPeriod", fieldLagRefresh: "TestTheLagIsMeasuredEachPeriod",
	fieldAutoReplayNacks: "TestRefusedBatchesAreDroppedWithoutReplay",
	fieldTopic:           "TestMessagesBecomeRecords", fieldKey: "TestMessagesBecomeRecords", fieldTimestampMs: "TestMessagesBecomeRecords",
	fieldMetadata: "TestMessagesBecomeRecords", fieldPartition: "TestPartitioners", fieldPartitioner: "TestPartitioners",
	fieldMaxInFlight: "TestPolicyAndMaxInFlight", fieldBatching: "TestPolicyAndMaxInFlight",
}

func TestFieldsReachTheClient(t *testing.T) {
	check := func(t *testing.T, c optionCase, opts []kgo.Opt) {
		t.Helper()
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if have := cl.OptValue(c.option); !reflect.DeepEqual(have, c.want) {
			t.Errorf("with %s the client has %v (%T), want %v (%T)", c.yaml, have, have, c.want, c.want)
		}
	}
	for _, c := range slices.Concat(connectionCases, inputCases) {
		cfg, err := parseInput(inputConf(t, merge(t, minimalInput, c.yaml)))
		if err != nil {
			t.Fatalf("%s: %v", c.yaml, err)
		}
		check(t, c, cfg.opts)
	}
	for _, c := range slices.Concat(connectionCases, outputCases) {
		cfg, err := parseOutput(outputConf(t, merge(t, minimalOutput, c.yaml)))
		if err != nil {
			t.Fatalf("%s: %v", c.yaml, err)
		}
		check(t, c, cfg.opts)
	}
}

// merge adds fields, given in block or flow style, to a config.
func merge(t *testing.T, base, more string) string {
	t.Helper()
	more = strings.TrimSuffix(strings.TrimPrefix(more, "{"), "}")
	return base + strings.ReplaceAll(more, ", ", "\n") + "\n"
}

func fieldNames(t *testing.T, view *service.ConfigView) (out []string) {
	t.Helper()
	text, err := view.FormatJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Config struct {
			Children []struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Config.Children {
		if c.Description == "" {
			t.Errorf("field %s has no description", c.Name)
		}
		out = append(out, c.Name)
	}
	return out
}

func TestEveryFieldHasATest(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range slices.Concat(connectionCases, inputCases, outputCases) {
		tested[c.field] = true
	}
	for f := range elsewhere {
		tested[f] = true
	}
	in, _ := service.GlobalEnvironment().GetInputConfig(name)
	out, _ := service.GlobalEnvironment().GetOutputConfig(name)
	seen := map[string]bool{}
	for _, f := range append(fieldNames(t, in), fieldNames(t, out)...) {
		seen[f] = true
		if !tested[f] {
			t.Errorf("no test is known for field %s", f)
		}
	}
	for f := range tested {
		if !seen[f] {
			t.Errorf("there is a test for %s, which is no field", f)
		}
	}
}

func TestOldNamesTakeTheSameFields(t *testing.T) {
	env := service.GlobalEnvironment()
	in, _ := env.GetInputConfig(name)
	oldIn, ok := env.GetInputConfig(oldName)
	if !ok {
		t.Fatal("there is no input kafka_franz")
	}
	out, _ := env.GetOutputConfig(name)
	oldOut, ok := env.GetOutputConfig(oldName)
	if !ok {
		t.Fatal("there is no output kafka_franz")
	}
	if have, want := fmt.Sprint(fieldNames(t, oldIn), fieldNames(t, oldOut)), fmt.Sprint(fieldNames(t, in), fieldNames(t, out)); have != want {
		t.Errorf("kafka_franz has %s, want %s", have, want)
	}
}

func TestLint(t *testing.T) {
	linter := service.GlobalEnvironment().NewComponentConfigLinter()
	for _, tt := range []struct{ kind, yaml, want string }{
		{"input", minimalInput, ""},
		{"input", "seed_brokers: [one:9092]\n", "must say what to read"},
		{"input", minimalInput + "regexp_topics_include: [x]\n", "exclude each other"},
		{"input", "seed_brokers: [one:9092]\ntopics: ['t:0']\nconsumer_group: g\n", "cannot be read with a consumer_group"},
		{"input", "seed_brokers: [one:9092]\ntopics: ['t:0']\nregexp_topics: true\n", "cannot be read with regexp_topics"},
		{"input", "seed_brokers: [one:9092]\ntopics: ['t:0-3:5']\n", ""},
		{"input", minimalInput + "start_offset: middle\n", "middle"},
		{"input", minimalInput + "no_such_field: 1\n", "no_such_field"},
		{"output", minimalOutput, ""},
		{"output", minimalOutput + "partitioner: manual\n", "needs partition"},
		{"output", minimalOutput + "partition: '0'\n", "needs partitioner: manual"},
		{"output", minimalOutput + "acks: leader\n", "needs acks: all"},
		{"output", minimalOutput + "acks: leader\nidempotent_write: false\n", ""},
	} {
		yaml := name + ":\n  " + strings.ReplaceAll(strings.TrimSpace(tt.yaml), "\n", "\n  ") + "\n"
		lint := linter.LintInputYAML
		if tt.kind == "output" {
			lint = linter.LintOutputYAML
		}
		lints, err := lint([]byte(yaml))
		if err != nil {
			t.Fatalf("%s: %v", yaml, err)
		}
		if got := fmt.Sprint(lints); tt.want == "" && len(lints) > 0 || !strings.Contains(got, tt.want) {
			t.Errorf("%s: lints %s, want %q", yaml, got, tt.want)
		}
	}
}

func TestWrongFieldsAreErrors(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"topics: [t]\nseed_brokers: []\n", "no broker is named"},
		{minimalInput + "fetch_max_bytes: lots\n", "is no size"},
		{minimalInput + "max_yield_batch_bytes: 0B\n", "out of range"},
		{minimalInput + "fetch_max_bytes: 3GiB\n", "out of range"},
		{minimalInput + "commit_period: 0s\n", "is no period"},
		{minimalInput + "topic_lag_refresh_period: 0s\n", "is no period"},
		{"seed_brokers: [one:9092]\ntopics: ['t:x']\n", "is no partition"},
		{"seed_brokers: [one:9092]\ntopics: ['t:3-1']\n", "is no partition"},
		{"seed_brokers: [one:9092]\ntopics: ['t:0-2000000000']\n", "is no partition"},
		{"seed_brokers: [one:9092]\ntopics: ['t:0:-4']\n", "is no offset"},
		{"seed_brokers: [one:9092]\ntopics: ['t:0', u]\n", "cannot be mixed"},
		{"seed_brokers: [one:9092]\ntopics: [':0']\n", "want topic:partition"},
		{"seed_brokers: [one:9092]\ntopics: []\n", "no topic is named"},
		{"seed_brokers: [one:9092]\nregexp_topics_include: ['(']\n", "missing closing"},
		{minimalInput + "regexp_topics_exclude: [x]\n", "needs regexp_topics_include"},
		{minimalInput + "sasl: [{mechanism: PLAIN}]\n", "needs a username"},
		{minimalInput + "sasl: [{mechanism: OAUTHBEARER}]\n", "needs a token"},
	} {
		_, err := newInput(inputConf(t, tt.yaml), service.MockResources())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
	for _, tt := range []struct{ yaml, want string }{
		{minimalOutput + "max_in_flight: 0\n", "at least 1"},
		{minimalOutput + "acks: leader\n", "needs all"},
		{minimalOutput + "partitioner: manual\n", "needs it"},
	} {
		_, _, _, err := newOutput(outputConf(t, tt.yaml), service.MockResources())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}
