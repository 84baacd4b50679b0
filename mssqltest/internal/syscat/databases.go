package syscat

import (
	"iter"

	"example.com/mssqlcdc/mssqltest/internal/storage"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

const databaseColumns = `name sysname, database_id int, source_database_id int?, owner_sid varbinary(85)?, create_date datetime,
	compatibility_level tinyint, collation_name sysname?, user_access tinyint?, user_access_desc nvarchar(60)?, is_read_only bit?,
	is_auto_close_on bit, is_auto_shrink_on bit?, state tinyint?, state_desc nvarchar(60)?, is_in_standby bit?, is_cleanly_shutdown bit?,
	is_supplemental_logging_enabled bit?, snapshot_isolation_state tinyint?, snapshot_isolation_state_desc nvarchar(60)?,
	is_read_committed_snapshot_on bit?, recovery_model tinyint?, recovery_model_desc nvarchar(60)?, page_verify_option tinyint?,
	page_verify_option_desc nvarchar(60)?, is_auto_create_stats_on bit?, is_auto_create_stats_incremental_on bit?,
	is_auto_update_stats_on bit?, is_auto_update_stats_async_on bit?, is_ansi_null_default_on bit?, is_ansi_nulls_on bit?,
	is_ansi_padding_on bit?, is_ansi_warnings_on bit?, is_arithabort_on bit?, is_concat_null_yields_null_on bit?,
	is_numeric_roundabort_on bit?, is_quoted_identifier_on bit?, is_recursive_triggers_on bit?, is_cursor_close_on_commit_on bit?,
	is_local_cursor_default bit?, is_fulltext_enabled bit?, is_trustworthy_on bit?, is_db_chaining_on bit?, is_parameterization_forced bit?,
	is_master_key_encrypted_by_server bit, is_query_store_on bit?, is_published bit, is_subscribed bit, is_merge_published bit,
	is_distributor bit, is_sync_with_backup bit, service_broker_guid uniqueidentifier?, is_broker_enabled bit, log_reuse_wait tinyint?,
	log_reuse_wait_desc nvarchar(60)?, is_date_correlation_on bit, is_cdc_enabled bit, is_encrypted bit?, is_honor_broker_priority_on bit?,
	replica_id uniqueidentifier?, group_database_id uniqueidentifier?, resource_pool_id int?, default_language_lcid smallint?,
	default_language_name nvarchar(128)?, default_fulltext_language_lcid int?, default_fulltext_language_name nvarchar(128)?,
	is_nested_triggers_on bit?, is_transform_noise_words_on bit?, two_digit_year_cutoff smallint?, containment tinyint?,
	containment_desc nvarchar(60)?, target_recovery_time_in_seconds int?, delayed_durability int?, delayed_durability_desc nvarchar(60)?,
	is_memory_optimized_elevate_to_snapshot_on bit?, is_federation_member bit?, is_remote_data_archive_enabled bit?,
	is_mixed_page_allocation_on bit?, is_temporal_history_retention_enabled bit?, catalog_collation_type int?,
	catalog_collation_type_desc nvarchar(60)?, physical_database_name nvarchar(128)?, is_result_set_caching_on bit?,
	is_accelerated_database_recovery_on bit?, is_tempdb_spill_to_remote_store bit?, is_stale_page_detection_on bit?,
	is_memory_optimized_enabled bit?`

const sysdatabasesColumns = `name sysname?, dbid smallint?, sid varbinary(85)?, mode smallint?, status int?, status2 int?, crdate datetime,
	reserved datetime?, category int?, cmptlevel tinyint, filename nvarchar(260)?, version smallint?`

// databaseViews registers sys.databases and the files that every database pretends to have.
func (r registrar) databaseViews() {
	r.view("sys", "databases", databaseColumns, (*source).databases)
	r.view("sys", "sysdatabases", sysdatabasesColumns, (*source).sysdatabases)
	r.viewInMaster("dbo", "sysdatabases", sysdatabasesColumns, (*source).sysdatabases)
	r.view("sys", "database_files", fileColumns, (*source).files)
	r.view("sys", "master_files", masterFileColumns, (*source).files)
}

var recoveryModels = map[string]int{"FULL": 1, "BULK_LOGGED": 2, "SIMPLE": 3}

// eachDatabase yields all databases: public has VIEW ANY DATABASE on a server unless it was taken away.
func (s *source) eachDatabase(yield func(*storage.Database) bool) {
	for _, db := range s.c.Instance().Storage.Databases() {
		if !yield(db) {
			return
		}
	}
}

func (s *source) databases() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for db := range s.eachDatabase {
			p := db.Props()
			onOff := map[bool]string{true: "ON", false: "OFF"}
			row := sysrow.Row{
				"name": db.Name(), "database_id": db.ID, "owner_sid": p.OwnerSID, "create_date": db.CreateDate, "compatibility_level": p.CompatLevel,
				"collation_name": db.Collation.Name, "user_access": 0, "user_access_desc": "MULTI_USER",
				"is_read_only": p.ReadOnly || s.root != nil && db.ID >= storage.FirstUserDatabase, "is_auto_shrink_on": false,
				"state": 0, "state_desc": "ONLINE", "is_in_standby": false, "is_cleanly_shutdown": false, "is_supplemental_logging_enabled": false,
				"snapshot_isolation_state": p.SnapshotIsolation, "snapshot_isolation_state_desc": onOff[p.SnapshotIsolation],
				"is_read_committed_snapshot_on": p.ReadCommittedSnapshot, "recovery_model": recoveryModels[p.Recovery], "recovery_model_desc": p.Recovery,
				"page_verify_option": 2, "page_verify_option_desc": "CHECKSUM", "is_auto_create_stats_on": true,
				"is_auto_create_stats_incremental_on": false, "is_auto_update_stats_on": true, "is_auto_update_stats_async_on": false,
				"is_ansi_null_default_on": false, "is_ansi_nulls_on": false, "is_ansi_padding_on": false, "is_ansi_warnings_on": false,
				"is_arithabort_on": false, "is_concat_null_yields_null_on": false, "is_numeric_roundabort_on": false,
				"is_quoted_identifier_on": false, "is_recursive_triggers_on": false, "is_cursor_close_on_commit_on": false,
				"is_local_cursor_default": false, "is_fulltext_enabled": false, "is_trustworthy_on": db.ID == storage.MSDBID, "is_db_chaining_on": false,
				"is_parameterization_forced": false, "is_query_store_on": false, "log_reuse_wait": 0, "log_reuse_wait_desc": "NOTHING",
				"is_cdc_enabled": p.CDCEnabled, "is_encrypted": false, "is_honor_broker_priority_on": false, "resource_pool_id": nil,
				"containment": 0, "containment_desc": "NONE", "target_recovery_time_in_seconds": 60, "delayed_durability": 0,
				"delayed_durability_desc": "DISABLED", "is_memory_optimized_elevate_to_snapshot_on": false, "is_federation_member": false,
				"is_remote_data_archive_enabled": false, "is_mixed_page_allocation_on": false, "is_temporal_history_retention_enabled": true,
				"catalog_collation_type": 0, "catalog_collation_type_desc": "DATABASE_DEFAULT", "physical_database_name": db.Name(),
				"is_result_set_caching_on": false, "is_accelerated_database_recovery_on": false, "is_tempdb_spill_to_remote_store": false,
				"is_stale_page_detection_on": false, "is_memory_optimized_enabled": true,
			}
			if p.Offline {
				row["state"], row["state_desc"] = 6, "OFFLINE"
			}
			if p.SingleUser {
				row["user_access"], row["user_access_desc"] = 1, "SINGLE_USER"
			}
			if !yield(row) {
				return
			}
		}
	}
}

func (s *source) sysdatabases() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for db := range s.eachDatabase {
			if !yield(sysrow.Row{
				"name": db.Name(), "dbid": db.ID, "sid": db.Props().OwnerSID, "mode": 0, "status": 65536, "status2": 1090520064, "crdate": db.CreateDate,
				"category": 0, "cmptlevel": db.Props().CompatLevel, "filename": db.Name() + ".mdf", "version": 957,
			}) {
				return
			}
		}
	}
}

// files yields a data and a log file for each database, or for the current one; the column list decides which it is.
func (s *source) files() iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for i, kind := range []string{"ROWS", "LOG"} {
			suffix := []string{"", "_log"}[i]
			if !yield(sysrow.Row{
				"database_id": s.db.ID, "file_id": i + 1, "type": i, "type_desc": kind, "data_space_id": 1 - i, "name": s.db.Name() + suffix,
				"physical_name": s.db.Name() + suffix + []string{".mdf", ".ldf"}[i], "state": 0, "state_desc": "ONLINE", "size": 1024, "max_size": -1,
				"growth": 8192,
			}) {
				return
			}
		}
	}
}
