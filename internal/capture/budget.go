package capture

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// maxUnackedBytes bounds the record batches that are read and not yet acknowledged, all tables together, so that wide rows
// cannot fill the memory before checkpoint_limit counts them.
const maxUnackedBytes = 256 << 20

// budget bounds what is read and not yet acknowledged: changes by checkpoint_limit, bytes by maxUnackedBytes. Both are
// served in the order in which they were asked for, so a hot table cannot starve the others.
type budget struct {
	rows, bytes       *semaphore.Weighted
	maxRows, maxBytes int64
}

func newBudget(rows int) *budget {
	return &budget{
		rows: semaphore.NewWeighted(int64(rows)), bytes: semaphore.NewWeighted(maxUnackedBytes),
		maxRows: int64(rows), maxBytes: maxUnackedBytes,
	}
}

// acquire waits until a batch of that size fits. A batch larger than the whole budget waits for all of it.
func (b *budget) acquire(ctx context.Context, rows int, bytes int64) error {
	if err := b.rows.Acquire(ctx, min(int64(rows), b.maxRows)); err != nil {
		return err
	}
	if err := b.bytes.Acquire(ctx, min(bytes, b.maxBytes)); err != nil {
		b.rows.Release(min(int64(rows), b.maxRows))
		return err
	}
	return nil
}

func (b *budget) release(rows int, bytes int64) {
	b.rows.Release(min(int64(rows), b.maxRows))
	b.bytes.Release(min(bytes, b.maxBytes))
}
