package clients

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const password = "Str0ng pass;word"

// process is a running mssqltest.
type process struct {
	port string
	ca   string // file
	dir  string
}

var readyLine = regexp.MustCompile(`ready on (\S+);`)

// startServer builds and starts cmd/mssqltest with a script.
func startServer(t *testing.T, script string) *process {
	t.Helper()
	p := &process{dir: t.TempDir()}
	p.ca = filepath.Join(p.dir, "ca.pem")
	bin := filepath.Join(p.dir, "mssqltest")
	if out, err := exec.Command("go", "build", "-o", bin, "example.com/mssqlcdc/cmd/mssqltest").CombinedOutput(); err != nil {
		t.Fatalf("building mssqltest: %v\n%s", err, out)
	}
	cmd := exec.Command(bin, "-listen", "127.0.0.1:0", "-password", password, "-database", "testdb",
		"-script", script, "-tls", "auto", "-ca-out", p.ca)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("mssqltest ended with %v\n%s", err, stderr.String())
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	m := readyLine.FindStringSubmatch(line)
	if err != nil || m == nil {
		t.Fatalf("no ready line but %q, %v\n%s", line, err, stderr.String())
	}
	if _, p.port, err = net.SplitHostPort(m[1]); err != nil {
		t.Fatal(err)
	}
	return p
}

// client is a way to call a foreign program.
type client struct {
	*process
	tls    bool
	strict bool // TDS 8.0
	path   string
	env    []string      // more of it
	conf   string        // FREETDSCONF
	bound  time.Duration // of one call; 0 is a minute
}

// freeTDSConf names the server "standin" for everything that is built on FreeTDS. Over TLS the certificate is verified.
func (c *client) freeTDSConf(t *testing.T) {
	t.Helper()
	encryption := "encryption = off"
	if c.tls {
		encryption = "encryption = require\n\tca file = " + c.ca
	}
	c.conf = filepath.Join(t.TempDir(), "freetds.conf")
	text := fmt.Sprintf("[global]\n\ttds version = 7.4\n\tclient charset = UTF-8\n[standin]\n\thost = 127.0.0.1\n\tport = %s\n\t%s\n", c.port, encryption)
	if err := os.WriteFile(c.conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run calls the program with what it reads from stdin and returns what it printed.
func (c *client) run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	bound := c.bound
	if bound == 0 {
		bound = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	encrypt := "no"
	if c.tls {
		encrypt = "yes"
	}
	if c.strict {
		encrypt = "strict"
	}
	cmd.Env = append(os.Environ(), "FREETDSCONF="+c.conf, "STANDIN_PORT="+c.port, "STANDIN_PASSWORD="+password, "STANDIN_TLS="+encrypt, "STANDIN_CA="+c.ca, "NODE_PATH="+cached("node_modules"))
	cmd.Env = append(cmd.Env, c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// want fails unless the program ended well and printed every one of the lines.
func (c *client) want(t *testing.T, out string, err error, lines ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.path, err, out)
	}
	for _, l := range lines {
		if !strings.Contains(out, l) {
			t.Errorf("%s did not print %q:\n%s", c.path, l, out)
		}
	}
}

// cached is the folder that .ci/clients.sh installs to.
func cached(name ...string) string {
	dir := os.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(append([]string{dir, "mssqlcdc", "clients"}, name...)...)
}
