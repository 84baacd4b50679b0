package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// Child is a running process that is measured. Whoever starts it waits for it.
type Child struct {
	cmd    *exec.Cmd
	start  time.Time
	peak   atomic.Int64
	stop   chan struct{} // ends the sampler
	idle   chan struct{} // closed when the sampler has ended
	errors *tail
}

// sampling is how often the peak of a child is read. Peaks only grow, so that only
// what a process allots in its last moments can be missed.
const sampling = 20 * time.Millisecond

// Start starts a command. What it writes to stderr is kept for the error of Wait,
// unless the command has its own place for it.
func Start(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd, stop: make(chan struct{}), idle: make(chan struct{})}
	if cmd.Stderr == nil {
		c.errors = &tail{}
		cmd.Stderr = c.errors
	}
	c.start = time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	go c.sample()
	return c, nil
}

func (c *Child) sample() {
	defer close(c.idle)
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		c.peak.Store(max(c.peak.Load(), peakRSS(c.cmd.Process.Pid)))
		select {
		case <-tick.C:
		case <-c.stop:
			return
		}
	}
}

// Pid is the number of the process.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Signal sends the process a signal.
func (c *Child) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// Peak is the largest resident set that was seen so far.
func (c *Child) Peak() int64 { return c.peak.Load() }

// Wait waits for the end of the process and tells what it has used from start to
// end, with the error of a process that has failed.
func (c *Child) Wait() (Usage, error) {
	err := c.cmd.Wait()
	u := Usage{Wall: time.Since(c.start)}
	close(c.stop)
	<-c.idle
	u.PeakRSS = c.peak.Load()
	if s := c.cmd.ProcessState; s != nil {
		u.User, u.Sys = s.UserTime(), s.SystemTime()
	}
	if err != nil && c.errors != nil {
		if text := strings.TrimSpace(c.errors.String()); text != "" {
			err = errors.Join(err, errors.New(text))
		}
	}
	if err != nil {
		err = fmt.Errorf("running %s: %w", c.cmd.Path, err)
	}
	return u, err
}

// Run runs a command to its end, and gives what it has written to stdout.
func Run(cmd *exec.Cmd) (string, Usage, error) {
	var out strings.Builder
	cmd.Stdout = &out
	c, err := Start(cmd)
	if err != nil {
		return "", Usage{}, err
	}
	u, err := c.Wait()
	return out.String(), u, err
}

// tail keeps the last of what is written.
type tail struct{ b []byte }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
