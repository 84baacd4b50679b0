package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

const (
	// password is in every connection string of these tests, and in none of what doctor prints.
	password = "Hidden-7c1!"

	table  = "CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NULL);"
	enable = "EXEC sys.sp_cdc_enable_db; EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N't', @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;"
	good   = "ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON;" + table + enable
	bob    = "CREATE LOGIN bob WITH PASSWORD = '" + password + "'; CREATE USER bob FOR LOGIN bob;"
)

// rig is a server whose capture job runs when it is told to, and what doctor is told of it.
type rig struct {
	t   *testing.T
	srv *mssqltest.Server
	dsn string
}

var hosts struct {
	sync.Mutex
	n int
}

func newRig(t *testing.T, script string) *rig {
	t.Helper()
	r := &rig{t: t, srv: mssqltest.Start(t, mssqltest.Config{Database: "shop", Password: password, CaptureStopped: true})}
	hosts.Lock()
	hosts.n++
	host := fmt.Sprintf("doctor-%d", hosts.n)
	hosts.Unlock()
	addr := r.srv.Addr()
	t.Cleanup(session.RegisterInProcess(host, func(ctx context.Context) (net.Conn, error) { return r.srv.DialContext(ctx, "tcp", addr) }))
	r.dsn = strings.Replace(r.srv.ConnString(), addr, host, 1)
	r.exec(script)
	return r
}

func (r *rig) exec(script string) {
	r.t.Helper()
	if err := r.srv.Exec(script); err != nil {
		r.t.Fatal(err)
	}
}

// scan lets the capture job handle every commit, where it has a table.
func (r *rig) scan() {
	r.t.Helper()
	rows, err := r.srv.Query("SELECT COUNT(*) FROM sys.tables WHERE is_tracked_by_cdc = 1")
	if err != nil {
		r.t.Fatal(err)
	}
	if rows[0][0] == "0" {
		return
	}
	if err := r.srv.Control().CaptureScan(r.t.Context(), ""); err != nil {
		r.t.Fatal(err)
	}
}

// as changes the login, as user or user:password.
func (r *rig) as(login string) {
	r.t.Helper()
	u, err := url.Parse(r.dsn)
	if err != nil {
		r.t.Fatal(err)
	}
	user, secret, ok := strings.Cut(login, ":")
	if !ok {
		secret = password
	}
	u.User = url.UserPassword(user, secret)
	r.dsn = u.String()
}

// write writes a file and gives its path.
func (r *rig) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// doctor runs the command and gives what it prints and its exit code. No secret may be in either.
func (r *rig) doctor(ctx context.Context, args ...string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	app := &cli.App{Name: "mssqlcdc", Writer: &out, ErrWriter: &out, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{Command(&out)}}
	err := app.RunContext(ctx, append([]string{"mssqlcdc", "doctor"}, args...))
	code := 0
	if err != nil {
		var exit cli.ExitCoder
		if !errors.As(err, &exit) {
			r.t.Fatalf("doctor %q: %v, which has no exit code", args, err)
		}
		code = exit.ExitCode()
		out.WriteString(err.Error())
	}
	for _, secret := range []string{password, url.QueryEscape(password), "wrong-9d2"} {
		if strings.Contains(out.String(), secret) {
			r.t.Errorf("doctor prints a secret:\n%s", out.String())
		}
	}
	return out.String(), code
}
