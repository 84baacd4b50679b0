package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"example.com/mssqlcdc/bench/internal/report"
	"example.com/mssqlcdc/bench/write/internal/client"
)

// result is what a peer has needed for a scenario, with packets of one size.
type result struct {
	scenario, peer string
	packet         int
	rows           int64
	cpu            float64 // ns per row, the least of all runs
	user, sys      float64 // of that run
	rate           float64 // rows per second, the most of all runs
	streamed       int64   // peak of memory while reading the file
	bytes          float64 // per row on the wire
}

// add keeps the best of the runs.
func (r *result) add(c client.Result) {
	n := float64(c.Rows)
	if cpu := float64(c.UserNS+c.SysNS) / n; r.cpu == 0 || cpu < r.cpu {
		r.cpu, r.user, r.sys = cpu, float64(c.UserNS)/n, float64(c.SysNS)/n
	}
	r.rate = max(r.rate, n/float64(c.WallNS)*1e9)
}

// goals are what the ratio of our processor time to the reference's is to stay below.
var goals = map[string]float64{"narrow_numeric": 0.4, "mixed_nullable": 0.45, "decimal_temporal": 0.2, "large_binary": 1}

func printAll(rec *report.Record, all []*result) error {
	t := report.NewTable("scenario", "writer", "packet", "rows", "CPU ns/row", "user", "system", "rows/s", "bytes/row", "peak MiB")
	for _, r := range all {
		t.Add(r.scenario, r.peer, r.packet, r.rows, r.cpu, r.user, r.sys, r.rate, r.bytes, float64(r.streamed)/(1<<20))
	}
	return rec.Table(t)
}

// printPiped writes the tables of the pipelines.
func printPiped(rec *report.Record, names []string, all []*result) error {
	if err := printAll(rec, all); err != nil {
		return err
	}
	rec.Printf("Ratio of the output with CopyIn to mssql_bulk:\n")
	t := report.NewTable("scenario", "rows/s", "CPU", "goal")
	series := []report.Series{{Name: bulkOutput}, {Name: copyInOutput}}
	for _, n := range names {
		mine, theirs := best(all, n, bulkOutput, 0), best(all, n, copyInOutput, 0)
		if mine == nil || theirs == nil {
			continue
		}
		t.Add(n, fmt.Sprintf("1/%.1f", mine.rate/theirs.rate), fmt.Sprintf("%.1f", theirs.cpu/mine.cpu), "rows/s <= 1/4")
		series[0].Y, series[1].Y = append(series[0].Y, mine.rate), append(series[1].Y, theirs.rate)
	}
	if err := rec.Table(t); err != nil {
		return err
	}
	return rec.Plot("json", report.Bars("JSON messages through Benthos", "rows/s", names, series))
}

// printDirect writes the tables and the plot of the loads from Arrow.
func printDirect(rec *report.Record, names []string, all []*result) error {
	if err := printAll(rec, all); err != nil {
		return err
	}
	rec.Printf("Ratio of our CPU per row to that of others, theirs with packets of 4096 bytes and with the size that suits them best:\n")
	ratios := report.NewTable("scenario", "writer", "4096", "best", "goal")
	for _, n := range names {
		mine := best(all, n, ours, 0)
		for _, p := range peers()[1:] {
			same, least := best(all, n, p.name, 4096), best(all, n, p.name, 0)
			if mine == nil || least == nil {
				continue
			}
			goal := ""
			switch {
			case p.name == reference && goals[n] != 0:
				goal = fmt.Sprintf("<= %v", goals[n])
			case p.name == copyIn && n == "narrow_numeric":
				goal = "<= 1/30"
			}
			ratios.Add(n, p.name, ratio(mine, same), ratio(mine, least), goal)
		}
	}
	if err := rec.Table(ratios); err != nil {
		return err
	}
	series := make([]report.Series, 0, len(peers()))
	for _, p := range peers() {
		s := report.Series{Name: p.name}
		for _, n := range names {
			v := math.NaN()
			if r := best(all, n, p.name, 0); r != nil {
				v = r.cpu
			}
			s.Y = append(s.Y, v)
		}
		series = append(series, s)
	}
	return rec.Plot("cpu", report.Bars("Client CPU per row, best packet size", "ns", names, series))
}

func ratio(a, b *result) string {
	if a == nil || b == nil {
		return "-"
	}
	if q := a.cpu / b.cpu; q >= 0.1 {
		return fmt.Sprintf("%.2f", q)
	}
	return fmt.Sprintf("1/%.0f", b.cpu/a.cpu)
}

// best is the cheapest result of a peer, of one packet size or (0) of all.
func best(all []*result, scenario, peer string, packet int) (out *result) {
	for _, r := range all {
		if r.scenario == scenario && r.peer == peer && (packet == 0 || r.packet == packet) && (out == nil || r.cpu < out.cpu) {
			out = r
		}
	}
	return out
}

// unmarshalLast reads the last line of what a program has printed.
func unmarshalLast(out string, v any) error {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		return fmt.Errorf("%w in %q", err, out)
	}
	return nil
}
