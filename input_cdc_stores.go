package mssqlcdc

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
)

// store chooses where positions are kept: a cache resource, a file, or a table in SQL Server.
func (p *cdcParser) store(in *cdcInput) (func(capture.Observer) (checkpoint.Store, error), error) {
	cache, file, key := p.text(cdcFieldCache), p.text(cdcFieldCheckpointFile), p.text(cdcFieldCacheKey)
	table, dsn := p.text(cdcFieldCacheTable), p.text(cdcFieldCacheConnection)
	if p.err != nil {
		return nil, p.err
	}
	switch {
	case cache != "" && file != "":
		return nil, errors.New("checkpoint_file and checkpoint_cache exclude each other")
	case cache != "":
		if !p.mgr.HasCache(cache) {
			return nil, fmt.Errorf("checkpoint_cache: there is no cache resource %q", cache)
		}
		return func(capture.Observer) (checkpoint.Store, error) {
			return &cacheStore{mgr: p.mgr, cache: cache, key: key}, nil
		}, nil
	case file != "":
		return func(capture.Observer) (checkpoint.Store, error) { return checkpoint.NewFileStore(file, key) }, nil
	}
	name, err := catalog.ParseName(table)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cdcFieldCacheTable, err)
	}
	conf := in.cfg.Session
	conf.AppName = "mssqlcdc checkpoint"
	if dsn != "" {
		conf.ConnectionString, conf.TLSConfig = dsn, nil
		conf.Dial = session.InProcess(conf)
		if err := conf.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", cdcFieldCacheConnection, err)
		}
	}
	return func(o capture.Observer) (checkpoint.Store, error) {
		return checkpoint.NewSQLStore(checkpoint.SQLConfig{
			Table: name.Quoted(), Key: key,
			Open: func(ctx context.Context) (checkpoint.Session, error) {
				c, err := session.Open(ctx, conf)
				if err != nil {
					return nil, err
				}
				return storeSession{c}, nil
			},
			OnStandby: func(owner string, remaining time.Duration) {
				o.Note("", fmt.Sprintf("%s holds the positions %q for another %s; this process waits as a standby", owner, key, remaining.Round(time.Second)))
			},
		})
	}, nil
}

// storeSession lets the SQL store ask on a session.
type storeSession struct{ conn *session.Conn }

// Query gives all rows of the first result set.
func (s storeSession) Query(ctx context.Context, text, declaration string, args ...driver.Value) (out [][]driver.Value, err error) {
	rows, err := s.conn.Query(ctx, text, declaration, args...)
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

func (s storeSession) Close() error { return s.conn.Close() }

// cacheStore keeps the positions of a pipeline as one value of a cache resource. It has no lease: a cache cannot give one.
type cacheStore struct {
	mgr        *service.Resources
	cache, key string

	positions map[string]checkpoint.Position
}

func (s *cacheStore) Load(ctx context.Context) (map[string]checkpoint.Position, error) {
	s.positions = map[string]checkpoint.Position{}
	err := s.access(ctx, func(c service.Cache) error {
		value, err := c.Get(ctx, s.key)
		if errors.Is(err, service.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(value, &s.positions); err != nil {
			return fmt.Errorf("the value of key %q is not a set of positions of mssql_cdc: %w", s.key, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return maps.Clone(s.positions), nil
}

func (s *cacheStore) Save(ctx context.Context, changed map[string]checkpoint.Position) error {
	if s.positions == nil {
		return errors.New("saving positions: they were not loaded")
	}
	maps.Copy(s.positions, changed)
	value, err := json.Marshal(s.positions)
	if err != nil {
		return fmt.Errorf("saving positions: %w", err)
	}
	return s.access(ctx, func(c service.Cache) error { return c.Set(ctx, s.key, value, nil) })
}

func (s *cacheStore) access(ctx context.Context, fn func(service.Cache) error) error {
	var err error
	if accessErr := s.mgr.AccessCache(ctx, s.cache, func(c service.Cache) { err = fn(c) }); accessErr != nil {
		err = accessErr
	}
	if err != nil {
		return fmt.Errorf("using cache %s: %w", s.cache, err)
	}
	return nil
}

func (s *cacheStore) Close(context.Context) error { return nil }
