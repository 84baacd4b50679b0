package mssqlcdc

import (
	"strings"

	"github.com/redpanda-data/benthos/v4/public/service"
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
	cdcFieldSignalTable      = "signal_table"
	cdcFieldOnGap            = "on_retention_gap"
	cdcFieldStartFrom        = "start_from"
	cdcFieldCache            = "checkpoint_cache"
	cdcFieldCacheKey         = "checkpoint_cache_key"
	cdcFieldLimit            = "checkpoint_limit"
	cdcFieldMaxConnections   = "max_connections"
	cdcFieldPollInterval     = "poll_interval"
	cdcFieldBackoffInterval  = "stream_backoff_interval"
	cdcFieldBeforeImage      = "before_image"
	cdcFieldFormat           = "format"
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
	cdcFieldRawTDS           = "raw_tds"
)

// version is that of the components.
const version = "0.1.0"

func cdcSpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Beta().
		Categories("Services").
		Version(version).
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
			service.NewStringAnnotatedEnumField(cdcFieldFormat, map[string]string{
				formatJSON:     "One message per change: a flat object of the row.",
				formatArrow:    "One message for up to 900 KB of changes of a table: an Arrow IPC stream of the rows, with columns that say what each change is.",
				formatDebezium: "One message per change: the envelope of Debezium's SQL Server connector, with the old and the new row.",
			}).Default(formatJSON).Description("The form of the body, see docs/formats.md. `arrow` does not go with `tombstones` nor with `before_image: metadata`, and `debezium` with no `before_image`."),
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
			service.NewStringField(cdcFieldSignalTable).Default("").Advanced().
				Description("A table (`schema.table`) whose rows ask for snapshots of tables while they stream, in the shape of Debezium's: id varchar(42), type varchar(32), data varchar(2048). It is in the same database and enabled for CDC, the login may INSERT into it, and its own changes are never given out. See docs/signals.md.").
				Example("dbo.mssql_cdc_signals"),
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
			service.NewStringAnnotatedEnumField(cdcFieldRawTDS, map[string]string{
				"auto":    "Rows are decoded from the connection directly; where that is not possible they go through the driver, slower and with the same result.",
				"off":     "Rows go through the driver.",
				"require": "Where rows cannot be read directly, the connection fails.",
			}).Default("auto").Advanced().Description("How rows come from the server, see docs/limits.md."),
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
  this.format.or("json") == "arrow" && this.tombstones.or(false) => [ "tombstones cannot go with format arrow, whose messages have many rows and no key" ],
  this.format.or("json") == "arrow" && this.before_image.or("none") == "metadata" => [ "before_image metadata cannot go with format arrow: use before_image message, which gives the old row a row of its own" ],
  this.format.or("json") == "debezium" && this.before_image.or("none") != "none" => [ "before_image has no meaning with format debezium, whose envelope always has the old row" ],
  this.batching.check.or("") != "" => [ "batching.check is not supported by mssql_cdc: use count, byte_size, period or processors" ],
}`)
}

const cdcDescription = `
Each change becomes a message: a flat JSON object of the row, or the old row for a delete; the field format has other forms. Positions are saved after the
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

With ` + "`format: arrow`" + ` a message has database_schema, table, schema, first_lsn, last_lsn and rows; the rest are columns of its body.

== Permissions

SELECT on the schema cdc, and VIEW DEFINITION (or SELECT) on the captured tables, without which they cannot be found. Membership in a capture instance's gating role is not enough, since it opens the functions of CDC
and not its tables. VIEW DATABASE STATE lets errors of the capture job be told. The table for positions needs CREATE TABLE, or
SELECT, INSERT and UPDATE on one that exists.
`
