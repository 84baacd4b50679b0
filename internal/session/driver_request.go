package session

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// driverQuery runs a call of sp_executesql through the driver.
func (c *Conn) driverQuery(ctx context.Context, args []driver.NamedValue) (driver.RowsNextResultSet, error) {
	release := c.watch(ctx)
	stmt, err := c.driver.Prepare("sp_executesql")
	if err != nil {
		release()
		return nil, c.fail(ctx, err)
	}
	q, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		release()
		return nil, fmt.Errorf("querying: the driver's statement is a %T", stmt)
	}
	rows, err := q.QueryContext(ctx, args)
	if err != nil {
		release()
		return nil, c.fail(ctx, err)
	}
	next, ok := rows.(driver.RowsNextResultSet)
	if !ok {
		release()
		_ = rows.Close() // the connection is given up below anyway
		c.markBroken()
		return nil, fmt.Errorf("querying: the driver's rows are a %T", rows)
	}
	return &rowSet{conn: c, ctx: ctx, rows: next, release: release}, nil
}

// driverExec runs a call of sp_executesql through the driver.
func (c *Conn) driverExec(ctx context.Context, args []driver.NamedValue) (int64, error) {
	result, err := c.driverRun(ctx, "sp_executesql", args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// driverBatch runs a batch through the driver.
func (c *Conn) driverBatch(ctx context.Context, text string) error {
	// The comment keeps a single word from being taken for a procedure's name.
	_, err := c.driverRun(ctx, text+"\n--", nil)
	return err
}

func (c *Conn) driverRun(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	release := c.watch(ctx)
	defer release()
	stmt, err := c.driver.Prepare(text)
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	e, ok := stmt.(driver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("executing: the driver's statement is a %T", stmt)
	}
	result, err := e.ExecContext(ctx, args)
	if err != nil {
		return nil, c.fail(ctx, err)
	}
	return result, nil
}
