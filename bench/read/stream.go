package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // what a pipeline is made of

	_ "example.com/mssqlcdc" // mssql_cdc
)

// A stream is measured between two of its batches: what it reads ahead is the same at both, so that neither its start nor what it
// has not delivered yet counts.
const (
	measureFrom = 0.2 // of the rows
	measureTo   = 0.9
)

// counter is the output of a stream: it counts what comes and acknowledges it.
type counter struct {
	arrow bool // messages say how many rows they have
	total int64
	done  chan struct{}

	mu    sync.Mutex
	rows  int64
	bytes int64
	from  *clock
	at    int64 // rows at from
	sized int64 // bytes at from
	res   *result
}

func (c *counter) Connect(context.Context) error { return nil }
func (c *counter) Close(context.Context) error   { return nil }

func (c *counter) WriteBatch(_ context.Context, batch service.MessageBatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range batch {
		b, err := m.AsBytes()
		if err != nil {
			return err
		}
		c.bytes += int64(len(b))
		n := int64(1)
		if c.arrow {
			v, _ := m.MetaGetMut("rows")
			if n, err = strconv.ParseInt(fmt.Sprint(v), 10, 64); err != nil {
				return err
			}
		}
		c.rows += n
	}
	switch {
	case c.from == nil && c.rows >= int64(measureFrom*float64(c.total)):
		from := begin()
		c.from, c.at, c.sized = &from, c.rows, c.bytes
	case c.from != nil && c.res == nil && c.rows >= int64(measureTo*float64(c.total)):
		res := c.from.end(c.rows-c.at, c.bytes-c.sized)
		c.res = &res
		close(c.done)
	}
	return nil
}

// stream runs an input to the counting output until enough has come.
func stream(ctx context.Context, input string, j job, arrow bool) (result, error) {
	c := &counter{arrow: arrow, total: int64(j.Rows), done: make(chan struct{})}
	env := service.GlobalEnvironment().Clone()
	if err := env.RegisterBatchOutput("bench_count", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		return c, service.BatchPolicy{}, 1, nil
	}); err != nil {
		return result{}, err
	}
	if err := env.RegisterBatchInput("bench_rows", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchInput, error) {
		if j.Case == "ready bodies" {
			return &readyInput{shape: shapes[j.Shape]}, nil
		}
		return &scanInput{job: j}, nil
	}); err != nil {
		return result{}, err
	}
	b := env.NewStreamBuilder()
	if err := errors.Join(b.SetYAML("input:\n"+indent(input)+"pipeline: {threads: 1}\noutput: {bench_count: {}}\n"), b.SetLoggerYAML("level: ERROR")); err != nil {
		return result{}, err
	}
	s, err := b.Build()
	if err != nil {
		return result{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-c.done:
	case err := <-ended:
		return result{}, fmt.Errorf("the stream ended after %d rows: %w", c.rows, errors.Join(err, io.ErrUnexpectedEOF))
	}
	stopping, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	_ = s.Stop(stopping) // whatever is left in it is of no interest
	<-ended
	return *c.res, nil
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("  " + line)
	}
	return out.String()
}

const rivalBatch = 1000

func scanMessages(ctx context.Context, j job) (result, error) {
	return stream(ctx, "bench_rows: {}\n", j, false)
}
func readyBodies(ctx context.Context, j job) (result, error) {
	return stream(ctx, "bench_rows: {}\n", j, false)
}

// scanInput makes messages as inputs over database/sql do: Scan, a map, encoding/json, and four metadata.
type scanInput struct {
	job  job
	db   *sql.DB
	rows *sql.Rows
	row  []any
	dest []any
}

func (s *scanInput) Connect(ctx context.Context) (err error) {
	if s.db, err = sql.Open("sqlserver", s.job.DSN); err != nil {
		return err
	}
	s.rows, err = s.db.QueryContext(ctx, wholeTable(shapes[s.job.Shape], s.job.Tables[0])) //nolint:sqlclosecheck // Close closes it
	if err != nil {
		return err
	}
	names, err := s.rows.Columns()
	s.row, s.dest = make([]any, len(names)), make([]any, len(names))
	for i := range s.row {
		s.dest[i] = &s.row[i]
	}
	return err
}

func (s *scanInput) ReadBatch(context.Context) (service.MessageBatch, service.AckFunc, error) {
	batch := make(service.MessageBatch, 0, rivalBatch)
	columns := shapes[s.job.Shape].columns
	for len(batch) < rivalBatch && s.rows.Next() {
		if err := s.rows.Scan(s.dest...); err != nil {
			return nil, nil, err
		}
		object := make(map[string]any, len(columns))
		for i, c := range columns {
			v := s.row[5+i]
			if b, ok := v.([]byte); ok { // a decimal
				v = string(b)
			}
			object[c.name] = v
		}
		body, err := json.Marshal(object)
		if err != nil {
			return nil, nil, err
		}
		m := service.NewMessage(body)
		m.MetaSetMut("database_schema", "dbo")
		m.MetaSetMut("table", s.job.Tables[0])
		m.MetaSetMut("operation", "insert")
		lsn, _ := s.row[0].([]byte)
		m.MetaSetMut("lsn", "0x"+hex.EncodeToString(lsn))
		batch = append(batch, m)
	}
	if len(batch) == 0 {
		return nil, nil, errors.Join(s.rows.Err(), service.ErrEndOfInput)
	}
	return batch, func(context.Context, error) error { return nil }, nil
}

func (s *scanInput) Close(context.Context) error {
	if s.rows != nil {
		_ = s.rows.Close() // read to its end or not, it is done with
	}
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// readyInput gives messages that are ready: what Benthos itself costs.
type readyInput struct {
	shape *shape
	batch service.MessageBatch
}

func (r *readyInput) Connect(context.Context) error {
	body := []byte(`{"id":1}`)
	if len(r.shape.words) > 0 {
		text := newGenerator(r.shape, 1).text(infoUnits + 200)
		var err error
		if body, err = json.Marshal(map[string]string{"info": text}); err != nil {
			return err
		}
	}
	template := service.NewMessage(nil)
	for _, key := range []string{"operation", "database_schema", "table", "lsn", "commit_ts_ms", "schema"} {
		template.MetaSetMut(key, "a value")
	}
	for range rivalBatch {
		m := template.Copy()
		m.SetBytes(body)
		r.batch = append(r.batch, m)
	}
	return nil
}

func (r *readyInput) ReadBatch(context.Context) (service.MessageBatch, service.AckFunc, error) {
	batch := make(service.MessageBatch, len(r.batch))
	for i, m := range r.batch {
		batch[i] = m.Copy()
		batch[i].MetaSetMut("event_id", "00000025000001a80003-00000001-00000025000001a80002-2")
		batch[i].MetaSetMut("key", `{"id":1}`)
	}
	return batch, func(context.Context, error) error { return nil }, nil
}

func (r *readyInput) Close(context.Context) error { return nil }
