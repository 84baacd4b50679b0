package main

import (
	"bufio"
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/microsoft/go-mssqldb"
)

func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "seed.sql")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The process runs its script, says where it listens, serves, and stops when it is told to.
func TestRun(t *testing.T) {
	seed := script(t, "CREATE TABLE dbo.t (id int);\nGO\nINSERT dbo.t VALUES (42);\nGO\n")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	pr, pw := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-listen", "127.0.0.1:0", "-password", "s3cret!", "-database", "shop", "-script", seed, "-ca-out", ca}, pw)
	}()
	line, err := bufio.NewReader(pr).ReadString('\n')
	if err != nil {
		t.Fatalf("%v, %v", err, <-ended)
	}
	_, hint, ok := strings.Cut(strings.TrimSpace(line), "connect with ")
	if !ok || strings.Contains(line, "s3cret") {
		t.Fatalf("ready line %q", line)
	}
	db, err := sql.Open("sqlserver", strings.Replace(hint, "<password>", "s3cret%21", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var got int
	if err := db.QueryRow("SELECT id FROM shop.dbo.t").Scan(&got); err != nil || got != 42 {
		t.Errorf("got %d, %v", got, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestRunReportsBadScript(t *testing.T) {
	err := run(context.Background(), []string{"-listen", "127.0.0.1:0", "-script", script(t, "SELECT 1\nGO\nSELECT * FROM nowhere\n")}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a bad script gave %v, want its line", err)
	}
}
