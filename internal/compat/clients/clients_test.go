package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestClients runs every client that is installed, in clear and over TLS, against one server.
func TestClients(t *testing.T) {
	clients := []struct {
		name, program, needs string
		test                 func(*testing.T, *client)
	}{
		{"tsql", "tsql", "", testTSQL},
		{"bsqldb", "bsqldb", "", testBSQLDB},
		{"freebcp", "freebcp", "", testFreeBCP},
		{"pymssql", cached("venv", "bin", "python"), "", testPymssql},
		{"tedious", "node", cached("node_modules", "tedious"), testTedious},
	}
	var server *process // started for the first client that is there
	for _, c := range clients {
		path, err := exec.LookPath(c.program)
		if err == nil && c.needs != "" {
			_, err = os.Stat(c.needs)
		}
		if err == nil && server == nil {
			server = startServer(t, filepath.Join("testdata", "setup.sql"))
		}
		for _, mode := range []string{"clear", "tls"} {
			t.Run(c.name+"/"+mode, func(t *testing.T) {
				if err != nil {
					t.Skipf("%s is not installed (%v): run .ci/clients.sh", c.name, err)
				}
				cl := &client{process: server, path: path, tls: mode == "tls"}
				cl.freeTDSConf(t)
				c.test(t, cl)
			})
		}
	}
}

// testTSQL types at FreeTDS' interactive tool.
func testTSQL(t *testing.T, c *client) {
	out, err := c.run(t, `CREATE TABLE #t (id int PRIMARY KEY, s nvarchar(20), d decimal(9,2) NULL)
INSERT #t VALUES (1, N'één', 1.50), (2, N'δύο', NULL)
go
SELECT id, s, d FROM #t ORDER BY id
go
SELECT * FROM dbo.nowhere
go
EXEC dbo.twice 21
go
exit
`, "-S", "standin", "-U", "sa", "-P", password, "-D", "testdb", "-o", "q")
	c.want(t, out, err, "1\téén\t1.50", "2\tδύο\tNULL", "Msg 208", "Invalid object name 'dbo.nowhere'", "42")
}

// testBSQLDB runs a script through DB-Library.
func testBSQLDB(t *testing.T, c *client) {
	out, err := c.run(t, "SELECT name, price FROM dbo.item ORDER BY id\ngo\nSELECT COUNT(*) AS n FROM dbo.item\ngo\n",
		"-S", "standin", "-U", "sa", "-P", password, "-D", "testdb", "-t", "|")
	c.want(t, out, err, "apple|1.2500", "pear|", "3")
}

// testFreeBCP loads a file by INSERT BULK and writes the table back out; both files must be the same.
func testFreeBCP(t *testing.T, c *client) {
	dir := t.TempDir()
	in, back := filepath.Join(dir, "in.tsv"), filepath.Join(dir, "out.tsv")
	var b strings.Builder
	for i := range 2500 {
		b.WriteString(strings.Join([]string{strconv.Itoa(i), strconv.Itoa(-i), "naïve " + strconv.Itoa(i), strconv.Itoa(i) + ".2500", "2024-02-29 12:34:56.123"}, "\t") + "\n")
	}
	if err := os.WriteFile(in, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	login := []string{"-S", "standin", "-U", "sa", "-P", password, "-c", "-t", "\t"}
	table := "testdb.dbo.bcp_clear"
	if c.tls {
		table = "testdb.dbo.bcp_tls"
	}
	out, err := c.run(t, "", append([]string{table, "in", in, "-b", "1000"}, login...)...)
	c.want(t, out, err, "2500 rows copied")
	out, err = c.run(t, "", append([]string{table, "out", back}, login...)...)
	c.want(t, out, err, "2500 rows copied")
	got, err := os.ReadFile(back)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("what came back differs: %q, want %q", head(string(got)), head(b.String()))
	}
}

func testPymssql(t *testing.T, c *client) {
	out, err := c.run(t, "", filepath.Join("testdata", "pymssql_client.py"))
	c.want(t, out, err, "all of pymssql passed")
}

func testTedious(t *testing.T, c *client) {
	script, err := filepath.Abs(filepath.Join("testdata", "tedious_client.js"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.run(t, "", script)
	c.want(t, out, err, "all of tedious passed")
}

func head(s string) string { return s[:min(len(s), 120)] }
