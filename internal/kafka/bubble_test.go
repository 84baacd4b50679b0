package kafka

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// bubble is a cluster in a synctest bubble, in which time passes as soon as nobody has anything to do.
type bubble struct {
	*testing.T
	net     *memory
	cluster *kfake.Cluster
	client  *kgo.Client
	log     *logBook
}

// inBubble runs a test with a topic t of some partitions.
func inBubble(t *testing.T, partitions int32, test func(*testing.T, *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, net: newMemory(), log: &logBook{}}
		b.cluster = cluster(t, kfake.NumBrokers(3), kfake.ListenFn(b.net.listen), kfake.SeedTopics(partitions, "t"))
		b.client = client(t, b.cluster, kgo.Dialer(b.net.dial))
		test(t, b)
	})
}

// input makes an input that reads t as a member of the group g.
func (b *bubble) input(more string) *input {
	b.Helper()
	in := b.unconnected(more)
	connect(b.T, in)
	return in
}

func (b *bubble) unconnected(more string) *input {
	b.Helper()
	in, err := newInput(inputConf(b.T, brokers(b.cluster)+"topics: [t]\nconsumer_group: g\n"+more), b.log.resources())
	if err != nil {
		b.Fatal(err)
	}
	in.cfg.opts = append(in.cfg.opts, kgo.Dialer(b.net.dial))
	b.Cleanup(func() { in.Close(context.Background()) })
	return in
}

func (b *bubble) output(more string) *output {
	b.Helper()
	out, _, _, err := newOutput(outputConf(b.T, brokers(b.cluster)+more), b.log.resources())
	if err != nil {
		b.Fatal(err)
	}
	out.cfg.opts = append(out.cfg.opts, kgo.Dialer(b.net.dial))
	connect(b.T, out)
	b.Cleanup(func() { out.Close(context.Background()) })
	return out
}

func (b *bubble) put(partition int32, values ...string) {
	b.Helper()
	put(b.T, b.client, "t", partition, values...)
}

func (b *bubble) committed(partition int32) int64 {
	b.Helper()
	return committed(b.T, b.client, "g", "t", partition)
}

func messages(values ...string) (batch service.MessageBatch) {
	for _, v := range values {
		batch = append(batch, service.NewMessage([]byte(v)))
	}
	return batch
}

// memory is a network in this process, for tests in which time is not real.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
	port      int
}

func newMemory() *memory { return &memory{listeners: map[string]*memoryListener{}, port: 9000} }

func (m *memory) listen(string, string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.port++
	l := &memoryListener{addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: m.port}, conns: make(chan net.Conn), closed: make(chan struct{})}
	m.listeners[l.addr.String()] = l
	return l, nil
}

func (m *memory) dial(ctx context.Context, _, host string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[host]
	m.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("nobody listens at %s", host)
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memoryListener) Addr() net.Addr { return l.addr }

// pass lets time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }
