package compat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/mssqltest"
)

// dsnVariable names a real server to run on.
const dsnVariable = "MSSQL_TEST_DSN"

// loginPassword is that of logins that scenarios make.
const loginPassword = "C0mpat-Passw0rd!"

// databaseOptions say how a scenario's database is made.
type databaseOptions struct {
	collation       string
	timezone        string
	withoutCDC      bool
	withoutSnapshot bool
	stopped         bool // the capture job runs by hand alone (stand-in)
}

// database is the database of one scenario, on the stand-in or on a real server.
type database struct {
	name   string
	server *mssqltest.Server // nil on a real server
	base   *url.URL          // connection string of the administrator, without a database
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	admin  *sql.DB // in the database
	logins []string
	marks  int
}

// names makes databases of one process different.
var names atomic.Int64

// markerTable is what the suite itself has in a database of a real server, to know how far the capture job is.
const markerTable = "compat_marker"

// standInDatabase makes a server in this process and a database on it.
func standInDatabase(ctx context.Context, t testing.TB, o databaseOptions) *database {
	t.Helper()
	cfg := mssqltest.Config{CaptureStopped: o.stopped}
	if o.timezone != "" {
		loc, err := time.LoadLocation(o.timezone)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Location = loc
	}
	srv, err := mssqltest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	if err := srv.ListenMemory(); err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(srv.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	d := &database{server: srv, base: base, dial: func(ctx context.Context, addr string) (net.Conn, error) {
		return srv.DialContext(ctx, "tcp", addr)
	}}
	d.create(ctx, t, o)
	return d
}

// realDatabase makes a database on the server of dsnVariable.
func realDatabase(ctx context.Context, t testing.TB, o databaseOptions) *database {
	t.Helper()
	base, err := url.Parse(os.Getenv(dsnVariable))
	if err != nil || base.Scheme != "sqlserver" || base.Host == "" {
		t.Fatalf("%s must be a URL, sqlserver://user:password@host:port?…: %v", dsnVariable, err)
	}
	if base.Port() == "" {
		base.Host += ":1433"
	}
	var dialer net.Dialer
	d := &database{base: base, dial: func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }}
	d.create(ctx, t, o)
	return d
}

// dsn is the connection string of a user ("" is the administrator) through a host that stands for the server's.
func (d *database) dsn(host, user string) string {
	u := *d.base
	q := u.Query()
	q.Set("database", d.name)
	if host != "" {
		if d.server == nil && q.Get("hostNameInCertificate") == "" {
			q.Set("hostNameInCertificate", u.Hostname())
		}
		u.Host = host
	}
	if user != "" {
		u.User = url.UserPassword(d.loginName(user), loginPassword)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (d *database) loginName(user string) string { return d.name + "_" + user }

// open opens a pool of another client.
func (d *database) open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	c, err := mssql.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if d.server != nil {
		c.Dialer = d.server
	}
	return sql.OpenDB(c)
}

func (d *database) create(ctx context.Context, t testing.TB, o databaseOptions) {
	t.Helper()
	d.name = fmt.Sprintf("compat_%d_%d", os.Getpid(), names.Add(1))
	master := d.open(t, strings.Replace(d.dsn("", ""), "database="+d.name, "database=master", 1))
	t.Cleanup(func() {
		for _, l := range d.logins {
			_, _ = master.ExecContext(context.Background(), "DROP LOGIN ["+l+"]") // the next run has other names
		}
		_ = master.Close()
	})
	text := "CREATE DATABASE [" + d.name + "]"
	if o.collation != "" {
		text += " COLLATE " + o.collation
	}
	if err := execScript(ctx, master, text); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if d.server != nil {
			return // the server itself goes
		}
		if err := execScript(context.Background(), master, "ALTER DATABASE ["+d.name+"] SET SINGLE_USER WITH ROLLBACK IMMEDIATE\nGO\nDROP DATABASE ["+d.name+"]"); err != nil {
			t.Errorf("dropping the database: %v", err)
		}
	})
	d.admin = d.open(t, d.dsn("", ""))
	t.Cleanup(func() { _ = d.admin.Close() }) // the one that is in use then
	if !o.withoutSnapshot {
		if err := execScript(ctx, master, "ALTER DATABASE ["+d.name+"] SET ALLOW_SNAPSHOT_ISOLATION ON"); err != nil {
			t.Fatal(err)
		}
	}
	if o.withoutCDC {
		return
	}
	text = "EXEC sys.sp_cdc_enable_db"
	if d.server == nil {
		text += "\nGO\nCREATE TABLE dbo." + markerTable + " (n int PRIMARY KEY)\nGO\n" + enableText("dbo", markerTable, "", "")
	}
	if err := execScript(ctx, d.admin, text); err != nil {
		t.Fatal(err)
	}
}

// reopen makes the pool of the other client anew, after its connections were cut.
func (d *database) reopen(t testing.TB) {
	t.Helper()
	_ = d.admin.Close() // its connections are dead
	d.admin = d.open(t, d.dsn("", ""))
}

// enableText is the T-SQL that enables change data capture for a table.
func enableText(schema, table, instance, columns string) string {
	quote := func(s string) string { return "N'" + strings.ReplaceAll(s, "'", "''") + "'" }
	text := "EXEC sys.sp_cdc_enable_table @source_schema = " + quote(schema) + ", @source_name = " + quote(table) + ", @role_name = NULL, @supports_net_changes = 0"
	if instance != "" {
		text += ", @capture_instance = " + quote(instance)
	}
	if columns != "" {
		text += ", @captured_column_list = " + quote(columns)
	}
	return text
}

// scan waits until the capture job has stored everything that was committed before.
func (d *database) scan(ctx context.Context) error {
	if d.server != nil {
		return d.server.Control().CaptureScan(ctx, d.name)
	}
	d.marks++
	if _, err := d.admin.ExecContext(ctx, fmt.Sprintf("INSERT dbo.%s VALUES (%d)", markerTable, d.marks)); err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		var n int
		err := d.admin.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM cdc.dbo_%s_CT WHERE n = %d", markerTable, d.marks)).Scan(&n)
		return n > 0, err
	})
}

// addLogin makes a login and a user of the database for it.
func (d *database) addLogin(ctx context.Context, user string) error {
	login := d.loginName(user)
	d.logins = append(d.logins, login)
	return execScript(ctx, d.admin, "CREATE LOGIN ["+login+"] WITH PASSWORD = '"+loginPassword+"', CHECK_POLICY = OFF\nGO\nCREATE USER ["+user+"] FOR LOGIN ["+login+"]")
}

// batchTime lies between two batches, so that what they commit has different times: the clock of the stand-in's virtual time
// moves only when all wait.
const batchTime = 10 * time.Millisecond

// pause waits on the clock, which is a virtual one on the stand-in.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// execScript runs batches that lines GO separate, on one connection.
func execScript(ctx context.Context, db *sql.DB, script string) (err error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, batch := range batches(script) {
		if _, err := c.ExecContext(ctx, batch); err != nil {
			return fmt.Errorf("running %q: %w", batch, err)
		}
		pause(ctx, batchTime)
	}
	return nil
}

func batches(script string) (out []string) {
	var b strings.Builder
	flush := func() {
		if text := strings.TrimSpace(b.String()); text != "" {
			out = append(out, text)
		}
		b.Reset()
	}
	for line := range strings.Lines(script) {
		if strings.EqualFold(strings.TrimSpace(line), "GO") {
			flush()
			continue
		}
		b.WriteString(line)
	}
	flush()
	return out
}

// poll asks until the answer is yes.
func poll(ctx context.Context, ask func() (bool, error)) error {
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
