package positions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/stores"
)

// processCaches live in the process that runs the pipeline, and nowhere else.
var processCaches = []string{"memory", "lru", "ttlru", "noop"}

// cacheValue makes the cache resource of a label from the pipeline's YAML, with the caches that it may stand on.
func (p *document) cacheValue(label, key string) (*stores.Cache, func(context.Context) error, error) {
	var wanted map[string]any
	var labels []string
	for _, c := range p.Caches {
		if l, _ := c["label"].(string); l != "" {
			labels = append(labels, l)
			if l == label {
				wanted = c
			}
		}
	}
	if wanted == nil {
		return nil, nil, fmt.Errorf("there is no cache resource %q here (there are: %s); name its file with --resources", label, strings.Join(labels, ", "))
	}
	for _, kind := range processCaches {
		if _, ok := wanted[kind]; ok {
			return nil, nil, fmt.Errorf("cache %s is of the kind %s, which lives in the process that runs the pipeline: its positions cannot be reached from here, and are gone when it ends", label, kind)
		}
	}
	b := service.NewResourceBuilder()
	b.SetLogger(slog.New(slog.DiscardHandler))
	for _, c := range p.Caches {
		text, err := json.Marshal(c)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the cache resources: %w", err)
		}
		if err := b.AddCacheYAML(string(text)); err != nil && c["label"] == label {
			kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(c)), func(k string) bool { return k == "label" })
			return nil, nil, fmt.Errorf("making cache %s of the kind %s, which this program must have: %w", label, strings.Join(kinds, ", "), err)
		}
	}
	res, done, err := b.Build()
	if err != nil {
		return nil, nil, fmt.Errorf("making the cache resources: %w", err)
	}
	if !res.HasCache(label) {
		return nil, nil, errors.Join(fmt.Errorf("making cache %s: it is not there", label), done(context.Background()))
	}
	return stores.NewCache(label, key, func(ctx context.Context, fn func(stores.Client)) error {
		return res.AccessCache(ctx, label, func(c service.Cache) { fn(c) })
	}, service.ErrKeyNotFound), done, nil
}
