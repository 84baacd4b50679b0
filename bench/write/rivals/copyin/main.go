// Command copyin loads an Arrow IPC file with the CopyIn of go-mssqldb, for
// bench/write: the values of each row are taken out of their arrays and given to Exec.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	mssql "github.com/microsoft/go-mssqldb"

	"example.com/mssqlcdc/bench/write/internal/client"
)

func main() {
	client.Main(func(o *client.Options, schema *arrow.Schema) (client.Load, error) {
		ctx := context.Background()
		db, err := sql.Open("sqlserver", o.URL())
		if err != nil {
			return nil, err
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		names := make([]string, schema.NumFields())
		for i := range names {
			names[i] = schema.Field(i).Name
		}
		return func(in client.Batches) (int64, error) {
			stmt, err := conn.PrepareContext(ctx, mssql.CopyIn("dbo."+o.Table, mssql.BulkOptions{CheckConstraints: true, FireTriggers: true, KeepNulls: true}, names...))
			if err != nil {
				return 0, err
			}
			row := make([]any, len(names))
			err = in(func(rec arrow.RecordBatch) error {
				for r := range int(rec.NumRows()) {
					for c := range row {
						if row[c], err = value(rec.Column(c), r); err != nil {
							return err
						}
					}
					if _, err := stmt.ExecContext(ctx, row...); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return 0, err
			}
			res, err := stmt.ExecContext(ctx)
			if err != nil {
				return 0, err
			}
			return res.RowsAffected()
		}, nil
	})
}

// value is a cell as the driver takes it: decimals as text, because it takes integers as unscaled.
func value(a arrow.Array, r int) (any, error) {
	if a.IsNull(r) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(r), nil
	case *array.Int32:
		return int64(a.Value(r)), nil
	case *array.Int64:
		return a.Value(r), nil
	case *array.Float64:
		return a.Value(r), nil
	case *array.String:
		return a.Value(r), nil
	case *array.Binary:
		return a.Value(r), nil
	case *array.Decimal128:
		return a.ValueStr(r), nil
	case *array.Date32:
		return a.Value(r).ToTime(), nil
	case *array.Timestamp:
		return time.UnixMilli(int64(a.Value(r))).UTC(), nil
	}
	return nil, fmt.Errorf("the Arrow type %s has no rule", a.DataType())
}
