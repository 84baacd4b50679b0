package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/redpanda-data/benthos/v4/public/service"
)

// registerCopyIn adds the output mssql_copyin.
func registerCopyIn(env *service.Environment, schema *arrow.Schema) error {
	spec := service.NewConfigSpec().Fields(service.NewStringField("connection_string"), service.NewStringField("table"))
	return env.RegisterBatchOutput("mssql_copyin", spec, func(conf *service.ParsedConfig, _ *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
		o := &copyIn{columns: make([]string, schema.NumFields()), times: make([]bool, schema.NumFields())}
		for i := range o.columns {
			o.columns[i] = schema.Field(i).Name
			o.times[i] = schema.Field(i).Type.ID() == arrow.TIMESTAMP
		}
		var err error
		if o.address, err = conf.FieldString("connection_string"); err == nil {
			o.table, err = conf.FieldString("table")
		}
		return o, service.BatchPolicy{}, 1, err
	})
}

// copyIn loads each batch in a transaction with the driver's CopyIn, from the decoded messages.
type copyIn struct {
	address, table string
	columns        []string
	times          []bool // columns of dates with a time, whose ISO 8601 form the driver does not read
	db             *sql.DB
}

func (o *copyIn) Connect(context.Context) (err error) {
	o.db, err = sql.Open("sqlserver", o.address)
	return err
}

func (o *copyIn) WriteBatch(ctx context.Context, batch service.MessageBatch) (err error) {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	stmt, err := tx.PrepareContext(ctx, mssql.CopyIn(o.table, mssql.BulkOptions{CheckConstraints: true, FireTriggers: true, KeepNulls: true}, o.columns...))
	if err != nil {
		return err
	}
	row := make([]any, len(o.columns))
	for _, m := range batch {
		v, err := m.AsStructured()
		if err != nil {
			return err
		}
		doc, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("a message is a %T", v)
		}
		for i, name := range o.columns {
			if row[i], err = plain(doc[name], o.times[i]); err != nil {
				return err
			}
		}
		if _, err := stmt.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	res, err := stmt.ExecContext(ctx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != int64(len(batch)) {
		return fmt.Errorf("the server has counted %d rows of %d: %w", n, len(batch), err)
	}
	return tx.Commit()
}

// plain gives the driver the Go types that it knows.
func plain(v any, isTime bool) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case string:
		if isTime {
			return time.Parse(time.RFC3339Nano, v)
		}
	}
	return v, nil
}

func (o *copyIn) Close(context.Context) error {
	if o.db == nil {
		return nil
	}
	return o.db.Close()
}
