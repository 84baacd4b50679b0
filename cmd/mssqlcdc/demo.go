package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/cmd/mssqlcdc/shop"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

// demoHost is the name under which the pipeline reaches the stand-in.
const demoHost = "demo"

// stallBound is how long the demo waits for changes before it says that something is wrong.
const stallBound = time.Minute

const demoConfig = `input:
  mssql_cdc:
    connection_string: %s
    checkpoint_file: %s
  processors:
    - mapping: |
        root = {"op": @operation, "table": @table, "row": this}
pipeline:
  threads: 1
output:
  stdout: {}
`

type demoOptions struct {
	once     bool
	script   string
	out, log io.Writer
}

// summary is the last line of the demo.
type summary struct {
	Tables  int     `json:"tables"`
	Changes int     `json:"changes"`
	Resumed bool    `json:"resumed"`
	Seconds float64 `json:"seconds"`
}

func signalContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// runDemo runs the main job on the stand-in.
func runDemo(ctx context.Context, o demoOptions) (err error) {
	began := time.Now()
	d, err := startDemo(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()

	fmt.Fprintf(o.log, "A stand-in SQL Server runs in this process: database %s, %d tables with CDC. The pipeline:\n\n%s\n", d.database, len(d.tables), indent(d.config))
	half := len(d.steps) / 2
	first, err := d.stream(ctx, d.steps[:half])
	if err != nil {
		return err
	}
	fmt.Fprintf(o.log, "\nThe pipeline was stopped after %d changes. The database goes on changing; it starts again where it was.\n\n", first)
	for _, s := range d.steps[half : half+1] {
		if err := s.Run(ctx, d.db); err != nil {
			return err
		}
	}
	second, err := d.stream(ctx, d.steps[half+1:])
	if err != nil {
		return err
	}
	captured, err := d.captured()
	if err != nil {
		return err
	}
	s := summary{Tables: len(d.tables), Changes: first + second, Resumed: second > 0 && first+second == captured, Seconds: float64(time.Since(began).Milliseconds()) / 1000}
	if !o.once {
		fmt.Fprintf(o.log, "\n%d changes were captured, and %d came out, none twice. It goes on with a change every two seconds until you press Ctrl-C.\n\n", captured, s.Changes)
		return d.goOn(ctx)
	}
	fmt.Fprintln(o.log)
	if err := json.NewEncoder(o.log).Encode(s); err != nil {
		return err
	}
	if !s.Resumed {
		return fmt.Errorf("the demo went wrong: %d changes were captured, and %d came out before the stop and %d after it", captured, first, second)
	}
	return nil
}

// demo is a stand-in with a database whose changes are watched.
type demo struct {
	srv      *mssqltest.Server
	db       *sql.DB
	database string
	tables   []string
	steps    []shop.Step
	config   string
	dir      string
	screen   *screen
	log      io.Writer
	forget   func()
}

func startDemo(o demoOptions) (d *demo, err error) {
	d = &demo{log: o.log}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.srv, err = mssqltest.New(mssqltest.Config{Database: "shop"}); err != nil {
		return d, err
	}
	if err := d.srv.ListenMemory(); err != nil {
		return d, err
	}
	script := shop.Script
	if o.script != "" {
		text, err := os.ReadFile(o.script)
		if err != nil {
			return d, fmt.Errorf("reading the script: %w", err)
		}
		script = string(text)
	}
	if err := d.srv.Exec(script); err != nil {
		return d, fmt.Errorf("loading the script: %w", err)
	}
	if err := d.enable(); err != nil {
		return d, err
	}
	connector, err := mssql.NewConnector(d.srv.ConnString("database=" + d.database))
	if err != nil {
		return d, err
	}
	connector.Dialer = d.srv
	d.db = sql.OpenDB(connector)
	d.steps = shop.Steps
	if o.script != "" {
		if d.steps, err = shop.Touch(d.srv, d.database, d.tables); err != nil {
			return d, err
		}
	}
	if d.dir, err = os.MkdirTemp("", "mssqlcdc-demo-"); err != nil {
		return d, fmt.Errorf("making a folder for the positions: %w", err)
	}
	addr := d.srv.Addr()
	d.forget = session.RegisterInProcess(demoHost, func(ctx context.Context) (net.Conn, error) { return d.srv.DialContext(ctx, "tcp", addr) })
	dsn := strings.Replace(d.srv.ConnString("database="+d.database), addr, demoHost, 1)
	d.config = fmt.Sprintf(demoConfig, dsn, filepath.Join(d.dir, "positions.json"))
	d.screen, err = newScreen(o.out)
	return d, err
}

func (d *demo) close() error {
	var errs []error
	if d.screen != nil {
		errs = append(errs, d.screen.close())
	}
	if d.forget != nil {
		d.forget()
	}
	if d.db != nil {
		errs = append(errs, d.db.Close())
	}
	if d.srv != nil {
		d.srv.Close()
	}
	if d.dir != "" {
		errs = append(errs, os.RemoveAll(d.dir))
	}
	return errors.Join(errs...)
}

// enable finds the database that the script filled, and enables CDC on all of its tables.
func (d *demo) enable() error {
	names, err := d.srv.Query(`SELECT name FROM sys.databases WHERE database_id > 4 ORDER BY database_id DESC`)
	if err != nil {
		return err
	}
	for _, row := range names {
		use := "USE " + quote(row[0]) + ";\n"
		tables, err := d.srv.Query(use + `SELECT s.name, t.name FROM sys.tables AS t JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE s.name <> N'cdc' ORDER BY s.name, t.name`)
		if err != nil {
			return err
		}
		if len(tables) == 0 {
			continue
		}
		d.database = row[0]
		var b strings.Builder
		b.WriteString(use + "EXEC sys.sp_cdc_enable_db;\n")
		for _, t := range tables {
			d.tables = append(d.tables, quote(t[0])+"."+quote(t[1]))
			fmt.Fprintf(&b, "EXEC sys.sp_cdc_enable_table @source_schema = %s, @source_name = %s, @role_name = NULL, @supports_net_changes = 0, @allow_partition_switch = 0;\n", literal(t[0]), literal(t[1]))
		}
		if err := d.srv.Exec(b.String()); err != nil {
			return fmt.Errorf("enabling CDC: %w", err)
		}
		return nil
	}
	return errors.New("the script has made no table")
}

func quote(name string) string   { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }
func literal(text string) string { return "N'" + strings.ReplaceAll(text, "'", "''") + "'" }

// captured counts the changes that the capture job has recorded, an update as one.
func (d *demo) captured() (int, error) {
	names, err := d.srv.Query("USE " + quote(d.database) + "; SELECT t.name FROM cdc.change_tables AS c JOIN sys.tables AS t ON t.object_id = c.object_id")
	if err != nil {
		return 0, err
	}
	total := 0
	for _, row := range names {
		n, err := d.srv.Query("USE " + quote(d.database) + "; SELECT COUNT(*) FROM cdc." + quote(row[0]) + " WHERE __$operation <> 3")
		if err != nil {
			return 0, err
		}
		var count int
		if _, err := fmt.Sscan(n[0][0], &count); err != nil {
			return 0, fmt.Errorf("counting changes: %w", err)
		}
		total += count
	}
	return total, nil
}

// stream runs the pipeline, makes the steps, waits until all that they change has come out, and stops it. It returns how many
// changes came out.
func (d *demo) stream(ctx context.Context, steps []shop.Step) (int, error) {
	before := d.screen.count()
	stop, err := d.startPipeline(ctx)
	if err != nil {
		return 0, err
	}
	err = func() error {
		for _, s := range steps {
			if err := s.Run(ctx, d.db); err != nil {
				return err
			}
		}
		return d.wait(ctx)
	}()
	return d.screen.count() - before, errors.Join(err, stop())
}

// wait waits until everything that was captured has come out.
func (d *demo) wait(ctx context.Context) error {
	deadline := time.NewTimer(stallBound)
	defer deadline.Stop()
	for {
		want, err := d.captured()
		if err != nil {
			return err
		}
		if d.screen.count() >= want && d.idle() {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline.C:
			return fmt.Errorf("the demo stalled: %d of %d changes came out in %s", d.screen.count(), want, stallBound)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// idle says that the capture job has handled every commit.
func (d *demo) idle() bool {
	return d.srv.Control().CaptureScan(context.Background(), d.database) == nil
}

// startPipeline builds the pipeline from its YAML and runs it until stop is called.
func (d *demo) startPipeline(ctx context.Context) (stop func() error, err error) {
	b := service.NewStreamBuilder()
	if err := b.SetYAML(d.config); err != nil {
		return nil, err
	}
	b.SetLogger(slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	s, err := b.Build()
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() error {
		err := s.StopWithin(10 * time.Second)
		if runErr := <-done; runErr != nil && !errors.Is(runErr, context.Canceled) {
			err = errors.Join(err, runErr)
		}
		return err
	}, nil
}

// goOn changes a row every two seconds until the context ends.
func (d *demo) goOn(ctx context.Context) error {
	stop, err := d.startPipeline(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := d.steps[len(d.steps)-1].Again(ctx, d.db); err != nil && ctx.Err() == nil {
				return errors.Join(err, stop())
			}
		case <-ctx.Done():
			_ = stop() // the context has ended it already
			return nil
		}
	}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
}
