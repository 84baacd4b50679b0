package cdc

import (
	"strings"
	"testing"
)

func TestEnableDatabase(t *testing.T) {
	s := newBareServer(t)
	s.exec(`CREATE DATABASE d; CREATE LOGIN joe WITH PASSWORD = 'joe'`)
	s.use("d")
	s.fails(22901, `EXEC sys.sp_cdc_enable_table N'dbo', N't', @role_name = NULL`)
	s.fails(22901, `EXEC sys.sp_cdc_help_change_data_capture`)
	s.exec(`CREATE USER joe FOR LOGIN joe`)
	s.failsAs(s.session("joe", "d"), 22902, `EXEC sys.sp_cdc_enable_db`)
	s.want(`SELECT is_cdc_enabled FROM sys.databases WHERE name = 'd'`, "0")
	s.exec(`EXEC sys.sp_cdc_enable_db`)
	s.want(`SELECT is_cdc_enabled FROM sys.databases WHERE name = 'd'`, "1")
	s.want(`SELECT t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id WHERE s.name = 'cdc' ORDER BY t.name`,
		"captured_columns", "change_tables", "ddl_history", "index_columns", "lsn_time_mapping")
	s.want(`SELECT name, type FROM sys.database_principals WHERE name = 'cdc'`, "cdc|S")
	s.fails(22905, `EXEC sys.sp_cdc_enable_db`)
	s.exec(`EXEC sys.sp_cdc_disable_db`)
	s.want(`SELECT is_cdc_enabled FROM sys.databases WHERE name = 'd'`, "0")
	s.want(`SELECT COUNT(*) FROM sys.schemas WHERE name = 'cdc'`, "0")
	s.exec(`CREATE SCHEMA cdc`)
	s.fails(22906, `EXEC sys.sp_cdc_enable_db`)
	s.use("master")
	s.fails(22911, `EXEC sys.sp_cdc_enable_db`)
}

func TestMetadataTables(t *testing.T) {
	s := newServer(t)
	cols := func(table string) string {
		return strings.Join(s.query(`SELECT c.name, TYPE_NAME(c.user_type_id), c.max_length, c.is_nullable FROM sys.columns c
			WHERE c.object_id = OBJECT_ID('cdc.%s') ORDER BY c.column_id`, table), " ")
	}
	for table, want := range map[string]string{
		"change_tables": "object_id|int|4|0 version|int|4|1 source_object_id|int|4|1 capture_instance|sysname|256|0 start_lsn|binary|10|1 " +
			"end_lsn|binary|10|1 supports_net_changes|bit|1|1 has_drop_pending|bit|1|1 role_name|sysname|256|1 index_name|sysname|256|1 " +
			"filegroup_name|sysname|256|1 create_date|datetime|8|1 partition_switch|bit|1|0",
		"lsn_time_mapping": "start_lsn|binary|10|0 tran_begin_time|datetime|8|1 tran_end_time|datetime|8|1 tran_id|varbinary|10|1 tran_begin_lsn|binary|10|1",
		"index_columns":    "object_id|int|4|0 column_name|sysname|256|0 index_ordinal|tinyint|1|0 column_id|int|4|0",
		"ddl_history": "source_object_id|int|4|1 object_id|int|4|0 required_column_update|bit|1|1 ddl_command|nvarchar|-1|1 ddl_lsn|binary|10|0 " +
			"ddl_time|datetime|8|1",
	} {
		if got := cols(table); got != want {
			t.Errorf("cdc.%s has %s\nwant %s", table, got, want)
		}
	}
}

func TestEnableTableChecks(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, v int NULL, w int NOT NULL)
		CREATE UNIQUE INDEX ux ON dbo.t (w)
		CREATE UNIQUE INDEX un ON dbo.t (v)
		CREATE INDEX ix ON dbo.t (v)
		CREATE TABLE dbo.h (a int, b int)
		CREATE TABLE dbo.r (id int PRIMARY KEY, [__$operation] int)
		CREATE LOGIN joe WITH PASSWORD = 'joe'
		CREATE USER joe FOR LOGIN joe`)
	s.exec(`CREATE VIEW dbo.w AS SELECT id FROM dbo.t`)
	for _, tc := range []struct {
		name  string
		error int32
		args  string
	}{
		{"no role", 201, `N'dbo', N't'`},
		{"no such table", 22931, `N'dbo', N'nix', @role_name = NULL`},
		{"no such schema", 22931, `N'nix', N't', @role_name = NULL`},
		{"table of cdc", 22974, `N'cdc', N'change_tables', @role_name = NULL`},
		{"a view", 22973, `N'dbo', N'w', @role_name = NULL`},
		{"no schema given", 22963, `NULL, N't', @role_name = NULL`},
		{"empty role", 22963, `N'dbo', N't', @role_name = N''`},
		{"long name", 22927, `N'dbo', N't', @role_name = NULL, @capture_instance = N'` + strings.Repeat("x", 101) + `'`},
		{"unknown index", 22928, `N'dbo', N't', @role_name = NULL, @index_name = N'nix'`},
		{"index not unique", 22929, `N'dbo', N't', @role_name = NULL, @index_name = N'ix'`},
		{"nullable index", 22838, `N'dbo', N't', @role_name = NULL, @index_name = N'un'`},
		{"net changes without key", 22939, `N'dbo', N'h', @role_name = NULL, @supports_net_changes = 1`},
		{"unknown column", 22930, `N'dbo', N't', @role_name = NULL, @captured_column_list = N'id, nix'`},
		{"malformed list", 22942, `N'dbo', N't', @role_name = NULL, @captured_column_list = N'id,,v'`},
		{"key not captured", 22943, `N'dbo', N't', @role_name = NULL, @captured_column_list = N'v'`},
		{"reserved column", 22975, `N'dbo', N'r', @role_name = NULL`},
	} {
		t.Run(tc.name, func(t *testing.T) { s.fails(tc.error, `EXEC sys.sp_cdc_enable_table `+tc.args) })
	}
	s.failsAs(s.session("joe", "d"), 22904, `EXEC sys.sp_cdc_enable_table N'dbo', N't', @role_name = NULL`)
	s.want(`SELECT COUNT(*) FROM cdc.change_tables`, "0")
	s.want(`SELECT is_tracked_by_cdc FROM sys.tables WHERE name = 't'`, "0")

	s.enable("t", "")
	s.want(`SELECT is_tracked_by_cdc FROM sys.tables WHERE name = 't'`, "1")
	s.fails(22926, `EXEC sys.sp_cdc_enable_table N'dbo', N't', @role_name = NULL`)
	s.enable("t", ", @capture_instance = N'second  '")
	s.want(`SELECT capture_instance FROM cdc.change_tables ORDER BY object_id`, "dbo_t", "second")
	s.fails(22962, `EXEC sys.sp_cdc_enable_table N'dbo', N't', @role_name = NULL, @capture_instance = N'third'`)
	s.enable("r", ", @captured_column_list = N'id'")
	s.enable("h", ", @capture_instance = N'"+strings.Repeat("y", 100)+"'")
}

// TestChangeTableShape pins columns and clustered index of both kinds of change table.
func TestChangeTableShape(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int IDENTITY NOT NULL PRIMARY KEY, rv rowversion, n nvarchar(20) NOT NULL, c AS id + 1)
		CREATE TABLE dbo.u (id int NOT NULL PRIMARY KEY)`)
	s.enable("t", "")
	const cols = `SELECT name, TYPE_NAME(user_type_id), max_length, is_nullable FROM sys.columns WHERE object_id = OBJECT_ID('cdc.%s') ORDER BY column_id`
	const index = `SELECT i.name, c.name FROM sys.indexes i JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
		JOIN sys.columns c ON c.object_id = i.object_id AND c.column_id = ic.column_id
		WHERE i.object_id = OBJECT_ID('cdc.%s') AND i.type = 1 ORDER BY ic.key_ordinal`
	same := func(sql, table string, want ...string) {
		t.Helper()
		if got := s.query(sql, table); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: got %q, want %q", table, got, want)
		}
	}
	same(cols, "dbo_t_CT", "__$start_lsn|binary|10|0", "__$end_lsn|binary|10|1", "__$seqval|binary|10|0", "__$operation|int|4|0",
		"__$update_mask|varbinary|128|1", "id|int|4|1", "rv|binary|8|1", "n|nvarchar|40|1", "c|int|4|1", "__$command_id|int|4|1")
	same(index, "dbo_t_CT", "dbo_t_CT_clustered_idx|__$start_lsn", "dbo_t_CT_clustered_idx|__$command_id",
		"dbo_t_CT_clustered_idx|__$seqval", "dbo_t_CT_clustered_idx|__$operation")
	s.want(`SELECT column_name, column_ordinal, column_type, is_computed FROM cdc.captured_columns ORDER BY column_ordinal`,
		"id|1|int|0", "rv|2|timestamp|0", "n|3|nvarchar|0", "c|4|int|1")
	s.want(`SELECT column_name, index_ordinal FROM cdc.index_columns`, "id|1")

	s.m.Configure(s.db, Options{WithoutCommandID: true})
	s.enable("u", "")
	same(cols, "dbo_u_CT", "__$start_lsn|binary|10|0", "__$end_lsn|binary|10|1", "__$seqval|binary|10|0", "__$operation|int|4|0",
		"__$update_mask|varbinary|128|1", "id|int|4|1")
	same(index, "dbo_u_CT", "dbo_u_CT_clustered_idx|__$start_lsn", "dbo_u_CT_clustered_idx|__$seqval", "dbo_u_CT_clustered_idx|__$operation")
	s.exec(`INSERT dbo.u VALUES (1); UPDATE dbo.u SET id = 2`)
	s.scan()
	s.want(`SELECT __$operation, id FROM cdc.dbo_u_CT ORDER BY __$start_lsn, __$seqval, __$operation`, "2|1", "1|1", "2|2")
}

// TestOddNames is a table whose names hold quotes, brackets, dots and non-ASCII letters (DBZ-9091, DBZ-7463 and others).
func TestOddNames(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE SCHEMA [my schema]`)
	s.exec(`CREATE TABLE [my schema].[Or'der ]]$1.x]([my col$a] int PRIMARY KEY, [a]]b] int, [名前] nvarchar(10), [select] int)`)
	s.exec(`EXEC sys.sp_cdc_enable_table N'my schema', N'Or''der ]$1.x', @capture_instance = N'i ]''1', @role_name = NULL`)
	s.scan()
	s.exec(`INSERT [my schema].[Or'der ]]$1.x] VALUES (1, 2, N'太郎', 3)`)
	s.scan()
	s.want(`SELECT [my col$a], [a]]b], [名前], [select] FROM cdc.[i ]]'1_CT]`, "1|2|太郎|3")
	s.want(`DECLARE @f binary(10) = sys.fn_cdc_get_min_lsn(N'i ]''1'), @t binary(10) = sys.fn_cdc_get_max_lsn()
		SELECT __$operation, [名前] FROM cdc.[fn_cdc_get_all_changes_i ]]'1](@f, @t, N'all')`, "2|太郎")
	rows := s.query(`EXEC sys.sp_cdc_help_change_data_capture N'my schema', N'Or''der ]$1.x'`)
	if len(rows) != 1 || !strings.HasSuffix(rows[0], "|[my col$a]|[my col$a], [a]]b], [名前], [select]") {
		t.Errorf("sp_cdc_help_change_data_capture gives %q", rows)
	}
}

// TestCaseSensitiveDatabase has two tables whose names differ in case only (DBZ-1051).
func TestCaseSensitiveDatabase(t *testing.T) {
	s := newBareServer(t)
	s.exec(`CREATE DATABASE cs COLLATE SQL_Latin1_General_CP1_CS_AS`)
	s.use("cs")
	s.exec(`EXEC sys.sp_cdc_enable_db`)
	s.exec(`CREATE TABLE dbo.T (id int PRIMARY KEY); CREATE TABLE dbo.t (id int PRIMARY KEY)`)
	s.enable("T", "")
	s.enable("t", "")
	s.exec(`INSERT dbo.T VALUES (1); INSERT dbo.t VALUES (2)`)
	s.scan()
	s.want(`SELECT id FROM cdc.[dbo_T_CT]`, "1")
	s.want(`SELECT id FROM cdc.[dbo_t_CT]`, "2")
	s.want(`SELECT name FROM sys.tables WHERE name = N'T'`, "T")
}

// TestTurkishDatabase: the letters I and i are two letters there, and names of the server keep their documented case.
func TestTurkishDatabase(t *testing.T) {
	s := newBareServer(t)
	s.exec(`CREATE DATABASE tr COLLATE Turkish_CI_AS`)
	s.use("tr")
	s.exec(`EXEC sys.sp_cdc_enable_db`)
	s.exec(`CREATE TABLE dbo.INFO (ID int PRIMARY KEY, Title nvarchar(10))`)
	s.enable("INFO", "")
	s.exec(`INSERT dbo.INFO VALUES (1, N'ış')`)
	s.scan()
	s.want(`SELECT ID, Title FROM cdc.dbo_INFO_CT`, "1|ış")
	s.want(`SELECT __$operation, ID FROM cdc.fn_cdc_get_all_changes_dbo_INFO(sys.fn_cdc_get_min_lsn(N'dbo_INFO'), sys.fn_cdc_get_max_lsn(), N'all')`, "2|1")
	s.want(`SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = N'dbo'`, "INFO")
	s.want(`SELECT CASE WHEN OBJECT_ID(N'dbo.info') IS NULL THEN 1 ELSE 0 END`, "1")
}

func TestDisable(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.enable("b", "")
	s.fails(22960, `EXEC sys.sp_cdc_disable_table N'dbo', N'a', N'nix'`)
	s.fails(22931, `EXEC sys.sp_cdc_disable_table N'dbo', N'nix', N'all'`)
	// An open snapshot does not hold the procedure up (DBZ-1285).
	reader := s.session("sa", "d")
	s.queryAs(reader, `SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM cdc.dbo_b_CT`)
	s.exec(`EXEC sys.sp_cdc_disable_table N'dbo', N'a', N'all'`)
	s.want(`SELECT capture_instance FROM cdc.change_tables`, "dbo_b")
	s.want(`SELECT is_tracked_by_cdc FROM sys.tables WHERE name IN ('a', 'b') ORDER BY name`, "0", "1")
	s.fails(208, `SELECT * FROM cdc.dbo_a_CT`)
	s.fails(208, `SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_a(0x00000000000000000001, sys.fn_cdc_get_max_lsn(), N'all')`)
	s.exec(`INSERT dbo.a VALUES (1); INSERT dbo.b VALUES (1)`)
	s.scan()
	s.want(`SELECT id FROM cdc.dbo_b_CT`, "1")
	s.want(`SELECT COUNT(*) FROM cdc.captured_columns`, "1")
}
