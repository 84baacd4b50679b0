package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/internal/session"
)

// debezium is Debezium's engine in a process of its own, which Maven has built; without Maven and Java it is left out.
var debezium = rival{"Debezium", "Debezium embedded 3.6.1.Final, JSON without schemas, dropped", runDebezium}

func init() { rivals = append(rivals, debezium) }

var errNoMaven = errors.New("left out: there is no mvn or java here")

func runDebezium(ctx context.Context, srv *server, table string, rows int) (result, error) {
	for _, tool := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(tool); err != nil {
			return result{}, errNoMaven
		}
	}
	const source = "bench/read/rivals/debezium"
	jar := filepath.Join(source, "target", "debezium-reader.jar")
	if _, err := os.Stat(jar); err != nil {
		build := exec.CommandContext(ctx, "mvn", "-q", "-f", filepath.Join(source, "pom.xml"), "package", "dependency:copy-dependencies", "-DoutputDirectory=target/lib")
		if out, err := build.CombinedOutput(); err != nil {
			return result{}, fmt.Errorf("building: %w\n%s", err, out)
		}
	}
	lsn, err := startLSN(ctx, srv, table)
	if err != nil {
		return result{}, err
	}
	host, port, err := net.SplitHostPort(srv.addr)
	if err != nil {
		return result{}, err
	}
	folder, err := os.MkdirTemp(srv.folder, "debezium-*")
	if err != nil {
		return result{}, err
	}
	classes := jar + string(os.PathListSeparator) + filepath.Join(source, "target", "lib", "*")
	out, _, err := measure.Run(exec.CommandContext(ctx, "java", "-Xmx2g", "-cp", classes, "bench.Reader",
		host, port, password, "dbo."+table, fmt.Sprint(rows), lsn, folder))
	if err != nil {
		return result{}, err
	}
	var events, bytes, wall, cpu, peak int64
	if _, err := fmt.Sscan(out, &events, &bytes, &wall, &cpu, &peak); err != nil {
		return result{}, fmt.Errorf("reading %q: %w", strings.TrimSpace(out), err)
	}
	u := measure.Usage{Wall: time.Duration(wall), User: time.Duration(cpu), PeakRSS: peak << 10}
	return result{Rows: events, Bytes: bytes, Usage: u, Allocs: -1}, nil
}

// startLSN is the LSN before the first change, in the form that Debezium keeps it.
func startLSN(ctx context.Context, srv *server, table string) (string, error) {
	conn, err := session.Open(ctx, session.Config{ConnectionString: srv.dsn()})
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	row, err := conn.QueryRow(ctx, "SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = @i", "@i nvarchar(128)", "dbo_"+table)
	if err != nil {
		return "", err
	}
	b, ok := row[0].([]byte)
	if !ok || len(b) != 10 {
		return "", fmt.Errorf("the start of dbo_%s is %v", table, row[0])
	}
	return fmt.Sprintf("%08x:%08x:%04x", b[:4], b[4:8], b[8:]), nil
}
