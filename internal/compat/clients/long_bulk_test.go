package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// longRows is how many rows each client loads.
const longRows = 5000

// longClient is a program that loads rows, prints those of a table, or tests queries.
type longClient struct {
	name    string
	program string   // looked for in the path, unless it has a folder
	args    []string // before the verb
	needs   string   // a file without which it is not installed
	verbs   []string // what it can do: test, load and other ways to load
	strict  bool     // it can speak TDS 8.0
	reader  string   // the client that reads what this one has loaded
	plain   bool     // it loads ASCII and whole seconds: see docs/clients.md for why
}

func testdata(name string) string { return filepath.Join("testdata", "long", name) }

func javaClass(folder ...string) string {
	var parts []string
	for _, f := range folder {
		parts = append(parts, cached(f))
	}
	return strings.Join(parts, string(os.PathListSeparator))
}

// longClients come with .ci/clients-long.sh. A client reads with another implementation than the one that has loaded.
func longClients() []longClient {
	python := cached("venv", "bin", "python")
	module := func(name string) string {
		found, _ := filepath.Glob(cached("venv", "lib", "python3*", "site-packages", name))
		return strings.Join(found, "")
	}
	jdbc := func(version string) []string {
		return []string{"-Xmx512m", "-cp", javaClass("jdbc/classes", "jdbc/"+version+"/*"), "JdbcRows"}
	}
	return []longClient{
		{"tedious 19", "node", []string{testdata("tedious_rows.js")}, cached("node_modules", "tedious"), []string{"load"}, true, "pymssql", false},
		{"tedious 20", cached("tedious20", "node_modules", ".bin", "node"), []string{testdata("tedious_rows.js")}, cached("tedious20", "node_modules", "tedious"), []string{"load"}, true, "python-tds", false},
		{"mssql-jdbc 12.4", "java", jdbc("12"), cached("jdbc", "12"), []string{"test", "load", "batch"}, true, "tedious 19", false},
		{"mssql-jdbc 13.4", "java", jdbc("13"), cached("jdbc", "13"), []string{"test", "load", "batch"}, true, "pymssql", false},
		{"mssql-python", python, []string{testdata("mssql_python_rows.py")}, module("mssql_python"), []string{"test", "load", "load_arrow"}, true, "tedious 19", false},
		{"pymssql", python, []string{testdata("pymssql_rows.py")}, module("pymssql"), []string{"load"}, false, "tedious 19", true},
		{"python-tds", python, []string{testdata("pytds_rows.py")}, module("pytds"), []string{"test", "load"}, false, "pymssql", false},
		{"arrow-odbc", python, []string{testdata("arrow_odbc_rows.py")}, odbcDriver(), []string{"load"}, false, "tedious 19", true},
		{"tiberius", cached("tiberius", "release", "tiberius-rows"), nil, cached("tiberius", "release", "tiberius-rows"), []string{"test", "load"}, false, "mssql-jdbc 13.4", false},
		{"freebcp", "freebcp", nil, "", []string{"load"}, false, "tiberius", false},
	}
}

// odbcDriver is FreeTDS' driver for ODBC, of the system's packages.
func odbcDriver() string {
	found, _ := filepath.Glob("/usr/lib/*/odbc/libtdsodbc.so")
	return strings.Join(found, "")
}

// installed says what of a client is missing.
func (l *longClient) installed() error {
	if _, err := exec.LookPath(l.program); err != nil {
		return err
	}
	if l.needs == "" && l.name != "freebcp" {
		return fmt.Errorf("%s is not there", l.name)
	}
	if l.needs == "" {
		return nil
	}
	_, err := os.Stat(l.needs)
	return err
}

// on makes it a client of a server: no, yes or strict encryption.
func (l *longClient) on(t *testing.T, p *process, mode string) *client {
	t.Helper()
	c := &client{process: p, path: l.program, tls: mode != "no", strict: mode == "strict", bound: 10 * time.Minute}
	c.freeTDSConf(t)
	c.env = []string{"STANDIN_CERT=" + filepath.Join(p.dir, "leaf.pem"), "STANDIN_TRUST=" + filepath.Join(p.dir, "trust.p12"), "STANDIN_ODBC=" + odbcDriver()}
	if l.plain {
		c.env = append(c.env, "STANDIN_PLAIN=yes")
	}
	if strings.HasPrefix(l.name, "tedious 20") {
		c.env = append(c.env, "NODE_PATH="+cached("tedious20", "node_modules"))
	}
	return c
}

// long skips a test that .ci/run has no time for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("MSSQLCDC_LONG") == "" {
		t.Skip("set MSSQLCDC_LONG=1, after .ci/clients-long.sh")
	}
}

// TestLongClients lets every client of .ci/clients-long.sh make its queries and load rows of nine types in each of its ways, in
// clear, over TLS and, where it can, over TDS 8.0; what it has loaded is read back by another client, value by value.
//
//	MSSQLCDC_LONG=1 go test -count=1 -v -run TestLongClients ./internal/compat/clients
func TestLongClients(t *testing.T) {
	long(t)
	server := startServer(t, filepath.Join("testdata", "setup.sql"))
	certificates(t, server)
	all := longClients()
	for _, l := range all {
		modes := []string{"no", "yes"}
		if l.strict {
			modes = append(modes, "strict")
		}
		for _, mode := range modes {
			for _, verb := range l.verbs {
				t.Run(strings.ReplaceAll(l.name+"/"+mode+"/"+verb, " ", "-"), func(t *testing.T) {
					if err := l.installed(); err != nil {
						t.Skipf("%s is not installed (%v): run .ci/clients-long.sh", l.name, err)
					}
					c := l.on(t, server, mode)
					if verb == "test" {
						out, err := c.run(t, "", append(slices.Clone(l.args), "test")...)
						c.want(t, out, err, "all of ")
						return
					}
					at := slices.IndexFunc(all, func(r longClient) bool { return r.name == l.reader })
					reader := &all[at]
					if reader.installed() != nil { // the least that every run of the long tests has
						reader = &all[slices.IndexFunc(all, func(r longClient) bool { return r.name != l.name && r.name != "freebcp" && r.installed() == nil })]
					}
					loadAndRead(t, server, &l, c, reader, mode, verb)
				})
			}
		}
	}
}

// loadAndRead compares what one client reads with what another has loaded.
func loadAndRead(t *testing.T, server *process, l *longClient, c *client, reader *longClient, mode, verb string) {
	t.Helper()
	table := "dbo.r_" + strings.NewReplacer(" ", "_", ".", "_", "-", "_").Replace(l.name+"_"+mode+"_"+verb)
	execute(t, server, "CREATE TABLE "+table+" (id bigint NOT NULL, i int NULL, f float NULL, b bit NULL, s nvarchar(100) NULL, v varchar(100) NULL, n decimal(18,4) NULL, ts datetime2(6) NULL, bin varbinary(64) NULL)")
	args := append(slices.Clone(l.args), verb, table, fmt.Sprint(longRows))
	if l.name == "freebcp" {
		args = freebcpArgs(t, table, longRows)
	}
	out, err := c.run(t, "", args...)
	c.want(t, out, err)
	if mode == "strict" && !reader.strict {
		mode = "yes"
	}
	r := reader.on(t, server, mode)
	out, err = r.run(t, "", append(slices.Clone(reader.args), "read", table)...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", reader.name, err, out)
	}
	got := strings.Split(strings.TrimSpace(out), "\n")
	got = slices.DeleteFunc(got, func(l string) bool { return !strings.Contains(l, "|") })
	want := make([]string, longRows)
	for i := range want {
		want[i] = longRow(i)
		if l.plain {
			cells := strings.Split(want[i], "|")
			cells[4], cells[5], cells[7] = fmt.Sprintf("s-%d", i), fmt.Sprintf("v-%d", i), longTime(i).Truncate(time.Second).Format("2006-01-02 15:04:05.000000")
			want[i] = strings.Join(cells, "|")
		}
	}
	compareLines(t, reader.name, got, want)
}

// longRow is a row as the readers print it.
func longRow(i int) string {
	n, sign := i*2501, ""
	if i%2 == 1 {
		sign = "-"
	}
	null := "NULL"
	if i%7 != 0 {
		null = fmt.Sprint(-i)
	}
	return fmt.Sprintf("%d|%s|%.1f|%d|ü名😀-%d|é€-%d|%s%d.%04d|%s|00ff%x", 5_000_000_000+i, null, float64(i)/2, 1-i%2, i, i, sign, n/10000, n%10000,
		longTime(i).Format("2006-01-02 15:04:05.000000"), fmt.Sprint(i))
}

func longTime(i int) time.Time {
	return time.Date(2024, 2, 29, 0, 0, i, (i*7%1000)*1e6+456_000, time.UTC)
}

// freebcpArgs load the same rows from a file of characters.
func freebcpArgs(t *testing.T, table string, rows int) []string {
	t.Helper()
	var b strings.Builder
	for i := range rows {
		cells := strings.Split(longRow(i), "|")
		if cells[1] == "NULL" {
			cells[1] = ""
		}
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	file := filepath.Join(t.TempDir(), "rows.tsv")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"testdb." + table, "in", file, "-S", "standin", "-U", "sa", "-P", password, "-c", "-t", "\t", "-b", "2000"}
}
