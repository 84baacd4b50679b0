package snapshot

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/request"
	"example.com/mssqlcdc/internal/rowset"
	"example.com/mssqlcdc/internal/session"
)

// Reader reads the rows of one captured table. One goroutine uses it.
type Reader struct {
	conn    Conn
	opts    Options
	inst    *catalog.Instance
	source  *catalog.Source
	plan    *plan
	iso     Isolation // Snapshot or ReadCommitted
	builder *rowset.Builder

	rowSize int // bytes of a row, by the last page
}

// Open describes the table of a capture instance and returns a reader of its
// rows. The errors that a caller tells apart are GoneError, PermissionError,
// RestrictedError, FilterError and, for a table without a usable key where the
// database does not allow SNAPSHOT isolation, KeylessError.
func Open(ctx context.Context, conn Conn, capture string, opts Options) (*Reader, error) {
	r := &Reader{conn: conn, opts: opts, plan: &plan{table: "capture instance " + capture, capture: capture, object: "[cdc].[change_tables]"}}
	inst, err := catalog.LoadInstance(ctx, conn, capture)
	if errors.Is(err, catalog.ErrNoInstance) {
		return nil, &GoneError{Table: r.plan.table, Instance: capture}
	}
	r.inst = &catalog.Instance{Capture: capture}
	if err != nil {
		return nil, r.explain(err)
	}
	r.inst = inst
	if inst.Source.Object == "" {
		return nil, &PermissionError{Table: r.plan.table, Object: "the table that it captures"}
	}
	r.plan.table, r.plan.object = inst.Source.String(), inst.Source.Quoted()
	if r.source, err = catalog.LoadSource(ctx, conn, inst.SourceID, inst.Source); err != nil {
		return nil, r.explain(err)
	}
	r.opts.Filter = strings.TrimSpace(opts.Filter)
	r.plan = newPlan(inst, r.source, r.opts.Filter)
	if err := r.admit(ctx); err != nil {
		return nil, err
	}
	return r, r.build()
}

// admit refuses a table of which a snapshot would not be what it says.
func (r *Reader) admit(ctx context.Context) error {
	restricted := &RestrictedError{Table: r.plan.table}
	if !r.opts.AllowMasked && !r.source.Unmask {
		for _, c := range r.inst.Columns {
			if c.Masked && !c.Computed {
				restricted.Masked = append(restricted.Masked, catalog.Quote(c.Name))
			}
		}
	}
	if !r.opts.AllowRowSecurity {
		restricted.Policies = r.source.Policies
	}
	if len(restricted.Masked)+len(restricted.Policies) > 0 {
		return restricted
	}
	switch r.iso = r.opts.Isolation; {
	case r.iso == Auto && r.source.Snapshot:
		r.iso = Snapshot
	case r.iso == Auto:
		r.iso = ReadCommitted
	case r.iso == Snapshot && !r.source.Snapshot:
		return fmt.Errorf("reading a snapshot of %s: the database does not allow SNAPSHOT isolation; ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON", r.plan.table)
	}
	if r.Keyless() && r.iso != Snapshot && r.plan.capture != "" {
		return &KeylessError{Table: r.plan.table}
	}
	if r.opts.Filter != "" {
		if err := checkFilter(r.opts.Filter); err != nil {
			return &FilterError{Table: r.plan.table, Filter: r.opts.Filter, Err: err}
		}
	}
	return r.try(ctx)
}

// try makes sure that the login may read the columns, and that the filter is a
// condition on them.
func (r *Reader) try(ctx context.Context) error {
	err := request.Each(ctx, r.conn, r.plan.check(), func(int, []string, []driver.Value) error { return nil })
	var denied *PermissionError
	if r.opts.Filter != "" && session.IsFatal(err) && !errors.As(r.explain(err), &denied) {
		return &FilterError{Table: r.plan.table, Filter: r.opts.Filter, Err: err}
	}
	return r.explain(err)
}

func (r *Reader) build() (err error) {
	r.builder, err = rowset.NewBuilder(r.plan.table, r.plan.result, rowset.Options{ReplaceInvalidText: r.opts.ReplaceInvalidText})
	if err != nil {
		return fmt.Errorf("preparing to read a snapshot of %s: %w", r.plan.table, err)
	}
	return nil
}

// Clone gives another reader of the same table for another connection, without
// asking the server. Both may be used at the same time.
func (r *Reader) Clone(conn Conn) (*Reader, error) {
	c := &Reader{conn: conn, opts: r.opts, inst: r.inst, source: r.source, plan: r.plan, iso: r.iso, rowSize: r.rowSize}
	if err := c.build(); err != nil {
		return nil, err
	}
	return c, nil
}

// Use makes the reader go on with another connection.
func (r *Reader) Use(conn Conn) { r.conn = conn }

// Capture is the name of the capture instance.
func (r *Reader) Capture() string { return r.inst.Capture }

// Source is the schema and name of the table.
func (r *Reader) Source() (schema, table string) {
	return r.inst.Source.Schema, r.inst.Source.Object
}

// Schema is that of the records: the captured columns in the order of the
// instance without computed ones, as the records of its changes begin.
func (r *Reader) Schema() *arrow.Schema { return r.builder.Schema() }

// Key lists the columns of the table's key by their place in Schema, in key
// order, as it is given to changes. It is empty for a table without a usable key.
// Chunks may go by another one.
func (r *Reader) Key() []int {
	var out []int
	for _, name := range r.inst.Key {
		i := slices.IndexFunc(r.plan.result, func(c rowset.Column) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		out = append(out, i)
	}
	return out
}

// Keyless tells whether there is no index that chunks could go by, so that the
// table is read by ReadAll instead of Bound and Read.
func (r *Reader) Keyless() bool { return len(r.plan.key) == 0 }

// Rows is about how many rows the table had when it was opened, without regard to
// a filter.
func (r *Reader) Rows() int64 { return r.source.Rows }

// Isolation is Snapshot or ReadCommitted: how rows are read now.
func (r *Reader) Isolation() Isolation { return r.iso }

// Handover is the position from which the stream of changes goes on after the
// snapshot: the newest transaction that the capture job has stored. It is read
// before the first row of any chunk, and kept as long as the snapshot lasts. It
// returns ErrNotStarted while there is none.
func (r *Reader) Handover(ctx context.Context) (checkpoint.Position, error) {
	var (
		newest checkpoint.Proof
		start  checkpoint.LSN
		found  bool
	)
	s := request.Statement{Text: sqlHandover, Decl: declInstance, Args: []driver.Value{r.inst.Capture}}
	err := request.Each(ctx, r.conn, s, func(_ int, names []string, row []driver.Value) (err error) {
		if len(names) == 3 {
			newest, err = proofOf(row)
			return err
		}
		found = true
		start, err = request.LSN(row[0])
		return err
	})
	switch {
	case err != nil:
		return checkpoint.Position{}, r.explain(err)
	case !found:
		return checkpoint.Position{}, &GoneError{Table: r.plan.table, Instance: r.inst.Capture}
	case start.IsZero():
		return checkpoint.Position{}, fmt.Errorf("reading a snapshot of %s: capture instance %s: %w", r.plan.table, r.inst.Capture, ErrNotStarted)
	}
	return r.position(newest, start), nil
}

// position is all of a transaction, but not before the first change that the
// instance has.
func (r *Reader) position(newest checkpoint.Proof, start checkpoint.LSN) checkpoint.Position {
	pos := checkpoint.Position{Instance: r.inst.Capture, LSN: newest.StartLSN, Done: true, Proof: newest}
	if low := request.Before(start); newest.StartLSN.Compare(low) < 0 {
		pos.LSN, pos.Proof = low, checkpoint.Proof{}
	}
	return pos
}

// proofOf reads start_lsn, tran_end_time and tran_id. The time is the wall clock
// of the server, as in the positions of a stream.
func proofOf(row []driver.Value) (p checkpoint.Proof, err error) {
	if p.StartLSN, err = request.LSN(row[0]); err != nil {
		return p, err
	}
	end, endOK := row[1].(time.Time)
	id, idOK := row[2].([]byte)
	if !endOK && row[1] != nil || !idOK && row[2] != nil {
		return p, fmt.Errorf("reading cdc.lsn_time_mapping: the driver gave a %T and a %T", row[1], row[2])
	}
	if endOK {
		p.EndTime = catalog.ToUTC(end, time.UTC)
	}
	p.TranID = append([]byte(nil), id...)
	return p, nil
}
