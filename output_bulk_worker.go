package mssqlcdc

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"example.com/mssqlcdc/internal/body"
	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/merge"
	"example.com/mssqlcdc/internal/session"
)

const (
	// stagedBytes is the size below which a load goes through a temporary table: each INSERT BULK into a table takes a new
	// extent of 64 KB, however few rows it brings, and leaves the rest of it empty.
	stagedBytes = 512 << 10
	// mostBulkTables bounds what a connection remembers; a table by interpolation may have any name.
	mostBulkTables = 256
	// mostBulkPlans bounds the plans of a table: messages may have many sets of columns.
	mostBulkPlans = 32
)

// bulkWorker is a connection with what it knows of tables. It is used by one goroutine at a time.
type bulkWorker struct {
	conn   *session.Conn
	cfg    *bulkConfig
	tables map[catalog.Name]*bulkTable
	stages int // made so far, for their names
	end    func()
}

// bulkTable is what a worker knows of a table.
type bulkTable struct {
	target    *bulkload.Target
	decoder   *body.Decoder
	direct    []*bulkPlan
	staged    []*bulkPlan
	changes   *bulkChanges     // nil if rows are only inserted
	relations *merge.Relations // nil for insert
	seen      *merge.Seen      // nil unless the end of a snapshot removes rows
	loaded    time.Time        // when the server was asked
}

// bulkPlan is the plan of one set of columns.
type bulkPlan struct {
	schema *arrow.Schema
	plan   *bulkload.Plan
	stage  catalog.Name // of a staged load, as what follows
	move   string
	dirty  bool  // the temporary table has rows of an earlier load
	filled bool  // and of this one
	sent   int64 // so many
}

func openBulkWorker(ctx context.Context, cfg *bulkConfig, observer *bulkObserver) (*bulkWorker, error) {
	conn, err := session.Open(ctx, cfg.session)
	if err != nil {
		return nil, diagnose.Wrap(err)
	}
	if mode := cfg.session.RawTDS; mode != session.RawOff {
		raw, err := conn.Raw(ctx)
		switch {
		case raw:
		case ctx.Err() != nil || mode == session.RawRequire:
			_ = conn.Close() // the error below says why
			return nil, fmt.Errorf("preparing the connection for bulk loads, which raw_tds requires: %w", err)
		default:
			observer.throughDriver(err)
		}
	}
	observer.connected(1)
	return &bulkWorker{conn: conn, cfg: cfg, tables: map[catalog.Name]*bulkTable{}, end: sync.OnceFunc(func() { observer.connected(-1) })}, nil
}

func (w *bulkWorker) close() {
	w.end()
	_ = w.conn.Close() // nothing is open on it
}

// full tells that the connection has seen so many tables that a new one is the better.
func (w *bulkWorker) full() bool {
	return len(w.tables) >= mostBulkTables || w.stages >= 4*mostBulkTables
}

// table describes a table, from memory if it was asked for before.
func (w *bulkWorker) table(ctx context.Context, name catalog.Name) (*bulkTable, error) {
	if t := w.tables[name]; t != nil {
		return t, nil
	}
	target, err := bulkload.LoadTarget(ctx, w.conn, name)
	if err != nil {
		return nil, err
	}
	t := &bulkTable{target: target}
	options := w.cfg.decode
	var key []int
	if w.cfg.mode.keyed {
		if t.changes, err = w.changes(ctx, target); err != nil {
			return nil, err
		}
		if t.changes != nil {
			options.Partial, key = true, t.changes.stage.Key().Columns
			if w.cfg.mode.deleteMissing {
				if t.seen, err = t.changes.stage.LoadSeen(ctx, w.conn); err != nil {
					return nil, err
				}
			}
		}
		if t.relations, err = merge.LoadRelations(ctx, w.conn, name); err != nil {
			return nil, err
		}
	}
	if t.decoder, err = body.NewDecoder(decodeColumns(target, key), options); err != nil {
		return nil, fmt.Errorf("describing table %s: %w", name, err)
	}
	t.loaded = time.Now()
	w.tables[name] = t
	return t, nil
}

// forget makes the next load ask the server about the table.
func (w *bulkWorker) forget(name catalog.Name) { delete(w.tables, name) }

// mayLoad checks the rights on a table.
func (w *bulkWorker) mayLoad(ctx context.Context, name catalog.Name) error {
	rights := catalog.RowRights[:w.cfg.mode.rights()]
	missing, err := catalog.MissingRights(ctx, w.conn, name, rights)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the login may not %s on %s: GRANT %s ON %s TO it", missing[0], name, strings.Join(rights, ", "), name.Quoted())
	}
	return err
}

// plan gives the way into a table for record batches of a schema.
func (w *bulkWorker) plan(ctx context.Context, t *bulkTable, schema *arrow.Schema, bytes int64) (*bulkPlan, error) {
	staged := w.cfg.staged && bytes < stagedBytes && t.mayStage(schema)
	plans := &t.direct
	if staged {
		plans = &t.staged
	}
	for i := range *plans {
		if (*plans)[i].schema.Equal(schema) {
			return (*plans)[i], nil
		}
	}
	p := &bulkPlan{schema: schema}
	var err error
	if staged {
		err = w.newStage(ctx, t, p)
	} else {
		p.plan, err = newBulkPlan(t.target, schema, w.cfg.load)
	}
	if err != nil {
		return nil, err
	}
	if len(*plans) >= mostBulkPlans {
		*plans = (*plans)[:0]
	}
	*plans = append(*plans, p)
	return p, nil
}

// bulkPlanError is a set of columns that the table cannot take. Another try would not change it.
type bulkPlanError struct{ error }

func (e bulkPlanError) Unwrap() error { return e.error }

func newBulkPlan(t *bulkload.Target, schema *arrow.Schema, o bulkload.Options) (*bulkload.Plan, error) {
	p, err := bulkload.NewPlan(t, schema, o)
	if err != nil {
		return nil, bulkPlanError{err}
	}
	return p, nil
}

// mayStage reports whether a temporary table can stand between: it cannot where values are kept in an identity column, which
// takes SET IDENTITY_INSERT, nor for types that tempdb does not have.
func (t *bulkTable) mayStage(schema *arrow.Schema) bool {
	for _, f := range schema.Fields() {
		i := t.target.Column(f.Name)
		if i < 0 || t.target.Columns[i].Identity || !merge.Stageable(&t.target.Columns[i]) {
			return false
		}
	}
	return true
}

func (w *bulkWorker) newStage(ctx context.Context, t *bulkTable, p *bulkPlan) error {
	w.stages++
	p.stage = catalog.Name{Object: "#mssql_bulk_" + strconv.Itoa(w.stages)}
	target := &bulkload.Target{Name: p.stage}
	for _, f := range p.schema.Fields() {
		c := t.target.Columns[t.target.Column(f.Name)]
		c.Type.Nullable, c.HasDefault = true, false
		target.Columns = append(target.Columns, c)
	}
	var err error
	if p.plan, err = newBulkPlan(target, p.schema, w.cfg.load); err != nil {
		return err
	}
	p.move = sqlBulkMoveOf(t.target.Name, p.stage, target.Columns)
	return w.conn.Batch(ctx, sqlBulkStage(p.stage, target.Columns))
}

// send loads a record batch with a plan and returns the rows that were left out. A staged one goes to its temporary table, which
// takes any number of record batches until move stores them.
func (w *bulkWorker) send(ctx context.Context, p *bulkPlan, rec arrow.RecordBatch) ([]bulkload.RowError, error) {
	if p.move != "" && !p.filled {
		if p.dirty {
			if err := w.conn.Batch(ctx, fmt.Sprintf(sqlBulkEmpty, p.stage.Quoted())); err != nil {
				return nil, err
			}
		}
		p.dirty, p.filled, p.sent = true, true, 0
	}
	result, err := p.plan.Load(ctx, w.conn, rec)
	if err != nil {
		return nil, err
	}
	p.sent += result.Rows // Load has compared them with what it has sent
	return result.Bad, nil
}

// move stores the rows of the temporary table.
func (w *bulkWorker) move(ctx context.Context, p *bulkPlan) error {
	_, err := w.conn.Exec(ctx, p.move, declBulkMove, p.sent)
	return err
}

// rollback ends the transaction if one is open. A connection on which that fails is given up.
func (w *bulkWorker) rollback(ctx context.Context) {
	if w.conn.Broken() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if w.conn.Batch(ctx, sqlBulkRollback) != nil {
		w.close()
	}
}
