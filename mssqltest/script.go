package mssqltest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sqlerr"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// Exec runs a T-SQL script as sa, in the process: no connection is made and no rule applies. Lines that say GO separate
// its batches. It stops at the first error and tells the batch.
func (s *Server) Exec(script string) error {
	_, err := s.run(script)
	return err
}

// Query runs a T-SQL script as Exec does and returns the rows of its last result set as text, NULL for NULL.
func (s *Server) Query(script string) ([][]string, error) { return s.run(script) }

func (s *Server) run(script string) ([][]string, error) {
	session, err := s.exec.NewSession(exec.SessionOptions{Login: "sa", Database: s.cfg.Database, AppName: "mssqltest"})
	if err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	defer session.Close()
	var c collector
	for i, b := range splitBatches(script) {
		for range b.times {
			if err := session.Batch(context.Background(), b.text, &c); err != nil {
				return nil, fmt.Errorf("running batch %d: %w", i+1, err)
			}
			if c.err != nil {
				return nil, fmt.Errorf("running batch %d (line %d of the script): %w", i+1, b.line+int(c.err.Line)-1, c.err)
			}
		}
	}
	return c.rows, nil
}

type scriptBatch struct {
	text        string
	line, times int
}

// splitBatches cuts a script at its GO lines, as sqlcmd does: GO alone on a line, in any case, with an optional count.
func splitBatches(script string) []scriptBatch {
	var out []scriptBatch
	var b strings.Builder
	start, n := 1, 0
	flush := func(times int) {
		if strings.TrimSpace(b.String()) != "" {
			out = append(out, scriptBatch{text: b.String(), line: start, times: times})
		}
		b.Reset()
	}
	for line := range strings.Lines(strings.TrimPrefix(script, "\uFEFF")) {
		n++
		if times, ok := goLine(line); ok {
			flush(times)
			start = n + 1
			continue
		}
		b.WriteString(line)
	}
	flush(1)
	return out
}

func goLine(line string) (times int, ok bool) {
	f := strings.Fields(strings.TrimRight(strings.TrimSpace(line), ";"))
	if len(f) == 0 || len(f) > 2 || !strings.EqualFold(f[0], "go") {
		return 0, false
	}
	if len(f) == 1 {
		return 1, true
	}
	times, err := strconv.Atoi(f[1])
	return times, err == nil && times >= 0
}

// collector keeps the last result set and the first error of a script.
type collector struct {
	types []value.Type
	rows  [][]string
	err   *sqlerr.Error
}

var _ exec.Sink = (*collector)(nil)

func (c *collector) Columns(cols []exec.Column) error {
	c.types, c.rows = nil, nil
	for i := range cols {
		c.types = append(c.types, cols[i].Type)
	}
	return nil
}

func (c *collector) Row(vals []value.Value) error {
	row := make([]string, len(vals))
	for i, v := range vals {
		row[i] = "NULL"
		if !v.IsNull() {
			row[i] = value.Display(v, c.types[i])
		}
	}
	c.rows = append(c.rows, row)
	return nil
}

func (c *collector) Message(e *sqlerr.Error) error {
	if e.Class > 10 && c.err == nil {
		c.err = e
	}
	return nil
}

func (c *collector) DoneStatement(uint16, int64, bool) error { return nil }
func (c *collector) Env(int, []byte, []byte) error           { return nil }
func (c *collector) Return(int32) error                      { return nil }
