package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/internal/bulkload"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/merge"
)

// The fields of mssql_bulk.
const (
	bulkFieldConnectionString = "connection_string"
	bulkFieldTable            = "table"
	bulkFieldMode             = "mode"
	bulkFieldKeyColumns       = "key_columns"
	bulkFieldOperation        = "operation"
	bulkFieldOnMissing        = "on_missing_row"
	bulkFieldOnSnapshotEnd    = "on_snapshot_end"
	bulkFieldMaxInFlight      = "max_in_flight"
	bulkFieldBatching         = "batching"
	bulkFieldOnUnknown        = "on_unknown_field"
	bulkFieldOnLossy          = "on_lossy"
	bulkFieldCreateTable      = "create_table"
	bulkFieldHints            = "hints"
	bulkFieldOnce             = "exactly_once"
	bulkFieldRejects          = "reject_table"
	bulkFieldInit             = "init_statement"
	bulkFieldMaxRetries       = "max_retries"
	bulkFieldBackoff          = "backoff"
	bulkFieldRawTDS           = "raw_tds"
	bulkFieldTLS              = "tls"
)

func bulkSpec() *service.ConfigSpec {
	lossy := func(name, change, what, when string) *service.ConfigField {
		return service.NewStringAnnotatedEnumField(name, map[string]string{
			"reject": "The row is refused.",
			change:   what,
		}).Default("reject").Description(when)
	}
	return service.NewConfigSpec().
		Beta().
		Categories("Services").
		Version("0.1.0").
		Summary("Loads batches into tables of Microsoft SQL Server through the bulk load protocol.").
		Description(bulkDescription).
		Fields(
			service.NewStringField(bulkFieldConnectionString).Secret().
				Description("A go-mssqldb connection string, as a URL or in ADO form. Without `encrypt` in it the connection is encrypted and the server's certificate is verified.").
				Example("sqlserver://user:password@host:1433?database=warehouse"),
			service.NewInterpolatedStringField(bulkFieldTable).Default("").
				Description("The table, in one or two parts; a part with a dot in it is written in brackets. One part is in the schema dbo. Empty: the metadata `database_schema` and `table` as they are, which `mssql_cdc` sets. A batch may have messages for several tables.").
				Example("dbo.orders").Example("[my.schema].orders").Example(`archive.${! @table }`),
			service.NewStringAnnotatedEnumField(bulkFieldMode, map[string]string{
				"insert": "Each message is a new row, whatever its operation.",
				"upsert": "Each message is a row of its key, whatever its operation: it is inserted, or changes the columns that it has of the row that is there.",
				"apply":  "Each message does what its operation says: it inserts or changes the row of its key, or deletes it.",
			}).Default("insert").Description("What a message does to the table."),
			service.NewStringListField(bulkFieldKeyColumns).Default([]any{}).
				Description("For upsert and apply: the columns that tell the rows of the table apart. Empty: its primary key, else its first unique index over columns that cannot be NULL. A table without a key takes nothing but inserts, in mode apply.").
				Example([]any{"id"}),
			service.NewInterpolatedStringField(bulkFieldOperation).Default("${! @operation }").
				Description("For apply: what a message does. `read`, `insert` and `upsert` insert its row, or change it if it is there; `update` and `update_after` change it; `delete` deletes it, by the key columns of the body. `update_before`, and the marks of a snapshot, are left out. A message without a body deletes, by the key in its metadata `key`. Anything else refuses the message. Messages in Arrow's format from `mssql_cdc` have an operation for each row, which is the one that counts.").
				Example(`${! meta("op") }`),
			service.NewIntField(bulkFieldMaxInFlight).Default(1).
				Description("Batches that are loaded at the same time, each on a connection of its own. More than one gives up the order of the rows, which upsert and apply must have.").
				LintRule(`root = if this < 1 { [ "max_in_flight must be at least 1" ] }`),
			service.NewBatchPolicyField(bulkFieldBatching),
			service.NewStringAnnotatedEnumField(bulkFieldOnUnknown, map[string]string{
				"reject":     "The row is refused.",
				"ignore":     "The field is left out.",
				"add_column": "The column is added to the table, with the type that the metadata `schema` or a body in Arrow's format gives it, and may be NULL. It is added before the transaction of the rows, by ALTER TABLE, which waits for readers and writers of the table and needs ALTER on it. Where the type is not known, or the right is not there, the row is refused. In rows that are there the column is NULL.",
			}).Default("reject").Advanced().Description("What happens to a field that the table has no column for."),
			service.NewObjectField(bulkFieldOnLossy,
				lossy("text", "truncate", "Text and binary are cut to the length of the column, and ? stands for what its code page does not have.", "Text that the column cannot hold."),
				lossy("number", "round", "Digits are rounded away, half away from zero. A number outside of the range is refused all the same.", "Numbers with more digits after the point than the column has."),
				lossy("time", "round", "Fractions of a second are rounded to those of the column, times of a date are cut.", "Dates and times that are finer than the column."),
				lossy("nan", "null", "NULL is stored.", "NaN and the infinities, which SQL Server does not have."),
			).Advanced().Description("Values that a column cannot hold as they are."),
			service.NewStringAnnotatedEnumField(bulkFieldOnMissing, map[string]string{
				"error":              "The message is refused.",
				"insert_if_complete": "The row is inserted if the message has every column of the table; else the message is refused.",
				"ignore":             "Nothing.",
			}).Default("insert_if_complete").Advanced().Description("For apply: what happens to an update whose row is not there."),
			service.NewStringAnnotatedEnumField(bulkFieldOnSnapshotEnd, map[string]string{
				"keep":           "Nothing.",
				"delete_missing": "Rows of the table that the snapshot did not have, and that no change has brought since it began, are removed. The input needs `metadata: [ snapshot_id ]`, which brings the marks at the beginning and the end of a snapshot. The keys of its rows are kept meanwhile in a table beside the target, so that it may be interrupted. Nothing is removed when a row was refused meanwhile, nor from a table without a key.",
			}).Default("keep").Advanced().Description("For apply: what happens at the end of a snapshot of a table. A snapshot that is taken again, after a gap or because positions were reset, does not tell of rows that were deleted at the source meanwhile."),
			service.NewBoolField(bulkFieldCreateTable).Default(false).Advanced().
				Description("Make a table that does not exist, with the columns of the first message's metadata `schema`, or of its body in Arrow's format. Text without a known length is nvarchar(max). With upsert and apply the key columns, of `key_columns` or of the message's `key`, become the primary key, in which such text has 450 characters; the other columns may be NULL. With insert there is no key, because each change of a row would be one. The login needs CREATE TABLE and ALTER on the schema."),
			service.NewStringListField(bulkFieldHints).Default([]any{"CHECK_CONSTRAINTS", "FIRE_TRIGGERS", "KEEP_NULLS"}).Advanced().
				Description("The hints of INSERT BULK. With the default a load does what an ordinary INSERT does, and needs no more than SELECT and INSERT on the table. Others are TABLOCK, `ROWS_PER_BATCH = n`, `KILOBYTES_PER_BATCH = n` and `ORDER(column, …)`. Without the first two, constraints become untrusted and triggers do not fire, which needs ALTER on the table; without KEEP_NULLS, NULL becomes the column's default."),
			service.NewStringField(bulkFieldRejects).Default("").Advanced().
				Description("A table for rows that are refused: body, error, table, time, operation, key and event id, in the transaction that stores the others. Its messages then count as written. It is made if it is not there and the login may; else it needs SELECT and INSERT. Empty: refused rows go back to the input; with `exactly_once` their lane stands still.").
				Example("dbo.rejected_rows"),
			onceField(),
			service.NewStringField(bulkFieldInit).Default("").Advanced().
				Description("Statements that run on each new connection.").
				Example("SET CONTEXT_INFO 0x6C6F6164"),
			service.NewIntField(bulkFieldMaxRetries).Default(3).Advanced().
				Description("How often a load is tried again after an error that a row can cause, before the batch is halved until the row is found and refused. What passes by itself (a lost connection, a deadlock, a full log) is tried again without end.").
				LintRule(`root = if this < 0 { [ "max_retries must not be negative" ] }`),
			service.NewBackOffField(bulkFieldBackoff, true, &backoff.ExponentialBackOff{InitialInterval: 500 * time.Millisecond, MaxInterval: 10 * time.Second}).Advanced().
				Description("The pauses between tries. With a `max_elapsed_time` above zero the output begins anew with a connection after that time; the batch stays first in line."),
			service.NewStringAnnotatedEnumField(bulkFieldRawTDS, map[string]string{
				"auto":    "Rows are written to the connection directly; where that is not possible they go through the driver, slower and with the same result.",
				"off":     "Rows go through the driver.",
				"require": "Where rows cannot be written directly, the connection fails.",
			}).Default("auto").Advanced().Description("How rows reach the server."),
			service.NewTLSToggledField(bulkFieldTLS).Advanced(),
		).
		LintRule(`root = match {
    this.mode.or("insert") != "insert" && this.max_in_flight.or(1) > 1 => [ "max_in_flight must be 1 with mode " + this.mode + ": batches that are loaded at the same time land in any order, and the older one could win" ],
    this.exactly_once.enabled.or(false) == true && this.max_in_flight.or(1) > 1 => [ "max_in_flight must be 1 with exactly_once: batches that are loaded at the same time land in any order" ],
    this.mode.or("insert") != "apply" && this.on_snapshot_end.or("keep") == "delete_missing" => [ "on_snapshot_end: delete_missing needs mode apply" ],
    this.mode.or("insert") == "insert" && this.key_columns.or([]).length() > 0 => [ "key_columns have no meaning with mode insert" ],
  }`)
}

const bulkDescription = `
Each message is a row: a JSON object, a structured message, or rows in Apache Arrow's IPC format (a stream or a file), recognised
by how it begins. Fields are matched with columns by name. A column that a message does not have gets its default, or NULL;
computed columns, rowversions, period columns and hidden columns are left out by themselves. An identity column keeps the
messages' values if they have it, and is numbered by the server if they do not.

With the mode upsert or apply rows are told apart by a key: a message changes the row that is there in the columns that it has,
and apply follows deletions.

Every load runs in a transaction that is committed only when the server has counted as many rows as were sent.

== Refused rows

A row that cannot be loaded is refused by itself, with an error that names table, row, column and value, and the rest of the batch
lands. What passes is retried in place, so that the order is kept. A connection that is lost while committing leaves open
whether the rows are there: they are loaded again, so that they are there at least once.

== Permissions

SELECT and INSERT on the table, UPDATE for upsert, DELETE and UPDATE for apply. Values for an identity column, and leaving out hints, need ALTER on it as well.
`

// bulkOutput is the output mssql_bulk. Benthos calls WriteBatch from up to max_in_flight goroutines; each works on a connection
// of its own.
type bulkOutput struct {
	cfg      bulkConfig
	observer *bulkObserver
	log      *service.Logger
	fence    *bulkFence     // nil without exactly_once
	rejects  *merge.Rejects // nil without reject_table

	mu     sync.Mutex
	idle   []*bulkWorker
	warned map[catalog.Name]bool // tables of which it was said what changes of them lead to
	closed bool
}

func newBulkOutput(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchOutput, service.BatchPolicy, int, error) {
	cfg, err := parseBulk(conf)
	if err != nil {
		return nil, service.BatchPolicy{}, 0, err
	}
	o := &bulkOutput{cfg: *cfg, observer: newBulkObserver(mgr), log: mgr.Logger(), fence: cfg.fence}
	if cfg.rejects != "" {
		o.rejects = merge.NewRejects(cfg.rejectName)
	}
	return o, cfg.policy, cfg.inFlight, nil
}

// Connect makes a connection and, when the table is known beforehand, looks whether it can be loaded. ctx is for that only.
func (o *bulkOutput) Connect(ctx context.Context) error {
	o.mu.Lock()
	o.closed = false
	o.mu.Unlock()
	w, err := o.worker(ctx)
	if err != nil {
		return err
	}
	if err := o.check(ctx, w); err != nil {
		w.close()
		return err
	}
	o.giveBack(w)
	return nil
}

// check looks at the tables of the output, and at the one that it loads if that is known.
func (o *bulkOutput) check(ctx context.Context, w *bulkWorker) error {
	if err := o.ready(ctx, w); err != nil {
		return err
	}
	if o.cfg.static == nil {
		return nil
	}
	w.forget(*o.cfg.static)
	t, err := w.table(ctx, *o.cfg.static)
	if err != nil {
		if o.cfg.create && isMissing(err) {
			return nil
		}
		return err
	}
	if t.relations != nil {
		o.warn(*o.cfg.static, t.relations)
	}
	if key := t.key(); len(key.Columns) > 0 && !key.Unique {
		o.log.Warnf("table %s has no unique index over its key %s: rows are found by reading the table, and one message changes all rows that have its key", t.target.Name, key.Names(t.target))
	}
	return w.mayLoad(ctx, *o.cfg.static)
}

// worker gives an idle worker, or a new one.
func (o *bulkOutput) worker(ctx context.Context) (*bulkWorker, error) {
	o.mu.Lock()
	for n := len(o.idle); n > 0; n = len(o.idle) {
		w := o.idle[n-1]
		o.idle = o.idle[:n-1]
		if !w.conn.Broken() {
			o.mu.Unlock()
			return w, nil
		}
		w.close()
	}
	o.mu.Unlock()
	return openBulkWorker(ctx, &o.cfg, o.observer)
}

func (o *bulkOutput) giveBack(w *bulkWorker) {
	o.mu.Lock()
	keep := !o.closed && !w.conn.Broken() && !w.full()
	if keep {
		o.idle = append(o.idle, w)
	}
	o.mu.Unlock()
	if !keep {
		w.close()
	}
}

// WriteBatch loads a batch. Its errors are those of single rows, the end of ctx, or wrap service.ErrNotConnected: then nothing
// of what is left of the batch is stored, and it comes again before anything later does.
func (o *bulkOutput) WriteBatch(ctx context.Context, batch service.MessageBatch) error {
	l := newBulkLanding(o, batch)
	err := l.run(ctx)
	if err == nil {
		err = l.refused()
	}
	return err
}

// Close ends the connections. Benthos has waited for the batches before.
func (o *bulkOutput) Close(context.Context) error {
	o.mu.Lock()
	idle := o.idle
	o.idle, o.closed = nil, true
	o.mu.Unlock()
	for _, w := range idle {
		w.close()
	}
	return nil
}

// ConnectionTest connects, and looks whether the table can be loaded if it is known.
func (o *bulkOutput) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	w, err := openBulkWorker(ctx, &o.cfg, o.observer)
	if err == nil {
		defer w.close()
		err = o.check(ctx, w)
	}
	if err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}

// checkHints reports bad hints when the configuration is read.
func checkHints(hints []string) error {
	if _, err := bulkload.ParseHints(hints); err != nil {
		return fmt.Errorf("hints: %w", err)
	}
	return nil
}

var errNoTable = errors.New("there is no table to load it into: set the field table, or the metadata database_schema and table")
