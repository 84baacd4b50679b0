package stores

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Client is what is used of a cache; those of Benthos are one.
type Client interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte, ttl *time.Duration) error
}

// Cache is one value of a cache.
type Cache struct {
	Label string
	Get   func(ctx context.Context) (value []byte, found bool, _ error)
	Set   func(ctx context.Context, value []byte) error
}

// NewCache is the value of a key in the cache that access gives; missing is the error of a key that is not there.
func NewCache(label, key string, access func(ctx context.Context, fn func(Client)) error, missing error) *Cache {
	use := func(ctx context.Context, fn func(Client) error) error {
		var err error
		if accessErr := access(ctx, func(c Client) { err = fn(c) }); accessErr != nil {
			err = accessErr
		}
		if err != nil {
			return fmt.Errorf("using cache %s: %w", label, err)
		}
		return nil
	}
	return &Cache{
		Label: label,
		Get: func(ctx context.Context) (value []byte, found bool, _ error) {
			err := use(ctx, func(c Client) (err error) {
				value, err = c.Get(ctx, key)
				found = err == nil
				if errors.Is(err, missing) {
					return nil
				}
				return err
			})
			return value, found, err
		},
		Set: func(ctx context.Context, value []byte) error {
			return use(ctx, func(c Client) error { return c.Set(ctx, key, value, nil) })
		},
	}
}
