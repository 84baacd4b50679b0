// Package doctor is the subcommand `doctor`: it says what is missing or wrong in a database that mssql_cdc is to read or mssql_bulk is to load, with the
// T-SQL that mends it. It only reads, and never runs what it prints.
package doctor

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
)

// Exit codes, besides 0: no errors, warnings allowed.
const (
	exitErrors = 1
	exitUsage  = 2
)

const defaultTimeout = 30 * time.Second

// Command is the subcommand. Its report goes to out.
func Command(out io.Writer) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "Say what is missing in a database for mssql_cdc or mssql_bulk, with the T-SQL that mends it",
		ArgsUsage: "[PIPELINE]",
		Description: "The pipeline is the file that run takes; every mssql_cdc input and mssql_bulk output in it is checked. Without one, --connection says the server.\n" +
			"It only reads. The exit code is 0 without errors (warnings allowed), 1 with errors, 2 when it was called wrongly.\n" +
			"See docs/doctor.md.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "label", Usage: "only the input with this label, and no output"},
			&cli.IntFlag{Name: "index", Value: -1, Usage: "only the input with this number, from 0, and no output"},
			&cli.StringSliceFlag{Name: "resources", Aliases: []string{"r"}, Usage: "more YAML files with resources, as run takes them"},
			&cli.StringFlag{Name: "connection", Usage: "connection string of the server, in place of a pipeline"},
			&cli.StringSliceFlag{Name: "include", Usage: "with --connection: a pattern of tables, as the input's field include"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "with --connection: a pattern of tables, as the input's field exclude"},
			&cli.DurationFlag{Name: "timeout", Value: defaultTimeout, Usage: "how long all checks may take together"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return usage(err) },
		Action: func(c *cli.Context) error {
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, c, out)
		},
	}
}

// usage is an error of how the command was called. It is said on stderr.
func usage(err error) error { return cli.Exit(fmt.Sprintf("doctor: %v", err), exitUsage) }

func run(ctx context.Context, c *cli.Context, out io.Writer) error {
	args, err := pipeline.Arguments(c, "mssqlcdc doctor")
	if err != nil {
		return usage(err)
	}
	patients, err := choose(c, args)
	if err != nil {
		return usage(err)
	}
	timeout := c.Duration("timeout")
	if timeout <= 0 {
		return usage(errors.New("--timeout must be more than 0"))
	}
	r := examine(ctx, patients, timeout)
	if c.Bool("json") {
		err = r.printJSON(out)
	} else {
		err = r.print(out)
	}
	switch {
	case err != nil:
		return cli.Exit(fmt.Sprintf("doctor: writing the report: %v", err), exitErrors)
	case ctx.Err() != nil:
		return cli.Exit("doctor: interrupted", exitErrors)
	case !r.OK:
		return cli.Exit("", exitErrors) // the report says it
	}
	return nil
}
