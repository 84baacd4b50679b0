// Command kafka measures what it takes to move a table through Kafka, as JSON and as Arrow: mssql_cdc to a topic, and the topic to
// mssql_bulk. Run it from the root of the repository:
//
//	go run ./bench/kafka -results bench/results
//
// Servers and broker are in this process, or the broker is the one that -broker names. Each pipeline runs in a process of its own,
// several times and interleaved; the medians are printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/bench/internal/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) == 3 && os.Args[1] == "pipeline" {
		err = runPipeline(ctx, os.Args[2])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	doublings int
	reps      int
	broker    string
	results   string
}

// rows is how many rows the table has: it is made by doubling.
func (o options) rows() int64 { return 1 << o.doublings }

func parseOptions(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("kafka", flag.ContinueOnError)
	f.IntVar(&o.doublings, "doublings", 17, "the table has two to the power of `n` rows")
	f.IntVar(&o.reps, "reps", 3, "`runs` of each pipeline")
	f.StringVar(&o.broker, "broker", "", "`address` of a broker; by default one in this process")
	f.StringVar(&o.results, "results", "", "`folder` for the record")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.doublings < 1 || o.doublings > 24 || o.reps < 1 {
		return o, errors.New("-doublings must be 1 to 24, and -reps at least 1")
	}
	return o, nil
}

// formats are the bodies that are compared.
var formats = []string{"json", "arrow"}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	rec, err := report.Create(out, o.results, "kafka")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	written, read := map[string][]measure.Usage{}, map[string][]measure.Usage{}
	sizes := map[string]topicSize{}
	for rep := range o.reps {
		for _, format := range formats {
			topic := fmt.Sprintf("%s-%d", format, rep)
			usage, err := w.write(ctx, format, topic)
			if err != nil {
				return fmt.Errorf("writing %s: %w", format, err)
			}
			written[format] = append(written[format], usage)
			if usage, err = w.read(ctx, topic); err != nil {
				return fmt.Errorf("reading %s: %w", format, err)
			}
			read[format] = append(read[format], usage)
			if sizes[format], err = w.size(ctx, topic); err != nil {
				return err
			}
		}
	}
	rec.Printf("%d rows of %s; broker: %s\n\n", o.rows(), rowText, w.brokerText)
	t := report.NewTable("format", "records", "largest record, bytes", "bytes a row", "to the topic: CPU ns a row", "rows/s", "to the table: CPU ns a row", "rows/s")
	for _, format := range formats {
		in, back, s := median(written[format]), median(read[format]), sizes[format]
		n := o.rows()
		t.Add(format, s.records, s.largest, float64(s.bytes)/float64(n), in.CPUPerRow(n), in.RowsPerSecond(n), back.CPUPerRow(n), back.RowsPerSecond(n))
	}
	if err := rec.Table(t); err != nil {
		return err
	}
	rec.Printf("Both tables were equal after every run.\n")
	return nil
}

// median is the run in the middle by processor time.
func median(runs []measure.Usage) measure.Usage {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b measure.Usage) int { return int(a.CPU() - b.CPU()) })
	return sorted[len(sorted)/2]
}
