package kafka

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long a condition may take to become true. No test expects it to be reached.
const bound = time.Minute

// cluster starts brokers in this process.
func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// brokers is the line of a config that reaches the cluster.
func brokers(c *kfake.Cluster) string {
	return "seed_brokers: ['" + strings.Join(c.ListenAddrs(), "', '") + "']\n"
}

// logBook keeps what is logged.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBook) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.buf.String(), text)
}

// resources are those of a component whose log goes to the book.
func (b *logBook) resources() *service.Resources {
	return service.MockResources(service.MockResourcesOptUseLogger(service.NewLoggerFromSlog(slog.New(slog.NewTextHandler(b, nil)))))
}

func inputConf(t *testing.T, yaml string) *service.ParsedConfig {
	t.Helper()
	conf, err := inputOf(name).ParseYAML(yaml, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func outputConf(t *testing.T, yaml string) *service.ParsedConfig {
	t.Helper()
	conf, err := outputOf(name).ParseYAML(yaml, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// openInput connects an input, and closes it in the end.
func openInput(t *testing.T, yaml string) *input {
	t.Helper()
	in, err := newInput(inputConf(t, yaml), service.MockResources())
	if err != nil {
		t.Fatal(err)
	}
	connect(t, in)
	t.Cleanup(func() { in.Close(context.Background()) })
	return in
}

func connect(t *testing.T, c interface{ Connect(context.Context) error }) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := c.Connect(ctx); err != nil {
		t.Fatal(err)
	}
}

func openOutput(t *testing.T, yaml string) *output {
	t.Helper()
	return openOutputLog(t, yaml, service.MockResources())
}

func openOutputLog(t *testing.T, yaml string, res *service.Resources) *output {
	t.Helper()
	out, _, _, err := newOutput(outputConf(t, yaml), res)
	if err != nil {
		t.Fatal(err)
	}
	connect(t, out)
	t.Cleanup(func() { out.Close(context.Background()) })
	return out
}

// client is a client of the test's own.
func client(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics(), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// put writes values to a partition, in order.
func put(t *testing.T, cl *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)}
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// read is the next batch of an input, which must come.
func read(t *testing.T, in *input) (service.MessageBatch, service.AckFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	batch, ack, err := in.ReadBatch(ctx)
	if err != nil {
		t.Fatalf("reading a batch: %v", err)
	}
	return batch, ack
}

// silent checks that nothing is ready to go out. It looks at the lanes, so no time passes.
func silent(t *testing.T, in *input) {
	t.Helper()
	if d, _, _ := in.consumer.lanes.pick(time.Now()); d != nil {
		t.Fatalf("a batch of partition %d goes out from offset %d", d.lane.key.partition, d.records[0].record.Offset)
	}
}

func values(t *testing.T, batch service.MessageBatch) string {
	t.Helper()
	out := make([]string, len(batch))
	for i, m := range batch {
		b, err := m.AsBytes()
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(b)
	}
	return strings.Join(out, " ")
}

func answer(t *testing.T, ack service.AckFunc, err error) {
	t.Helper()
	if err := ack(t.Context(), err); err != nil {
		t.Fatal(err)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		<-tick.C
	}
}

// committed asks the cluster for a committed offset; -1 is none.
func committed(t *testing.T, cl *kgo.Client, group, topic string, partition int32) int64 {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{partition}}}
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Groups) == 1 && len(resp.Groups[0].Topics) == 1 {
		return resp.Groups[0].Topics[0].Partitions[0].Offset
	}
	if len(resp.Topics) == 1 {
		return resp.Topics[0].Partitions[0].Offset
	}
	return -1
}

// all reads the records of a topic's partitions from the beginning until there are n.
func all(t *testing.T, c *kfake.Cluster, topic string, n int, opts ...kgo.Opt) []*kgo.Record {
	t.Helper()
	cl := client(t, c, append([]kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(50 * time.Millisecond)}, opts...)...)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n {
		f := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of %d records came", len(out), n)
		}
		out = append(out, f.Records()...)
	}
	return out
}

// numbers are the texts of a range, the last not included.
func numbers(first, last int) (out []string) {
	for i := first; i < last; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

func equal(have, want map[string]any) bool { return reflect.DeepEqual(have, want) }

// pipeline runs a pipeline until stop is called.
func pipeline(t *testing.T, log *logBook, yaml string) (stop func()) {
	t.Helper()
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(log, nil)))
	if err := b.SetYAML(yaml + "http: {enabled: false}\n"); err != nil {
		t.Fatal(err)
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	return sync.OnceFunc(func() {
		if err := s.StopWithin(bound); err != nil {
			t.Errorf("stopping: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the pipeline: %v", err)
		}
	})
}
