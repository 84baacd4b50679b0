package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"example.com/mssqlcdc/bench/internal/report"
)

// manyTables is how many tables the cases with several read.
const manyTables = 4

// run measures all cases.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "bench-read-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	bin, err := build(ctx, folder, "./cmd/mssqltest")
	if err != nil {
		return err
	}
	rec, err := report.Create(out, o.results, "read")
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := rec.Close(); err == nil {
			err = closeErr
		}
	}()
	for _, name := range o.shapes {
		if shapes[name] == nil {
			return fmt.Errorf("there is no shape %q", name)
		}
		if err := runShape(ctx, o, rec, bin, folder, name, o.rows, ""); err != nil {
			return err
		}
	}
	if o.throttle != "" {
		return runShape(ctx, o, rec, bin, folder, "wide", max(o.rows/10, 1000), o.throttle)
	}
	return nil
}

// runShape measures the cases of one shape on a server of its own.
func runShape(ctx context.Context, o options, rec *report.Record, bin, folder, name string, rows int, throttle string) error {
	sh := shapes[name]
	if name == "narrow" {
		rows *= 5
	}
	tables := map[string]*shape{"cart": sh}
	var several []string
	for i := range manyTables {
		t := fmt.Sprintf("cart%d", i+1)
		tables[t] = sh
		several = append(several, t)
	}
	srv, err := startServer(ctx, bin, folder, throttle, tables)
	if err != nil {
		return err
	}
	defer srv.stop()
	if err := srv.load(ctx, "cart", sh, rows, 1); err != nil {
		return err
	}
	for i, t := range several {
		if err := srv.load(ctx, t, sh, rows/manyTables, uint64(i)+2); err != nil {
			return err
		}
	}
	results := map[string][]result{}
	var failed []string
	for range o.reps {
		for _, c := range cases {
			// On a slow server the connection is the limit: what matters is that several tables share none.
			if !strings.Contains(c.name, o.only) || throttle != "" && !strings.HasPrefix(c.name, "arrow") && !strings.HasPrefix(c.name, "json") || throttle != "" && strings.Contains(c.name, "driver") {
				continue
			}
			j := job{Case: c.name, DSN: srv.dsn(), Tables: []string{"cart"}, Rows: rows, Shape: name, Profile: o.profile}
			if c.tables {
				j.Tables, j.Rows = several, rows/manyTables*manyTables
			}
			res, err := runCase(ctx, j)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				failed = append(failed, err.Error())
				continue
			}
			results[c.name] = append(results[c.name], res)
		}
		for _, r := range rivals {
			if !strings.Contains(r.name, o.only) || throttle != "" {
				continue
			}
			res, err := r.run(ctx, srv, "cart", rows)
			if err != nil {
				failed = append(failed, r.name+": "+err.Error())
				continue
			}
			results[r.name] = append(results[r.name], res)
		}
	}
	return tell(rec, name, rows, throttle, results, failed)
}

// tell prints the table and the plots of a shape.
func tell(rec *report.Record, name string, rows int, throttle string, results map[string][]result, failed []string) error {
	title := fmt.Sprintf("shape %s, %d rows", name, rows)
	if throttle != "" {
		title += ", " + throttle + "/s on each connection"
	}
	rec.Printf("%s\n", title)
	t := report.NewTable("case", "rows/s", "MB/s", "CPU ns/row", "lowest", "allocs/row", "peak MiB", "what")
	var names []string
	var cpu, speed []float64
	add := func(name, what string) {
		rs := results[name]
		if len(rs) == 0 {
			return
		}
		ns := median(rs, func(r result) float64 { return r.Usage.CPUPerRow(r.Rows) })
		lowest := math.Inf(1)
		for _, r := range rs {
			lowest = min(lowest, r.Usage.CPUPerRow(r.Rows))
		}
		rate := median(rs, func(r result) float64 { return r.Usage.RowsPerSecond(r.Rows) })
		allocs := any(median(rs, func(r result) float64 { return float64(r.Allocs) / float64(r.Rows) }))
		if rs[0].Allocs < 0 {
			allocs = ""
		}
		mb := any("")
		if rs[0].Bytes > 0 {
			mb = median(rs, func(r result) float64 { return float64(r.Bytes) / 1e6 / r.Usage.Wall.Seconds() })
		}
		t.Add(name, rate, mb, ns, lowest, allocs, median(rs, func(r result) float64 { return float64(r.Usage.PeakRSS) / (1 << 20) }), what)
		names, cpu, speed = append(names, name), append(cpu, ns), append(speed, rate)
	}
	for _, c := range cases {
		add(c.name, c.what)
	}
	for _, r := range rivals {
		add(r.name, r.what)
	}
	if err := rec.Table(t); err != nil {
		return err
	}
	for _, f := range failed {
		rec.Printf("failed: %s\n", f)
	}
	file := name
	if throttle != "" {
		file += "-throttled"
	}
	if err := rec.Plot(file+"-cpu", report.Bars(title+": client CPU", "ns per row", names, []report.Series{{Name: "client CPU", Y: cpu}})); err != nil {
		return err
	}
	if err := rec.Plot(file+"-rate", report.Bars(title+": rate", "rows per second", names, []report.Series{{Name: "rows/s", Y: speed}})); err != nil {
		return err
	}
	rec.Printf("\n")
	return nil
}

func median(rs []result, of func(result) float64) float64 {
	var v []float64
	for _, r := range rs {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// rival is a program that is not in Go.
type rival struct {
	name, what string
	run        func(ctx context.Context, srv *server, table string, rows int) (result, error)
}

var rivals []rival
