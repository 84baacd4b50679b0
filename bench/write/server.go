package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	login    = "sa"
	password = "Passw0rd!"
	database = "testdb"
)

// process is a server that runs for as long as the benchmark does.
type process struct {
	cmd   *exec.Cmd
	addr  string
	lines chan string // what it prints after it is ready
}

// startServer starts a program and waits for the line "… ready on ADDRESS…".
func startServer(ctx context.Context, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...), lines: make(chan string, 1<<16)}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	in := bufio.NewScanner(out)
	for in.Scan() {
		if _, rest, ok := strings.Cut(in.Text(), "ready on "); ok {
			p.addr, _, _ = strings.Cut(rest, ";")
			break
		}
	}
	if p.addr == "" {
		return nil, errors.Join(fmt.Errorf("%s did not become ready", program), in.Err(), p.stop())
	}
	go func() {
		defer close(p.lines)
		for in.Scan() {
			p.lines <- in.Text()
		}
	}()
	return p, nil
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, io.EOF) {
		return nil // it was told to
	}
	return err
}

// servers are the stand-in and the drain before it.
type servers struct {
	standIn, drain *process
	close          func() error
}

func startServers(ctx context.Context, cache string, all []*scenario) (*servers, error) {
	standIn, err := goProgram("./cmd/mssqltest")(ctx, cache)
	if err != nil {
		return nil, err
	}
	drain, err := goProgram("./bench/write/drain")(ctx, cache)
	if err != nil {
		return nil, err
	}
	script, err := os.CreateTemp("", "bench-*.sql")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(script.Name()) }()
	for _, s := range all {
		fmt.Fprintf(script, "%s\nGO\n", s.table())
	}
	if err := script.Close(); err != nil {
		return nil, err
	}
	s := &servers{}
	if s.standIn, err = startServer(ctx, standIn[0], "-listen", "127.0.0.1:0", "-tls", "off", "-password", password, "-database", database, "-script", script.Name()); err != nil {
		return nil, err
	}
	s.close = s.standIn.stop
	if s.drain, err = startServer(ctx, drain[0], "-server", s.standIn.addr); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.close = sync.OnceValue(func() error { return errors.Join(s.drain.stop(), s.standIn.stop()) })
	return s, nil
}

// counted adds up what the drain has counted since the last time. It prints before it
// answers, but the line may still be on its way.
func (s *servers) counted(want int64) (rows, bytes int64) {
	late := time.After(2 * time.Second)
	for rows < want {
		select {
		case line := <-s.drain.lines:
			var r, b int64
			if _, err := fmt.Sscanf(line, "rows %d bytes %d", &r, &b); err == nil {
				rows, bytes = rows+r, bytes+b
			}
		case <-late:
			return rows, bytes
		}
	}
	return rows, bytes
}
