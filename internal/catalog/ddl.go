package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"example.com/mssqlcdc/checkpoint"
)

// DDL is a row of cdc.ddl_history: a statement that changed a captured table.
type DDL struct {
	SourceID int32
	ObjectID int32 // of the change table
	// ColumnAltered tells that a captured column's type changed, in the change
	// table too.
	ColumnAltered bool
	Command       string
	LSN           checkpoint.LSN
	Time          time.Time // server's wall clock
}

// DDLSince lists the statements after an LSN in order.
func DDLSince(ctx context.Context, q Querier, after checkpoint.LSN) ([]DDL, error) {
	var out []DDL
	err := query(ctx, q, sqlDDLSince, declFrom, []driver.Value{after[:]}, func(c *cells) {
		out = append(out, DDL{
			SourceID: int32(c.int()), ObjectID: int32(c.int()), ColumnAltered: c.bool(),
			Command: c.text(), LSN: c.lsn(), Time: c.clock(),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading cdc.ddl_history: %w", err)
	}
	return out, nil
}
