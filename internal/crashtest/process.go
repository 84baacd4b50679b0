//go:build unix

package crashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/mssqlcdc/internal/crashpoint"
)

// Process is one life of the pipeline.
type Process struct {
	Run   int
	lab   *Lab
	cmd   *exec.Cmd
	log   bytes.Buffer
	ended chan struct{}
	err   error // of its end, when ended is closed

	// Delay is how long a batch waits for its answer. Kind says that none is refused.
	Delay atomic.Int64
	Kind  atomic.Bool

	mu   sync.Mutex
	last crashpoint.Point
	// lastOutput is the last step of the output; those of the input go on beside it.
	lastOutput crashpoint.Point

	hits map[crashpoint.Point]int
	made chan struct{} // closed at the next step
}

// spawn starts a process.
func spawn(l *Lab, run int, j job) (*Process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	reports, reportsIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answersOut, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &Process{Run: run, lab: l, cmd: exec.Command(os.Args[0]), ended: make(chan struct{}), hits: map[crashpoint.Point]int{}, made: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text), "GOCOVERDIR=")
	p.cmd.ExtraFiles = []*os.File{reportsIn, answersOut}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	err = p.cmd.Start()
	_, _ = reportsIn.Close(), answersOut.Close() // the child's
	if err != nil {
		_, _ = reports.Close(), answers.Close()
		return nil, err
	}
	go p.serve(reports, answers, rand.New(rand.NewPCG(l.seed, uint64(run))))
	return p, nil
}

// serve keeps what the process reports until it is dead.
func (p *Process) serve(reports, answers *os.File, rng *rand.Rand) {
	d := json.NewDecoder(reports)
	for {
		var r report
		if err := d.Decode(&r); err != nil {
			break // it is dead, perhaps in the middle of a line: that batch was not given out
		}
		if r.Step != "" {
			p.mu.Lock()
			p.last = r.Step
			if slices.Contains(crashpoint.Output(), r.Step) {
				p.lastOutput = r.Step
			}
			p.hits[r.Step]++
			close(p.made)
			p.made = make(chan struct{})
			p.mu.Unlock()
			continue
		}
		if delay := time.Duration(p.Delay.Load()); delay > 0 {
			<-time.NewTimer(delay).C
		}
		n := rng.IntN(2 * refuseOneIn)
		if p.Kind.Load() {
			n = 2
		}
		p.lab.journal.add(p.Run, r.Batch, n > 1, n == 0)
		answer := "yes\n"
		if n <= 1 {
			answer = "no\n" // though it is kept when n is 1
		}
		_, _ = io.WriteString(answers, answer) // it may be dead: what it has reported is still read
	}
	_, _ = reports.Close(), answers.Close() // nobody is at the other end
	p.err = p.cmd.Wait()
	p.lab.died(p)
	close(p.ended)
}

// refuseOneIn batches is refused.
const refuseOneIn = 40

// Kill is kill -9.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // it may be dead already

// Terminate asks it to stop.
func (p *Process) Terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) } // it may be dead already

// FillDisk makes the disk full for it, or empty again.
func (p *Process) FillDisk(full bool) {
	s := syscall.SIGUSR2
	if full {
		s = syscall.SIGUSR1
	}
	_ = p.cmd.Process.Signal(s) // it may be dead already
}

// Wait waits for its end, and says how it was: "crashed" at its step, "killed", "stopped", or what went wrong.
func (p *Process) Wait(bound time.Duration) string {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.Kill()
		<-p.ended
		return "still alive after " + bound.String()
	}
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return "stopped"
	case !errors.As(p.err, &exit):
		return p.err.Error()
	case exit.ExitCode() == crashCode:
		return "crashed"
	case exit.Sys().(syscall.WaitStatus).Signaled(): //nolint:forcetypeassert // of every system with signals
		return "killed"
	}
	return p.err.Error()
}

// Last is the step that it made last, and how often it has made each.
func (p *Process) Last() (crashpoint.Point, map[crashpoint.Point]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hits := make(map[crashpoint.Point]int, len(p.hits))
	for k, n := range p.hits {
		hits[k] = n
	}
	return p.last, hits
}

// Reach waits until it has made a step, or is dead. The step "" is any.
func (p *Process) Reach(step crashpoint.Point, bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		p.mu.Lock()
		made, again := p.hits[step] > 0 || step == "" && p.last != "", p.made
		p.mu.Unlock()
		if made {
			return true
		}
		select {
		case <-again:
		case <-p.ended:
			return false
		case <-timer.C:
			return false
		}
	}
}
