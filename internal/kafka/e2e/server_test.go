package e2e

import (
	"net"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest"
)

// sqlServer starts a stand-in that other processes can reach, and runs a script on it.
func sqlServer(t *testing.T, database, script string) *mssqltest.Server {
	t.Helper()
	srv, err := mssqltest.New(mssqltest.Config{Database: database})
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
	if err := srv.Exec(script); err != nil {
		t.Fatal(err)
	}
	return srv
}

// query returns rows with their columns joined.
func query(t *testing.T, srv *mssqltest.Server, text string) []string {
	t.Helper()
	rows, err := srv.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = strings.Join(row, "|")
	}
	return out
}
