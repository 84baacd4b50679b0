package syscat

import (
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/sysrow"
)

// TestEveryView reads each registered view and compares its rows with its column list: a cell without a column would
// never be seen.
func TestEveryView(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (id int IDENTITY CONSTRAINT pk_p PRIMARY KEY, v nvarchar(10) NOT NULL CONSTRAINT df_v DEFAULT N'x', c AS id + 1,
		CONSTRAINT ck CHECK (id > 0), CONSTRAINT uq UNIQUE (v))
		CREATE TABLE dbo.f (p int CONSTRAINT fk REFERENCES dbo.p (id) ON DELETE CASCADE)`)
	s.exec(`CREATE VIEW dbo.w AS SELECT id, v FROM dbo.p`)
	s.exec(`CREATE PROCEDURE dbo.pr AS SELECT 1`)
	for _, v := range s.in.Registry.Views() {
		name := v.Schema + "." + v.Name
		db := ""
		if v.InMaster {
			db = "master."
		}
		t.Run(name, func(t *testing.T) {
			r := s.run(s.s, `SELECT * FROM `+db+name)
			if len(r.errs) > 0 {
				t.Fatalf("%v", r.errs[0])
			}
			if len(r.cols) != len(v.Columns) {
				t.Errorf("%d columns, want %d", len(r.cols), len(v.Columns))
			}
		})
	}
}

// TestRowsHaveColumns catches cells whose names no column has.
func TestRowsHaveColumns(t *testing.T) {
	cols := map[string]bool{}
	for _, c := range sysrow.Columns(columnColumns) {
		cols[c.Name] = true
	}
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (id int IDENTITY PRIMARY KEY, v nvarchar(10))`)
	src := &source{c: &exec.Context{Session: s.s, DB: s.s.Database()}, db: s.s.Database(), cat: s.s.Database()}
	src.who = viewerOf(src.c, src.db)
	for row := range src.columns() {
		for name := range row {
			if !cols[name] {
				t.Errorf("sys.columns has no column %s", name)
			}
		}
	}
}

func TestColumnsView(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int IDENTITY(10, 5) NOT NULL CONSTRAINT pk_t PRIMARY KEY, n nvarchar(20) NULL, m varchar(max),
		d decimal(10, 2) NOT NULL CONSTRAINT df_d DEFAULT ((1.5)), t2 datetime2(3), rv rowversion, x AS id * 2, g uniqueidentifier, s sysname,
		c char(5) COLLATE Latin1_General_BIN2)`)
	s.want(`SELECT name, column_id, system_type_id, user_type_id, max_length, precision, scale, CASE is_computed WHEN 0 THEN is_nullable END, is_identity, is_computed, collation_name
		FROM sys.columns WHERE object_id = OBJECT_ID('dbo.t') ORDER BY column_id`,
		"id|1|56|56|4|10|0|0|1|0|NULL", "n|2|231|231|40|0|0|1|0|0|SQL_Latin1_General_CP1_CI_AS", "m|3|167|167|-1|0|0|1|0|0|SQL_Latin1_General_CP1_CI_AS",
		"d|4|106|106|9|10|2|0|0|0|NULL", "t2|5|42|42|7|23|3|1|0|0|NULL", "rv|6|189|189|8|0|0|0|0|0|NULL", "x|7|56|56|4|10|0|NULL|0|1|NULL",
		"g|8|36|36|16|0|0|1|0|0|NULL", "s|9|231|256|256|0|0|0|0|0|SQL_Latin1_General_CP1_CI_AS", "c|10|175|175|5|0|0|1|0|0|Latin1_General_BIN2")
	s.want(`SELECT name, seed_value, increment_value, last_value FROM sys.identity_columns`, "id|10|5|NULL")
	s.want(`SELECT name, is_persisted FROM sys.computed_columns WHERE definition LIKE '%id%*%2%'`, "x|0")
	s.want(`SELECT name, definition, parent_column_id FROM sys.default_constraints`, "df_d|((1.5))|4")
	s.want(`SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, IS_NULLABLE, COLUMN_DEFAULT
		FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 't' AND ORDINAL_POSITION <= 5 ORDER BY ORDINAL_POSITION`,
		"id|int|NULL|NULL|10|0|NULL|NO|NULL", "n|nvarchar|20|40|NULL|NULL|NULL|YES|NULL", "m|varchar|-1|-1|NULL|NULL|NULL|YES|NULL",
		"d|decimal|NULL|NULL|10|2|NULL|NO|((1.5))", "t2|datetime2|NULL|NULL|NULL|NULL|3|YES|NULL")
	s.want(`SELECT TYPE_NAME(system_type_id) AS system_type_name FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.t') AND name = 'rv'`, "timestamp")
	s.want(`SELECT CASE WHEN EXISTS (SELECT TOP 1 * FROM sys.all_columns WHERE [object_id] = OBJECT_ID('sys.all_columns') AND [name] = 'graph_type') THEN 1 ELSE 0 END`, "1")
}

func TestKeysAndIndexes(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.p (a int NOT NULL, b int NOT NULL, c int, CONSTRAINT pk_p PRIMARY KEY (b, a DESC), CONSTRAINT uq UNIQUE (c))
		CREATE INDEX ix ON dbo.p (c) INCLUDE (a)
		CREATE TABLE dbo.f (x int, y int, CONSTRAINT fk FOREIGN KEY (x, y) REFERENCES dbo.p (b, a) ON DELETE CASCADE, CONSTRAINT ck CHECK (x > 0))
		INSERT dbo.p VALUES (1, 1, 1), (2, 2, 2)`)
	s.want(`SELECT i.name, i.index_id, i.type_desc, i.is_unique, i.is_primary_key, i.is_unique_constraint FROM sys.indexes i
		JOIN sys.tables t ON t.object_id = i.object_id ORDER BY t.name, i.index_id`,
		"NULL|0|HEAP|0|0|0", "pk_p|1|CLUSTERED|1|1|0", "uq|2|NONCLUSTERED|1|0|1", "ix|3|NONCLUSTERED|0|0|0")
	s.want(`SELECT ic.index_id, ic.key_ordinal, c.name, ic.is_descending_key, ic.is_included_column FROM sys.index_columns ic JOIN sys.columns c
		ON c.object_id = ic.object_id AND c.column_id = ic.column_id WHERE ic.object_id = OBJECT_ID('p') ORDER BY ic.index_id, ic.index_column_id`,
		"1|1|b|0|0", "1|2|a|1|0", "2|1|c|0|0", "3|1|c|0|0", "3|0|a|0|1")
	s.want(`SELECT name, type, OBJECT_NAME(parent_object_id), unique_index_id FROM sys.key_constraints ORDER BY name`, "pk_p|PK|p|1", "uq|UQ|p|2")
	s.want(`SELECT name, delete_referential_action_desc, update_referential_action_desc FROM sys.foreign_keys`, "fk|CASCADE|NO_ACTION")
	s.want(`SELECT constraint_column_id, COL_NAME(parent_object_id, parent_column_id), COL_NAME(referenced_object_id, referenced_column_id)
		FROM sys.foreign_key_columns ORDER BY 1`, "1|x|b", "2|y|a")
	s.want(`SELECT name, OBJECT_NAME(parent_object_id) FROM sys.check_constraints`, "ck|f")
	s.want(`SELECT SUM(row_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('dbo.p') AND index_id IN (0, 1)`, "2")
	s.want(`SELECT rows FROM sys.partitions WHERE object_id = OBJECT_ID('dbo.p') AND index_id = 1`, "2")
	s.want(`SELECT CONSTRAINT_NAME, CONSTRAINT_TYPE FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS ORDER BY 1`, "ck|CHECK", "fk|FOREIGN KEY", "pk_p|PRIMARY KEY", "uq|UNIQUE")
	s.want(`SELECT COLUMN_NAME, ORDINAL_POSITION FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE WHERE CONSTRAINT_NAME = 'pk_p' ORDER BY 2`, "b|1", "a|2")
}

func TestDatabasesView(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE DATABASE e COLLATE Latin1_General_CS_AS; ALTER DATABASE e SET ALLOW_SNAPSHOT_ISOLATION ON; ALTER DATABASE e SET READ_COMMITTED_SNAPSHOT ON`)
	s.want(`SELECT name, database_id FROM sys.databases ORDER BY database_id`, "master|1", "tempdb|2", "model|3", "msdb|4", "d|5", "e|6")
	s.want(`SELECT collation_name, snapshot_isolation_state, is_read_committed_snapshot_on, is_cdc_enabled, compatibility_level, state_desc
		FROM sys.databases WHERE name IN ('d', 'e') ORDER BY name`, "SQL_Latin1_General_CP1_CI_AS|0|0|0|160|ONLINE", "Latin1_General_CS_AS|1|1|0|160|ONLINE")
	s.want(`SELECT name FROM master.dbo.sysdatabases WHERE dbid = 5`, "d")
	s.want(`SELECT name FROM sys.databases WHERE name = N'D'`, "d")
}

// TestCaseSensitiveNames compares catalog names as the database's collation does.
func TestCaseSensitiveNames(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE DATABASE cs COLLATE Latin1_General_CS_AS`)
	if err := s.s.SetDatabase("cs"); err != nil {
		t.Fatal(err)
	}
	s.exec(`CREATE TABLE dbo.T (id int); CREATE TABLE dbo.t (id int)`)
	s.want(`SELECT name FROM sys.tables WHERE name = N'T'`, "T")
	s.want(`SELECT CASE WHEN OBJECT_ID('dbo.T') = OBJECT_ID('dbo.t') THEN 1 ELSE 0 END`, "0")
}

func TestMetadataVisibility(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int); CREATE TABLE dbo.b (id int)
		CREATE LOGIN joe WITH PASSWORD = 'x'; CREATE USER joe FOR LOGIN joe; GRANT SELECT ON dbo.a TO joe`)
	joe := s.session("joe", "d")
	if got := s.queryAs(joe, `SELECT name FROM sys.tables`); strings.Join(got, " ") != "a" {
		t.Errorf("joe sees %q, want a", got)
	}
	if got := s.queryAs(joe, `SELECT OBJECT_ID('dbo.b')`); got[0] != "NULL" {
		t.Errorf("joe sees the id of dbo.b: %q", got)
	}
	for _, tc := range []struct{ call, want string }{
		{`HAS_PERMS_BY_NAME('dbo.a', 'OBJECT', 'SELECT')`, "1"}, {`HAS_PERMS_BY_NAME('dbo.b', 'OBJECT', 'SELECT')`, "0"},
		{`HAS_PERMS_BY_NAME('dbo.nix', 'OBJECT', 'SELECT')`, "NULL"}, {`HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')`, "0"},
		{`HAS_PERMS_BY_NAME('d', 'DATABASE', 'VIEW DATABASE STATE')`, "0"}, {`IS_SRVROLEMEMBER('sysadmin')`, "0"}, {`IS_MEMBER('db_owner')`, "0"},
		{`IS_MEMBER('nix')`, "NULL"}, {`IS_ROLEMEMBER('db_datareader')`, "0"}, {`USER_NAME()`, "joe"}, {`SUSER_SNAME()`, "joe"},
	} {
		if got := s.queryAs(joe, `SELECT `+tc.call); len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s = %q, want %s", tc.call, got, tc.want)
		}
	}
	s.want(`SELECT HAS_PERMS_BY_NAME('dbo.b', 'OBJECT', 'SELECT'), IS_SRVROLEMEMBER('sysadmin'), IS_MEMBER('db_owner'), USER_NAME()`, "1|1|1|dbo")
}

func TestSessionsAndLocks(t *testing.T) {
	s := newServer(t)
	s.want(`SELECT login_name, program_name, host_name, DB_NAME(database_id) FROM sys.dm_exec_sessions WHERE session_id = @@SPID`, "sa|test|here|d")
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.exec(`BEGIN TRAN; INSERT dbo.a VALUES (1)`)
	s.want(`SELECT DISTINCT resource_type, request_mode FROM sys.dm_tran_locks WHERE request_session_id = @@SPID AND resource_associated_entity_id = OBJECT_ID('dbo.a') ORDER BY 1`,
		"KEY|X", "OBJECT|IX")
	s.exec(`ROLLBACK`)
	s.want(`SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'KEY'`, "0")
	s.want(`SELECT CASE WHEN dss.[status] = 4 THEN 1 ELSE 0 END AS isRunning FROM sys.dm_server_services dss WHERE dss.[servicename] LIKE N'SQL Server Agent (%'`, "1")
	s.want(`SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states`, "0")
}
