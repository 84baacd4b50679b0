// Command write measures what it costs a client to bulk load Arrow record batches: our
// internal/bulkload and others, on the same data, in the same run. It is started from
// the root of the repository:
//
//	go run ./bench/write -results bench/results
//
// Programs of others are installed from their registries into the cache folder; one
// that cannot be installed is left out, with a line that says why.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"example.com/mssqlcdc/bench/internal/report"
	"example.com/mssqlcdc/bench/write/internal/client"
)

type options struct {
	runs      int
	scale     float64
	scenarios string
	peers     string
	cache     string
	results   string
	profile   string
}

func main() {
	var o options
	cache, _ := os.UserCacheDir()
	flag.IntVar(&o.runs, "runs", 5, "how often each program loads each scenario; the least processor time counts")
	flag.Float64Var(&o.scale, "scale", 1, "times the rows of each scenario")
	flag.StringVar(&o.scenarios, "scenarios", "", "`names` of scenarios, with commas; all if empty")
	flag.StringVar(&o.peers, "peers", "", "beginnings of the `names` of programs, with commas; all if empty")
	flag.StringVar(&o.cache, "cache", filepath.Join(cache, "mssqlcdc", "bench"), "`folder` for programs and data")
	flag.StringVar(&o.results, "results", "", "`folder` for a dated record")
	flag.StringVar(&o.profile, "profile", "", "`folder` for CPU profiles of our own program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench/write:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) (err error) {
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return err
	}
	rec, err := report.Create(os.Stdout, o.results, "write")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	all := slices.DeleteFunc(scenarios(), func(s *scenario) bool { return !named(o.scenarios, s.name) })
	srv, err := startServers(ctx, o.cache, all)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	b := &bench{options: o, rec: rec, srv: srv}
	direct, piped := b.build(ctx, peers()), b.build(ctx, pipelines())
	var names, pipedNames []string
	var results, pipedResults []*result
	for _, s := range all {
		r, err := b.scenario(ctx, s, direct)
		if err != nil {
			return err
		}
		names, results = append(names, s.name), append(results, r...)
	}
	for _, s := range all {
		if s.rows < 500_000 {
			continue
		}
		r, err := b.scenario(ctx, s, piped)
		if err != nil {
			return err
		}
		pipedNames, pipedResults = append(pipedNames, s.name), append(pipedResults, r...)
	}
	rec.Printf("\nArrow record batches of %d rows:\n", batchRows)
	if err := printDirect(rec, names, results); err != nil {
		return err
	}
	rec.Printf("\nJSON messages through Benthos, in batches of 50000:\n")
	return printPiped(rec, pipedNames, pipedResults)
}

func fileLetter(r rune) rune {
	if r == ' ' || r == '/' {
		return '_'
	}
	return r
}

// named tells whether a list with commas has the beginning of a name, or nothing.
func named(list, name string) bool {
	return list == "" || slices.ContainsFunc(strings.Split(list, ","), func(s string) bool { return strings.HasPrefix(name, s) })
}

type bench struct {
	*options
	rec *report.Record
	srv *servers
}

// build makes the programs that were asked for, and leaves out what cannot be made.
func (b *bench) build(ctx context.Context, all []*peer) (out []*peer) {
	for _, p := range all {
		if !named(b.options.peers, p.name) {
			continue
		}
		var err error
		if p.program, err = p.build(ctx, b.cache); err != nil {
			b.rec.Printf("skipped %s: %v\n", p.name, err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// scenario measures all peers. Their runs take turns, so that what else the machine does meets all of them.
func (b *bench) scenario(ctx context.Context, s *scenario, peers []*peer) (out []*result, err error) {
	type way struct {
		peer *peer
		o    client.Options
		*result
	}
	var ways []way
	for _, p := range peers {
		if err := verify(ctx, b.cache, b.srv, s, p); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			b.rec.Printf("skipped %s for %s: %v\n", p.name, s.name, err)
			continue
		}
		b.rec.Printf("%s: %s has loaded %d rows into the stand-in; counts, sums and ranges of all columns are right\n", s.name, p.name, verifyRows)
		rows := int(float64(s.rows)*b.scale) / p.share
		file, err := input(b.cache, s, rows)
		if err != nil {
			return nil, err
		}
		for _, packet := range p.packets {
			o := client.Options{Addr: b.srv.drain.addr, User: login, Password: password, Database: database, Table: s.name, File: file, Packet: packet}
			ways = append(ways, way{p, o, &result{scenario: s.name, peer: p.name, packet: packet, rows: int64(rows)}})
		}
	}
	if len(ways) == 0 {
		return nil, nil
	}
	for n := range b.runs + 1 {
		for _, w := range ways {
			w.o.Stream = n == b.runs // the last run is for the memory
			if b.profile != "" && n == 0 {
				w.o.Profile = filepath.Join(b.profile, s.name+"-"+strings.Map(fileLetter, w.peer.name)+".prof")
			}
			r, err := w.peer.load(ctx, &w.o)
			if err != nil {
				return nil, err
			}
			counted, bytes := b.srv.counted(w.rows)
			if counted != w.rows || r.Rows != w.rows {
				return nil, fmt.Errorf("%s of %s: %d rows were to be loaded, the program says %d, the server has counted %d", s.name, w.peer.name, w.rows, r.Rows, counted)
			}
			w.bytes = float64(bytes) / float64(counted)
			if w.o.Stream {
				w.streamed = r.PeakRSS
			} else {
				w.add(r)
			}
		}
	}
	for _, w := range ways {
		out = append(out, w.result)
	}
	b.rec.Printf("%s: in %d runs of each program the server has counted as many rows as were sent\n", s.name, b.runs+1)
	return out, nil
}
