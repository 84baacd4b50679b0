package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is a real one in a process of its own, which can be killed and started again with its data.
type broker struct {
	t     *testing.T
	dir   string
	port  int
	cmd   *exec.Cmd
	ended chan struct{}
}

// realBroker starts one, or skips the test where broker.sh has not installed it.
func realBroker(t *testing.T) *broker {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skip(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	installed, _ := filepath.Glob(filepath.Join(cache, "mssqlcdc", "kafka-*", "complete"))
	if _, err := exec.LookPath("java"); err != nil || len(installed) == 0 {
		t.Skip("there is no Kafka here: bash internal/kafka/e2e/broker.sh install")
	}
	b := &broker{t: t, dir: t.TempDir(), port: freePorts(t)}
	t.Cleanup(b.kill)
	b.start()
	return b
}

// freePorts finds a port that is free together with the next one.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 100 {
		one, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := one.Addr().(*net.TCPAddr).Port
		two, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+1))
		one.Close()
		if err == nil {
			two.Close()
			return port
		}
	}
	t.Fatal("there are no two free ports")
	return 0
}

func (b *broker) addr() string { return fmt.Sprintf("127.0.0.1:%d", b.port) }

// start returns when the broker answers.
func (b *broker) start() {
	b.t.Helper()
	b.cmd, b.ended = begin(b.t, exec.Command("bash", "broker.sh", "run", b.dir, fmt.Sprint(b.port))), make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
	}(b.cmd, b.ended)
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr()), kgo.DisableClientMetrics())
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	until(b.t, "the broker answers", func() bool {
		select {
		case <-b.ended:
			b.t.Fatal("the broker has ended")
		default:
		}
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		return cl.Ping(ctx) == nil
	})
}

func (b *broker) kill() {
	if b.cmd == nil {
		return
	}
	b.cmd.Process.Kill()
	<-b.ended
	b.cmd = nil
}

// createTopic makes a topic of some partitions.
func createTopic(t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic, one.NumPartitions, one.ReplicationFactor = topic, partitions, 1
	req.Topics, req.TimeoutMillis = append(req.Topics, one), 30_000
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	if code := resp.Topics[0].ErrorCode; code != 0 {
		t.Fatalf("making topic %s: error %d", topic, code)
	}
}
