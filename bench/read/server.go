package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/mssqlcdc/internal/session"
)

// server is cmd/mssqltest as a process.
type server struct {
	cmd    *exec.Cmd
	addr   string
	folder string // of the script
}

const password = "Passw0rd!"

// build compiles a command of the repository.
func build(ctx context.Context, folder, pkg string) (string, error) {
	bin := filepath.Join(folder, filepath.Base(pkg))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return bin, nil
}

// startServer starts a server with empty tables.
func startServer(ctx context.Context, bin, folder, throttle string, tables map[string]*shape) (*server, error) {
	var script strings.Builder
	script.WriteString("EXEC sys.sp_cdc_enable_db\nGO\n")
	for name, s := range tables {
		script.WriteString(s.create(name))
	}
	seed := filepath.Join(folder, "seed.sql")
	if err := os.WriteFile(seed, []byte(script.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, bin, "-listen", "127.0.0.1:0", "-password", password, "-tls", "off", "-script", seed, "-throttle", throttle)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, rest, ok := strings.Cut(line, "ready on ")
	addr, _, okAddr := strings.Cut(rest, ";")
	if err != nil || !ok || !okAddr {
		return nil, errors.Join(fmt.Errorf("starting the server: it said %q", line), err, cmd.Process.Kill(), cmd.Wait())
	}
	return &server{cmd: cmd, addr: addr, folder: folder}, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it is waited for below
	_ = s.cmd.Wait()
}

func (s *server) dsn() string {
	return fmt.Sprintf("sqlserver://sa:%s@%s?database=testdb&encrypt=disable", strings.ReplaceAll(password, "!", "%21"), s.addr)
}

// perTransaction is how many rows a transaction has, as in the published benchmark.
const perTransaction = 10_000

// load fills a table and waits until the changes are captured.
func (s *server) load(ctx context.Context, table string, sh *shape, rows int, seed uint64) error {
	conn, err := session.Open(ctx, session.Config{ConnectionString: s.dsn()})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	g := newGenerator(sh, seed)
	load := session.BulkLoad{Table: "[dbo].[" + table + "]", Hints: session.BulkHints{CheckConstraints: true, FireTriggers: true, KeepNulls: true}}
	for i, c := range sh.columns {
		load.Columns = append(load.Columns, session.BulkColumn{Meta: g.metas[i], Declaration: c.decl})
	}
	for done := 0; done < rows; {
		n := min(rows-done, perTransaction)
		w, err := conn.Bulk(ctx, load)
		if err != nil {
			return err
		}
		var b []byte
		for i := range n {
			if b = g.append(b); len(b) > 256<<10 || i == n-1 {
				if err := w.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		if _, err := w.Finish(ctx); err != nil {
			return err
		}
		done += n
	}
	for {
		row, err := conn.QueryRow(ctx, "SELECT COUNT(*) FROM cdc.[dbo_"+table+"_CT]", "")
		if err != nil {
			return err
		}
		if row[0] == int64(rows) {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// selectList are the columns of a change table, those of every change table first.
func selectList(sh *shape) string {
	list := []string{"__$start_lsn", "__$command_id", "__$seqval", "__$operation", "__$update_mask"}
	for _, c := range sh.columns {
		list = append(list, c.name)
	}
	return "[" + strings.Join(list, "], [") + "]"
}

// wholeTable is the statement that reads a change table in its own order.
func wholeTable(sh *shape, table string) string {
	return "SELECT " + selectList(sh) + " FROM cdc.[dbo_" + table + "_CT] WITH (NOLOCK) ORDER BY [__$start_lsn], [__$command_id], [__$seqval], [__$operation]"
}
