// Command read measures what it takes to read change tables: ours from the wire to record batches and to messages, and rivals on the
// same server in the same run. Run it from the root of the repository:
//
//	go run ./bench/read -results bench/results
//
// The server is cmd/mssqltest in a process of its own. Each case runs in a process of its own, too, several times and interleaved;
// the medians are printed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/mssqlcdc/bench/internal/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 2 && os.Args[1] == "case" {
		err = child(ctx, os.Args[2], os.Stdout)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	rows     int
	reps     int
	shapes   []string
	only     string
	results  string
	throttle string
	profile  string
}

func parseOptions(args []string) (options, error) {
	o := options{}
	shapes := ""
	f := flag.NewFlagSet("read", flag.ContinueOnError)
	f.IntVar(&o.rows, "rows", 200_000, "`rows` of a wide table; the narrow one has five times as many")
	f.IntVar(&o.reps, "reps", 3, "`runs` of each case")
	f.StringVar(&shapes, "shapes", "wide,text,narrow", "`shapes` of rows: wide (ASCII), text (wide with other letters), narrow")
	f.StringVar(&o.only, "only", "", "only the cases whose names have this `text`")
	f.StringVar(&o.results, "results", "", "`folder` for the record and the plots")
	f.StringVar(&o.throttle, "throttle", "32MB", "`bytes` a second on each connection of the run on a slow server; empty leaves it out")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of each case to `folder`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.rows < 1000 || o.reps < 1 {
		return o, fmt.Errorf("%d rows and %d runs are too few", o.rows, o.reps)
	}
	o.shapes = strings.Split(shapes, ",")
	return o, nil
}

// job is what a case is told.
type job struct {
	Case    string
	DSN     string
	Tables  []string
	Rows    int // of all tables together
	Shape   string
	Profile string
}

// result is what a case tells.
type result struct {
	Rows   int64
	Bytes  int64 // of what it reads or writes, as the case says
	Usage  measure.Usage
	Allocs int64
}

// child runs one case and prints its result.
func child(ctx context.Context, text string, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	i := slices.IndexFunc(cases, func(c benchCase) bool { return c.name == j.Case })
	if i < 0 {
		return fmt.Errorf("there is no case %q", j.Case)
	}
	stop, err := startProfile(j.Profile)
	if err != nil {
		return err
	}
	res, err := cases[i].run(ctx, j)
	stop()
	if err != nil {
		return fmt.Errorf("%s: %w", j.Case, err)
	}
	res.Usage.PeakRSS = measure.Self().PeakRSS
	return json.NewEncoder(out).Encode(res)
}

// runCase runs a case in a process of its own.
func runCase(ctx context.Context, j job) (result, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return result{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	out, _, err := measure.Run(exec.CommandContext(ctx, self, "case", string(text)))
	if err != nil {
		return result{}, err
	}
	var res result
	if err := json.Unmarshal([]byte(out), &res); err != nil {
		return res, fmt.Errorf("reading the result of %s: %w", j.Case, err)
	}
	return res, nil
}
