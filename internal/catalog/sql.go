package catalog

// All statements below run through sp_executesql with typed parameters. None of
// them reads dirty: the watermark, the capture instances and the DDL history
// are what the rest is decided by.
const (
	sqlDatabase = `SELECT d.name, d.database_id, d.collation_name, d.is_cdc_enabled, d.snapshot_isolation_state,
 d.is_read_committed_snapshot_on, d.is_read_only, CAST(d.compatibility_level AS int), d.create_date,
 CAST(SERVERPROPERTY(N'EngineEdition') AS int), CAST(SERVERPROPERTY(N'ProductVersion') AS nvarchar(128)),
 CAST(SERVERPROPERTY(N'ServerName') AS nvarchar(128)), CAST(DATABASEPROPERTYEX(d.name, N'Updateability') AS nvarchar(128)),
 DATEDIFF(MINUTE, SYSUTCDATETIME(), SYSDATETIME())
FROM sys.databases AS d WHERE d.database_id = DB_ID()`

	// CURRENT_TIMEZONE_ID exists from SQL Server 2022 on and in Azure SQL.
	sqlTimeZone = `SELECT CURRENT_TIMEZONE_ID()`

	// sqlWatermark and sqlInstances are one round trip. The order matters: an
	// instance that appears between the two has a start above this watermark.
	sqlWatermark = `SELECT TOP (1) m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id,
 DATEDIFF(SECOND, m.tran_end_time, SYSDATETIME())
FROM cdc.lsn_time_mapping AS m ORDER BY m.start_lsn DESC;
`
	sqlInstances = `SELECT ct.capture_instance, ct.object_id, ct.source_object_id, ct.start_lsn, ct.end_lsn, ct.has_drop_pending,
 ct.partition_switch, ct.create_date, ct.supports_net_changes, ct.role_name, ct.index_name, ss.name, st.name, t.name
FROM cdc.change_tables AS ct
 LEFT JOIN sys.tables AS st ON st.object_id = ct.source_object_id
 LEFT JOIN sys.schemas AS ss ON ss.schema_id = st.schema_id
 LEFT JOIN sys.tables AS t ON t.object_id = ct.object_id
`
	sqlInstancesAll = sqlInstances + `ORDER BY ct.source_object_id, ct.create_date, ct.capture_instance`
	sqlInstancesOne = sqlInstances + `WHERE ct.capture_instance = @instance;
`
	declInstance = "@instance nvarchar(128)"

	// The columns of the change table carry the types of the values in it; the
	// source says what the values were before (rowversion, identity, computed).
	sqlCapturedColumns = `SELECT cc.column_name, cc.column_ordinal, cc.column_type, cc.is_computed,
 ty.name, bt.name, CAST(c.max_length AS int), CAST(c.precision AS int), CAST(c.scale AS int), c.collation_name,
 sc.is_nullable, sc.is_masked, sc.is_computed, sc.is_identity, sc.name
FROM cdc.change_tables AS ct
 JOIN cdc.captured_columns AS cc ON cc.object_id = ct.object_id
 LEFT JOIN sys.columns AS c ON c.object_id = ct.object_id AND c.name = cc.column_name
 LEFT JOIN sys.types AS ty ON ty.user_type_id = c.user_type_id
 LEFT JOIN sys.types AS bt ON bt.user_type_id = c.system_type_id
 LEFT JOIN sys.columns AS sc ON sc.object_id = ct.source_object_id AND sc.column_id = cc.column_id
WHERE ct.capture_instance = @instance ORDER BY cc.column_ordinal;
`
	sqlCaptureKey = `SELECT ic.column_name FROM cdc.change_tables AS ct
 JOIN cdc.index_columns AS ic ON ic.object_id = ct.object_id
WHERE ct.capture_instance = @instance ORDER BY ic.index_ordinal;
`
	// Unique indexes of the source, as keys for instances that have none.
	sqlSourceKeys = `SELECT i.index_id, i.is_primary_key, c.name, c.is_nullable
FROM cdc.change_tables AS ct
 JOIN sys.indexes AS i ON i.object_id = ct.source_object_id
 JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
 JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ct.capture_instance = @instance AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0 AND ic.key_ordinal > 0
ORDER BY i.index_id, ic.key_ordinal;
`
	sqlClusteredIndex = `SELECT c.name, ic.is_descending_key FROM cdc.change_tables AS ct
 JOIN sys.indexes AS i ON i.object_id = ct.object_id AND i.type = 1
 JOIN sys.index_columns AS ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
 JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
WHERE ct.capture_instance = @instance AND ic.key_ordinal > 0 ORDER BY ic.key_ordinal;
`
	sqlHasCommandID = `SELECT COUNT(*) FROM cdc.change_tables AS ct
 JOIN sys.columns AS c ON c.object_id = ct.object_id
WHERE ct.capture_instance = @instance AND c.name = N'__$command_id'`

	sqlMappingRange = `SELECT m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id
FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn >= @from AND m.start_lsn <= @to ORDER BY m.start_lsn`
	declRange = "@from binary(10), @to binary(10)"

	sqlMappingAtOrBelow = `SELECT TOP (1) m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id
FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn <= @to ORDER BY m.start_lsn DESC`
	declTo = "@to binary(10)"

	sqlWindow = `SELECT MAX(w.start_lsn), COUNT(*) FROM (SELECT TOP (@n) m.start_lsn
FROM cdc.lsn_time_mapping AS m WHERE m.start_lsn > @from AND m.start_lsn <= @to ORDER BY m.start_lsn) AS w`
	declWindow = "@n int, @from binary(10), @to binary(10)"

	sqlFirstAtTime = `SELECT TOP (1) m.start_lsn, m.tran_begin_time, m.tran_end_time, m.tran_id
FROM cdc.lsn_time_mapping AS m WHERE m.tran_end_time >= @time ORDER BY m.start_lsn`
	declTime = "@time datetime"

	sqlDDLSince = `SELECT h.source_object_id, h.object_id, h.required_column_update, h.ddl_command, h.ddl_lsn, h.ddl_time
FROM cdc.ddl_history AS h WHERE h.ddl_lsn > @from ORDER BY h.ddl_lsn`
	declFrom = "@from binary(10)"

	sqlMetadataRights = `SELECT HAS_PERMS_BY_NAME(N'[cdc].[lsn_time_mapping]', N'OBJECT', N'SELECT'),
 HAS_PERMS_BY_NAME(N'[cdc].[change_tables]', N'OBJECT', N'SELECT'),
 HAS_PERMS_BY_NAME(N'[cdc].[captured_columns]', N'OBJECT', N'SELECT'),
 HAS_PERMS_BY_NAME(N'[cdc].[index_columns]', N'OBJECT', N'SELECT'),
 HAS_PERMS_BY_NAME(N'[cdc].[ddl_history]', N'OBJECT', N'SELECT'),
 HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK'),
 HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DATABASE STATE'),
 SUSER_SNAME(), USER_NAME()`

	sqlTableRight  = `SELECT HAS_PERMS_BY_NAME(@name, N'OBJECT', N'SELECT')`
	sqlInsertRight = `SELECT HAS_PERMS_BY_NAME(@name, N'OBJECT', N'INSERT')`
	sqlRowRights   = `SELECT HAS_PERMS_BY_NAME(@name, N'OBJECT', N'SELECT'), HAS_PERMS_BY_NAME(@name, N'OBJECT', N'INSERT'),
 HAS_PERMS_BY_NAME(@name, N'OBJECT', N'UPDATE'), HAS_PERMS_BY_NAME(@name, N'OBJECT', N'DELETE')`
	declName = "@name nvarchar(776)"

	sqlJobs = `EXEC sys.sp_cdc_help_jobs`

	sqlAgent = `SELECT COUNT(*), SUM(CASE WHEN s.status = 4 THEN 1 ELSE 0 END)
FROM sys.dm_server_services AS s WHERE s.servicename LIKE N'SQL Server Agent%'`

	sqlScanErrors = `SELECT TOP (10) e.entry_time, e.error_number, e.error_message
FROM sys.dm_cdc_errors AS e ORDER BY e.entry_time DESC`

	sqlScanLatency = `SELECT TOP (1) s.latency, s.error_count, s.empty_scan_count, s.scan_phase
FROM sys.dm_cdc_log_scan_sessions AS s WHERE s.session_id > 0 ORDER BY s.session_id DESC`
)
