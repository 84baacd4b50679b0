package session

import "context"

// Batch runs text as a batch of its own, not through sp_executesql: what it sets
// and the transaction that it begins or ends are the session's. Errors are as
// those of Exec.
func (c *Conn) Batch(ctx context.Context, text string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	direct, err := c.direct(ctx)
	if err != nil {
		return err
	}
	if !direct {
		return c.driverBatch(ctx, text)
	}
	_, err = c.rawRequest(ctx, c.raw, nil, func() error { return c.raw.sendBatch(text) })
	return err
}
