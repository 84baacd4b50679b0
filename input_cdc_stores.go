package mssqlcdc

import (
	"context"
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
		// An attempt to connect may fail when it has the lease already. The next one is its owner, and need not wait for it.
		Owner: checkpoint.NewOwner(),
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
	return stores.NewCache(label, key, func(ctx context.Context, fn func(stores.Client)) error {
		return mgr.AccessCache(ctx, label, func(c service.Cache) { fn(c) })
	}, service.ErrKeyNotFound)
}
