// Command ours loads an Arrow IPC file with internal/bulkload, for bench/write.
package main

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/bench/write/internal/client"
	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

func main() {
	client.Main(func(o *client.Options, schema *arrow.Schema) (client.Load, error) {
		ctx := context.Background()
		conn, err := session.Open(ctx, session.Config{ConnectionString: o.URL(), RawTDS: session.RawRequire})
		if err != nil {
			return nil, err
		}
		target, err := bulkload.LoadTarget(ctx, conn, catalog.Name{Schema: "dbo", Object: o.Table})
		if err != nil {
			return nil, err
		}
		plan, err := bulkload.NewPlan(target, schema, bulkload.Options{})
		if err != nil {
			return nil, err
		}
		return func(in client.Batches) (int64, error) {
			load := plan.Begin(conn)
			err := in(func(rec arrow.RecordBatch) error {
				bad, err := load.Add(ctx, rec)
				if err == nil && len(bad) > 0 {
					err = bad[0].Err
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			return load.Finish(ctx)
		}, nil
	})
}
