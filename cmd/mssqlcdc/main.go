// Command mssqlcdc is Benthos with the components of this project, Kafka, a Prometheus exporter, a demo that needs no server,
// and the commands doctor, positions, signal and verify.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/microsoft/go-mssqldb/azuread"
	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure/extended"

	mssql "github.com/microsoft/go-mssqldb"

	_ "example.com/mssqlcdc"
	"example.com/mssqlcdc/cmd/mssqlcdc/doctor"
	"example.com/mssqlcdc/cmd/mssqlcdc/pipeline"
	"example.com/mssqlcdc/cmd/mssqlcdc/positions"
	"example.com/mssqlcdc/cmd/mssqlcdc/signal"
	"example.com/mssqlcdc/cmd/mssqlcdc/verify"
	_ "example.com/mssqlcdc/internal/kafka"
	"example.com/mssqlcdc/internal/outcome"
	"example.com/mssqlcdc/internal/progress"
	"example.com/mssqlcdc/internal/session"
)

// version is set by the linker for releases.
var version = "0.1.0-dev"

func main() {
	session.OpenFedAuth = func(dsn string) (*mssql.Connector, error) { return azuread.NewConnector(dsn) }
	progress.Install(progress.For(os.Stderr, isTerminal(os.Stderr)))
	code, err := service.RunCLIToCode(context.Background(),
		service.CLIOptSetVersion(version, ""),
		service.CLIOptSetBinaryName("mssqlcdc"),
		service.CLIOptSetProductName("mssqlcdc"),
		service.CLIOptSetEnvVarLookup(func(_ context.Context, name string) (string, bool) {
			return pipeline.LookupEnv(name, func(err error) { fmt.Fprintln(os.Stderr, err) })
		}),
		service.CLIOptAddCommand(demoCommand()),
		service.CLIOptAddCommand(doctor.Command(os.Stdout)),
		service.CLIOptAddCommand(verify.Command(os.Stdout)),
		service.CLIOptAddCommand(positions.Command(positions.Options{In: os.Stdin, Out: os.Stdout, Terminal: isTerminal(os.Stdin)})),
		service.CLIOptAddCommand(signal.Command(os.Stdout)),
	)
	if err == nil {
		err = outcome.Err()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// isTerminal tells whether a person is at the other end.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "Watch changes come out of CDC change tables, on a stand-in SQL Server inside this process",
		Description: "Starts the stand-in with a small shop, enables CDC, changes the shop and streams the changes to stdout as JSON lines.\n" +
			"Half way it stops the pipeline and starts it again, to show that it resumes. No port is taken and nothing is left behind.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "end after the shop's day; the last line on stderr is a summary in JSON"},
			&cli.StringFlag{Name: "script", Usage: "load this T-SQL script instead of the shop, enable CDC on all of its tables, and change some rows of each"},
		},
		Action: func(c *cli.Context) error {
			ctx, stop := signalContext(c.Context)
			defer stop()
			return runDemo(ctx, demoOptions{once: c.Bool("once"), script: c.String("script"), out: os.Stdout, log: os.Stderr})
		},
	}
}
