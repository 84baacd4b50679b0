package signal

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// call runs the command and gives what it says.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app := &cli.App{Commands: []*cli.Command{Command(&out)}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.RunContext(t.Context(), append([]string{"mssqlcdc", "signal"}, args...))
	return out.String(), err
}

// rig is a server with a signal table, and a pipeline that names it.
func rig(t *testing.T) (srv *mssqltest.Server, config string) {
	t.Helper()
	srv = mssqltest.Start(t, mssqltest.Config{Database: "shop"})
	if err := srv.Exec("CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL)"); err != nil {
		t.Fatal(err)
	}
	addr := srv.Addr()
	t.Cleanup(session.RegisterInProcess("signal-host", func(ctx context.Context) (net.Conn, error) { return srv.DialContext(ctx, "tcp", addr) }))
	config = filepath.Join(t.TempDir(), "p.yaml")
	text := "input:\n  mssql_cdc:\n    connection_string: \"" + strings.Replace(srv.ConnString(), addr, "signal-host", 1) + "\"\n    signal_table: dbo.signals\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return srv, config
}

func TestSignalWritesARow(t *testing.T) {
	srv, config := rig(t)
	for _, tt := range []struct {
		args       string
		kind, data string
	}{
		{"execute-snapshot dbo.t", "execute-snapshot", `{"data-collections":["dbo.t"],"type":"incremental"}`},
		{"execute-snapshot dbo.t [odd.x].名 --where n=N'ä'", "execute-snapshot", `{"data-collections":["dbo.t","[odd.x].\u540d"],"type":"incremental","additional-conditions":[{"data-collection":"dbo.t","filter":"n=N'\u00e4'"},{"data-collection":"[odd.x].\u540d","filter":"n=N'\u00e4'"}]}`},
		{"stop", "stop-snapshot", `{"type":"incremental"}`},
		{"stop dbo.t", "stop-snapshot", `{"data-collections":["dbo.t"],"type":"incremental"}`},
		{"pause", "pause-snapshot", `{"type":"incremental"}`},
		{"resume-snapshot", "resume-snapshot", `{"type":"incremental"}`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			if err := srv.Exec("DELETE dbo.signals"); err != nil {
				t.Fatal(err)
			}
			out, err := call(t, append([]string{"--config", config}, strings.Fields(tt.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := srv.Query("SELECT id, type, data FROM dbo.signals")
			if err != nil || len(rows) != 1 {
				t.Fatalf("rows %v, %v", rows, err)
			}
			if rows[0][1] != tt.kind || rows[0][2] != tt.data || !json.Valid([]byte(rows[0][2])) {
				t.Errorf("row %q, want %s and %s", rows[0], tt.kind, tt.data)
			}
			if !strings.Contains(out, rows[0][0]) {
				t.Errorf("%q does not name the signal", out)
			}
			// What --print says has the same effect, and nothing is written by itself.
			printed, err := call(t, append([]string{"--print", "--config", config}, strings.Fields(tt.args)...)...)
			if err != nil {
				t.Fatal(err)
			}
			if err := srv.Exec(printed); err != nil {
				t.Fatalf("%v in %s", err, printed)
			}
			rows, err = srv.Query("SELECT DISTINCT type, data FROM dbo.signals")
			if err != nil || len(rows) != 1 {
				t.Errorf("rows %v, %v", rows, err)
			}
			if n, err := srv.Query("SELECT COUNT(*) FROM dbo.signals"); err != nil || n[0][0] != "2" {
				t.Errorf("%v signals, %v", n, err)
			}
		})
	}
}

func TestSignalIsRefused(t *testing.T) {
	_, config := rig(t)
	bare := filepath.Join(t.TempDir(), "bare.yaml")
	if err := os.WriteFile(bare, []byte("input:\n  mssql_cdc:\n    connection_string: sqlserver://h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"--config " + config, "say what to do"},
		{"--config " + config + " go", `"go" is none of`},
		{"--config " + config + " execute-snapshot", "name the tables"},
		{"--config " + config + " pause dbo.t", "for all tables"},
		{"--config " + config + " stop --where a=1", "goes with execute-snapshot"},
		{"--config " + config + " execute-snapshot a.b.c", "3 parts"},
		{"--config " + config + " execute-snapshot dbo.t --where " + strings.Repeat("x", 2048), "the table takes 2048"},
		{"--config " + bare + " pause", "has no signal_table"},
		{"pause", "name the pipeline with --config"},
		{"--connection sqlserver://h pause", "--signal-table goes with --connection"},
		{"--config " + config + " --signal-table dbo.s pause", "says its table itself"},
	} {
		if out, err := call(t, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: %q, %v; want %q", tt.args, out, err, tt.want)
		}
	}
}
