// Package stores opens the store of positions that a pipeline names: a cache, a file, or a table in SQL Server. The input and the
// commands about positions choose by the same rules here.
//
// It knows no cache of its own and keeps no positions; package checkpoint does.
package stores

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// Store is a store whose positions can be looked at without taking them, and be deleted.
type Store interface {
	checkpoint.Store
	Peek(ctx context.Context) (positions map[string]checkpoint.Position, holder string, _ error)
	Delete(ctx context.Context, tables ...string) error
}

// Config says where positions are kept. Cache wins over File, and Table is used without either.
type Config struct {
	Key   string // of the pipeline
	Cache *Cache
	File  string
	Table string // as the user writes it: dbo.mssql_cdc_checkpoint
	// Source is how the source is reached; Connection is the connection string of the server that has the table, if it is another.
	Source     session.Config
	Connection string
	// Takeover takes a table's lease from the process that holds it.
	Takeover bool
	// Owner is who takes a table's lease; "" makes one up each time.
	Owner string
	// OnStandby is told when another process holds the lease.
	OnStandby func(owner string, remaining time.Duration)
}

// Session is how the server with the table is reached.
func (c Config) Session() session.Config {
	conf := c.Source
	conf.AppName = "mssqlcdc checkpoint"
	if c.Connection != "" {
		conf.ConnectionString, conf.TLSConfig = c.Connection, nil
		conf.Dial = session.InProcess(conf)
	}
	return conf
}

// Validate reports what is wrong without opening anything.
func (c Config) Validate() error {
	switch {
	case c.Cache != nil && c.File != "":
		return errors.New("checkpoint_file and checkpoint_cache exclude each other")
	case c.Cache != nil || c.File != "":
		return nil
	}
	if _, err := catalog.ParseName(c.Table); err != nil {
		return fmt.Errorf("checkpoint_cache_table_name: %w", err)
	}
	if c.Connection != "" {
		if err := c.Session().Validate(); err != nil {
			return fmt.Errorf("checkpoint_cache_connection_string: %w", err)
		}
	}
	return nil
}

// Describe names the store for people.
func (c Config) Describe() string {
	switch {
	case c.Cache != nil:
		return fmt.Sprintf("cache %s, key %s", c.Cache.Label, c.Key)
	case c.File != "":
		return fmt.Sprintf("file %s, key %s", c.File, c.Key)
	}
	return fmt.Sprintf("table %s, key %s", c.Table, c.Key)
}

// Open makes the store. Nothing is read before its Load or Peek.
func Open(c Config) (Store, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch {
	case c.Cache != nil:
		return checkpoint.NewCacheStore(checkpoint.CacheConfig{Get: c.Cache.Get, Set: c.Cache.Set, Key: c.Key})
	case c.File != "":
		return checkpoint.NewFileStore(c.File, c.Key)
	}
	name, err := catalog.ParseName(c.Table)
	if err != nil {
		return nil, err
	}
	conf := c.Session()
	return checkpoint.NewSQLStore(checkpoint.SQLConfig{
		Table: name.Quoted(), Key: c.Key, Takeover: c.Takeover, Owner: c.Owner, OnStandby: c.OnStandby,
		Open: func(ctx context.Context) (checkpoint.Session, error) {
			conn, err := session.Open(ctx, conf)
			if err != nil {
				return nil, err
			}
			return sqlSession{conn}, nil
		},
	})
}

// sqlSession lets the SQL store ask on a session.
type sqlSession struct{ conn *session.Conn }

func (s sqlSession) Close() error { return s.conn.Close() }

func (s sqlSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) ([][]driver.Value, error) {
	return Rows(ctx, s.conn, text, declaration, args...)
}

// Rows gives all rows of the first result of a statement, none for a statement without one.
func Rows(ctx context.Context, conn *session.Conn, text, declaration string, args ...driver.Value) (out [][]driver.Value, err error) {
	rows, err := conn.Query(ctx, text, declaration, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	for {
		row := make([]driver.Value, len(rows.Columns()))
		switch err := rows.Next(row); {
		case err == nil:
			out = append(out, row)
		case errors.Is(err, io.EOF):
			return out, nil
		default:
			return nil, err
		}
	}
}
