package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/urfave/cli/v2"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/verify"
	"example.com/mssqlcdc/mssqltest"
)

const (
	password = "Hidden-7c1!"
	orders   = "CREATE TABLE dbo.orders (id int NOT NULL PRIMARY KEY, v nvarchar(20) NULL);"
	two      = "INSERT INTO dbo.orders VALUES (1, N'a'), (2, N'b');"
	enable   = "EXEC sys.sp_cdc_enable_db; EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'orders', @role_name = NULL, @supports_net_changes = 0;"
)

var hosts atomic.Int64

// server gives the connection string of a server in this process.
func server(t *testing.T, script string) string {
	t.Helper()
	srv := mssqltest.Start(t, mssqltest.Config{Database: "shop", Password: password, CaptureStopped: true})
	host, addr := fmt.Sprintf("verify-command-%d", hosts.Add(1)), srv.Addr()
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) }))
	if err := srv.Exec(script); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(srv.ConnString(), addr, host, 1)
}

// run runs the command and gives what it prints and its exit code.
func call(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Name: "mssqlcdc", Writer: &out, ErrWriter: &out, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{Command(&out)}}
	code := 0
	if err := app.RunContext(t.Context(), append([]string{"mssqlcdc", "verify"}, args...)); err != nil {
		var exit cli.ExitCoder
		if !errors.As(err, &exit) {
			t.Fatalf("verify %q: %v, which has no exit code", args, err)
		}
		code = exit.ExitCode()
		out.WriteString(err.Error())
	}
	if strings.Contains(out.String(), password) {
		t.Errorf("verify prints a secret:\n%s", out.String())
	}
	return out.String(), code
}

func TestServersByFlags(t *testing.T) {
	src, dst := server(t, orders+two), server(t, strings.ReplaceAll(orders+two, "dbo.orders", "dbo.copies"))
	out, code := call(t, "--source", src, "--target", dst, "dbo.orders=dbo.copies")
	if want := "dbo.orders = dbo.copies: equal, 2 rows (chunks of the key)\nAll is equal.\n"; out != want || code != 0 {
		t.Errorf("exit code %d and\n%s\nwant 0 and\n%s", code, out, want)
	}
	out, code = call(t, "--source", src, "--target", dst, "--map", "dbo.orders=dbo.copies", "--include", `dbo\..*`)
	if code != 0 {
		t.Errorf("exit code %d and\n%s", code, out)
	}
	out, code = call(t, "--source", src, "--target", dst)
	if code != exitUnknown || !strings.Contains(out, "could not be compared") {
		t.Errorf("a table that is not there: exit code %d and\n%s", code, out)
	}
}

func TestPipelineSaysBoth(t *testing.T) {
	src := server(t, orders+two+enable+"CREATE TABLE dbo.unwatched (id int NOT NULL PRIMARY KEY);")
	dst := server(t, orders+"INSERT INTO dbo.orders VALUES (1, N'a'), (2, N'x'), (3, NULL);")
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := fmt.Sprintf("input: { mssql_cdc: { connection_string: %q } }\noutput:\n  broker: { outputs: [ { label: sink, mssql_bulk: { connection_string: %q, mode: apply } }, { drop: {} } ] }\n", src, dst)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := call(t, file, "--settle", "0s", "--json")
	if code != exitDifferent {
		t.Fatalf("exit code %d and\n%s", code, out)
	}
	var got verify.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Tables) != 1 || got.Equal || got.Tables[0].Differences != 2 || got.Tables[0].Rows[0].Columns[0] != (verify.Values{Column: "v", Source: `"b"`, Target: `"x"`}) {
		t.Errorf("%s", out)
	}
	out, _ = call(t, file, "--settle", "0s")
	want := "dbo.orders: 2 rows differ; 2 rows in the source, 3 in the target (chunks of the key)\n  differs {\"id\":2}\n      v: \"b\", in the target \"x\"\n  extra {\"id\":3}\nThere are differences.\n"
	if out != want {
		t.Errorf("the report is\n%s\nwant\n%s", out, want)
	}
}

func TestWrongCalls(t *testing.T) {
	dsn := server(t, orders)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"nothing":           {nil, "give a pipeline, or --source and --target"},
		"no target":         {[]string{"--source", dsn}, "give --target"},
		"no such flag":      {[]string{"--sauce", dsn}, "flag provided but not defined"},
		"a map of nothing":  {[]string{"--source", dsn, "--target", dsn, "--map", "dbo.orders"}, "write it as source=target"},
		"a map of no table": {[]string{"--source", dsn, "--target", dsn, "--map", "dbo.x=dbo.y"}, "which is not compared"},
		"no chunk":          {[]string{"--source", dsn, "--target", dsn, "--chunk", "-1"}, "chunk must be at least 1"},
		"nothing chosen":    {[]string{"--source", dsn, "--target", dsn, "--include", "nothing"}, "no table that is chosen"},
		"wrong password":    {[]string{"--source", strings.Replace(dsn, "Hidden", "Wrong", 1), "--target", dsn}, "Login failed"},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := call(t, tt.args...)
			if code != exitUnknown || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d and\n%s\nwant %d and %q", code, out, exitUnknown, tt.want)
			}
		})
	}
}
