package clients

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/microsoft/go-mssqldb"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc"
)

// chinookScript is the public sample database, which is not part of this repository.
var chinookScript = filepath.Join("..", "..", "..", "..", "shared", "data", "chinook.sql")

// chinookKeys are its tables and their keys.
var chinookKeys = map[string][]string{
	"Album": {"AlbumId"}, "Artist": {"ArtistId"}, "Customer": {"CustomerId"}, "Employee": {"EmployeeId"}, "Genre": {"GenreId"},
	"Invoice": {"InvoiceId"}, "InvoiceLine": {"InvoiceLineId"}, "MediaType": {"MediaTypeId"}, "Playlist": {"PlaylistId"},
	"PlaylistTrack": {"PlaylistId", "TrackId"}, "Track": {"TrackId"},
}

// chinookBound is how long changes may take to come after the last one was made.
const chinookBound = time.Minute

// TestChinook loads Chinook's script unchanged into cmd/mssqltest, lets a client change its eleven tables at random while
// mssql_cdc streams the changes, applies them in order to a copy of the tables, and compares the copy with the source. With
// go-mssqldb as the client it is short and runs always; pymssql makes 10,000 transactions in .ci/run and with
// MSSQLCDC_LONG=1. What happened is printed by
//
//	CI=true go test -count=1 -v -run TestChinook ./internal/compat/clients
func TestChinook(t *testing.T) {
	if _, err := os.Stat(chinookScript); err != nil {
		t.Skipf("no script of Chinook: %v", err)
	}
	t.Run("go-mssqldb", func(t *testing.T) {
		streamChinook(t, 500, "global", func(t *testing.T, c *client, db *sql.DB, plan []transaction) {
			for _, tran := range plan {
				if err := runTransaction(t.Context(), db, tran); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("pymssql", func(t *testing.T) {
		python := cached("venv", "bin", "python")
		if _, err := os.Stat(python); err != nil {
			t.Skipf("pymssql is not installed (%v): run .ci/clients.sh", err)
		}
		if os.Getenv("CI") != "true" && os.Getenv("MSSQLCDC_LONG") == "" {
			t.Skip("10,000 transactions: set CI=true or MSSQLCDC_LONG=1")
		}
		streamChinook(t, 10_000, "table", func(t *testing.T, c *client, _ *sql.DB, plan []transaction) {
			file := filepath.Join(t.TempDir(), "plan.jsonl")
			if err := writePlan(file, plan); err != nil {
				t.Fatal(err)
			}
			c.path, c.bound = python, 10*time.Minute
			c.freeTDSConf(t)
			out, err := c.run(t, "", filepath.Join("testdata", "chinook_writer.py"), file)
			c.want(t, out, err, "pymssql committed")
			t.Log(strings.TrimSpace(out))
		})
	})
}

// streamChinook runs the pipeline while write makes that many transactions.
func streamChinook(t *testing.T, transactions int, ordering string, write func(*testing.T, *client, *sql.DB, []transaction)) {
	began := time.Now()
	c := &client{process: startServer(t, chinookScript)}
	loaded := time.Since(began)
	dsn := (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", password), Host: "127.0.0.1:" + c.port, RawQuery: "database=Chinook&encrypt=disable"}).String()
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	enable := "EXEC sys.sp_cdc_enable_db;\n"
	for table := range chinookKeys {
		enable += fmt.Sprintf("EXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'%s', @role_name = NULL, @allow_partition_switch = 0;\n", table)
	}
	if _, err := db.ExecContext(t.Context(), enable); err != nil {
		t.Fatal(err)
	}
	out := &tableCopy{counts: map[string]int{}}
	if out.rows, err = readTables(t.Context(), db, chinookKeys); err != nil {
		t.Fatal(err)
	}
	plan, err := newChinookPlan(t.Context(), db, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]transaction, transactions)
	for i := range all {
		all[i] = plan.transaction()
	}
	stop := startCopy(t, out, fmt.Sprintf("input: {mssql_cdc: {connection_string: %q, ordering: %s, checkpoint_file: %q}}\npipeline: {threads: 1}\noutput: {copy: {}}\n",
		dsn, ordering, filepath.Join(t.TempDir(), "positions.json")))
	defer stop()

	writing := time.Now()
	write(t, c, db, all)
	wrote := time.Since(writing)
	want, err := captured(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	waitForCopy(t, out, want)
	came := time.Since(writing)
	source, err := readTables(t.Context(), db, chinookKeys)
	if err != nil {
		t.Fatal(err)
	}
	compareTables(t, out, source)
	t.Logf("%d transactions in %s (script loaded in %s), %d changes %v applied in %s", transactions, wrote.Round(time.Millisecond), loaded.Round(time.Millisecond), want, out.counts, came.Round(time.Millisecond))
}

// compareTables compares the copy with the source, row by row.
func compareTables(t *testing.T, out *tableCopy, source map[string]map[string]string) {
	t.Helper()
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.err != nil {
		t.Error(out.err)
	}
	for table, rows := range source {
		differ := 0
		for key, row := range rows {
			if got := out.rows[table][key]; got != row {
				if differ++; differ <= 3 {
					t.Errorf("%s %s is %s in the copy, and %s in the source", table, key, got, row)
				}
			}
		}
		if differ > 0 || len(rows) != len(out.rows[table]) {
			t.Errorf("%s: %d of %d rows differ, and the copy has %d", table, differ, len(rows), len(out.rows[table]))
		}
	}
}

// newChinookPlan reads which rows there are.
func newChinookPlan(ctx context.Context, db *sql.DB, seed uint64) (*chinookPlan, error) {
	p := &chinookPlan{rng: rand.New(rand.NewPCG(seed, 3)), next: 100_000, lines: map[int][]int{}, onList: map[int]map[int]bool{}}
	for query, ids := range map[string]*[]int{
		"SELECT ArtistId, 0 FROM dbo.Artist": &p.artists, "SELECT AlbumId, 0 FROM dbo.Album": &p.albums, "SELECT TrackId, 0 FROM dbo.Track": &p.tracks,
		"SELECT GenreId, 0 FROM dbo.Genre": &p.genres, "SELECT MediaTypeId, 0 FROM dbo.MediaType": &p.media, "SELECT CustomerId, 0 FROM dbo.Customer": &p.customers,
		"SELECT EmployeeId, 0 FROM dbo.Employee": &p.employees, "SELECT PlaylistId, 0 FROM dbo.Playlist": &p.playlists,
	} {
		if err := eachPair(ctx, db, query, func(id, _ int) { *ids = append(*ids, id) }); err != nil {
			return nil, err
		}
		slices.Sort(*ids)
	}
	return p, errors.Join(
		eachPair(ctx, db, "SELECT InvoiceId, InvoiceLineId FROM dbo.InvoiceLine ORDER BY InvoiceLineId", func(invoice, line int) {
			p.lines[invoice] = append(p.lines[invoice], line)
		}),
		eachPair(ctx, db, "SELECT PlaylistId, TrackId FROM dbo.PlaylistTrack", func(list, track int) {
			if p.onList[list] == nil {
				p.onList[list] = map[int]bool{}
			}
			p.onList[list][track] = true
		}))
}

func eachPair(ctx context.Context, db *sql.DB, query string, f func(a, b int)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b int
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		f(a, b)
	}
	return rows.Err()
}

func writePlan(name string, plan []transaction) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for _, tran := range plan {
		if err := e.Encode(tran); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// runTransaction runs a transaction through database/sql.
func runTransaction(ctx context.Context, db *sql.DB, tran transaction) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range tran.Statements {
		parts := strings.Split(fmt.Sprint(s[0]), "%s")
		text := parts[0]
		for i, part := range parts[1:] {
			text += fmt.Sprintf("@p%d%s", i+1, part)
		}
		args, _ := s[1].([]any)
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return errors.Join(fmt.Errorf("%s with %q: %w", text, args, err), tx.Rollback())
		}
	}
	if tran.Rollback {
		return tx.Rollback()
	}
	return tx.Commit()
}

// captured counts the changes in all change tables, an update as one, once the last transaction is among them.
func captured(ctx context.Context, db *sql.DB) (int, error) {
	if _, err := db.ExecContext(ctx, "INSERT dbo.Genre VALUES (99999999, N'the last change')"); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, chinookBound)
	defer cancel()
	count := func(query string) (n int, err error) {
		err = db.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		n, err := count("SELECT COUNT(*) FROM cdc.dbo_Genre_CT WHERE GenreId = 99999999")
		if err != nil {
			return 0, fmt.Errorf("waiting for the capture job: %w", err)
		}
		if n > 0 {
			break
		}
	}
	total := 0
	for table := range chinookKeys {
		n, err := count("SELECT COUNT(*) FROM cdc.dbo_" + table + "_CT WHERE __$operation <> 3")
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// startCopy runs a pipeline into an output of its name.
func startCopy(t *testing.T, out service.BatchOutput, yaml string) (stop func()) {
	t.Helper()
	env := service.GlobalEnvironment().Clone()
	if err := env.RegisterBatchOutput("copy", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		return out, service.BatchPolicy{}, 1, nil
	}); err != nil {
		t.Fatal(err)
	}
	b := env.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(yaml); err != nil {
		t.Fatal(err)
	}
	stream, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.Run(context.Background()) }()
	return func() {
		if err := stream.StopWithin(10 * time.Second); err != nil {
			t.Errorf("stopping: %v", err)
		}
		<-ended
	}
}

// waitForCopy waits until that many changes have been applied.
func waitForCopy(t *testing.T, out *tableCopy, want int) {
	t.Helper()
	deadline := time.NewTimer(chinookBound)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := out.progress()
		if err != nil {
			t.Fatal(err)
		}
		if n >= want {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%d of %d changes came within %s after the last", n, want, chinookBound)
		}
	}
}
