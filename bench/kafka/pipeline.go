package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/pure"

	_ "example.com/mssqlcdc"
	_ "example.com/mssqlcdc/internal/kafka"
)

// runPipeline runs a pipeline until it ends, or until ctx is over.
func runPipeline(ctx context.Context, file string) error {
	yaml, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b := service.NewStreamBuilder()
	b.SetLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err := b.SetYAML(string(yaml) + "\nhttp: {enabled: false}\n"); err != nil {
		return err
	}
	s, err := b.Build()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return s.StopWithin(10 * time.Second)
	}
}
