package catalog

import (
	"context"
	"fmt"
	"time"
)

// State is the high watermark of a database and its capture instances, read in
// one round trip, the watermark first.
type State struct {
	// High is the newest transaction that the capture job has stored, the zero
	// Transaction if there was none yet.
	High Transaction
	// Age is how long ago High was committed, by the server's own clock.
	Age       time.Duration
	Instances []Instance
}

// LoadState reads the watermark and all capture instances. The instances have
// no columns yet; LoadInstance describes one in full.
func LoadState(ctx context.Context, q Querier) (*State, error) {
	s := &State{}
	err := query(ctx, q, sqlWatermark+sqlInstancesAll, "", nil, func(c *cells) {
		s.High = transaction(c)
		s.Age = time.Duration(c.int()) * time.Second
	}, func(c *cells) {
		s.Instances = append(s.Instances, instance(c))
	})
	if err != nil {
		return nil, fmt.Errorf("reading the watermark and the capture instances: %w", err)
	}
	return s, nil
}
