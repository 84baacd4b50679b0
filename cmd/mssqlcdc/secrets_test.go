package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A connection string that a file holds is found by every command, and its password is in nothing that they print.
func TestSecretsFromFiles(t *testing.T) {
	_, dsn := standIn(t)
	dir := t.TempDir()
	secret, config := filepath.Join(dir, "dsn"), filepath.Join(dir, "pipeline.yaml")
	for file, text := range map[string]string{
		secret: dsn + "\n",
		config: "http: {enabled: false}\ninput:\n  mssql_cdc:\n    connection_string: ${SHOP_DSN}\n    checkpoint_file: " + filepath.Join(dir, "positions") + "\noutput: {stdout: {}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, after, _ := strings.Cut(dsn, "sa:")
	password, _, found := strings.Cut(after, "@")
	if !found || password == "" {
		t.Fatalf("no password in %s", dsn)
	}
	start := func(args ...string) *program {
		p := newProgram(t, args...)
		p.cmd.Env = append(p.cmd.Env, "SHOP_DSN_FILE="+secret)
		return p
	}
	check := func(t *testing.T, p *program, code int) {
		t.Helper()
		all := p.stdout.String() + p.stderr.String()
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, all)
		}
		if strings.Contains(all, password) {
			t.Errorf("the password is in what was printed:\n%s", all)
		}
	}
	for _, args := range [][]string{{"doctor", config}, {"positions", "list", config}, {"lint", config}} {
		t.Run(args[0], func(t *testing.T) {
			p := start(args...)
			check(t, p, p.run(t))
		})
	}
	t.Run("run", func(t *testing.T) {
		p := start("run", config)
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
			t.Errorf("it ended before the rows came: %s", p.stderr.String())
		}
		check(t, p, p.code(t, err))
	})
	t.Run("a file that is not there", func(t *testing.T) {
		p := newProgram(t, "doctor", config)
		p.cmd.Env = append(p.cmd.Env, "SHOP_DSN_FILE="+filepath.Join(dir, "missing"))
		if code := p.run(t); code != 2 || !strings.Contains(p.stderr.String(), "missing") {
			t.Errorf("exit code %d, want 2, and the name of the file\n%s", code, p.stderr.String())
		}
	})
}
