package syscat

// The column lists of the server-wide views and of the dynamic management views (Microsoft Learn, "System Dynamic
// Management Views"), as far as clients read them.
const (
	configurationColumns = `configuration_id int, name nvarchar(35), value sql_variant?, minimum sql_variant?, maximum sql_variant?,
		value_in_use sql_variant?, description nvarchar(255), is_dynamic bit, is_advanced bit`
	serverPrincipalColumns = `name sysname, principal_id int, sid varbinary(85)?, type char(1), type_desc nvarchar(60)?, is_disabled bit?,
		create_date datetime, modify_date datetime, default_database_name sysname?, default_language_name sysname?, credential_id int?,
		owning_principal_id int?, is_fixed_role bit`
	serverRoleMemberColumns = `role_principal_id int, member_principal_id int`
	sessionColumns          = `session_id smallint, login_time datetime, host_name nvarchar(128)?, program_name nvarchar(128)?, host_process_id int?,
		client_version int?, client_interface_name nvarchar(32)?, security_id varbinary(85), login_name nvarchar(128), nt_domain nvarchar(128)?,
		nt_user_name nvarchar(128)?, status nvarchar(30), context_info varbinary(128)?, cpu_time int, memory_usage int,
		total_scheduled_time int, total_elapsed_time int, endpoint_id int, last_request_start_time datetime, last_request_end_time datetime?,
		reads bigint, writes bigint, logical_reads bigint, is_user_process bit, text_size int, language nvarchar(128)?, date_format nvarchar(3)?,
		date_first smallint, quoted_identifier bit, arithabort bit, ansi_null_dflt_on bit, ansi_defaults bit, ansi_warnings bit,
		ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, transaction_isolation_level smallint, lock_timeout int,
		deadlock_priority int, row_count bigint, prev_error int, original_security_id varbinary(85), original_login_name nvarchar(128),
		last_successful_logon datetime?, last_unsuccessful_logon datetime?, unsuccessful_logons bigint?, group_id int, database_id smallint,
		authenticating_database_id int?, open_transaction_count int`
	connectionColumns = `session_id int?, most_recent_session_id int?, connect_time datetime, net_transport nvarchar(40), protocol_type nvarchar(40)?,
		protocol_version int?, endpoint_id int?, encrypt_option nvarchar(40), auth_scheme nvarchar(40), node_affinity smallint,
		num_reads int?, num_writes int?, last_read datetime?, last_write datetime?, net_packet_size int?, client_net_address varchar(48)?,
		client_tcp_port int?, local_net_address varchar(48)?, local_tcp_port int?, connection_id uniqueidentifier,
		parent_connection_id uniqueidentifier?`
	requestColumns = `session_id smallint, request_id int, start_time datetime, status nvarchar(30), command nvarchar(32), sql_handle varbinary(64)?,
		statement_start_offset int?, statement_end_offset int?, plan_handle varbinary(64)?, database_id smallint, user_id int,
		connection_id uniqueidentifier?, blocking_session_id smallint?, wait_type nvarchar(60)?, wait_time int, last_wait_type nvarchar(60),
		wait_resource nvarchar(256), open_transaction_count int, open_resultset_count int, transaction_id bigint, percent_complete real,
		estimated_completion_time bigint, cpu_time int, total_elapsed_time int, reads bigint, writes bigint, logical_reads bigint,
		row_count bigint, transaction_isolation_level smallint, lock_timeout int`
	lockColumns = `resource_type nvarchar(60), resource_subtype nvarchar(60), resource_database_id int, resource_description nvarchar(256),
		resource_associated_entity_id bigint?, resource_lock_partition int, request_mode nvarchar(60), request_type nvarchar(60),
		request_status nvarchar(60), request_reference_count smallint, request_lifetime int, request_session_id int,
		request_exec_context_id int, request_request_id int, request_owner_type nvarchar(60), request_owner_id bigint?`
	transactionColumns = `transaction_id bigint, name nvarchar(32), transaction_begin_time datetime, transaction_type int,
		transaction_uow uniqueidentifier?, transaction_state int, transaction_status int, transaction_status2 int, dtc_state int,
		dtc_status int, dtc_isolation_level int`
	sessionTransactionColumns = `session_id int, transaction_id bigint, transaction_descriptor binary(8), enlist_count int, is_user_transaction bit,
		is_local bit, is_enlisted bit, is_bound bit, open_transaction_count int`
	serviceColumns = `servicename nvarchar(256), startup_type int?, startup_type_desc nvarchar(256), status int?, status_desc nvarchar(256),
		process_id int?, last_startup_time datetimeoffset(7)?, service_account nvarchar(256), filename nvarchar(256), is_clustered nvarchar(1),
		cluster_nodename nvarchar(256)?, instant_file_initialization_enabled nvarchar(1)`
	replicaStateColumns = `database_id int, group_id uniqueidentifier, replica_id uniqueidentifier, group_database_id uniqueidentifier, is_local bit?,
		is_primary_replica bit?, synchronization_state tinyint?, synchronization_state_desc nvarchar(60)?, is_commit_participant bit?,
		synchronization_health tinyint?, synchronization_health_desc nvarchar(60)?, database_state tinyint?, database_state_desc nvarchar(60)?,
		is_suspended bit?, suspend_reason tinyint?, suspend_reason_desc nvarchar(60)?, last_sent_time datetime?, last_received_time datetime?,
		last_hardened_time datetime?, last_redone_time datetime?, log_send_queue_size bigint?, log_send_rate bigint?, redo_queue_size bigint?,
		redo_rate bigint?, last_commit_time datetime?, secondary_lag_seconds bigint?`
	osSysInfoColumns = `cpu_ticks bigint, ms_ticks bigint, cpu_count int, hyperthread_ratio int, physical_memory_kb bigint,
		virtual_memory_kb bigint, committed_kb bigint, committed_target_kb bigint, max_workers_count int, scheduler_count int,
		sqlserver_start_time_ms_ticks bigint, sqlserver_start_time datetime`
	osHostColumns        = `host_platform nvarchar(256), host_distribution nvarchar(256), host_release nvarchar(256), host_service_pack_level nvarchar(256), host_sku int?, os_language_version int, host_architecture nvarchar(256)`
	osWaitColumns        = `wait_type nvarchar(60), waiting_tasks_count bigint, wait_time_ms bigint, max_wait_time_ms bigint, signal_wait_time_ms bigint`
	osCounterColumns     = `object_name nchar(128), counter_name nchar(128), instance_name nchar(128)?, cntr_value bigint, cntr_type int`
	fileColumns          = `file_id int, file_guid uniqueidentifier?, type tinyint, type_desc nvarchar(60)?, data_space_id int, name sysname, physical_name nvarchar(260)?, state tinyint?, state_desc nvarchar(60)?, size int, max_size int, growth int, is_read_only bit`
	masterFileColumns    = `database_id int, ` + fileColumns
	fullTextColumns      = `fulltext_catalog_id int, name sysname, is_default bit`
	serverMessageColumns = `message_id int, language_id smallint, severity tinyint?, is_event_logged bit, text nvarchar(2048)`
)
