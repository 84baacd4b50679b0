package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/changetable"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/internal/tds"

	_ "github.com/microsoft/go-mssqldb" // the driver sqlserver of the rivals
)

// benchCase is one way to read.
type benchCase struct {
	name   string
	what   string // for the record
	tables bool   // reads all tables of the job at the same time
	run    func(ctx context.Context, j job) (result, error)
}

var cases = []benchCase{
	{"discard", "the bytes of the reply, read and thrown away", false, discard},
	{"scan", "database/sql: Scan into []any", false, scan},
	{"arrow", "ours: wire to record batches", false, func(ctx context.Context, j job) (result, error) { return arrowPages(ctx, j, session.RawRequire) }},
	{"arrow, driver", "ours with raw_tds off: record batches through the driver", false, func(ctx context.Context, j job) (result, error) { return arrowPages(ctx, j, session.RawOff) }},
	{"arrow, 4 tables", "ours: four tables at once, a connection each", true, func(ctx context.Context, j job) (result, error) { return arrowPages(ctx, j, session.RawRequire) }},
	{"ready bodies", "Benthos: ready-made messages with our eight metadata, to the output", false, readyBodies},
	{"scan + map", "Benthos: Scan, a map and encoding/json for each row, to the output", false, scanMessages},
	{"json", "ours: mssql_cdc to the output, JSON with default metadata", false, func(ctx context.Context, j job) (result, error) { return ourMessages(ctx, j, "json") }},
	{"arrow messages", "ours: mssql_cdc to the output, format arrow", false, func(ctx context.Context, j job) (result, error) { return ourMessages(ctx, j, "arrow") }},
	{"json, 4 tables", "ours: four tables at once", true, func(ctx context.Context, j job) (result, error) { return ourMessages(ctx, j, "json") }},
}

// clock measures from begin to end.
type clock struct {
	usage  measure.Usage
	allocs uint64
}

func begin() clock {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return clock{measure.Self(), m.Mallocs}
}

func (c clock) end(rows, bytes int64) result {
	u := measure.Self().Since(c.usage)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return result{Rows: rows, Bytes: bytes, Usage: u, Allocs: int64(m.Mallocs - c.allocs)}
}

func startProfile(folder string) (stop func(), err error) {
	if folder == "" {
		return func() {}, nil
	}
	f, err := os.CreateTemp(folder, "read-*.prof")
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "profile:", f.Name())
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // a profile that is cut shows
	}, nil
}

// discard reads the reply of one statement over the whole change table, packet by packet.
func discard(ctx context.Context, j job) (result, error) {
	u, err := url.Parse(j.DSN)
	if err != nil {
		return result{}, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return result{}, err
	}
	defer func() { _ = c.Close() }()
	wr, rd := tds.NewMessageWriter(c, tds.DefaultPacketSize), tds.NewMessageReader(c, 0)
	hello := tds.Prelogin{Encryption: tds.EncryptNotSupported}
	login := tds.Login7{TDSVersion: tds.Version74, UserName: "sa", Password: password, Database: "testdb", AppName: "bench discard"}
	query := tds.SQLBatch{Headers: tds.AllHeaders{Outstanding: 1}, Text: wholeTable(shapes[j.Shape], j.Tables[0])}
	var from clock
	var n int64
	for _, m := range []struct {
		kind tds.PacketType
		body []byte
	}{{tds.PacketPrelogin, hello.Append(nil)}, {tds.PacketLogin7, login.Append(nil)}, {tds.PacketSQLBatch, query.Append(nil)}} {
		from = begin()
		if err := wr.WriteMessage(m.kind, 0, m.body); err != nil {
			return result{}, err
		}
		if _, err := rd.Next(); err != nil {
			return result{}, err
		}
		if n, err = io.Copy(io.Discard, rd); err != nil {
			return result{}, err
		}
	}
	return from.end(int64(j.Rows), n), nil
}

// scan reads the change table as most programs would.
func scan(ctx context.Context, j job) (result, error) {
	db, err := sql.Open("sqlserver", j.DSN)
	if err != nil {
		return result{}, err
	}
	defer func() { _ = db.Close() }()
	if err := db.PingContext(ctx); err != nil {
		return result{}, err
	}
	from := begin()
	rows, err := db.QueryContext(ctx, wholeTable(shapes[j.Shape], j.Tables[0]))
	if err != nil {
		return result{}, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return result{}, err
	}
	row, dest := make([]any, len(names)), make([]any, len(names))
	for i := range row {
		dest[i] = &row[i]
	}
	var n int64
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return result{}, err
		}
		n++
	}
	return from.end(n, 0), rows.Err()
}

// arrowPages reads the change tables into record batches, which are given back at once.
func arrowPages(ctx context.Context, j job, mode session.RawMode) (result, error) {
	type reading struct {
		conn *session.Conn
		r    *changetable.Reader
	}
	var readings []reading
	for _, table := range j.Tables {
		conn, err := session.Open(ctx, session.Config{ConnectionString: j.DSN, RawTDS: mode})
		if err != nil {
			return result{}, err
		}
		defer func() { _ = conn.Close() }()
		r, err := changetable.Open(ctx, conn, "dbo_"+table, changetable.Options{})
		if err != nil {
			return result{}, err
		}
		readings = append(readings, reading{conn, r})
	}
	state, err := catalog.LoadState(ctx, readings[0].conn)
	if err != nil {
		return result{}, err
	}
	var mu sync.Mutex
	var rows, bytes int64
	var failed error
	var wg sync.WaitGroup
	from := begin()
	for _, x := range readings {
		wg.Go(func() {
			n, size, err := drain(ctx, x.r, state)
			mu.Lock()
			defer mu.Unlock()
			rows += n
			bytes += size
			if err != nil {
				failed = err
			}
		})
	}
	wg.Wait()
	return from.end(rows, bytes), failed
}

// drain reads a table to the watermark in pages as the input does.
func drain(ctx context.Context, r *changetable.Reader, state *catalog.State) (rows, bytes int64, err error) {
	at, err := r.Earliest(ctx)
	for err == nil {
		var p *changetable.Page
		if p, err = r.Read(ctx, at, state.High.LSN, changetable.Limits{Rows: 1000, Bytes: 900_000}); err != nil {
			break
		}
		rows, bytes, at = rows+int64(p.Rows), bytes+int64(p.Bytes), p.Next
		over := p.AtHigh
		p.Release()
		if over {
			break
		}
	}
	return rows, bytes, err
}

// ourMessages runs mssql_cdc in a stream.
func ourMessages(ctx context.Context, j job, format string) (result, error) {
	folder, err := os.MkdirTemp("", "bench-read-*")
	if err != nil {
		return result{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	input := fmt.Sprintf("mssql_cdc:\n  connection_string: %q\n  include: ['dbo\\.(%s)']\n  format: %s\n  checkpoint_file: %q\n",
		j.DSN, strings.Join(j.Tables, "|"), format, filepath.Join(folder, "positions.json"))
	return stream(ctx, input, j, format == "arrow")
}
