package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/mssqlcdc/bench/internal/measure"
	"example.com/mssqlcdc/mssqltest"
)

const rowText = "an int key, a bigint, a decimal(18,4), a float, a datetime2(3) and 60 characters of nvarchar"

const createTable = `CREATE TABLE dbo.%s (id int PRIMARY KEY, big bigint NOT NULL, price decimal(18,4) NOT NULL, ratio float NOT NULL, at datetime2(3) NOT NULL, name nvarchar(100) NOT NULL);
`

// world is what the pipelines run between.
type world struct {
	o          options
	source     *mssqltest.Server
	target     *mssqltest.Server
	cluster    *kfake.Cluster
	broker     string
	brokerText string
	dir        string
	runs       int
}

func newWorld(o options) (w *world, err error) {
	w = &world{o: o, broker: o.broker, brokerText: o.broker}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp("", "mssqlcdc-bench-kafka-"); err != nil {
		return nil, err
	}
	if w.broker == "" {
		if w.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(1)); err != nil {
			return nil, err
		}
		w.broker, w.brokerText = w.cluster.ListenAddrs()[0], "kfake, in this process"
	}
	var script strings.Builder
	fmt.Fprintf(&script, createTable, "items")
	script.WriteString("INSERT dbo.items VALUES (0, 9007199254740993, 12345.6789, 0.1, '2026-03-01T12:00:00.123', REPLICATE(N'naïve ', 10));\n")
	for n := 1; n < int(o.rows()); n *= 2 {
		fmt.Fprintf(&script, "INSERT dbo.items SELECT id + %d, big + %d, price + %d, ratio * 1.5, DATEADD(second, %d, at), name FROM dbo.items;\n", n, n, n, n)
	}
	script.WriteString("EXEC sys.sp_cdc_enable_db;\nEXEC sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'items', @role_name = NULL, @supports_net_changes = 0;\n")
	if w.source, err = startServer(script.String()); err != nil {
		return nil, err
	}
	w.target, err = startServer("")
	return w, err
}

func startServer(script string) (*mssqltest.Server, error) {
	srv, err := mssqltest.New(mssqltest.Config{Database: "bench"})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = srv.Listen(l)
	}
	if err == nil && script != "" {
		err = srv.Exec(script)
	}
	if err != nil {
		srv.Close()
		return nil, err
	}
	return srv, nil
}

func (w *world) close() {
	if w.cluster != nil {
		w.cluster.Close()
	}
	for _, s := range []*mssqltest.Server{w.source, w.target} {
		if s != nil {
			s.Close()
		}
	}
	if w.dir != "" {
		os.RemoveAll(w.dir)
	}
}

// write moves the table to a topic; the pipeline ends by itself.
func (w *world) write(ctx context.Context, format, topic string) (measure.Usage, error) {
	w.runs++
	cmd, err := w.pipeline(ctx, fmt.Sprintf(`
input:
  mssql_cdc:
    connection_string: '%s'
    snapshot_mode: snapshot_only
    checkpoint_file: '%s'
    format: %s
pipeline:
  threads: 1
output:
  redpanda:
    seed_brokers: ['%s']
    topic: %s
    key: ${! @key.or("") }
    metadata:
      include_patterns: ['^operation$']
    max_in_flight: 1
`, w.source.ConnString(), filepath.Join(w.dir, fmt.Sprint("positions", w.runs)), format, w.broker, topic))
	if err != nil {
		return measure.Usage{}, err
	}
	_, usage, err := measure.Run(cmd)
	return usage, err
}

// read moves a topic to a new table. The pipeline is ended when every row is there; then the table is compared.
func (w *world) read(ctx context.Context, topic string) (usage measure.Usage, err error) {
	table := strings.ReplaceAll(topic, "-", "_")
	if err := w.target.Exec(fmt.Sprintf(createTable, table)); err != nil {
		return usage, err
	}
	cmd, err := w.pipeline(ctx, fmt.Sprintf(`
input:
  redpanda:
    seed_brokers: ['%s']
    topics: [%s]
    consumer_group: %s
    max_yield_batch_bytes: 1MB
pipeline:
  threads: 1
output:
  mssql_bulk:
    connection_string: '%s'
    table: dbo.%s
    max_in_flight: 1
`, w.broker, topic, topic, w.target.ConnString(), table))
	if err != nil {
		return usage, err
	}
	began := time.Now()
	child, err := measure.Start(cmd)
	if err != nil {
		return usage, err
	}
	waiting := w.waitForRows(ctx, table)
	wall := time.Since(began)
	err = errors.Join(waiting, child.Signal(syscall.SIGTERM))
	usage, ended := child.Wait()
	usage.Wall = wall
	if err = errors.Join(err, ended); err != nil {
		return usage, err
	}
	return usage, w.compare(table)
}

func (w *world) waitForRows(ctx context.Context, table string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		rows, err := w.target.Query("SELECT COUNT(*) FROM dbo." + table)
		if err != nil {
			return err
		}
		if rows[0][0] == strconv.FormatInt(w.o.rows(), 10) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compare looks whether a table has what the source has.
func (w *world) compare(table string) error {
	const query = "SELECT id, big, price, ratio, at, name FROM dbo.%s ORDER BY id"
	want, err := w.source.Query(fmt.Sprintf(query, "items"))
	if err != nil {
		return err
	}
	have, err := w.target.Query(fmt.Sprintf(query, table))
	if err != nil {
		return err
	}
	if !slices.EqualFunc(have, want, slices.Equal[[]string]) {
		return fmt.Errorf("table %s is not what the source is", table)
	}
	return nil
}

// pipeline is a command that runs a pipeline.
func (w *world) pipeline(ctx context.Context, yaml string) (*exec.Cmd, error) {
	f, err := os.CreateTemp(w.dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(yaml); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, "pipeline", f.Name()), nil
}

// topicSize is what a topic holds.
type topicSize struct{ records, bytes, largest int64 }

func (w *world) size(ctx context.Context, topic string) (s topicSize, err error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.broker), kgo.DisableClientMetrics(), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return s, err
	}
	defer cl.Close()
	for end := int64(1); s.records < end; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return s, err
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) { end = max(end, p.HighWatermark) })
		fetches.EachRecord(func(r *kgo.Record) {
			n := int64(len(r.Key) + len(r.Value))
			s.records, s.bytes, s.largest = s.records+1, s.bytes+n, max(s.largest, n)
		})
	}
	return s, nil
}
