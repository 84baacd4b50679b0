package session

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Batch runs text as a batch of its own, not through sp_executesql: what it sets
// and the transaction that it begins or ends are the session's. Errors are as
// those of Exec.
func (c *Conn) Batch(ctx context.Context, text string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	release := c.watch(ctx)
	defer release()
	// The comment keeps a single word from being taken for a procedure's name.
	stmt, err := c.driver.Prepare(text + "\n--")
	if err != nil {
		return c.fail(ctx, err)
	}
	e, ok := stmt.(driver.StmtExecContext)
	if !ok {
		return fmt.Errorf("executing: the driver's statement is a %T", stmt)
	}
	if _, err := e.ExecContext(ctx, nil); err != nil {
		return c.fail(ctx, err)
	}
	return nil
}
