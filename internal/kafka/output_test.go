package kafka

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMessagesBecomeRecords(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "shop.orders"))
	out := openOutput(t, brokers(c)+`
topic: shop.${! @table }
key: ${! @key.or("") }
timestamp_ms: ${! @commit_ts_ms.or(5) }
metadata:
  include_prefixes: [op]
  include_patterns: ['^table$']
`)
	full := service.NewMessage([]byte(`{"id":1}`))
	for k, v := range map[string]any{"table": "orders", "key": `{"id":1}`, "operation": "insert", "commit_ts_ms": int64(1_700_000_000_123), "lsn": "0x1"} {
		full.MetaSetMut(k, v)
	}
	stone := service.NewMessage(nil)
	stone.MetaSetMut("table", "orders")
	stone.MetaSetMut("key", `{"id":1}`)
	bare := service.NewMessage([]byte{})
	bare.MetaSetMut("table", "orders")
	if err := out.WriteBatch(t.Context(), service.MessageBatch{full, stone, bare}); err != nil {
		t.Fatal(err)
	}
	records := all(t, c, "shop.orders", 3)
	for i, want := range []struct {
		key, value []byte
		ms         int64
		headers    []string
	}{
		{[]byte(`{"id":1}`), []byte(`{"id":1}`), 1_700_000_000_123, []string{"operation=insert", "table=orders"}},
		{[]byte(`{"id":1}`), nil, 5, []string{"table=orders"}},
		{nil, []byte{}, 5, []string{"table=orders"}},
	} {
		r := records[i]
		var headers []string
		for _, h := range r.Headers {
			headers = append(headers, h.Key+"="+string(h.Value))
		}
		slices.Sort(headers)
		if !reflect.DeepEqual(r.Key, want.key) || !reflect.DeepEqual(r.Value, want.value) || r.Timestamp.UnixMilli() != want.ms || !slices.Equal(headers, want.headers) {
			t.Errorf("record %d: key %q, value %#v, time %d, headers %v", i, r.Key, r.Value, r.Timestamp.UnixMilli(), headers)
		}
	}
}

// TestATombstoneSurvivesTheRoundTrip writes a record without a value, reads it, and writes what came.
func TestATombstoneSurvivesTheRoundTrip(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "a", "b"))
	out := openOutput(t, brokers(c)+"topic: a\nkey: k\n")
	if err := out.WriteBatch(t.Context(), service.MessageBatch{service.NewMessage(nil)}); err != nil {
		t.Fatal(err)
	}
	in := openInput(t, brokers(c)+"topics: [a]\n")
	batch, ack := read(t, in)
	again := openOutput(t, brokers(c)+"topic: b\nkey: ${! @kafka_key }\n")
	if err := again.WriteBatch(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	answer(t, ack, nil)
	if r := all(t, c, "b", 1)[0]; string(r.Key) != "k" || r.Value != nil {
		t.Errorf("key %q, value %#v", r.Key, r.Value)
	}
}

func TestPartitioners(t *testing.T) {
	keyed := func(n int) (batch service.MessageBatch) {
		for i := range n {
			m := service.NewMessage([]byte("v"))
			m.MetaSetMut("k", fmt.Sprint("key-", i%4))
			m.MetaSetMut("p", fmt.Sprint(i%3))
			batch = append(batch, m)
		}
		return batch
	}
	// What the hash of Kafka's own clients gives for the keys over 3 partitions, by kgo's partitioner for a topic.
	hash := map[string]int32{}
	p := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for i := range 4 {
		key := fmt.Sprint("key-", i)
		hash[key] = int32(p.Partition(&kgo.Record{Key: []byte(key)}, 3))
	}
	byHash := func(r *kgo.Record) bool { return r.Partition == hash[string(r.Key)] }
	for _, tt := range []struct {
		name, yaml string
		want       func([]*kgo.Record) bool
	}{
		{"default", "", func(rs []*kgo.Record) bool {
			return !slices.ContainsFunc(rs, func(r *kgo.Record) bool { return !byHash(r) })
		}},
		{"murmur2_hash", "partitioner: murmur2_hash\n", func(rs []*kgo.Record) bool {
			return !slices.ContainsFunc(rs, func(r *kgo.Record) bool { return !byHash(r) })
		}},
		{"round_robin", "partitioner: round_robin\n", func(rs []*kgo.Record) bool {
			n := map[int32]int{}
			for _, r := range rs {
				n[r.Partition]++
			}
			return n[0] == 4 && n[1] == 4 && n[2] == 4
		}},
		{"manual", "partitioner: manual\npartition: ${! @p }\nmetadata: {include_prefixes: [p]}\n", func(rs []*kgo.Record) bool {
			return !slices.ContainsFunc(rs, func(r *kgo.Record) bool { return fmt.Sprint(r.Partition) != string(r.Headers[0].Value) })
		}},
		// It chooses a partition for a batch, whatever the keys.
		{"least_backup", "partitioner: least_backup\n", func(rs []*kgo.Record) bool {
			return slices.ContainsFunc(rs, func(r *kgo.Record) bool { return !byHash(r) })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := cluster(t, kfake.SeedTopics(3, "t"))
			out := openOutput(t, brokers(c)+"topic: t\nkey: ${! @k }\n"+tt.yaml)
			if err := out.WriteBatch(t.Context(), keyed(12)); err != nil {
				t.Fatal(err)
			}
			records := all(t, c, "t", 12)
			if !tt.want(records) {
				for _, r := range records {
					t.Errorf("key %s is in partition %d", r.Key, r.Partition)
				}
			}
		})
	}
}

func TestWhatCannotBeComputedRefusesTheMessage(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	for _, tt := range []struct{ yaml, want string }{
		{"topic: t\npartitioner: manual\npartition: ${! content() }\n", `finding the partition: "x" is not a number`},
		{"topic: t\npartitioner: manual\npartition: '7'\n", "invalid record partitioning choice"},
		{"topic: t\ntimestamp_ms: ${! content() }\n", `finding the timestamp: "x" is not a number`},
		{"topic: t\nkey: ${! this.id }\n", "finding the key"},
		{"topic: ${! this.id }\n", "finding the topic"},
	} {
		err := openOutput(t, brokers(c)+tt.yaml).WriteBatch(t.Context(), messages("x"))
		var refused *service.BatchError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}

func TestPolicyAndMaxInFlight(t *testing.T) {
	_, policy, inFlight, err := newOutput(outputConf(t, minimalOutput+"max_in_flight: 3\nbatching: {count: 17}\n"), service.MockResources())
	if err != nil || policy.Count != 17 || inFlight != 3 {
		t.Errorf("policy %v, max in flight %d: %v", policy, inFlight, err)
	}
}

func TestALargeBatchKeepsItsOrder(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "t"))
	out := openOutput(t, brokers(c)+"topic: t\n")
	want := numbers(0, 25_000) // more than the client buffers
	if err := out.WriteBatch(t.Context(), messages(want...)); err != nil {
		t.Fatal(err)
	}
	for i, r := range all(t, c, "t", len(want)) {
		if string(r.Value) != want[i] {
			t.Fatalf("record %d is %s", i, r.Value)
		}
	}
}

func TestWritingWithoutAConnection(t *testing.T) {
	out, _, _, err := newOutput(outputConf(t, "seed_brokers: ['127.0.0.1:1']\ntopic: t\n"), service.MockResources())
	if err != nil {
		t.Fatal(err)
	}
	if err := out.WriteBatch(t.Context(), messages("a")); !errors.Is(err, service.ErrNotConnected) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := out.Connect(ctx); err == nil || !strings.Contains(err.Error(), "connecting to Kafka") {
		t.Errorf("connecting to nobody: %v", err)
	}
}
