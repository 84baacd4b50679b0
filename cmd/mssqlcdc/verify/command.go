// Package verify is the subcommand `verify`: it compares the tables of a source with those of a target, by value. What it does is
// in internal/verify; here are the flags, the pipeline, and the report.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/internal/verify"
)

// Exit codes, besides 0: the tables are equal.
const (
	exitDifferent = 1
	exitUnknown   = 2 // also when it was called wrongly
)

// Command is the subcommand. Its report goes to out.
func Command(out io.Writer) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "Compare tables of a source with those of a target, by value",
		ArgsUsage: "[PIPELINE] [TABLE[=TARGET]...]",
		Description: "With a pipeline, the source is that of its mssql_cdc input and the target that of its mssql_bulk output, and the captured tables\n" +
			"are compared that the input reads. Without one, --source and --target say the servers. It only reads.\n" +
			"The exit code is 0 when all is equal, 1 when rows differ, 2 when something could not be compared.\n" +
			"See docs/verify.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Usage: "connection string of the source, in place of a pipeline"},
			&cli.StringFlag{Name: "target", Usage: "connection string of the target, in place of a pipeline's output"},
			&cli.StringFlag{Name: "label", Usage: "the input with this label, where the pipeline has several"},
			&cli.IntFlag{Name: "index", Value: -1, Usage: "the input with this number, from 0, where the pipeline has several"},
			&cli.StringFlag{Name: "output", Usage: "the output with this label, where the pipeline has several"},
			&cli.StringSliceFlag{Name: "resources", Aliases: []string{"r"}, Usage: "more YAML files with resources, as run takes them"},
			&cli.StringSliceFlag{Name: "include", Usage: "a pattern of tables, as the input's field include"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "a pattern of tables, as the input's field exclude"},
			&cli.StringSliceFlag{Name: "map", Usage: "a table that has another name in the target: dbo.a=stage.b"},
			&cli.StringSliceFlag{Name: "column", Usage: "compare only these columns and the key"},
			&cli.StringSliceFlag{Name: "skip-column", Usage: "leave these columns out"},
			&cli.BoolFlag{Name: "lossy", Usage: "allow numbers and times to be rounded to what the target's column holds"},
			&cli.IntFlag{Name: "chunk", Value: verify.DefaultChunk, Usage: "rows of the source that are compared at a time"},
			&cli.DurationFlag{Name: "pause", Usage: "wait so long after each page and chunk"},
			&cli.DurationFlag{Name: "lock-timeout", Value: 10 * time.Second, Usage: "how long a read may wait for a lock"},
			&cli.DurationFlag{Name: "settle", Value: verify.DefaultSettle, Usage: "a row differs when the target has not followed for so long"},
			&cli.IntFlag{Name: "list", Value: verify.DefaultList, Usage: "list so many rows of a table; others are counted"},
			&cli.StringFlag{Name: "state", Usage: "keep progress in this file, and go on from it"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return unknown(err) },
		Action: func(c *cli.Context) error {
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, c, out)
		},
	}
}

// unknown is an error that leaves open whether the tables are equal. It is said on stderr.
func unknown(err error) error { return cli.Exit(fmt.Sprintf("verify: %v", err), exitUnknown) }

func run(ctx context.Context, c *cli.Context, out io.Writer) error {
	args, err := pipeline.Arguments(c, "mssqlcdc verify")
	if err != nil {
		return unknown(err)
	}
	conf, err := configure(ctx, c, args)
	if err != nil {
		return unknown(err)
	}
	report, err := verify.Run(ctx, *conf)
	if err != nil {
		if ctx.Err() != nil && conf.State != "" {
			err = errors.Join(err, fmt.Errorf("the same command goes on from %s", conf.State))
		}
		return unknown(err)
	}
	if c.Bool("json") {
		err = printJSON(out, report)
	} else {
		err = print(out, report)
	}
	if err != nil {
		return unknown(fmt.Errorf("writing the report: %w", err))
	}
	switch report.Verdict() {
	case verify.Different:
		return cli.Exit("", exitDifferent) // the report says it
	case verify.Unknown:
		return cli.Exit("", exitUnknown)
	}
	return nil
}
