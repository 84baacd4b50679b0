package mssqlcdc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/capture"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/outcome"
	"example.com/mssqlcdc/internal/session"
)

// The fields of mssql_cdc. Names that Redpanda Connect's input has are kept.
const (
	cdcFieldConnectionString = "connection_string"
	cdcFieldInclude          = "include"
	cdcFieldExclude          = "exclude"
	cdcFieldStreamSnapshot   = "stream_snapshot"
	cdcFieldSnapshotMode     = "snapshot_mode"
	cdcFieldSnapshotBatch    = "snapshot_max_batch_size"
	cdcFieldSnapshotTables   = "max_parallel_snapshot_tables"
	cdcFieldSnapshotFilters  = "snapshot_filters"
	cdcFieldOnGap            = "on_retention_gap"
	cdcFieldStartFrom        = "start_from"
	cdcFieldCache            = "checkpoint_cache"
	cdcFieldCacheKey         = "checkpoint_cache_key"
	cdcFieldLimit            = "checkpoint_limit"
	cdcFieldMaxConnections   = "max_connections"
	cdcFieldPollInterval     = "poll_interval"
	cdcFieldBackoffInterval  = "stream_backoff_interval"
	cdcFieldBeforeImage      = "before_image"
	cdcFieldBatching         = "batching"
	cdcFieldCheckpointFile   = "checkpoint_file"
	cdcFieldCacheTable       = "checkpoint_cache_table_name"
	cdcFieldCacheConnection  = "checkpoint_cache_connection_string"
	cdcFieldOrdering         = "ordering"
	cdcFieldMaxInFlight      = "max_in_flight"
	cdcFieldTombstones       = "tombstones"
	cdcFieldHeartbeat        = "heartbeat_interval"
	cdcFieldTLS              = "tls"
	cdcFieldMetadata         = "metadata"
	cdcFieldOnTableError     = "on_table_error"
	cdcFieldOnInvalidText    = "on_invalid_text"
	cdcFieldAutoReplayNacks  = "auto_replay_nacks"
)

func cdcSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Beta().
		Categories("Services").
		Version("0.1.0").
		Summary("Reads change data capture (CDC) change tables of Microsoft SQL Server, every table on its own connection.").
		Description(cdcDescription).
		Fields(
			service.NewStringField(cdcFieldConnectionString).Secret().
				Description("A go-mssqldb connection string, as a URL or in ADO form. Without `encrypt` in it the connection is encrypted and the server's certificate is verified, which is stricter than the driver itself.").
				Example("sqlserver://user:password@host:1433?database=shop").
				Example("server=host;user id=user;password=secret;database=shop"),
			service.NewStringListField(cdcFieldInclude).Default([]any{}).
				Description("Tables to read, as regular expressions over `schema.table` that must match the whole name. Empty means every table with a capture instance. A pattern that matches no table is an error at start.").
				Example([]string{`dbo\.orders`, `sales\..*`}),
			service.NewStringListField(cdcFieldExclude).Default([]any{}).
				Description("Tables to leave out, in the same form. It wins over `include`."),
			service.NewBoolField(cdcFieldStreamSnapshot).Default(false).
				Description("Read the rows that are there first, of every table that has no stored position yet, then its changes. A row that changes meanwhile may come as `read` and again as a change."),
			service.NewStringAnnotatedEnumField(cdcFieldOnGap, map[string]string{
				"fail":     "The table is treated as `on_table_error` says.",
				"snapshot": "The rows of the table are read anew, while the other tables stream on.",
			}).Default("fail").
				Description("What happens when the capture database's cleanup has removed changes of a table before they were read."),
			service.NewStringField(cdcFieldStartFrom).Default("earliest").
				Description("Where a table without a stored position begins: `earliest` (every change that cleanup has left), `latest` (changes committed from now on), an LSN as `0x` and 20 hexadecimal digits (changes after that transaction), or an RFC 3339 time (changes committed at or after it).").
				Example("latest").Example("2026-03-01T00:00:00Z").Example("0x00000025000001a80003"),
			service.NewStringField(cdcFieldCache).Default("").
				Description("The label of a cache resource that keeps the positions. Empty: a table in SQL Server, see `checkpoint_cache_table_name`. A cache has no lease: run one process for each `checkpoint_cache_key`."),
			service.NewStringField(cdcFieldCacheKey).Default("mssql_cdc").
				Description("The name of this pipeline's positions, in every kind of store. Pipelines that share a store need different names."),
			service.NewIntField(cdcFieldLimit).Default(32768).
				Description("Most changes that are read and not yet acknowledged, all tables together. It must be larger than the batches of the output, or they never fill.").
				LintRule(`root = if this < 1 { [ "checkpoint_limit must be at least 1" ] }`),
			service.NewIntField(cdcFieldMaxConnections).Default(16).
				Description("Bound for the connections that read at the same time. One more connection watches the database, and one more keeps the positions where they are in SQL Server.").
				LintRule(`root = if this < 1 { [ "max_connections must be at least 1" ] }`),
			service.NewDurationField(cdcFieldPollInterval).Default("200ms").
				Description("How long to wait between polls when nothing is behind."),
			service.NewStringAnnotatedEnumField(cdcFieldBeforeImage, map[string]string{
				"none":     "Updates are one message with the new row.",
				"metadata": "Updates are one message with the new row; the old row is the structured metadata `before`.",
				"message":  "Updates are two messages, `update_before` with the old row and `update_after` with the new one, as Redpanda Connect's input gives them.",
			}).Default("none").Description("What becomes of the old row of an update."),
			service.NewBatchPolicyField(cdcFieldBatching).Optional().
				Description("The size of batches, counted in changes. Not set: one table and one schema, at most 1000 changes and 900 KB. `count` and `byte_size` replace these bounds, `period` lets changes of a table gather for that long, `processors` run on each batch; `check` is not supported. A batch never waits for a second table."),
			service.NewStringAnnotatedEnumField(cdcFieldSnapshotMode, map[string]string{
				"none":                "Changes alone.",
				"snapshot_and_stream": "As `stream_snapshot: true`.",
				"snapshot_only":       "The rows that are there; then the input ends.",
			}).Optional().Advanced().Description("Says more than `stream_snapshot`, and wins over it."),
			service.NewIntField(cdcFieldSnapshotBatch).Default(10000).Advanced().
				Description("Most rows of one chunk of a snapshot. Chunks of a table are read on several connections.").
				LintRule(`root = if this < 1 { [ "snapshot_max_batch_size must be at least 1" ] }`),
			service.NewIntField(cdcFieldSnapshotTables).Default(4).Advanced().
				Description("Most tables whose snapshot is taken at the same time, within `max_connections`.").
				LintRule(`root = if this < 1 { [ "max_parallel_snapshot_tables must be at least 1" ] }`),
			service.NewStringMapField(cdcFieldSnapshotFilters).Default(map[string]any{}).Advanced().
				Description("Which rows of a table a snapshot reads: a condition in T-SQL by `schema.table`. It does not filter changes.").
				Example(map[string]any{"dbo.orders": "placed_at >= '2026-01-01'"}),
			service.NewStringField(cdcFieldCheckpointFile).Default("").Advanced().
				Description("Keep the positions in this file instead. It is written beside, synced and renamed, and locked while the process runs."),
			service.NewStringField(cdcFieldCacheTable).Default("dbo.mssql_cdc_checkpoint").Advanced().
				Description("The table that keeps the positions, made if it is missing and the login may. It also holds a lease: a second process with the same `checkpoint_cache_key` waits as a standby and takes over when the first one is gone."),
			service.NewStringField(cdcFieldCacheConnection).Default("").Secret().Advanced().
				Description("A connection string for that table when it is on another server, as it must be when the source is a read-only replica."),
			service.NewStringAnnotatedEnumField(cdcFieldOrdering, map[string]string{
				"table":  "Changes of a table are in order; tables do not wait for each other.",
				"global": "Changes of all tables come in commit order, a batch holds whole transactions (a transaction larger than a batch is cut). A table that cannot go on stops all.",
			}).Default("table").Advanced().Description("What order is kept."),
			service.NewIntField(cdcFieldMaxInFlight).Default(0).Advanced().
				Description("Most batches of one table (under `ordering: global`: of all) that are given out and not yet acknowledged. 0: as many as `checkpoint_limit` allows. 1: strict order, nothing later is given out before the acknowledgement; an output that gathers larger batches then waits for its period.").
				LintRule(`root = if this < 0 { [ "max_in_flight must not be negative" ] }`),
			service.NewBoolField(cdcFieldTombstones).Default(false).Advanced().
				Description("After each delete, give out a message without a body and with the same `key`, for compacted topics."),
			service.NewDurationField(cdcFieldHeartbeat).Default("1m").Advanced().
				Description("The positions of idle tables are saved at least this often, so that cleanup never overtakes a table that merely had nothing to say."),
			service.NewTLSToggledField(cdcFieldTLS).Advanced(),
			service.NewStringListField(cdcFieldMetadata).Default([]any{}).Advanced().
				Description("More metadata, by name: "+strings.Join(extraMetadata, ", ")+". Eight keys are set always; each further one costs a map more than its share.").
				Example([]string{"source_ts_ms", "changed_columns"}),
			service.NewStringAnnotatedEnumField(cdcFieldOnTableError, map[string]string{
				"park": "It is logged once, shown as a metric, and tried again with growing pauses, while the other tables go on.",
				"stop": "The input ends; `mssqlcdc run` then exits with an error.",
			}).Default("park").Advanced().Description("What happens when a table cannot go on: its changes were cleaned up, its history forked, a permission is gone. A table whose capture instances were all dropped is left, with a log line."),
			service.NewStringAnnotatedEnumField(cdcFieldOnInvalidText, map[string]string{
				"error":   "The table stops with an error that names the column and the row.",
				"replace": "Each becomes U+FFFD.",
			}).Default("error").Advanced().Description("What happens to text that is not valid Unicode (a lone surrogate in an nvarchar column)."),
			service.NewBoolField(cdcFieldAutoReplayNacks).Default(true).Advanced().
				Description("true: a refused batch, and everything after it of that table, is given out again in order. false: a refused batch stops its table."),
			service.NewDurationField(cdcFieldBackoffInterval).Optional().Deprecated().
				Description("Redpanda Connect's name of `poll_interval`, accepted in its place."),
		).
		LintRule(`root = match {
  (this.stream_snapshot.or(false) || this.snapshot_mode.or("none") != "none") && this.start_from.or("earliest") != "earliest" => [ "start_from has no meaning with a snapshot, which says itself where the changes begin" ],
  this.stream_snapshot.or(false) && this.snapshot_mode.or("snapshot_and_stream") == "none" => [ "stream_snapshot and snapshot_mode contradict each other" ],
  this.checkpoint_file.or("") != "" && this.checkpoint_cache.or("") != "" => [ "checkpoint_file and checkpoint_cache exclude each other" ],
  this.batching.check.or("") != "" => [ "batching.check is not supported by mssql_cdc: use count, byte_size, period or processors" ],
}`)
}

const cdcDescription = `
Each change becomes a message: a flat JSON object of the row, or the old row for a delete. Positions are saved after the
acknowledgement, so that a crash repeats changes and never loses them (at least once).

== Order

Changes of a table come in order, whatever is refused or restarted: a refused batch and everything after it is given out again
in order. The pipeline must keep it, too: set ` + "`pipeline.threads: 1`" + ` and the output's ` + "`max_in_flight: 1`" + ` where order matters.

== Metadata

- operation: insert, update or delete, read for the rows of a snapshot; with ` + "`before_image: message`" + ` update_before and update_after
- database_schema, table
- lsn: the commit LSN, 0x and 20 hexadecimal digits
- commit_ts_ms: when the transaction was committed, milliseconds since 1970
- event_id: unique to the change and the same whenever it is read again
- key: a JSON object of the key columns, in key order; absent for a table without a key
- schema: the columns of the table, for components with a ` + "`schema_metadata`" + ` field
- unchanged_columns: only where an update left a large column alone, which SQL Server then does not log; the column is not in
  the body
- before: the old row of an update, with ` + "`before_image: metadata`" + `

== Permissions

SELECT on the schema cdc, and VIEW DEFINITION (or SELECT) on the captured tables, without which they cannot be found. Membership in a capture instance's gating role is not enough, since it opens the functions of CDC
and not its tables. VIEW DATABASE STATE lets errors of the capture job be told. The table for positions needs CREATE TABLE, or
SELECT, INSERT and UPDATE on one that exists.
`

// Natural batches: what one message of most brokers and one page of most outputs take.
const (
	naturalRows  = 1000
	naturalBytes = 900_000
)

// cdcInput is the input mssql_cdc. Benthos calls Connect and ReadBatch from one goroutine, Close from another.
type cdcInput struct {
	cfg      capture.Config
	newStore func(capture.Observer) (checkpoint.Store, error)
	include  []string
	exclude  []string
	writer   *messageWriter
	batcher  *service.Batcher // runs the processors of a batching policy; nil without
	observer *cdcObserver
	log      *service.Logger

	mu        sync.Mutex
	flow      *capture.Flow
	connected chan struct{} // holds a token while no Connect is running
	warned    map[string]bool
}

func newCDCInput(conf *service.ParsedConfig, mgr *service.Resources) (service.BatchInput, error) {
	p := cdcParser{conf: conf, mgr: mgr}
	in, err := p.parse()
	if err != nil {
		return nil, err
	}
	return in, nil
}

// cdcParser reads the fields and keeps the first error.
type cdcParser struct {
	conf *service.ParsedConfig
	mgr  *service.Resources
	err  error
}

func field[T any](p *cdcParser, get func(...string) (T, error), name string) (v T) {
	if p.err != nil {
		return v
	}
	v, p.err = get(name)
	return v
}

func (p *cdcParser) text(name string) string { return field(p, p.conf.FieldString, name) }

func (p *cdcParser) parse() (*cdcInput, error) {
	in := &cdcInput{
		include: field(p, p.conf.FieldStringList, cdcFieldInclude), exclude: field(p, p.conf.FieldStringList, cdcFieldExclude),
		log: p.mgr.Logger(), connected: make(chan struct{}, 1), warned: map[string]bool{},
	}
	in.connected <- struct{}{}
	in.observer = newCDCObserver(p.mgr)
	in.cfg = capture.Config{
		Session:        session.Config{ConnectionString: p.text(cdcFieldConnectionString), AppName: "mssqlcdc mssql_cdc"},
		MaxRows:        naturalRows,
		MaxBytes:       naturalBytes,
		Limit:          field(p, p.conf.FieldInt, cdcFieldLimit),
		MaxConnections: field(p, p.conf.FieldInt, cdcFieldMaxConnections),
		MaxInFlight:    field(p, p.conf.FieldInt, cdcFieldMaxInFlight),
		Global:         p.text(cdcFieldOrdering) == "global",
		PollInterval:   field(p, p.conf.FieldDuration, cdcFieldPollInterval),
		Heartbeat:      field(p, p.conf.FieldDuration, cdcFieldHeartbeat),

		StopOnTableError:   p.text(cdcFieldOnTableError) == "stop",
		StopOnRefusal:      !field(p, p.conf.FieldBool, cdcFieldAutoReplayNacks),
		ReplaceInvalidText: p.text(cdcFieldOnInvalidText) == "replace",
		Observer:           in.observer,
	}
	if p.conf.Contains(cdcFieldBackoffInterval) {
		in.cfg.PollInterval = field(p, p.conf.FieldDuration, cdcFieldBackoffInterval)
	}
	if p.err != nil {
		return nil, p.err
	}
	tlsConf, tlsOn, err := p.conf.FieldTLSToggled(cdcFieldTLS)
	if err != nil {
		return nil, err
	}
	if tlsOn {
		in.cfg.Session.TLSConfig = tlsConf
	}
	in.cfg.Session.Dial = session.InProcess(in.cfg.Session)
	if err := p.snapshots(in); err != nil {
		return nil, err
	}
	if in.cfg.Tables, err = catalog.NewMatcher(in.include, in.exclude); err != nil {
		return nil, err
	}
	if in.cfg.Start, err = capture.ParseStartFrom(p.text(cdcFieldStartFrom)); err != nil {
		return nil, err
	}
	if err := p.batching(in); err != nil {
		return nil, err
	}
	if in.writer, err = newMessageWriter(p.text(cdcFieldBeforeImage), field(p, p.conf.FieldBool, cdcFieldTombstones), field(p, p.conf.FieldStringList, cdcFieldMetadata)); err != nil {
		return nil, err
	}
	if in.newStore, err = p.store(in); err != nil {
		return nil, err
	}
	return in, errors.Join(p.err, in.cfg.Validate())
}

// snapshots reads the fields of the snapshot.
func (p *cdcParser) snapshots(in *cdcInput) error {
	s := capture.Snapshots{
		On:        field(p, p.conf.FieldBool, cdcFieldStreamSnapshot),
		OnGap:     p.text(cdcFieldOnGap) == "snapshot",
		ChunkRows: field(p, p.conf.FieldInt, cdcFieldSnapshotBatch),
		Tables:    field(p, p.conf.FieldInt, cdcFieldSnapshotTables),
		Filters:   field(p, p.conf.FieldStringMap, cdcFieldSnapshotFilters),
	}
	if p.conf.Contains(cdcFieldSnapshotMode) {
		mode := p.text(cdcFieldSnapshotMode)
		if mode == "none" && s.On {
			return errors.New("stream_snapshot and snapshot_mode contradict each other")
		}
		s.On, s.Only = mode != "none", mode == "snapshot_only"
	}
	if s.On && p.text(cdcFieldStartFrom) != "earliest" {
		return errors.New("start_from has no meaning with a snapshot, which says itself where the changes begin")
	}
	in.cfg.Snapshots = s
	return p.err
}

// batching turns the policy into bounds of changes. Its processors run on each batch.
func (p *cdcParser) batching(in *cdcInput) error {
	if !p.conf.Contains(cdcFieldBatching) {
		return nil
	}
	policy, err := p.conf.FieldBatchPolicy(cdcFieldBatching)
	if err != nil {
		return err
	}
	if policy.Check != "" {
		return errors.New("batching.check is not supported by mssql_cdc: use count, byte_size, period or processors")
	}
	if policy.Count > 0 {
		in.cfg.MaxRows = policy.Count
	}
	if policy.ByteSize > 0 {
		in.cfg.MaxBytes = policy.ByteSize
	}
	if policy.Period != "" {
		if in.cfg.Period, err = time.ParseDuration(policy.Period); err != nil {
			return fmt.Errorf("parsing batching.period: %w", err)
		}
	}
	// The batcher itself must never cut: it only carries the processors.
	policy.Count, policy.ByteSize, policy.Period = 0, 0, ""
	if policy.IsNoop() {
		return nil
	}
	policy.Count = math.MaxInt32
	in.batcher, err = policy.NewBatcher(p.mgr)
	return err
}

// Connect checks the database, takes the positions and starts to read. It waits while another process holds the lease. A
// second call while it runs waits for the first.
func (in *cdcInput) Connect(ctx context.Context) error {
	select {
	case <-in.connected:
		defer func() { in.connected <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	in.mu.Lock()
	running := in.flow != nil
	in.mu.Unlock()
	if running {
		return nil
	}
	report := diagnose.Run(ctx, diagnose.Options{Session: in.cfg.Session, Include: in.include, Exclude: in.exclude})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := diagnose.Worst(report.Findings); err != nil {
		return err
	}
	in.writer.database = report.Database.Name
	in.warn(report.Findings)
	store, err := in.newStore(in.observer)
	if err != nil {
		return err
	}
	cfg := in.cfg
	cfg.Store = store
	flow, err := capture.Start(ctx, cfg)
	if err != nil {
		return errors.Join(diagnose.Wrap(err), store.Close(ctx))
	}
	in.mu.Lock()
	in.flow = flow
	in.mu.Unlock()
	return nil
}

// warn logs each warning once; one that many tables have is one line.
func (in *cdcInput) warn(findings []diagnose.Finding) {
	tables := map[diagnose.Finding][]string{}
	var order []diagnose.Finding
	for _, f := range findings {
		if f.Severity != diagnose.Warning || in.warned[f.String()] {
			continue
		}
		in.warned[f.String()] = true
		same := diagnose.Finding{Check: f.Check, Severity: f.Severity, Message: f.Message, Remedy: f.Remedy}
		if tables[same] == nil {
			order = append(order, same)
		}
		tables[same] = append(tables[same], f.Table)
	}
	for _, f := range order {
		names := tables[f]
		f.Table = strings.Join(names, ", ")
		if n := len(names); n > 5 {
			f.Table = fmt.Sprintf("%s and %d more tables", strings.Join(names[:5], ", "), n-5)
		}
		in.log.Warn(f.String())
	}
}

// ReadBatch gives the next batch. An error that one table can be blamed for never gets here: it parks the table.
func (in *cdcInput) ReadBatch(ctx context.Context) (service.MessageBatch, service.AckFunc, error) {
	in.mu.Lock()
	flow := in.flow
	in.mu.Unlock()
	if flow == nil {
		return nil, nil, service.ErrNotConnected
	}
	for {
		b, err := flow.Next(ctx)
		if err != nil {
			return nil, nil, in.ended(ctx, flow, err)
		}
		messages, err := in.messages(ctx, b)
		switch {
		case ctx.Err() != nil:
			b.Ack(ctx.Err())
			return nil, nil, ctx.Err()
		case err != nil:
			b.Fail(err)
		case len(messages) == 0: // filtered by a processor of the batching policy
			b.Ack(nil)
		default:
			return messages, func(_ context.Context, err error) error {
				b.Ack(err)
				return nil
			}, nil
		}
	}
}

// messages writes a batch's messages, and runs the processors of the batching policy on them.
func (in *cdcInput) messages(ctx context.Context, b *capture.Batch) (service.MessageBatch, error) {
	messages, err := in.writer.write(b)
	if err != nil || in.batcher == nil {
		return messages, err
	}
	for _, m := range messages {
		in.batcher.Add(m)
	}
	return in.batcher.Flush(ctx)
}

// ended turns the end of a flow into what Benthos understands.
func (in *cdcInput) ended(ctx context.Context, flow *capture.Flow, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	in.mu.Lock()
	if in.flow == flow {
		in.flow = nil
	}
	in.mu.Unlock()
	// What is acknowledged is saved now: the next Connect begins there.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
	defer cancel()
	if closeErr := flow.Close(closing); closeErr != nil && !errors.Is(closeErr, checkpoint.ErrLeaseLost) {
		in.log.Warnf("closing: %v", closeErr)
	}
	switch {
	case errors.Is(err, capture.ErrTable):
		in.log.Errorf("the input ends, because on_table_error is stop: %v", err)
		outcome.Fail(err)
		return service.ErrEndOfInput
	case errors.Is(err, capture.ErrSnapshotsDone):
		return service.ErrEndOfInput
	case errors.Is(err, checkpoint.ErrLeaseLost):
		in.log.Warn("another process has taken over these positions; this one waits as a standby")
	case !errors.Is(err, session.ErrClosed):
		in.log.Errorf("reading stopped and begins anew: %v", err)
	}
	return service.ErrNotConnected
}

// closeBound is how long the end of a flow may take to save the last positions.
const closeBound = 10 * time.Second

// Close stops reading, saves what is acknowledged and gives the positions free.
func (in *cdcInput) Close(ctx context.Context) error {
	in.mu.Lock()
	flow := in.flow
	in.flow = nil
	in.mu.Unlock()
	var errs []error
	if flow != nil {
		saving, cancel := context.WithTimeout(ctx, closeBound)
		defer cancel()
		errs = append(errs, flow.Close(saving))
	}
	if in.batcher != nil {
		errs = append(errs, in.batcher.Close(ctx))
	}
	return errors.Join(errs...)
}

// ConnectionTest makes the checks of a start without starting: connection, login, rights, CDC state, tables.
func (in *cdcInput) ConnectionTest(ctx context.Context) service.ConnectionTestResults {
	report := diagnose.Run(ctx, diagnose.Options{Session: in.cfg.Session, Include: in.include, Exclude: in.exclude})
	if err := diagnose.Worst(report.Findings); err != nil {
		return service.ConnectionTestFailed(err).AsList()
	}
	return service.ConnectionTestSucceeded().AsList()
}
