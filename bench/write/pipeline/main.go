// Command pipeline runs JSON messages through Benthos into an output, for bench/write:
// mssql_bulk, or one that is made here around the CopyIn of go-mssqldb, as a plugin
// would be written without the bulk protocol of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // what a stream cannot be without
	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc" // registers mssql_bulk
	"example.com/mssqlcdc/bench/write/internal/client"
)

// batchMessages is how many messages a batch has: so many that mssql_bulk loads into the table itself.
const batchMessages = 50_000

func main() {
	output, rest := "mssql_bulk", os.Args[:1:1]
	for _, arg := range os.Args[1:] {
		if name, ok := strings.CutPrefix(arg, "-output="); ok {
			output = name
			continue
		}
		rest = append(rest, arg)
	}
	os.Args = rest
	client.Main(func(o *client.Options, schema *arrow.Schema) (client.Load, error) {
		docs, err := documents(o.File)
		if err != nil {
			return nil, err
		}
		in := &source{docs: docs}
		stream, err := build(o, output, schema, in)
		if err != nil {
			return nil, err
		}
		return func(client.Batches) (int64, error) {
			err := stream.Run(context.Background())
			client.Wall = in.last.Sub(in.first)
			return in.acknowledged, err
		}, nil
	})
}

// build makes the stream: the source, and an output that is tried again on errors as Benthos does.
func build(o *client.Options, output string, schema *arrow.Schema, in *source) (*service.Stream, error) {
	env := service.NewEnvironment()
	err := env.RegisterBatchInput("bench_documents", service.NewConfigSpec(), func(*service.ParsedConfig, *service.Resources) (service.BatchInput, error) {
		return in, nil
	})
	if err != nil {
		return nil, err
	}
	if err := registerCopyIn(env, schema); err != nil {
		return nil, err
	}
	b := env.NewStreamBuilder()
	if err := b.AddInputYAML("bench_documents: {}"); err != nil {
		return nil, err
	}
	conf, err := json.Marshal(map[string]any{output: map[string]any{"connection_string": o.URL(), "table": "dbo." + o.Table}})
	if err != nil {
		return nil, err
	}
	if err := b.AddOutputYAML(string(conf)); err != nil {
		return nil, err
	}
	if err := b.SetLoggerYAML("level: WARN"); err != nil {
		return nil, err
	}
	return b.Build()
}

// documents are the rows of the input as JSON objects.
func documents(file string) (docs [][]byte, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in, err := ipc.NewFileReader(f)
	if err != nil {
		return nil, err
	}
	for {
		rec, err := in.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		for r := range int(rec.NumRows()) {
			doc, err := document(rec, r)
			if err != nil {
				return nil, err
			}
			docs = append(docs, doc)
		}
	}
}

func document(rec arrow.RecordBatch, r int) ([]byte, error) {
	doc := []byte("{")
	for c, f := range rec.Schema().Fields() {
		if c > 0 {
			doc = append(doc, ',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		a := rec.Column(c)
		v := a.GetOneForMarshal(r)
		if t, ok := a.(*array.Timestamp); ok && !a.IsNull(r) {
			v = t.Value(r).ToTime(t.DataType().(*arrow.TimestampType).Unit)
		}
		value, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		doc = append(append(append(doc, name...), ':'), value...)
	}
	return append(doc, '}'), nil
}

// source gives each document once. One output acknowledges one batch after the other.
type source struct {
	docs         [][]byte
	next         int
	acknowledged int64
	first, last  time.Time // of the first batch, and of the last acknowledgement
}

func (s *source) Connect(context.Context) error { return nil }

func (s *source) ReadBatch(context.Context) (service.MessageBatch, service.AckFunc, error) {
	docs := s.docs[s.next:min(s.next+batchMessages, len(s.docs))]
	if len(docs) == 0 {
		return nil, nil, service.ErrEndOfInput
	}
	if s.next == 0 {
		s.first = time.Now()
	}
	s.next += len(docs)
	batch := make(service.MessageBatch, len(docs))
	for i, d := range docs {
		batch[i] = service.NewMessage(d)
	}
	return batch, func(_ context.Context, err error) error {
		if err == nil {
			s.acknowledged, s.last = s.acknowledged+int64(len(docs)), time.Now()
		}
		return err
	}, nil
}

func (s *source) Close(context.Context) error { return nil }
