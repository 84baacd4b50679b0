package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest"
)

// asProgram makes the test binary run as the program itself, so that its exit code and its streams can be seen.
const asProgram = "MSSQLCDC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program is a run of mssqlcdc in a process of its own.
type program struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func newProgram(t *testing.T, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

// code is the exit code.
func (p *program) code(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %q: %v\n%s", p.cmd.Args, err, p.stderr.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) run(t *testing.T) int {
	t.Helper()
	return p.code(t, p.cmd.Run())
}

// standIn is a server on a port of this machine, with tables t1 and t2 under CDC.
func standIn(t *testing.T) (*mssqltest.Server, string) {
	t.Helper()
	srv, err := mssqltest.New(mssqltest.Config{Database: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Listen(l); err != nil {
		t.Fatal(err)
	}
	if err := srv.Exec(`CREATE TABLE dbo.t1 (id int NOT NULL PRIMARY KEY);
CREATE TABLE dbo.t2 (id int NOT NULL PRIMARY KEY);
EXEC sys.sp_cdc_enable_db;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't1', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't2', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;
INSERT dbo.t1 VALUES (1);
WAITFOR DELAY '00:00:00.020';
INSERT dbo.t1 VALUES (2);
INSERT dbo.t2 VALUES (3);`); err != nil {
		t.Fatal(err)
	}
	scan(t, srv)
	return srv, srv.ConnString()
}

func scan(t *testing.T, srv *mssqltest.Server) {
	t.Helper()
	if err := srv.Control().CaptureScan(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// The demo's last line on stderr is its summary, and stdout is the changes as JSON lines.
func TestDemoOnce(t *testing.T) {
	p := newProgram(t, "demo", "--once")
	if code := p.run(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		t.Fatalf("the last line is %q: %v", lines[len(lines)-1], err)
	}
	changes, _ := got["changes"].(float64)
	tables, _ := got["tables"].(float64)
	if got["resumed"] != true || tables < 2 || got["seconds"] == nil || len(got) != 4 {
		t.Errorf("the summary is %v", got)
	}
	out := strings.Split(strings.TrimSpace(p.stdout.String()), "\n")
	if len(out) != int(changes) || changes < 10 {
		t.Errorf("%d lines came out, and the summary says %v", len(out), changes)
	}
	for _, line := range out {
		var row struct {
			Op, Table string
			Row       map[string]any
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Op == "" || row.Table == "" || len(row.Row) == 0 {
			t.Fatalf("line %q: %v", line, err)
		}
	}
}

func TestDemoScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "s.sql")
	if err := os.WriteFile(script, []byte("CREATE TABLE dbo.a (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);\nCREATE TABLE dbo.b (id int NOT NULL, n int NULL);\nCREATE TABLE dbo.c (id int NOT NULL, n int NULL);\n"+
		"GO\nINSERT dbo.a VALUES (1, N'é'), (2, NULL);\nINSERT dbo.b VALUES (1, 1);\nINSERT dbo.c VALUES (1, 1);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, "demo", "--once", "--script", script)
	if code := p.run(t); code != 0 || !strings.Contains(p.stderr.String(), `"tables":3`) || !strings.Contains(p.stdout.String(), `"table":"b"`) {
		t.Errorf("exit code %d\n%s\n%s", code, p.stderr.String(), p.stdout.String())
	}
	for name, args := range map[string][]string{
		"a script that is not there": {"demo", "--once", "--script", script + ".no"},
		"a script without tables":    {"demo", "--once", "--script", os.DevNull},
	} {
		p := newProgram(t, args...)
		if code := p.run(t); code != 1 || p.stderr.Len() == 0 {
			t.Errorf("%s: exit code %d, stderr %q", name, code, p.stderr.String())
		}
	}
}

// What people who run the program from a script rely on: 0 when it was stopped in order or did what it was told, not 0 when the
// config is wrong or, with on_table_error: stop, when a table cannot go on.
func TestExitCodes(t *testing.T) {
	srv, dsn := standIn(t)
	dir := t.TempDir()
	config := func(name, fields, rest string) string {
		path := filepath.Join(dir, name+".yaml")
		text := fmt.Sprintf("http: {enabled: false}\nlogger: {level: WARN}\ninput:\n  mssql_cdc:\n    connection_string: %q\n    checkpoint_file: %s\n%s%s\noutput: {stdout: {}}\n", dsn, filepath.Join(dir, name), fields, rest)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows, err := srv.Query("SELECT DISTINCT CONVERT(varchar(30), __$start_lsn, 1) FROM cdc.dbo_t1_CT ORDER BY 1")
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	for _, c := range []string{"stop", "park"} {
		file := config(c, "    on_table_error: "+c+"\n", "")
		p := newProgram(t, "positions", "set", file, "--all", "--to", rows[0][0])
		if code := p.run(t); code != 0 || !strings.Contains(p.stdout.String(), "written") {
			t.Fatalf("positions set: exit code %d\n%s\n%s", code, p.stderr.String(), p.stdout.String())
		}
	}
	if err := srv.Control().Cleanup("", "dbo_t1", rows[1][0], 5000); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // on stderr or stdout
	}{
		{"a table that cannot go on", []string{"run", filepath.Join(dir, "stop.yaml")}, 1, "a table cannot go on"},
		{"its positions", []string{"positions", "list", filepath.Join(dir, "stop.yaml")}, 0, "gap"},
		{"positions that cannot be set", []string{"positions", "set", filepath.Join(dir, "stop.yaml"), "dbo.t1", "--to", rows[0][0]}, 1, "gap"},
		{"positions of nothing", []string{"positions", "list", filepath.Join(dir, "none.yaml")}, 1, "none.yaml"},
		{"a field that does not exist", []string{"run", config("lint", "    no_such_field: 1\n", "")}, 1, "no_such_field"},
		{"a config that is not there", []string{"run", filepath.Join(dir, "none.yaml")}, 1, "none.yaml"},
		{"lint of a good config", []string{"lint", filepath.Join(dir, "stop.yaml")}, 0, ""},
		{"lint of a bad config", []string{"lint", filepath.Join(dir, "lint.yaml")}, 1, "no_such_field"},
		{"doctor of a good database", []string{"doctor", filepath.Join(dir, "stop.yaml")}, 0, "All is well."},
		{"doctor of a login that is refused", []string{"doctor", "--connection", strings.Replace(dsn, "sa:", "sb:", 1)}, 1, "check user name and password"},
		{"doctor of a config that is not there", []string{"doctor", filepath.Join(dir, "none.yaml")}, 2, "none.yaml"},
		{"doctor with a flag that does not exist", []string{"doctor", "--no-such-flag"}, 2, "no-such-flag"},
		{"version", []string{"--version"}, 0, version},
		{"an unknown command", []string{"positionss"}, 1, "positionss"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProgram(t, tt.args...)
			if code := p.run(t); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, p.stderr.String())
			}
			if all := p.stderr.String() + p.stdout.String(); !strings.Contains(all, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, all)
			}
		})
	}
	t.Run("stopped in order while a table is parked", func(t *testing.T) {
		p := newProgram(t, "run", filepath.Join(dir, "park.yaml"))
		out := &watched{want: `{"id":3}`, seen: make(chan struct{})}
		p.cmd.Stdout = out
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- p.cmd.Wait() }()
		var err error
		select {
		case <-out.seen:
			if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			err = <-ended
		case err = <-ended:
			t.Errorf("it ended before the changes of the other table came: %s", out.text.String())
		}
		if code := p.code(t, err); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.String())
		}
	})
}

// Ctrl-C ends doctor, which says so, while it waits for a server that accepts connections and never answers.
func TestDoctorIsInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nothing is sent on it
	p := newProgram(t, "doctor", "--connection", "sqlserver://sa:secret@"+l.Addr().String()+"?database=shop")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // nothing is sent on it
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.code(t, p.cmd.Wait()); code != 1 || !strings.Contains(p.stderr.String(), "doctor: interrupted") {
		t.Errorf("exit code %d\n%s\n%s", code, p.stdout.String(), p.stderr.String())
	}
}

// watched says when a text has come. One goroutine writes a process's output; the buffer is no part of it, or its ReadFrom would
// be used in place of Write.
type watched struct {
	text bytes.Buffer
	want string
	seen chan struct{}
	done bool
}

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.text.Write(b)
	if !w.done && strings.Contains(w.text.String(), w.want) {
		w.done = true
		close(w.seen)
	}
	return n, err
}
