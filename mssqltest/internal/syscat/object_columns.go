package syscat

// The column lists of the catalog views of one database, in the documented order (Microsoft Learn, "Object Catalog Views").
const (
	objectColumns = `name sysname, object_id int, principal_id int?, schema_id int, parent_object_id int, type char(2)?,
		type_desc nvarchar(60)?, create_date datetime, modify_date datetime, is_ms_shipped bit, is_published bit, is_schema_published bit`
	tableColumns = objectColumns + `, lob_data_space_id int, filestream_data_space_id int?, max_column_id_used int, lock_on_bulk_load bit,
		uses_ansi_nulls bit?, is_replicated bit?, has_replication_filter bit?, is_merge_published bit?, is_sync_tran_subscribed bit?,
		has_unchecked_assembly_data bit, text_in_row_limit int?, large_value_types_out_of_row bit?, is_tracked_by_cdc bit?,
		lock_escalation tinyint?, lock_escalation_desc nvarchar(60)?, is_filetable bit?, is_memory_optimized bit?, durability tinyint?,
		durability_desc nvarchar(60)?, temporal_type tinyint?, temporal_type_desc nvarchar(60)?, history_table_id int?,
		is_remote_data_archive_enabled bit?, is_external bit, history_retention_period int?, history_retention_period_unit int?,
		history_retention_period_unit_desc nvarchar(10)?, is_node bit?, is_edge bit?, ledger_type tinyint?, ledger_type_desc nvarchar(60)?`
	viewColumns = objectColumns + `, is_replicated bit?, has_replication_filter bit?, has_opaque_metadata bit, has_unchecked_assembly_data bit,
		with_check_option bit, is_date_correlation_view bit, is_tracked_by_cdc bit?, has_snapshot bit?`
	procedureColumns = objectColumns + `, is_auto_executed bit, is_execution_replicated bit?, is_repl_serializable_only bit?,
		skips_repl_constraints bit?`
	triggerColumns = `name sysname, object_id int, parent_class tinyint, parent_class_desc nvarchar(60)?, parent_id int, type char(2),
		type_desc nvarchar(60)?, create_date datetime, modify_date datetime, is_ms_shipped bit, is_disabled bit,
		is_not_for_replication bit, is_instead_of_trigger bit`
	triggerEventColumns = `object_id int, type int, type_desc nvarchar(60)?, is_first bit?, is_last bit?, event_group_type int?,
		event_group_type_desc nvarchar(60)?, is_trigger_event bit?`
	sequenceColumns = objectColumns + `, start_value sql_variant, increment sql_variant, minimum_value sql_variant, maximum_value sql_variant,
		is_cycling bit?, is_cached bit?, cache_size int?, system_type_id tinyint, user_type_id int, precision tinyint, scale tinyint?,
		current_value sql_variant, is_exhausted bit, last_used_value sql_variant?`
	synonymColumns = objectColumns + `, base_object_name nvarchar(1035)?`
	schemaColumns  = `name sysname, schema_id int, principal_id int?`
	moduleColumns  = `object_id int, definition nvarchar(max)?, uses_ansi_nulls bit?, uses_quoted_identifier bit?, is_schema_bound bit?,
		uses_database_collation bit?, is_recompiled bit?, null_on_null_input bit?, execute_as_principal_id int?, uses_native_compilation bit?,
		is_inlineable bit?`
	columnColumns = `object_id int, name sysname?, column_id int, system_type_id tinyint, user_type_id int, max_length smallint,
		precision tinyint, scale tinyint, collation_name sysname?, is_nullable bit?, is_ansi_padded bit, is_rowguidcol bit, is_identity bit,
		is_computed bit, is_filestream bit, is_replicated bit?, is_non_sql_subscribed bit?, is_merge_published bit?, is_dts_replicated bit?,
		is_xml_document bit, xml_collection_id int, default_object_id int, rule_object_id int, is_sparse bit?, is_column_set bit?,
		generated_always_type tinyint?, generated_always_type_desc nvarchar(60)?, encryption_type int?, encryption_type_desc nvarchar(64)?,
		encryption_algorithm_name sysname?, column_encryption_key_id int?, column_encryption_key_database_name sysname?, is_hidden bit,
		is_masked bit, graph_type int?, graph_type_desc nvarchar(60)?`
	identityColumns = columnColumns + `, seed_value sql_variant?, increment_value sql_variant?, last_value sql_variant?,
		is_not_for_replication bit?`
	computedColumns = columnColumns + `, definition nvarchar(max)?, uses_database_collation bit, is_persisted bit`
	maskedColumns   = columnColumns + `, masking_function nvarchar(4000)?`
	typeColumns     = `name sysname, system_type_id tinyint, user_type_id int, schema_id int, principal_id int?, max_length smallint,
		precision tinyint, scale tinyint, collation_name sysname?, is_nullable bit?, is_user_defined bit, is_assembly_type bit,
		default_object_id int, rule_object_id int, is_table_type bit`
	indexColumns = `object_id int, name sysname?, index_id int, type tinyint, type_desc nvarchar(60)?, is_unique bit?, data_space_id int?,
		ignore_dup_key bit?, is_primary_key bit?, is_unique_constraint bit?, fill_factor tinyint, is_padded bit?, is_disabled bit?,
		is_hypothetical bit?, is_ignored_in_optimization bit?, allow_row_locks bit?, allow_page_locks bit?, has_filter bit?,
		filter_definition nvarchar(max)?, compression_delay int?, suppress_dup_key_messages bit?, auto_created bit?,
		optimize_for_sequential_key bit?`
	indexColumnColumns = `object_id int, index_id int, index_column_id int, column_id int, key_ordinal tinyint, partition_ordinal tinyint,
		is_descending_key bit?, is_included_column bit?, column_store_order_ordinal tinyint`
	keyConstraintColumns   = objectColumns + `, unique_index_id int?, is_system_named bit, is_enforced bit`
	checkConstraintColumns = objectColumns + `, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int,
		definition nvarchar(max)?, uses_database_collation bit?, is_system_named bit`
	defaultConstraintColumns = objectColumns + `, parent_column_id int, definition nvarchar(max)?, is_system_named bit`
	foreignKeyColumns        = objectColumns + `, referenced_object_id int?, key_index_id int?, is_disabled bit, is_not_for_replication bit,
		is_not_trusted bit, delete_referential_action tinyint?, delete_referential_action_desc nvarchar(60)?,
		update_referential_action tinyint?, update_referential_action_desc nvarchar(60)?, is_system_named bit`
	foreignKeyColumnColumns = `constraint_object_id int, constraint_column_id int, parent_object_id int, parent_column_id int,
		referenced_object_id int, referenced_column_id int`
	partitionColumns = `partition_id bigint, object_id int, index_id int, partition_number int, hobt_id bigint, rows bigint?,
		filestream_filegroup_id smallint, data_compression tinyint, data_compression_desc nvarchar(60)?`
	partitionStatsColumns = `partition_id bigint, object_id int, index_id int, partition_number int, in_row_data_page_count bigint?,
		in_row_used_page_count bigint?, in_row_reserved_page_count bigint?, lob_used_page_count bigint?, lob_reserved_page_count bigint?,
		row_overflow_used_page_count bigint?, row_overflow_reserved_page_count bigint?, used_page_count bigint?, reserved_page_count bigint?,
		row_count bigint?`
	sysindexColumns = `id int, status int?, first binary(6)?, indid smallint?, root binary(6)?, minlen smallint?, keycnt smallint?,
		groupid smallint?, dpages int, reserved int, used int, rowcnt bigint?, rowmodctr int, xmaxlen smallint?, maxirow smallint?,
		OrigFillFactor tinyint?, name sysname?, rows int`
	sysobjectColumns = `name sysname, id int, xtype char(2), uid smallint?, info smallint?, status int?, base_schema_ver int?, replinfo int?,
		parent_obj int, crdate datetime, ftcatid smallint?, schema_ver int?, stats_schema_ver int?, type char(2)?, userstat smallint?,
		sysstat smallint?, indexdel smallint?, refdate datetime, version int?, deltrig int?, instrig int?, updtrig int?, seltrig int?,
		category int?, cache smallint?`
	databasePrincipalColumns = `name sysname, principal_id int, type char(1), type_desc nvarchar(60)?, default_schema_name sysname?,
		create_date datetime, modify_date datetime, owning_principal_id int?, sid varbinary(85)?, is_fixed_role bit,
		authentication_type int, authentication_type_desc nvarchar(60)?, default_language_name sysname?, default_language_lcid int?,
		allow_encrypted_value_modifications bit`
	roleMemberColumns         = `role_principal_id int, member_principal_id int`
	databasePermissionColumns = `class tinyint, class_desc nvarchar(60)?, major_id int, minor_id int, grantee_principal_id int,
		grantor_principal_id int, type char(4), permission_name nvarchar(128)?, state char(1), state_desc nvarchar(60)?`
	extendedPropertyColumns = `class tinyint, class_desc nvarchar(60)?, major_id int, minor_id int, name sysname, value sql_variant?`
	statsColumns            = `object_id int, name nvarchar(128)?, stats_id int, auto_created bit?, user_created bit?, no_recompute bit?, has_filter bit?, filter_definition nvarchar(max)?`
	parameterColumns        = `object_id int, name sysname?, parameter_id int, system_type_id tinyint, user_type_id int, max_length smallint,
		precision tinyint, scale tinyint, is_output bit, is_cursor_ref bit, has_default_value bit, is_xml_document bit,
		default_value sql_variant?, xml_collection_id int, is_readonly bit, is_nullable bit?`
)

// The column lists of the INFORMATION_SCHEMA views (ISO/IEC 9075-11 as Microsoft Learn lists them).
const (
	infoTableColumns  = `TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME sysname, TABLE_TYPE varchar(10)?`
	infoColumnColumns = `TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128)?,
		ORDINAL_POSITION int?, COLUMN_DEFAULT nvarchar(4000)?, IS_NULLABLE varchar(3)?, DATA_TYPE nvarchar(128)?,
		CHARACTER_MAXIMUM_LENGTH int?, CHARACTER_OCTET_LENGTH int?, NUMERIC_PRECISION tinyint?, NUMERIC_PRECISION_RADIX smallint?,
		NUMERIC_SCALE int?, DATETIME_PRECISION smallint?, CHARACTER_SET_CATALOG sysname?, CHARACTER_SET_SCHEMA sysname?,
		CHARACTER_SET_NAME sysname?, COLLATION_CATALOG sysname?, COLLATION_SCHEMA sysname?, COLLATION_NAME sysname?,
		DOMAIN_CATALOG sysname?, DOMAIN_SCHEMA sysname?, DOMAIN_NAME sysname?`
	infoConstraintColumns = `CONSTRAINT_CATALOG nvarchar(128)?, CONSTRAINT_SCHEMA nvarchar(128)?, CONSTRAINT_NAME sysname,
		TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME sysname?, CONSTRAINT_TYPE varchar(11)?,
		IS_DEFERRABLE varchar(2), INITIALLY_DEFERRED varchar(2)`
	infoKeyUsageColumns = `CONSTRAINT_CATALOG nvarchar(128)?, CONSTRAINT_SCHEMA nvarchar(128)?, CONSTRAINT_NAME nvarchar(128),
		TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128)?, ORDINAL_POSITION int`
	infoColumnUsageColumns = `TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME nvarchar(128), COLUMN_NAME nvarchar(128)?,
		CONSTRAINT_CATALOG nvarchar(128)?, CONSTRAINT_SCHEMA nvarchar(128)?, CONSTRAINT_NAME nvarchar(128)`
	infoReferentialColumns = `CONSTRAINT_CATALOG nvarchar(128)?, CONSTRAINT_SCHEMA nvarchar(128)?, CONSTRAINT_NAME sysname,
		UNIQUE_CONSTRAINT_CATALOG nvarchar(128)?, UNIQUE_CONSTRAINT_SCHEMA nvarchar(128)?, UNIQUE_CONSTRAINT_NAME sysname?,
		MATCH_OPTION varchar(7)?, UPDATE_RULE varchar(11)?, DELETE_RULE varchar(11)?`
	infoSchemataColumns = `CATALOG_NAME sysname?, SCHEMA_NAME sysname, SCHEMA_OWNER nvarchar(128)?, DEFAULT_CHARACTER_SET_CATALOG sysname?,
		DEFAULT_CHARACTER_SET_SCHEMA sysname?, DEFAULT_CHARACTER_SET_NAME sysname?`
	infoViewColumns = `TABLE_CATALOG nvarchar(128)?, TABLE_SCHEMA nvarchar(128)?, TABLE_NAME sysname, VIEW_DEFINITION nvarchar(4000)?,
		CHECK_OPTION varchar(7)?, IS_UPDATABLE varchar(2)`
	infoRoutineColumns = `SPECIFIC_CATALOG nvarchar(128)?, SPECIFIC_SCHEMA nvarchar(128)?, SPECIFIC_NAME sysname, ROUTINE_CATALOG nvarchar(128)?,
		ROUTINE_SCHEMA nvarchar(128)?, ROUTINE_NAME sysname, ROUTINE_TYPE nvarchar(20)?, DATA_TYPE nvarchar(128)?,
		ROUTINE_DEFINITION nvarchar(4000)?, CREATED datetime, LAST_ALTERED datetime`
)

// objectTypes is type_desc by type (Microsoft Learn, "sys.objects (Transact-SQL)").
var objectTypes = map[string]string{
	"U": "USER_TABLE", "V": "VIEW", "P": "SQL_STORED_PROCEDURE", "FN": "SQL_SCALAR_FUNCTION", "IF": "SQL_INLINE_TABLE_VALUED_FUNCTION",
	"TF": "SQL_TABLE_VALUED_FUNCTION", "TR": "SQL_TRIGGER", "SN": "SYNONYM", "SO": "SEQUENCE_OBJECT", "S": "SYSTEM_TABLE",
	"PK": "PRIMARY_KEY_CONSTRAINT", "UQ": "UNIQUE_CONSTRAINT", "F": "FOREIGN_KEY_CONSTRAINT", "C": "CHECK_CONSTRAINT",
	"D": "DEFAULT_CONSTRAINT", "X": "EXTENDED_STORED_PROCEDURE",
}
