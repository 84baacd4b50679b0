package mssqlcdc

import (
	"context"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestQuickstart runs the commands of docs/guides/quickstart.md, in their order and in one shell.
func TestQuickstart(t *testing.T) {
	if os.Getenv("CI") == "" && os.Getenv("MSSQLCDC_LONG") == "" {
		t.Skip("it builds the programs; set CI=true")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	page, err := os.ReadFile("docs/guides/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	script := "set -euo pipefail\ntrap 'kill $(jobs -p)' EXIT\n"
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllSubmatch(page, -1)
	for _, b := range blocks {
		block := strings.ReplaceAll(string(b[1]), "14330", port)
		block = strings.ReplaceAll(block, "mssqlcdc run ", "mssqlcdc run -s http.enabled=false ") // its port may be another's
		script += block
		if strings.HasSuffix(strings.TrimSpace(block), "&") { // who types it waits until the program says that it is ready
			script += "until (exec 3<>/dev/tcp/127.0.0.1/" + port + ") 2>/dev/null; do read -rt 0.1 <> <(:) || :; done\n"
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bash, "-c", script)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"resumed":true`,       // demo
		"All is well.",         // doctor
		`"operation":"delete"`, // run
		"up to date",           // positions list
		"Output type mssql_bulk is now active",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// freePort is one that nobody listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
