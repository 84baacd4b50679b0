package kafka

import (
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// owned lists the partitions that an input has.
func owned(in *input) (out []int32) {
	in.consumer.lanes.mu.Lock()
	defer in.consumer.lanes.mu.Unlock()
	for k := range in.consumer.lanes.all {
		out = append(out, k.partition)
	}
	return out
}

// started says that an input has begun to give its partitions away.
func leaving(in *input) (n int) {
	in.consumer.lanes.mu.Lock()
	defer in.consumer.lanes.mu.Unlock()
	for _, l := range in.consumer.lanes.all {
		if l.leaving {
			n++
		}
	}
	return n
}

// takeAll reads one batch of each of n partitions, by partition.
func takeAll(t *testing.T, in *input, n int) map[int]service.AckFunc {
	t.Helper()
	acks := map[int]service.AckFunc{}
	for range n {
		batch, ack := read(t, in)
		p, _ := batch[0].MetaGetMut("kafka_partition")
		acks[p.(int)] = ack
	}
	return acks
}

func TestARebalanceWaitsForWhatIsOut(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b")
		b.put(1, "x", "y")
		first := b.input("max_yield_batch_bytes: 1B\ncommit_period: 1h\n")
		acks := takeAll(t, first, 2)
		second := b.input("max_yield_batch_bytes: 1B\n")
		until(t, "a partition is leaving", func() bool { return leaving(first) == 1 })
		pass(10 * time.Second)
		if n := len(owned(second)); n != 0 {
			t.Fatalf("the second member has %d partitions while the first one's batches are out", n)
		}
		answer(t, acks[0], nil)
		answer(t, acks[1], nil)
		batch, _ := read(t, second)
		if got := values(t, batch); got != "b" && got != "y" {
			t.Errorf("the second member begins with %s, though that was acknowledged", got)
		}
		pass(time.Minute)
		if a, b := owned(first), owned(second); len(a) != 1 || len(b) != 1 || a[0] == b[0] {
			t.Errorf("the members have %v and %v", a, b)
		}
	})
}

func TestARebalanceAbandonsWhatIsNeverAnswered(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b")
		b.put(1, "x", "y")
		first := b.input("max_yield_batch_bytes: 1B\ncommit_period: 1h\nrebalance_timeout: 40s\n")
		acks := takeAll(t, first, 2)
		second := b.input("max_yield_batch_bytes: 1B\nrebalance_timeout: 40s\n")
		until(t, "a partition is leaving", func() bool { return leaving(first) == 1 })
		began := time.Now()
		batch, _ := read(t, second)
		if got := values(t, batch); got != "a" && got != "x" {
			t.Errorf("the second member begins with %s", got)
		}
		if passed := time.Since(began); passed < 19*time.Second || passed > 30*time.Second {
			t.Errorf("the first member waited for %s, want half of the rebalance timeout", passed)
		}
		for _, ack := range acks { // late answers: that of the partition that is gone must not count
			answer(t, ack, nil)
		}
		first.consumer.commit(t.Context())
		for p := range int32(2) {
			want := int64(-1)
			if o := owned(first); len(o) == 1 && o[0] == p {
				want = 1
			}
			if got := b.committed(p); got != want {
				t.Errorf("offset %d of partition %d is committed, want %d", got, p, want)
			}
		}
	})
}

func TestARefusedBatchDoesNotGoOutAgainWhileItsPartitionLeaves(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b")
		b.put(1, "x", "y")
		first := b.input("max_yield_batch_bytes: 1B\n")
		acks := takeAll(t, first, 2)
		second := b.input("max_yield_batch_bytes: 1B\n")
		until(t, "a partition is leaving", func() bool { return leaving(first) == 1 })
		answer(t, acks[0], errRefused)
		answer(t, acks[1], errRefused)
		one, _ := read(t, second)
		two, _ := read(t, first)
		if got := values(t, one) + values(t, two); got != "ax" && got != "xa" {
			t.Errorf("the members begin with %s", got)
		}
		pass(time.Minute)
		silent(t, first)
		silent(t, second)
	})
}

func TestALostSessionCommitsNothing(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a", "b")
		first := b.input("max_yield_batch_bytes: 1B\ncommit_period: 1h\nsession_timeout: 10s\n")
		_, ack := read(t, first)
		// The brokers forget the member; it learns that with its next heartbeat.
		b.cluster.ControlKey(int16(kmsg.Heartbeat), func(req kmsg.Request) (kmsg.Response, error, bool) {
			resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
			resp.ErrorCode = 25 // UNKNOWN_MEMBER_ID
			return resp, nil, true
		})
		lane := first.consumer.lanes.all[laneKey{"t", 0}]
		until(t, "the partition is lost", func() bool {
			first.consumer.lanes.mu.Lock()
			defer first.consumer.lanes.mu.Unlock()
			return lane.gone
		})
		answer(t, ack, nil)
		batch, _ := read(t, first) // after joining again
		if got := values(t, batch); got != "a" {
			t.Errorf("after the session was lost comes %s", got)
		}
		first.Close(t.Context())
		if got := b.committed(0); got != -1 {
			t.Errorf("offset %d is committed", got)
		}
	})
}

func TestACommitThatFailsIsTriedAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a")
		in := b.input("commit_period: 5s\n")
		b.cluster.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
			q := req.(*kmsg.OffsetCommitRequest)
			resp := q.ResponseKind().(*kmsg.OffsetCommitResponse)
			for _, topic := range q.Topics {
				rt := kmsg.NewOffsetCommitResponseTopic()
				rt.Topic = topic.Topic
				for _, p := range topic.Partitions {
					rp := kmsg.NewOffsetCommitResponseTopicPartition()
					rp.Partition, rp.ErrorCode = p.Partition, 28 // INVALID_COMMIT_OFFSET_SIZE
					rt.Partitions = append(rt.Partitions, rp)
				}
				resp.Topics = append(resp.Topics, rt)
			}
			return resp, nil, true
		})
		_, ack := read(t, in)
		answer(t, ack, nil)
		pass(6 * time.Second)
		if got := b.committed(0); got != -1 || b.log.count("committing offset of topic t, partition 0") != 1 {
			t.Fatalf("offset %d is committed, or the refusal is not in the log", got)
		}
		pass(5 * time.Second)
		if got := b.committed(0); got != 1 {
			t.Errorf("offset %d is committed", got)
		}
	})
}
