package main

import (
	"context"
	"encoding/json"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // what a stream cannot be without
	"github.com/redpanda-data/benthos/v4/public/service"

	_ "example.com/mssqlcdc" // registers mssql_bulk
)

// pipeline is Benthos with mssql_bulk.
type pipeline struct {
	send   func(context.Context, service.MessageBatch) error
	batch  func(from, to int) (service.MessageBatch, error)
	stream *service.Stream
	ended  chan error
}

func openJSON(_ context.Context, dsn string) (writer, error) {
	return openPipeline(dsn, func(from, to int) (service.MessageBatch, error) { return jsonBatch(from, to), nil })
}

func openArrow(_ context.Context, dsn string) (writer, error) { return openPipeline(dsn, arrowBatch) }

func openPipeline(dsn string, batch func(from, to int) (service.MessageBatch, error)) (writer, error) {
	b := service.NewStreamBuilder()
	send, err := b.AddBatchProducerFunc()
	if err != nil {
		return nil, err
	}
	conf, err := json.Marshal(map[string]any{"mssql_bulk": map[string]any{"connection_string": dsn, "table": "dbo.t", "mode": "upsert"}})
	if err != nil {
		return nil, err
	}
	if err := b.AddOutputYAML(string(conf)); err != nil {
		return nil, err
	}
	if err := b.SetLoggerYAML("level: WARN"); err != nil {
		return nil, err
	}
	stream, err := b.Build()
	if err != nil {
		return nil, err
	}
	p := &pipeline{send: send, batch: batch, stream: stream, ended: make(chan error, 1)}
	go func() { p.ended <- stream.Run(context.Background()) }()
	return p, nil
}

// write makes the messages, which is part of what is measured, and waits until they are stored.
func (p *pipeline) write(ctx context.Context, from, to int) error {
	batch, err := p.batch(from, to)
	if err != nil {
		return err
	}
	return p.send(ctx, batch)
}

func (p *pipeline) close() error {
	if err := p.stream.Stop(context.Background()); err != nil {
		return err
	}
	return <-p.ended
}
