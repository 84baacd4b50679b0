package bulkload

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/session"
)

// Plan loads record batches of one schema into one table. One goroutine uses it.
type Plan struct{}

// Result is what a load came to.
type Result struct {
	Rows int64 // stored, as the server has counted
	Bad  []RowError
}

// RowError is why a row was not sent.
type RowError struct {
	Row    int    // of the record batch
	Column string // of the table
	Err    error
}

// NewPlan fits a schema to a table. Its fields are named as the table's columns; a
// column without a field gets its default. All problems are reported at once.
func NewPlan(t *Target, schema *arrow.Schema, o Options) (*Plan, error) {
	return nil, errors.ErrUnsupported
}

// Load writes the rows of a record batch, which has the plan's schema, in one
// INSERT BULK inside of the caller's transaction.
func (p *Plan) Load(ctx context.Context, conn *session.Conn, rec arrow.RecordBatch) (Result, error) {
	return Result{}, errors.ErrUnsupported
}
