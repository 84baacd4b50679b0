package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/stores"
)

// store chooses where positions are kept: a cache resource, a file, or a table in SQL Server.
func (p *cdcParser) store(in *cdcInput) (func(capture.Observer) (checkpoint.Store, error), error) {
	label := p.text(cdcFieldCache)
	conf := stores.Config{
		Key: p.text(cdcFieldCacheKey), File: p.text(cdcFieldCheckpointFile),
		Table: p.text(cdcFieldCacheTable), Connection: p.text(cdcFieldCacheConnection), Source: in.cfg.Session,
	}
	if p.err != nil {
		return nil, p.err
	}
	if label != "" {
		conf.Cache = cacheValue(p.mgr, label, conf.Key)
	}
	if err := conf.Validate(); err != nil {
		return nil, err
	}
	if label != "" && !p.mgr.HasCache(label) {
		return nil, fmt.Errorf("checkpoint_cache: there is no cache resource %q", label)
	}
	return func(o capture.Observer) (checkpoint.Store, error) {
		conf := conf
		conf.OnStandby = func(owner string, remaining time.Duration) {
			o.Note("", fmt.Sprintf("%s holds the positions %q for another %s; this process waits as a standby", owner, conf.Key, remaining.Round(time.Second)))
		}
		return stores.Open(conf)
	}, nil
}

// cacheValue is the value of a key in a cache resource.
func cacheValue(mgr *service.Resources, label, key string) *stores.Cache {
	access := func(ctx context.Context, fn func(service.Cache) error) error {
		var err error
		if accessErr := mgr.AccessCache(ctx, label, func(c service.Cache) { err = fn(c) }); accessErr != nil {
			err = accessErr
		}
		if err != nil {
			return fmt.Errorf("using cache %s: %w", label, err)
		}
		return nil
	}
	return &stores.Cache{
		Label: label,
		Get: func(ctx context.Context) (value []byte, found bool, _ error) {
			err := access(ctx, func(c service.Cache) (err error) {
				value, err = c.Get(ctx, key)
				found = err == nil
				if errors.Is(err, service.ErrKeyNotFound) {
					return nil
				}
				return err
			})
			return value, found, err
		},
		Set: func(ctx context.Context, value []byte) error {
			return access(ctx, func(c service.Cache) error { return c.Set(ctx, key, value, nil) })
		},
	}
}
