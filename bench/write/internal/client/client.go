// Package client is what the programs share that bench/write runs and measures: their
// options, their input, and the one line of JSON that they print. It imports as little
// as it can, because what it brings along is in their memory.
package client

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"example.com/mssqlcdc/bench/internal/measure"
)

// Options are what bench/write gives every program, in whatever language.
type Options struct {
	Addr, User, Password, Database, Table string
	File                                  string // Arrow IPC
	Packet                                int    // size of TDS packets
	Stream                                bool   // read while loading, instead of before
	Profile                               string // where a profile of the load goes
}

// Args are the options as arguments.
func (o *Options) Args() []string {
	args := []string{
		"-addr=" + o.Addr, "-user=" + o.User, "-password=" + o.Password, "-database=" + o.Database, "-table=" + o.Table,
		"-file=" + o.File, "-packet=" + strconv.Itoa(o.Packet), "-stream=" + strconv.FormatBool(o.Stream),
	}
	if o.Profile != "" {
		args = append(args, "-profile="+o.Profile)
	}
	return args
}

// URL is the connection string of the Go programs.
func (o *Options) URL() string {
	q := url.Values{"database": {o.Database}, "encrypt": {"disable"}, "packet size": {strconv.Itoa(o.Packet)}}
	return (&url.URL{Scheme: "sqlserver", User: url.UserPassword(o.User, o.Password), Host: o.Addr, RawQuery: q.Encode()}).String()
}

// Result is what a program prints: what the load alone has cost, and the peak of the whole process.
type Result struct {
	Rows    int64 `json:"rows"`
	WallNS  int64 `json:"wall_ns"`
	UserNS  int64 `json:"user_ns"`
	SysNS   int64 `json:"sys_ns"`
	PeakRSS int64 `json:"peak_rss"`
}

// Batches gives the record batches of a program's input, each released after it was given.
type Batches func(each func(arrow.RecordBatch) error) error

// Load is what is measured. It answers how many rows the server has counted.
type Load func(Batches) (int64, error)

// Wall is how long the load has taken by its own account, if that is less than the call of the function: a pipeline is built and
// taken down as well.
var Wall time.Duration

// Main runs a load and prints its cost. prepare connects and plans.
func Main(prepare func(o *Options, schema *arrow.Schema) (Load, error)) {
	if err := run(prepare); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(prepare func(*Options, *arrow.Schema) (Load, error)) (err error) {
	o := parse()
	f, err := os.Open(o.File)
	if err != nil {
		return fmt.Errorf("opening the input: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, err := ipc.NewFileReader(f)
	if err != nil {
		return fmt.Errorf("reading the input: %w", err)
	}
	batches := streamed(in)
	if !o.Stream {
		if batches, err = preloaded(in); err != nil {
			return err
		}
	}
	load, err := prepare(o, in.Schema())
	if err != nil {
		return err
	}
	if o.Profile != "" {
		p, err := os.Create(o.Profile)
		if err != nil {
			return fmt.Errorf("opening the profile: %w", err)
		}
		if err := pprof.StartCPUProfile(p); err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); err = errors.Join(err, p.Close()) }()
	}
	start := measure.Self()
	rows, err := load(batches)
	u := measure.Self().Since(start)
	if err != nil {
		return err
	}
	if Wall > 0 {
		u.Wall = Wall
	}
	return json.NewEncoder(os.Stdout).Encode(Result{rows, int64(u.Wall), int64(u.User), int64(u.Sys), u.PeakRSS})
}

func parse() *Options {
	var o Options
	flag.StringVar(&o.Addr, "addr", "", "`host:port` of the server")
	flag.StringVar(&o.User, "user", "sa", "login")
	flag.StringVar(&o.Password, "password", "", "its password")
	flag.StringVar(&o.Database, "database", "testdb", "database")
	flag.StringVar(&o.Table, "table", "", "table in schema dbo")
	flag.StringVar(&o.File, "file", "", "Arrow IPC `file`")
	flag.IntVar(&o.Packet, "packet", 4096, "size of TDS packets")
	flag.BoolVar(&o.Stream, "stream", false, "read the file while loading, instead of before")
	flag.StringVar(&o.Profile, "profile", "", "`file` for a CPU profile of the load")
	flag.Parse()
	return &o
}

// streamed reads a batch when the last one is done.
func streamed(in *ipc.FileReader) Batches {
	return func(each func(arrow.RecordBatch) error) error {
		for i := range in.NumRecords() {
			rec, err := in.RecordBatchAt(i)
			if err != nil {
				return fmt.Errorf("reading the input: %w", err)
			}
			err = each(rec)
			rec.Release()
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func preloaded(in *ipc.FileReader) (Batches, error) {
	all := make([]arrow.RecordBatch, in.NumRecords())
	for i := range all {
		var err error
		if all[i], err = in.RecordBatchAt(i); err != nil {
			return nil, fmt.Errorf("reading the input: %w", err)
		}
	}
	return func(each func(arrow.RecordBatch) error) error {
		for _, rec := range all {
			if err := each(rec); err != nil {
				return err
			}
			rec.Release()
		}
		return nil
	}, nil
}
