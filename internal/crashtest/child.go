//go:build unix

package crashtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	_ "github.com/redpanda-data/benthos/v4/public/components/io" // the file cache
	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc" // the input
	"example.com/mssqlcdc/internal/crashpoint"
)

const (
	childEnv  = "MSSQLCDC_CRASH_CHILD"
	crashCode = 86 // exit code of a process that died at its step

	reportFD  = 3 // of the child: what it reports
	answersFD = 4 // and what it is told about its batches

	stopBound = 8 * time.Second
)

// job is what a child does.
type job struct {
	Config string
	// Crash are steps: the process dies at the last one, when the others have been made before in this order. Skip passes so
	// many hits of the first one.
	Crash []crashpoint.Point
	Skip  int
	Run   int // its number
}

// report is a line from the child: a step, or a batch.
type report struct {
	Step  crashpoint.Point `json:"step,omitempty"`
	Batch []Message        `json:"batch,omitempty"`
}

// Message is one message that was given out.
type Message struct {
	Operation, Schema, Table, LSN, Event, Key, Snapshot string

	Body string
}

// Main does a child's work and ends the process, if this process is a child. TestMain calls it before anything else.
func Main() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	if err := runChild(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fullDisk is the size beyond which files cannot grow while the disk is full.
const fullDisk = 100

// limitFiles makes the disk full at SIGUSR1, and empty at SIGUSR2.
func limitFiles() {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails, as on a full disk
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) // it cannot fail
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() { // as long as the process lives
		for s := range signals {
			now := limit
			if s == syscall.SIGUSR1 {
				now.Cur = fullDisk
			}
			_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now) // it cannot fail
		}
	}()
}

// child is this process, when it is one.
type child struct {
	job job

	mu      sync.Mutex // of what is written
	reports io.Writer
	made    int // how many steps of job.Crash
	answers *bufio.Reader
}

func runChild(text string) error {
	c := &child{reports: os.NewFile(reportFD, "reports"), answers: bufio.NewReader(os.NewFile(answersFD, "answers"))}
	if err := json.Unmarshal([]byte(text), &c.job); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	limitFiles()
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	crashpoint.Listen(c.step)
	env := service.GlobalEnvironment().Clone()
	if err := env.RegisterBatchOutput("journal", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		return c, service.BatchPolicy{}, 1, nil
	}); err != nil {
		return err
	}
	if err := env.RegisterBatchProcessor("numbered", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchProcessor, error) {
		return &numbered{run: c.job.Run}, nil
	}); err != nil {
		return err
	}
	b := env.NewStreamBuilder()
	if err := b.SetYAML(c.job.Config); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	s, err := b.Build()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	select {
	case err := <-ended:
		return err
	case <-terminated.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	return <-ended
}

// step reports a step, and dies there if it is the one.
func (c *child) step(p crashpoint.Point) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(report{Step: p})
	if c.made == len(c.job.Crash) || c.job.Crash[c.made] != p {
		return
	}
	if c.made == 0 && c.job.Skip > 0 {
		c.job.Skip--
		return
	}
	if c.made++; c.made == len(c.job.Crash) {
		os.Exit(crashCode)
	}
}

// send writes a line. When the parent does not listen any more there is nothing to live for.
func (c *child) send(r report) {
	line, err := json.Marshal(r)
	if err == nil {
		_, err = c.reports.Write(append(line, '\n'))
	}
	if err != nil {
		os.Exit(1)
	}
}

func newMessage(m *service.Message) (Message, error) {
	body, err := m.AsBytes()
	if err != nil {
		return Message{}, err
	}
	get := func(key string) string {
		v, _ := m.MetaGet(key)
		return v
	}
	return Message{
		Operation: get("operation"), Schema: get("database_schema"), Table: get("table"), LSN: get("lsn"), Event: get("event_id"),
		Key: get("key"), Snapshot: get("snapshot_id"), Body: string(body),
	}, nil
}

// Connect is of the output.
func (c *child) Connect(context.Context) error { return nil }

var errRefused = errors.New("the journal refuses the batch")

// WriteBatch puts a batch into the journal and waits for its answer.
func (c *child) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	out := make([]Message, len(batch))
	for i, m := range batch {
		var err error
		if out[i], err = newMessage(m); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.send(report{Batch: out})
	c.mu.Unlock()
	answer, err := c.answers.ReadString('\n')
	switch {
	case err != nil:
		os.Exit(1)
	case answer != "yes\n":
		return errRefused
	}
	return nil
}

// Close is of the output.
func (c *child) Close(context.Context) error { return nil }
