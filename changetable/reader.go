package changetable

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/rowset"
)

// maxKept bounds the memory that waits for the next page, of all readers together.
const maxKept = 64 << 20

// pages is where every reader takes the memory of its records from, and where it returns to: with thousands of tables, a pool
// for each would keep what each once needed.
var pages = rowset.NewPool(nil, maxKept)

// Reader reads the changes of one capture instance. One goroutine uses it.
type Reader struct {
	conn    Conn
	opts    Options
	inst    *catalog.Instance
	plan    *plan
	builder *rowset.Builder

	keys    []rowKey // of the rows in the builder
	rowSize int      // bytes of a row, by the last page
}

// Open describes a capture instance, in one round trip, and returns a reader of
// it. It returns an InstanceGoneError when there is no such instance.
func Open(ctx context.Context, conn Conn, capture string, opts Options) (*Reader, error) {
	inst, err := catalog.LoadInstance(ctx, conn, capture)
	if errors.Is(err, catalog.ErrNoInstance) {
		return nil, &InstanceGoneError{Table: "capture instance " + capture, Instance: capture}
	}
	if err != nil {
		return nil, explain(err, "capture instance "+capture, capture, "[cdc].[change_tables]")
	}
	return newReader(conn, inst, opts)
}

// newReader plans the reading of a described instance.
func newReader(conn Conn, inst *catalog.Instance, opts Options) (*Reader, error) {
	if opts.Location == nil {
		opts.Location = time.UTC
	}
	r := &Reader{conn: conn, opts: opts, inst: inst, plan: newPlan(inst)}
	var err error
	r.builder, err = rowset.NewBuilder(r.plan.table, r.plan.result, rowset.Options{Pool: pages, ReplaceInvalidText: opts.ReplaceInvalidText})
	if err != nil {
		return nil, fmt.Errorf("preparing to read changes of %s: %w", r.plan.table, err)
	}
	return r, nil
}

// Use makes the reader go on with another connection.
func (r *Reader) Use(conn Conn) { r.conn = conn }

// Capture is the name of the capture instance.
func (r *Reader) Capture() string { return r.inst.Capture }

// Source is the schema and name of the table whose changes are read; both are
// empty when the login may not see it.
func (r *Reader) Source() (schema, table string) {
	return r.inst.Source.Schema, r.inst.Source.Object
}

// Schema is that of the records: the captured columns in the order of the
// instance, then __$start_lsn, __$command_id, __$seqval, __$operation and
// __$update_mask. Computed columns are left out: they are NULL in every change.
func (r *Reader) Schema() *arrow.Schema { return r.builder.Schema() }

// Captured is the number of captured columns at the front of Schema.
func (r *Reader) Captured() int { return len(r.plan.columns) }

// Key lists the columns of the table's key by their place in Schema, in key
// order; it is empty for a table without a usable key.
func (r *Reader) Key() []int {
	var out []int
	for _, name := range r.inst.Key {
		i := slices.IndexFunc(r.plan.columns, func(c catalog.Column) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		out = append(out, i)
	}
	return out
}

// Splits tells whether pages may end inside a transaction. They do not where
// the change table has no usable __$command_id, so there a page is as large as
// its largest transaction.
func (r *Reader) Splits() bool { return !r.plan.whole }

// Earliest is the position before the first change that is retained, read from
// the server. It returns ErrNotStarted while there is none.
func (r *Reader) Earliest(ctx context.Context) (checkpoint.Position, error) {
	var start checkpoint.LSN
	found := false
	err := r.query(ctx, request.Statement{Text: sqlStart, Decl: declInstance, Args: []driver.Value{r.inst.Capture}},
		func(row []driver.Value) (err error) {
			found = true
			start, err = request.LSN(row[0])
			return err
		})
	switch {
	case err != nil:
		return checkpoint.Position{}, err
	case !found:
		return checkpoint.Position{}, &InstanceGoneError{Table: r.plan.table, Instance: r.inst.Capture}
	case start.IsZero():
		return checkpoint.Position{}, fmt.Errorf("reading changes of %s: capture instance %s: %w", r.plan.table, r.inst.Capture, ErrNotStarted)
	}
	return checkpoint.Position{Instance: r.inst.Capture, LSN: request.Before(start), Done: true}, nil
}

// query runs a statement and gives the rows of its n-th result set to the n-th
// function.
func (r *Reader) query(ctx context.Context, s request.Statement, sets ...func([]driver.Value) error) error {
	_, err := request.Sets(ctx, r.conn, s, sets...)
	return explain(err, r.plan.table, r.inst.Capture, r.plan.object)
}
