// Package signal is the subcommand `signal`: it writes a row into the signal table of an mssql_cdc input, which has a running
// pipeline read tables anew, or stops, pauses or resumes that.
//
// It finds table and server as the input does, in a pipeline's YAML or by flags. It writes that one row and nothing else.
package signal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	ossignal "os/signal"
	"syscall"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Command is the subcommand. What it says goes to out.
func Command(out io.Writer) *cli.Command {
	return &cli.Command{
		Name:      "signal",
		Usage:     "Have a running pipeline read the rows of tables anew, or stop, pause or resume that",
		ArgsUsage: "execute-snapshot TABLE... | stop [TABLE...] | pause | resume",
		Description: "Writes a row into the table that the field signal_table of mssql_cdc names. The pipeline sees it when the capture job\n" +
			"has stored it, and says in its log what becomes of it. See docs/signals.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "the pipeline, the file that run takes"},
			&cli.StringFlag{Name: "where", Usage: "execute-snapshot: only rows that meet this condition in T-SQL"},
			&cli.BoolFlag{Name: "print", Usage: "print the T-SQL, and write nothing"},
			&cli.StringFlag{Name: "label", Usage: "the input with this label, where the pipeline has several"},
			&cli.IntFlag{Name: "index", Value: -1, Usage: "the input with this number, from 0, where the pipeline has several"},
			&cli.StringSliceFlag{Name: "resources", Aliases: []string{"r"}, Usage: "more YAML files with resources, as run takes them"},
			&cli.StringFlag{Name: "connection", Usage: "connection string of the source, in place of a pipeline"},
			&cli.StringFlag{Name: "signal-table", Usage: "the signal table, with --connection"},
		},
		Action: func(c *cli.Context) error {
			ctx, stop := ossignal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, c, out)
		},
	}
}

func run(ctx context.Context, c *cli.Context, out io.Writer) error {
	args, err := pipeline.Arguments(c, "mssqlcdc signal")
	if err != nil {
		return err
	}
	r, err := newRow(args, c.String("where"))
	if err != nil {
		return err
	}
	src, err := choose(c)
	if err != nil {
		return err
	}
	if c.Bool("print") {
		fmt.Fprintln(out, r.script(src.Signals))
		return nil
	}
	if err := write(ctx, src, r); err != nil {
		return err
	}
	fmt.Fprintf(out, "signal %s (%s) is written into %s; a running pipeline obeys it when the capture job has stored it\n", r.id, r.kind, src.Signals)
	return nil
}

// choose gives the source that the flags name.
func choose(c *cli.Context) (src pipeline.Source, err error) {
	if c.IsSet("connection") {
		if c.IsSet("config") {
			return src, errors.New("--connection takes the place of a pipeline: give one of them")
		}
		src.Session.ConnectionString = c.String("connection")
		if src.Signals, err = catalog.ParseName(c.String("signal-table")); err != nil {
			return src, fmt.Errorf("--signal-table goes with --connection: %w", err)
		}
	} else if src, err = load(c); err != nil {
		return src, err
	}
	src.Session.AppName = "mssqlcdc signal"
	src.Session.Dial = session.InProcess(src.Session)
	return src, src.Session.Validate()
}

var inputSpec = service.NewConfigSpec().Fields(pipeline.SourceFields()...)

// load finds the input in a pipeline.
func load(c *cli.Context) (src pipeline.Source, err error) {
	if !c.IsSet("config") {
		return src, errors.New("name the pipeline with --config, or give --connection and --signal-table")
	}
	if c.IsSet("signal-table") {
		return src, errors.New("--signal-table goes with --connection; a pipeline says its table itself")
	}
	var all []pipeline.Source
	doc, err := pipeline.Load(c.String("config"), c.StringSlice("resources"), func(in *pipeline.Input) error {
		conf, err := pipeline.ParseFields(inputSpec, in)
		if err != nil {
			return err
		}
		s, err := pipeline.ParseSource(conf)
		all = append(all, s)
		return err
	})
	if err != nil {
		return src, err
	}
	chosen, err := doc.Choose(c.String("label"), c.Int("index"), false)
	if err != nil {
		return src, err
	}
	src = all[chosen[0]]
	if src.Signals.Object == "" {
		return src, fmt.Errorf("input %s has no signal_table; name one there, and start the pipeline with it", doc.Inputs[chosen[0]].Name())
	}
	return src, nil
}
