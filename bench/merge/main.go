// Command merge measures what it costs to bring rows into a table by their key, half of which are
// there: mssql_bulk with mode upsert, from JSON and from Arrow messages, against a temporary table
// that the driver's CopyIn fills and a MERGE from it, and against a MERGE for each row. All write to
// the same stand-in, which runs as a process of its own, in transactions of as many rows. It is started from the
// root of the repository:
//
//	go run ./bench/merge -results bench/results
//
// The rivals are given Go values; ours has to decode its messages and goes through Benthos.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/bench/internal/report"
)

// batchRows is how many rows a transaction has: what mssql_bulk cuts its batches to.
const batchRows = 4000

func main() {
	rows := flag.Int("rows", 1_000_000, "rows that are brought into the table; half of them are there")
	share := flag.Int("share", 50, "the MERGE for each row gets one row in so many")
	runs := flag.Int("runs", 3, "how often each way runs; the fastest counts")
	results := flag.String("results", "", "`folder` for a dated record")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rows, *share, *runs, *results); err != nil {
		fmt.Fprintln(os.Stderr, "bench/merge:", err)
		os.Exit(1)
	}
}

// way is one way to bring rows into the table.
type way struct {
	name  string
	share int // it gets one row in so many
	open  func(ctx context.Context, dsn string) (writer, error)
}

// writer writes batches, each in a transaction of its own.
type writer interface {
	write(ctx context.Context, from, to int) error
	close() error
}

func run(ctx context.Context, rows, share, runs int, results string) (err error) {
	rec, err := report.Create(os.Stdout, results, "merge")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	srv, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	db, err := sql.Open("sqlserver", srv.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ways := []way{
		{"mssql_bulk upsert, Arrow", 1, openArrow}, {"mssql_bulk upsert, JSON", 1, openJSON},
		{"CopyIn to a temporary table, MERGE", 1, openCopyIn}, {"MERGE for each row", share, openRowWise},
	}
	best := make([]measure.Usage, len(ways))
	served := make([]float64, len(ways))
	for range runs {
		for i, w := range ways { // in turns, so that what else the machine does meets all of them
			u, s, err := measureWay(ctx, db, srv, w, rows/w.share)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if best[i].Wall == 0 || u.Wall < best[i].Wall {
				best[i], served[i] = u, s
			}
		}
	}
	rec.Printf("\n%d rows of %d columns, half of them there, transactions of %d rows; after each run the table was right\n", rows, len(columns), batchRows)
	t := report.NewTable("way", "rows", "rows/s", "client CPU µs/row", "server CPU µs/row", "times as fast as it")
	first := best[0].RowsPerSecond(int64(rows))
	for i, w := range ways {
		n := int64(rows / w.share)
		t.Add(w.name, n, best[i].RowsPerSecond(n), best[i].CPUPerRow(n)/1000, served[i]*1e6/float64(n), first/best[i].RowsPerSecond(n))
	}
	return rec.Table(t)
}

// measureWay fills the table anew, brings the rows into it, and looks whether it is right.
func measureWay(ctx context.Context, db *sql.DB, srv *server, w way, rows int) (u measure.Usage, served float64, err error) {
	if err := prepare(ctx, db, rows); err != nil {
		return u, 0, err
	}
	out, err := w.open(ctx, srv.dsn)
	if err != nil {
		return u, 0, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	start, before := measure.Self(), srv.cpu()
	for from := 0; from < rows; from += batchRows {
		if err := out.write(ctx, from, min(from+batchRows, rows)); err != nil {
			return u, 0, err
		}
	}
	u, served = measure.Self().Since(start), srv.cpu()-before
	return u, served, check(ctx, db, rows)
}

// prepare makes the table and the half of the rows that is there: those with an even id.
func prepare(ctx context.Context, db *sql.DB, rows int) (err error) {
	for _, text := range []string{"DROP TABLE IF EXISTS dbo.t", createTable} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	stmt, err := tx.PrepareContext(ctx, mssql.CopyIn("dbo.t", mssql.BulkOptions{}, columns...))
	if err != nil {
		return err
	}
	for id := 0; id < rows; id += 2 {
		if _, err := stmt.ExecContext(ctx, int64(id), int64(0), "old", 0.0, "none"); err != nil {
			return err
		}
	}
	if _, err := stmt.ExecContext(ctx); err != nil {
		return err
	}
	return tx.Commit()
}

// check looks whether every row is there once, as it was written last.
func check(ctx context.Context, db *sql.DB, rows int) error {
	var n, amount, old int64
	err := db.QueryRowContext(ctx, "SELECT COUNT(*), SUM(amount), SUM(CASE WHEN name = N'old' THEN 1 ELSE 0 END) FROM dbo.t").Scan(&n, &amount, &old)
	want := int64(rows) * int64(rows-1) / 2
	if err == nil && (n != int64(rows) || amount != want || old != 0) {
		err = fmt.Errorf("the table has %d rows with a sum of %d, %d of them old; it should have %d and %d", n, amount, old, rows, want)
	}
	return err
}
