package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"go.uber.org/goleak"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	_ "example.com/mssqlcdc"
	_ "example.com/mssqlcdc/internal/kafka"
)

// childEnv names the file with the pipeline that this process is to run instead of tests.
const childEnv = "MSSQLCDC_E2E_PIPELINE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childEnv); file != "" {
		if err := child(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// bound is how long a condition may take to become true. No test expects it to be reached.
const bound = 3 * time.Minute

// child runs a pipeline until it is asked to end.
func child(file string) error {
	yaml, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s, err := build(string(yaml), slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		s.StopWithin(10 * time.Second)
	}()
	return s.Run(context.Background())
}

func build(yaml string, log *slog.Logger) (*service.Stream, error) {
	b := service.NewStreamBuilder()
	b.SetLogger(log)
	if err := b.SetYAML(yaml + "\nhttp: {enabled: false}\n"); err != nil {
		return nil, err
	}
	return b.Build()
}

// stream runs a pipeline in this process until stop is called.
func stream(t *testing.T, yaml string) (stop func()) {
	t.Helper()
	s, err := build(yaml, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	stop = sync.OnceFunc(func() {
		if err := s.StopWithin(bound); err != nil {
			t.Errorf("stopping: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the pipeline: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// process is a pipeline in a process of its own, which can be killed and started again.
type process struct {
	t     *testing.T
	file  string
	cmd   *exec.Cmd
	ended chan struct{}
}

func newProcess(t *testing.T, name, yaml string) *process {
	t.Helper()
	p := &process{t: t, file: filepath.Join(t.TempDir(), name+".yaml")}
	if err := os.WriteFile(p.file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+p.file)
	p.cmd, p.ended = begin(p.t, cmd), make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		cmd.Wait()
		close(ended)
	}(p.cmd, p.ended)
}

// kill ends the process in the middle of what it does.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.ended
	p.cmd = nil
}

// begin starts a command whose output is the test's.
func begin(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	out, err := os.OpenFile(filepath.Join(t.TempDir(), "output"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(out.Name())
			t.Logf("%s:\n%s", cmd.Args, text[max(0, len(text)-4000):])
		}
		out.Close()
	})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(bound)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		pass(20 * time.Millisecond)
	}
}

// pass lets time go by.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// long tells whether everything is to be run.
func long() bool { return os.Getenv("MSSQLCDC_LONG") == "1" }
