package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

var errRefused = errors.New("refused")

func TestOneBatchOfAPartitionIsOutAtATime(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	cl := client(t, c)
	put(t, cl, "t", 0, "a", "b", "c")
	put(t, cl, "t", 1, "x")
	in := openInput(t, brokers(c)+"topics: [t]\nmax_yield_batch_bytes: 2B\n")
	first, ackFirst := read(t, in)
	second, ackSecond := read(t, in) // of the other partition
	if values(t, second) == "a b" {
		first, ackFirst, second, ackSecond = second, ackSecond, first, ackFirst
	}
	if got := values(t, first) + "|" + values(t, second); got != "a b|x" {
		t.Fatalf("the first batches are %s", got)
	}
	silent(t, in)
	answer(t, ackSecond, nil)
	silent(t, in)
	answer(t, ackFirst, nil)
	third, ack := read(t, in)
	if got := values(t, third); got != "c" {
		t.Errorf("the next batch is %s", got)
	}
	answer(t, ack, nil)
}

func TestARefusedBatchGoesOutAgainFirst(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b", "c")
		in := b.input("max_yield_batch_bytes: 1B\n")
		var got []string
		for range 3 {
			batch, ack := read(t, in)
			got = append(got, values(t, batch))
			answer(t, ack, errRefused)
		}
		for range 3 {
			batch, ack := read(t, in)
			got = append(got, values(t, batch))
			answer(t, ack, nil)
		}
		if have := strings.Join(got, " "); have != "a a a a b c" {
			t.Errorf("batches came as %s", have)
		}
	})
}

func TestARefusedBatchIsNotAskedForAtFullSpeed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a")
		in := b.input("")
		began := time.Now()
		for range 12 {
			_, ack := read(t, in)
			answer(t, ack, errRefused)
		}
		if passed := time.Since(began); passed < 5*time.Second || passed > time.Minute {
			t.Errorf("12 refusals took %s", passed)
		}
	})
}

func TestRefusedBatchesAreDroppedWithoutReplay(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b")
		in := b.input("max_yield_batch_bytes: 1B\nauto_replay_nacks: false\n")
		_, ack := read(t, in)
		answer(t, ack, errRefused)
		batch, ack := read(t, in)
		if got := values(t, batch); got != "b" {
			t.Errorf("after the refused batch came %s", got)
		}
		answer(t, ack, nil)
		if b.log.count("dropping 1 refused messages of topic t, partition 0 from offset 0") != 1 {
			t.Error("the log does not say what was dropped")
		}
		in.Close(t.Context())
		if got := b.committed(0); got != 2 {
			t.Errorf("offset %d is committed", got)
		}
	})
}

func TestOffsetsAreCommittedEachCommitPeriod(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b", "c")
		in := b.input("max_yield_batch_bytes: 1B\ncommit_period: 7s\n")
		_, ack := read(t, in)
		answer(t, ack, nil)
		read(t, in) // stays out
		pass(6 * time.Second)
		if got := b.committed(0); got != -1 {
			t.Errorf("offset %d is committed before the period is over", got)
		}
		pass(2 * time.Second)
		if got := b.committed(0); got != 1 {
			t.Errorf("offset %d is committed after the period", got)
		}
	})
}

func TestOnlyWhatIsAcknowledgedIsCommittedAtTheEnd(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b", "c")
		b.put(1, "x", "y")
		in := b.input("max_yield_batch_bytes: 1B\ncommit_period: 1h\n")
		acks := map[string]service.AckFunc{}
		for range 2 {
			batch, ack := read(t, in)
			acks[values(t, batch)] = ack
		}
		answer(t, acks["a"], nil)
		answer(t, acks["x"], errRefused)
		_, ack := read(t, in) // b
		in.Close(t.Context())
		answer(t, ack, nil) // too late
		if zero, one := b.committed(0), b.committed(1); zero != 1 || one != -1 {
			t.Errorf("offsets %d and %d are committed", zero, one)
		}
		again := b.input("")
		got := map[string]bool{}
		for range 2 {
			batch, _ := read(t, again)
			got[values(t, batch)] = true
		}
		if !got["b c"] || !got["x y"] {
			t.Errorf("the next member reads %v", got)
		}
	})
}

func TestAPartitionIsPausedWhileItsBufferIsFull(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		value := strings.Repeat("v", 1000)
		in := b.input("max_yield_batch_bytes: 1KB\npartition_buffer_bytes: 3KB\nfetch_max_partition_bytes: 1KB\nfetch_max_wait: 100ms\n")
		for range 20 {
			b.put(0, value)
		}
		b.put(1, "x")
		pass(time.Minute)
		in.consumer.lanes.mu.Lock()
		held := in.consumer.lanes.all[laneKey{"t", 0}].bytes
		in.consumer.lanes.mu.Unlock()
		if held < 3000 || held > 6000 {
			t.Errorf("%d bytes of a partition are held", held)
		}
		n := 0
		for n < 21 {
			batch, ack := read(t, in)
			n += len(batch)
			answer(t, ack, nil)
		}
	})
}

func TestRecordsBecomeMessages(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "t"))
	cl := client(t, c)
	at := time.UnixMilli(1_700_000_000_123)
	records := []*kgo.Record{
		{Topic: "t", Partition: 1, Key: []byte("k"), Value: []byte("v"), Timestamp: at, Headers: []kgo.RecordHeader{{Key: "operation", Value: []byte("insert")}, {Key: "twice", Value: []byte("1")}, {Key: "twice", Value: []byte("2")}}},
		{Topic: "t", Partition: 1, Key: []byte("k"), Timestamp: at},
		{Topic: "t", Partition: 1, Value: []byte{}, Timestamp: at},
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	in := openInput(t, brokers(c)+"topics: ['t:1']\n")
	batch, ack := read(t, in)
	answer(t, ack, nil)
	if len(batch) != 3 {
		t.Fatalf("%d messages", len(batch))
	}
	for i, want := range []map[string]any{
		{"kafka_key": []byte("k"), "kafka_topic": "t", "kafka_partition": 1, "kafka_offset": 0, "kafka_timestamp_ms": at.UnixMilli(), "kafka_timestamp_unix": at.Unix(), "kafka_tombstone_message": false, "kafka_lag": int64(2), "operation": "insert", "twice": "2"},
		{"kafka_key": []byte("k"), "kafka_topic": "t", "kafka_partition": 1, "kafka_offset": 1, "kafka_timestamp_ms": at.UnixMilli(), "kafka_timestamp_unix": at.Unix(), "kafka_tombstone_message": true, "kafka_lag": int64(1)},
		{"kafka_key": []byte(nil), "kafka_topic": "t", "kafka_partition": 1, "kafka_offset": 2, "kafka_timestamp_ms": at.UnixMilli(), "kafka_timestamp_unix": at.Unix(), "kafka_tombstone_message": false, "kafka_lag": int64(0)},
	} {
		have := map[string]any{}
		batch[i].MetaWalkMut(func(k string, v any) error { have[k] = v; return nil })
		if !equal(have, want) {
			t.Errorf("metadata of message %d: %v, want %v", i, have, want)
		}
	}
	for i, want := range [][]byte{[]byte("v"), nil, {}} {
		if have, _ := batch[i].AsBytes(); string(have) != string(want) || (have == nil) != (want == nil) {
			t.Errorf("body %d is %#v, want %#v", i, have, want)
		}
	}
}

// TestTheLagIsMeasuredEachPeriod looks at what the gauge would be set to, and at when it is.
func TestTheLagIsMeasuredEachPeriod(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b", "c", "d")
		in := b.unconnected("max_yield_batch_bytes: 1B\ntopic_lag_refresh_period: 3s\n")
		set := make(chan int64, 10)
		in.lag = func(_ laneKey, n int64) { set <- n }
		connect(t, in)
		began := time.Now()
		var lags []int64
		for range 3 {
			_, ack := read(t, in)
			lags = append(lags, <-set)
			answer(t, ack, nil)
		}
		if passed := time.Since(began); fmt.Sprint(lags) != "[4 3 2]" || passed < 8*time.Second || passed > 10*time.Second {
			t.Errorf("the lags are %v after %s", lags, passed)
		}
	})
}

func TestConnectIsTriedAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		in, err := newInput(inputConf(t, "seed_brokers: ['127.0.0.1:1']\ntopics: [t]\n"), b.log.resources())
		if err != nil {
			t.Fatal(err)
		}
		in.cfg.opts = append(in.cfg.opts, kgo.Dialer(b.net.dial))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := in.Connect(ctx); err == nil {
			t.Error("connecting to nobody succeeds")
		}
		if _, _, err := in.ReadBatch(ctx); !errors.Is(err, service.ErrNotConnected) {
			t.Errorf("reading without a connection: %v", err)
		}
		synctest.Wait()
	})
}

func TestReadBatchEndsWithItsContext(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		in := b.input("")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := in.ReadBatch(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reading an empty topic: %v", err)
		}
	})
}
