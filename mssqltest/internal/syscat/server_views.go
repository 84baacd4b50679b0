package syscat

import (
	"iter"
	"sync"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// serverViews registers what describes the server itself.
func (r registrar) serverViews() {
	r.view("sys", "configurations", configurationColumns, r.config.rows)
	r.view("sys", "dm_server_services", serviceColumns, (*source).services)
	r.view("sys", "dm_os_sys_info", osSysInfoColumns, (*source).sysInfo)
	r.view("sys", "dm_os_host_info", osHostColumns, func(*source) iter.Seq[sysrow.Row] {
		return rowsOf(sysrow.Row{"host_platform": "Linux", "host_distribution": "mssqltest", "host_release": "1", "os_language_version": 1033, "host_architecture": "X64"})
	})
	r.view("sys", "servers", serverColumns, func(s *source) iter.Seq[sysrow.Row] {
		return rowsOf(sysrow.Row{"name": s.c.Instance().ServerName, "product": "SQL Server", "provider": "SQLNCLI", "data_source": s.c.Instance().ServerName})
	})
	r.view("sys", "syslanguages", languageColumns, func(*source) iter.Seq[sysrow.Row] {
		return rowsOf(sysrow.Row{"dateformat": "mdy", "datefirst": 7, "name": "us_english", "alias": "English", "lcid": 1033, "msglangid": 1033})
	})
	r.view("sys", "time_zone_info", timeZoneColumns, (*source).timeZones)
	r.empty("sys", "dm_hadr_database_replica_states", replicaStateColumns)
	r.empty("sys", "dm_os_wait_stats", osWaitColumns)
	r.empty("sys", "dm_os_performance_counters", osCounterColumns)
	r.empty("sys", "messages", serverMessageColumns)
	r.empty("sys", "change_tracking_tables", `object_id int, is_track_columns_updated_on bit, min_valid_version bigint?, begin_version bigint?, cleanup_version bigint?`)
	r.empty("sys", "change_tracking_databases", `database_id int, is_auto_cleanup_on tinyint?, retention_period int?, retention_period_units tinyint?`)
	r.empty("sys", "security_policies", objectColumns+`, is_enabled bit, is_not_for_replication bit, uses_database_collation bit?, is_schema_bound bit`)
	r.empty("sys", "security_predicates", `object_id int, security_predicate_id int, target_object_id int, predicate_definition nvarchar(max)?, predicate_type int?, predicate_type_desc nvarchar(60)?, operation int?, operation_desc nvarchar(60)?`)
	r.empty("sys", "partition_schemes", `name sysname, data_space_id int, type char(2), type_desc nvarchar(60)?, is_default bit?, is_system bit?, function_id int`)
	r.view("sys", "sequences", sequenceColumns, (*source).sequences)
	r.empty("sys", "periods", `name sysname, period_type tinyint?, period_type_desc nvarchar(60)?, object_id int, start_column_id int, end_column_id int`)
}

const (
	serverColumns   = `server_id int, name sysname, product sysname, provider sysname, data_source nvarchar(4000)?, is_linked bit`
	languageColumns = `langid smallint, dateformat nchar(3), datefirst tinyint, upgrade int?, name sysname, alias sysname, lcid int, msglangid smallint`
	timeZoneColumns = `name sysname, current_utc_offset nvarchar(6), is_currently_dst bit`
)

func (s *source) services() iter.Seq[sysrow.Row] {
	started := s.c.Instance().Storage.Started()
	service := func(name string) sysrow.Row {
		return sysrow.Row{
			"servicename": name, "startup_type": 2, "startup_type_desc": "Automatic", "status": 4, "status_desc": "Running", "process_id": 1,
			"last_startup_time": started, "service_account": "mssqltest", "is_clustered": "N",
		}
	}
	agent := service("SQL Server Agent (MSSQLSERVER)")
	if !s.c.Instance().Storage.Agent() {
		agent["status"], agent["status_desc"], agent["process_id"] = 1, "Stopped", nil
	}
	return rowsOf(service("SQL Server (MSSQLSERVER)"), agent)
}

func (s *source) sysInfo() iter.Seq[sysrow.Row] {
	started := s.c.Instance().Storage.Started()
	return rowsOf(sysrow.Row{
		"ms_ticks": time.Since(started).Milliseconds(), "cpu_count": 2, "hyperthread_ratio": 1, "physical_memory_kb": 4 << 20, "scheduler_count": 2,
		"max_workers_count": 512, "sqlserver_start_time": started,
	})
}

func (s *source) timeZones() iter.Seq[sysrow.Row] {
	now := time.Now().In(s.c.Instance().Storage.Location())
	if zoneID(now.Location()) == "UTC" {
		return rowsOf(sysrow.Row{"name": "UTC", "current_utc_offset": "+00:00"})
	}
	return rowsOf(
		sysrow.Row{"name": "UTC", "current_utc_offset": "+00:00"},
		sysrow.Row{"name": zoneID(now.Location()), "current_utc_offset": now.Format("-07:00"), "is_currently_dst": now.IsDST()},
	)
}

// option is a row of sys.configurations.
type option struct {
	id                   int
	name                 string
	value, running       int64
	lowest, highest      int64
	description          string
	dynamic, advancedOpt bool
}

// configuration is the settings of sp_configure. They are kept and shown; "max text repl size (B)" also limits what may be
// written to captured columns.
type configuration struct {
	mu      sync.Mutex
	options []option
}

const maxTextReplSize = "max text repl size (B)"

func newConfiguration() *configuration {
	return &configuration{options: []option{
		{101, "recovery interval (min)", 0, 0, 0, 32767, "Maximum recovery interval in minutes", true, true},
		{103, "user connections", 0, 0, 0, 32767, "Number of user connections allowed", false, true},
		{115, "nested triggers", 1, 1, 0, 1, "Allow triggers to be invoked within triggers", true, false},
		{124, "default language", 0, 0, 0, 9999, "default language", true, false},
		{505, "network packet size (B)", 4096, 4096, 512, 32767, "Network packet size", true, true},
		{518, "show advanced options", 0, 0, 0, 1, "show advanced options", true, false},
		{1536, maxTextReplSize, 65536, 65536, -1, maxBytes, "Maximum size of a text field in replication.", true, false},
		{1539, "max degree of parallelism", 0, 0, 0, 32767, "maximum degree of parallelism", true, true},
		{1544, "max server memory (MB)", maxBytes, maxBytes, 128, maxBytes, "Maximum size of server memory (MB)", true, true},
		{1562, "clr enabled", 0, 0, 0, 1, "CLR user code execution enabled in the server", true, false},
		{1568, "default trace enabled", 1, 1, 0, 1, "Enable or disable the default trace", true, true},
		{16384, "Agent XPs", 1, 1, 0, 1, "Enable or disable Agent XPs", true, true},
		{16390, "xp_cmdshell", 0, 0, 0, 1, "Enable or disable command shell", true, true},
	}}
}

// list copies the options.
func (c *configuration) list() []option {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]option(nil), c.options...)
}

// set gives an option a value, which RECONFIGURE need not confirm here; ok is false for an unknown or forbidden one.
func (c *configuration) set(name string, value int64) (old int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.options {
		o := &c.options[i]
		if o.name != name || value < o.lowest || value > o.highest {
			continue
		}
		old, o.value, o.running = o.value, value, value
		return old, true
	}
	return 0, false
}

func (c *configuration) rows(*source) iter.Seq[sysrow.Row] {
	return func(yield func(sysrow.Row) bool) {
		for _, o := range c.list() {
			if !yield(sysrow.Row{
				"configuration_id": o.id, "name": o.name, "value": o.value, "minimum": o.lowest, "maximum": o.highest, "value_in_use": o.running,
				"description": o.description, "is_dynamic": o.dynamic, "is_advanced": o.advancedOpt,
			}) {
				return
			}
		}
	}
}
