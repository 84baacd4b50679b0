package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/bench/write/internal/client"
)

// peer is a program that loads the input.
type peer struct {
	name    string
	packets []int // sizes of TDS packets to be tried
	share   int   // it gets one row of so many, because it is slow
	args    []string
	build   func(ctx context.Context, cache string) (program []string, err error)
	program []string
}

// ours and reference are the two whose ratio is what the benchmark is for.
const (
	ours      = "ours"
	reference = "arrow-sql-server 0.4.0"
	copyIn    = "go-mssqldb CopyIn"
)

func peers() []*peer {
	return []*peer{
		{name: ours, packets: []int{4096}, share: 1, build: goProgram("./bench/write/ours")},
		{name: reference, packets: []int{4096, 32767}, share: 1, build: cargo},
		{name: "mssql-python 1.16.0", packets: []int{4096}, share: 1, build: python},
		{name: copyIn, packets: []int{4096, 32767}, share: 5, build: goProgram("./bench/write/rivals/copyin")},
	}
}

// The two outputs of the Benthos pipeline.
const (
	bulkOutput   = "mssql_bulk"
	copyInOutput = "output with CopyIn"
)

// pipelines are the same input through Benthos as JSON messages, for the scenarios whose rows are not large.
func pipelines() []*peer {
	build := goProgram("./bench/write/pipeline")
	return []*peer{
		{name: bulkOutput, packets: []int{4096}, share: 2, build: build, args: []string{"-output=mssql_bulk"}},
		{name: copyInOutput, packets: []int{4096}, share: 2, build: build, args: []string{"-output=mssql_copyin"}},
	}
}

// goProgram builds a package of this module.
func goProgram(pkg string) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, cache string) ([]string, error) {
		out := filepath.Join(cache, filepath.Base(pkg))
		_, _, err := measure.Run(exec.CommandContext(ctx, "go", "build", "-o", out, pkg))
		return []string{out}, err
	}
}

// cargo builds the program around arrow-sql-server.
func cargo(ctx context.Context, cache string) ([]string, error) {
	target := filepath.Join(cache, "cargo")
	_, _, err := measure.Run(exec.CommandContext(ctx, "cargo", "build", "--quiet", "--release", "--locked",
		"--manifest-path", "bench/write/rivals/arrow-sql-server/Cargo.toml", "--target-dir", target))
	return []string{filepath.Join(target, "release", "rival-arrow-sql-server")}, err
}

// python makes a virtual environment with mssql-python.
func python(ctx context.Context, cache string) ([]string, error) {
	venv := filepath.Join(cache, "venv")
	bin := filepath.Join(venv, "bin", "python")
	if _, err := os.Stat(bin); err != nil {
		if _, _, err := measure.Run(exec.CommandContext(ctx, "python3", "-m", "venv", venv)); err != nil {
			return nil, err
		}
	}
	_, _, err := measure.Run(exec.CommandContext(ctx, bin, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"mssql-python==1.16.0", "mssql-python-odbc==18.6.2.2", "mssql-python-rs==0.3.0", "pyarrow==26.0.1"))
	return []string{bin, "bench/write/rivals/mssql-python/load.py"}, err
}

// patience is how long a program may take for one load.
const patience = 3 * time.Minute

// load runs the program once.
func (p *peer) load(ctx context.Context, o *client.Options) (client.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var r client.Result
	out, _, err := measure.Run(exec.CommandContext(ctx, p.program[0], slices.Concat(p.program[1:], p.args, o.Args())...))
	if err != nil {
		return r, err
	}
	if err := unmarshalLast(out, &r); err != nil {
		return r, fmt.Errorf("reading what %s has printed: %w", p.name, err)
	}
	return r, nil
}
