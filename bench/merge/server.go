package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// server is the stand-in as a process.
type server struct {
	cmd *exec.Cmd
	dsn string
	dir string
}

func startServer(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "bench-merge-*")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "mssqltest")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/mssqltest").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("building the stand-in: %w: %s", err, out), os.RemoveAll(dir))
	}
	s := &server{cmd: exec.CommandContext(ctx, program, "-listen", "127.0.0.1:0", "-tls", "off", "-password", "Passw0rd!", "-database", "testdb"), dir: dir}
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	in := bufio.NewScanner(out)
	for in.Scan() {
		if _, rest, ok := strings.Cut(in.Text(), "ready on "); ok {
			addr, _, _ := strings.Cut(rest, ";")
			s.dsn = "sqlserver://sa:Passw0rd%21@" + strings.TrimSpace(addr) + "?database=testdb&encrypt=disable"
			go func() {
				for in.Scan() { // it is not to wait for its output
				}
			}()
			return s, nil
		}
	}
	return nil, errors.Join(errors.New("the stand-in did not become ready"), in.Err(), s.stop())
}

func (s *server) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait() // it was told to end
	return os.RemoveAll(s.dir)
}

// clockTicks are those of a second in /proc/PID/stat.
const clockTicks = 100

// cpu is the processor time of the server in seconds; 0 where it is not known.
func (s *server) cpu() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		return 0
	}
	return float64(user+system) / clockTicks
}
