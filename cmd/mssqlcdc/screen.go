package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// screen stands between the pipeline's stdout and the real one, and counts the lines that come out. Benthos writes to
// os.Stdout, so that is replaced by a pipe while the screen is open.
type screen struct {
	real  *os.File
	write *os.File
	lines atomic.Int64
	done  chan error
}

func newScreen(out io.Writer) (*screen, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("opening a pipe for stdout: %w", err)
	}
	s := &screen{real: os.Stdout, write: w, done: make(chan error, 1)}
	os.Stdout = w
	go func() { s.done <- s.copy(r, out) }()
	return s, nil
}

func (s *screen) copy(r *os.File, out io.Writer) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := out.Write(line); err != nil {
				return errors.Join(err, r.Close())
			}
			s.lines.Add(1)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, r.Close())
		}
	}
}

// count is the number of lines so far.
func (s *screen) count() int { return int(s.lines.Load()) }

func (s *screen) close() error {
	os.Stdout = s.real
	return errors.Join(s.write.Close(), <-s.done)
}
