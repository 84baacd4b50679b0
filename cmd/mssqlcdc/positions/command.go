// Package positions is the subcommand `positions`: it shows, sets, forgets and imports what mssql_cdc has stored of its progress.
//
// It finds the store as the input does, in a pipeline's YAML or by flags, and asks the source whether a position is one that can
// be read from. What a running process holds is not changed behind its back.
package positions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
)

// Options are the ends of the command that a test replaces.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Terminal tells whether somebody can answer a question on In.
	Terminal bool
}

// Command is the subcommand with list, set, reset and import.
func Command(o Options) *cli.Command {
	store := []cli.Flag{
		&cli.StringFlag{Name: "label", Usage: "the input with this label, where the pipeline has several"},
		&cli.IntFlag{Name: "index", Value: -1, Usage: "the input with this number, from 0, where the pipeline has several"},
		&cli.StringSliceFlag{Name: "resources", Aliases: []string{"r"}, Usage: "more YAML files with resources, as run takes them"},
		&cli.StringFlag{Name: "connection", Usage: "connection string of the source, in place of a pipeline"},
		&cli.StringFlag{Name: "checkpoint-connection", Usage: "connection string of the server with the table of positions, if it is another"},
		&cli.StringFlag{Name: "table", Value: defaultTable, Usage: "the table of positions, with --connection"},
		&cli.StringFlag{Name: "file", Usage: "the file of positions, in place of a pipeline"},
		&cli.StringFlag{Name: "key", Value: defaultKey, Usage: "the key of the positions, with --connection or --file"},
		&cli.BoolFlag{Name: "json", Usage: "print JSON"},
	}
	change := append([]cli.Flag{
		&cli.BoolFlag{Name: "yes", Usage: "do not ask"},
		&cli.BoolFlag{Name: "force", Usage: "take the lease of a table of positions from the process that holds it; that process goes on from what is written"},
	}, store...)
	unchecked := &cli.BoolFlag{Name: "unchecked", Usage: "write a position that the source could not confirm"}
	action := func(run func(context.Context, *call) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			args, err := pipeline.Arguments(c, "mssqlcdc positions "+c.Command.Name)
			if err != nil {
				return err
			}
			return run(ctx, &call{Context: c, args: args, opts: o})
		}
	}
	return &cli.Command{
		Name:  "positions",
		Usage: "Show, set, forget and import the positions of mssql_cdc",
		Description: "The pipeline is the file that run takes. Without one, --connection (and --table, --key) or --file says where positions are.\n" +
			"See docs/positions.md.",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "Show the stored positions, and whether the source still has what follows them",
				ArgsUsage: "[PIPELINE]",
				Flags:     append([]cli.Flag{&cli.BoolFlag{Name: "offline", Usage: "do not ask the source"}}, store...),
				Action:    action(list),
			},
			{
				Name: "set", Usage: "Set the positions of tables",
				ArgsUsage: "[PIPELINE] TABLE...",
				Description: "Positions: earliest (every change that cleanup has left), latest (changes committed from now on), an LSN as 0x and\n" +
					"20 hexadecimal digits (changes after that transaction), a time as 2026-03-01T00:00:00Z (changes committed at or after it).",
				Flags: append([]cli.Flag{
					&cli.StringFlag{Name: "to", Usage: "earliest, latest, an LSN, or a time"},
					&cli.BoolFlag{Name: "all", Usage: "all tables that the input reads"}, unchecked,
				}, change...),
				Action: action(set),
			},
			{
				Name: "reset", Usage: "Forget the positions of tables: they begin where start_from says",
				ArgsUsage: "[PIPELINE] TABLE...",
				Flags:     append([]cli.Flag{&cli.BoolFlag{Name: "all", Usage: "all stored positions; needs --yes"}}, change...),
				Action:    action(reset),
			},
			{
				Name: "import", Usage: "Take positions over from Redpanda Connect's input or from Debezium",
				ArgsUsage: "[PIPELINE] [TABLE...]",
				Flags: append([]cli.Flag{
					&cli.StringFlag{Name: "from", Usage: "connect-table, connect-cache, or debezium"},
					&cli.StringFlag{Name: "source-table", Value: connectTable, Usage: "connect-table: Redpanda Connect's table"},
					&cli.StringFlag{Name: "source-connection", Usage: "connect-table: the server with that table, if it is not the one of the positions"},
					&cli.StringFlag{Name: "source-cache", Usage: "connect-cache: the label of the cache resource"},
					&cli.StringFlag{Name: "source-key", Usage: "connect-table, connect-cache: the key (default: " + connectTableKey + ", " + connectCacheKey + ")"},
					&cli.StringFlag{Name: "value", Usage: "connect-cache: a file with the cache's value, in place of --source-cache"},
					&cli.StringFlag{Name: "offsets", Usage: "debezium: a file with the offsets as JSON, - for stdin"},
					&cli.StringFlag{Name: "source-server", Usage: "debezium: the server (topic prefix) of the offsets, where there are several"},
					&cli.StringFlag{Name: "source-database", Usage: "debezium: the database of the offsets, where there are several"},
					&cli.BoolFlag{Name: "overwrite", Usage: "also tables that have a position"}, unchecked,
				}, change...),
				Action: action(importPositions),
			},
		},
	}
}

// call is one call of a subcommand.
type call struct {
	*cli.Context
	args []string // without flags
	opts Options
}

// confirm asks whether to write. Without anybody to answer it is an error: nothing is written that nobody has agreed to.
func (c *call) confirm(question string) (bool, error) {
	if c.Bool("yes") {
		return true, nil
	}
	if !c.opts.Terminal {
		return false, errors.New("nothing was written: add --yes to write it")
	}
	fmt.Fprintf(c.opts.Out, "%s [y/N] ", question)
	var answer string
	if _, err := fmt.Fscanln(c.opts.In, &answer); err != nil {
		answer = "" // an empty line, or the end: no
	}
	if a := strings.ToLower(answer); a == "y" || a == "yes" {
		return true, nil
	}
	return false, errors.New("nothing was written")
}
