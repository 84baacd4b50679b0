package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuseProduce has the next requests to write answered with an error code, once each.
func (b *bubble) refuseProduce(codes ...int16) {
	for _, code := range codes {
		b.cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
			q := req.(*kmsg.ProduceRequest)
			resp := q.ResponseKind().(*kmsg.ProduceResponse)
			for _, topic := range q.Topics {
				rt := kmsg.NewProduceResponseTopic()
				rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
				for _, p := range topic.Partitions {
					rp := kmsg.NewProduceResponseTopicPartition()
					rp.Partition, rp.ErrorCode = p.Partition, code
					rt.Partitions = append(rt.Partitions, rp)
				}
				resp.Topics = append(resp.Topics, rt)
			}
			return resp, nil, true
		})
	}
}

func write1(t *testing.T, out *output, batch service.MessageBatch) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	return out.WriteBatch(ctx, batch)
}

// stored are the values of partition 0 of t, in order.
func (b *bubble) stored(n int) string {
	b.Helper()
	var out []string
	for _, r := range all(b.T, b.cluster, "t", n, kgo.Dialer(b.net.dial)) {
		out = append(out, string(r.Value))
	}
	return strings.Join(out, " ")
}

func TestWritingGoesOnAfterErrorsThatPass(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		out := b.output("topic: t\n")
		b.refuseProduce(kerr.NotLeaderForPartition.Code, kerr.NotEnoughReplicas.Code, kerr.RequestTimedOut.Code)
		if err := write1(t, out, messages("a", "b", "c")); err != nil {
			t.Fatal(err)
		}
		if got := b.stored(3); got != "a b c" {
			t.Errorf("the topic has %s", got)
		}
	})
}

func TestWritingFollowsTheLeader(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		out := b.output("topic: t\n")
		var want []string
		for i, v := range numbers(0, 12) {
			if err := b.cluster.MoveTopicPartition("t", 0, int32(i%3)); err != nil {
				t.Fatal(err)
			}
			if err := write1(t, out, messages(v)); err != nil {
				t.Fatal(err)
			}
			want = append(want, v)
		}
		if got := b.stored(12); got != strings.Join(want, " ") {
			t.Errorf("the topic has %s", got)
		}
	})
}

func TestReadingFollowsTheLeader(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		in := b.input("max_yield_batch_bytes: 1B\n")
		have := map[int][]string{}
		for i, v := range numbers(0, 10) {
			b.put(int32(i%3), v)
			b.cluster.ShufflePartitionLeaders()
			b.cluster.RehashCoordinators()
			batch, ack := read(t, in)
			p, _ := batch[0].MetaGetMut("kafka_partition")
			have[p.(int)] = append(have[p.(int)], values(t, batch))
			answer(t, ack, nil)
		}
		for p, want := range []string{"0 3 6 9", "1 4 7", "2 5 8"} {
			if got := strings.Join(have[p], " "); got != want {
				t.Errorf("partition %d came as %s, want %s", p, got, want)
			}
		}
	})
}

func TestReadingGoesOnAfterErrors(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		b.put(0, "a")
		for _, code := range []int16{kerr.NotLeaderForPartition.Code, kerr.UnknownServerError.Code} {
			b.cluster.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
				q := req.(*kmsg.FetchRequest)
				if len(q.Topics) == 0 {
					return nil, nil, false
				}
				resp := q.ResponseKind().(*kmsg.FetchResponse)
				for _, topic := range q.Topics {
					rt := kmsg.NewFetchResponseTopic()
					rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
					for _, p := range topic.Partitions {
						rp := kmsg.NewFetchResponseTopicPartition()
						rp.Partition, rp.ErrorCode = p.Partition, code
						rt.Partitions = append(rt.Partitions, rp)
					}
					resp.Topics = append(resp.Topics, rt)
				}
				return resp, nil, true
			})
		}
		batch, _ := read(t, b.input(""))
		if got := values(t, batch); got != "a" {
			t.Errorf("%s came", got)
		}
	})
}

func TestOnlyTheRecordThatIsTooLargeIsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		out := b.output("topic: t\nmax_message_bytes: 1KiB\ncompression: none\n")
		batch := messages("a", strings.Repeat("x", 2000), "b")
		index := batch.Index()
		err := write1(t, out, batch)
		var refused *service.BatchError
		if !errors.As(err, &refused) {
			t.Fatalf("the error is %v", err)
		}
		var which []int
		refused.WalkMessagesIndexedBy(index, func(i int, _ *service.Message, err error) bool {
			if err != nil {
				which = append(which, i)
			}
			return true
		})
		if len(which) != 1 || which[0] != 1 || !errors.Is(err, kerr.MessageTooLarge) {
			t.Errorf("refused are %v: %v", which, err)
		}
		if got := b.stored(2); got != "a b" {
			t.Errorf("the topic has %s", got)
		}
	})
}

func TestATopicThatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		name, topic string
		refused     bool
	}{
		{"a fixed name is waited for", "topic: nowhere\n", false},
		{"a name from the message refuses it", "topic: '${! content() }'\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, b *bubble) {
				out := b.output(tt.topic + "allow_auto_topic_creation: false\n")
				err := write1(t, out, messages("nowhere"))
				var refused *service.BatchError
				if got := errors.As(err, &refused); got != tt.refused || errors.Is(err, service.ErrNotConnected) == tt.refused {
					t.Errorf("the error is %v", err)
				}
				if b.log.count("the batch is written again") == 0 != tt.refused {
					t.Error("the log should speak of what is tried again, and of that alone")
				}
			})
		})
	}
}

func TestWhatIsNoRecordsFaultIsWrittenAgain(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		out := b.output("topic: t\n")
		b.refuseProduce(kerr.TopicAuthorizationFailed.Code)
		if err := write1(t, out, messages("a")); !errors.Is(err, service.ErrNotConnected) || !errors.Is(err, kerr.TopicAuthorizationFailed) {
			t.Fatalf("the error is %v", err)
		}
		connect(t, out)
		if err := write1(t, out, messages("a")); err != nil {
			t.Fatal(err)
		}
		if got := b.stored(1); got != "a" {
			t.Errorf("the topic has %s", got)
		}
	})
}

func TestWritingEndsWithItsContext(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		out := b.output("topic: t\n")
		b.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			b.cluster.KeepControl()
			return nil, errors.New("cut"), true
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := out.WriteBatch(ctx, messages("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}
