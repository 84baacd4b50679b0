// Command mssqltest runs the stand-in SQL Server of package mssqltest as a process, for clients of any kind.
//
//	mssqltest -listen 127.0.0.1:1433 -password 'Passw0rd!' -database testdb -script seed.sql
//
// The login is sa. The script runs before the server listens; when it listens, one line on stdout says so. It stops on
// SIGINT or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"example.com/mssqlcdc/mssqltest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mssqltest:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	srv, err := mssqltest.New(o.config)
	if err != nil {
		return err
	}
	defer srv.Close()
	for _, name := range o.scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading script: %w", err)
		}
		if err := srv.Exec(string(text)); err != nil {
			return fmt.Errorf("running %s: %w", name, err)
		}
	}
	if o.caOut != "" && srv.CA() != nil {
		if err := os.WriteFile(o.caOut, srv.CA(), 0o644); err != nil {
			return fmt.Errorf("writing certificate: %w", err)
		}
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	if err := srv.Listen(l); err != nil {
		return err
	}
	fmt.Fprintf(out, "mssqltest ready on %s; connect with %s\n", l.Addr(), o.hint(l.Addr().String()))
	<-ctx.Done()
	return nil
}
