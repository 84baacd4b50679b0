package syscat

import "testing"

func TestNameFunctions(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE SCHEMA [my schema]`)
	s.exec(`CREATE TABLE dbo.t (id int CONSTRAINT pk_t PRIMARY KEY, n nvarchar(20)); CREATE TABLE [my schema].[a.b]]c] (id int)`)
	s.exec(`CREATE VIEW dbo.w AS SELECT id FROM dbo.t`)
	for _, tc := range []struct{ name, call, want string }{
		{"plain", `OBJECT_NAME(OBJECT_ID('t'))`, "t"},
		{"two parts", `OBJECT_NAME(OBJECT_ID(N'[dbo].[t]'))`, "t"},
		{"three parts", `OBJECT_NAME(OBJECT_ID('d.dbo.t'))`, "t"},
		{"empty schema", `OBJECT_NAME(OBJECT_ID('d..t'))`, "t"},
		{"quoted name", `OBJECT_NAME(OBJECT_ID('[my schema].[a.b]]c]'))`, "a.b]c"},
		{"type that fits", `OBJECT_NAME(OBJECT_ID('dbo.w', 'V'))`, "w"},
		{"type that does not fit", `OBJECT_ID('dbo.w', 'U')`, "NULL"},
		{"constraint", `OBJECT_NAME(OBJECT_ID('pk_t', 'PK'))`, "pk_t"},
		{"unknown", `OBJECT_ID('dbo.nix')`, "NULL"},
		{"other database", `OBJECT_ID('master.dbo.t')`, "NULL"},
		{"unknown database", `OBJECT_ID('nix.dbo.t')`, "NULL"},
		{"system view", `OBJECT_SCHEMA_NAME(OBJECT_ID('sys.tables'))`, "sys"},
		{"schema of an object", `OBJECT_SCHEMA_NAME(OBJECT_ID('[my schema].[a.b]]c]'), DB_ID('d'))`, "my schema"},
		{"schema id", `SCHEMA_NAME(SCHEMA_ID('my schema'))`, "my schema"},
		{"default schema", `SCHEMA_NAME()`, "dbo"},
		{"database id", `DB_ID('D')`, "5"},
		{"current database", `DB_NAME()`, "d"},
		{"database name", `DB_NAME(1)`, "master"},
		{"unknown database id", `DB_NAME(99)`, "NULL"},
		{"column", `COL_NAME(OBJECT_ID('t'), 2)`, "n"},
		{"column length", `COL_LENGTH('dbo.t', 'n')`, "40"},
		{"unknown column", `COL_LENGTH('dbo.t', 'x')`, "NULL"},
		{"index column", `INDEX_COL('dbo.t', 1, 1)`, "id"},
		{"type id", `TYPE_ID('sysname')`, "256"},
		{"rowversion", `TYPE_NAME(TYPE_ID('rowversion'))`, "timestamp"},
		{"definition", `OBJECT_DEFINITION(OBJECT_ID('dbo.w'))`, "CREATE VIEW dbo.w AS SELECT id FROM dbo.t"},
		{"column property", `COLUMNPROPERTY(OBJECT_ID('t'), 'n', 'Precision')`, "20"},
		{"column nullable", `COLUMNPROPERTY(OBJECT_ID('t'), 'id', 'AllowsNull')`, "0"},
		{"object property", `OBJECTPROPERTY(OBJECT_ID('t'), 'TableHasPrimaryKey')`, "1"},
		{"index property", `INDEXPROPERTY(OBJECT_ID('t'), 'pk_t', 'IsClustered')`, "1"},
		{"database property", `DATABASEPROPERTYEX('d', 'Updateability')`, "READ_WRITE"},
		{"engine edition", `CAST(SERVERPROPERTY('EngineEdition') AS INT)`, "3"},
		{"server version", `CAST(SERVERPROPERTY('ProductVersion') AS varchar(20))`, "16.0.1000.6"},
		{"server collation", `SERVERPROPERTY('Collation')`, "SQL_Latin1_General_CP1_CI_AS"},
		{"unknown property", `SERVERPROPERTY('nix')`, "NULL"},
		{"transport", `CONNECTIONPROPERTY('net_transport')`, "TCP"},
		{"time zone", `CURRENT_TIMEZONE_ID()`, "UTC"},
	} {
		t.Run(tc.name, func(t *testing.T) { s.want(`SELECT `+tc.call, tc.want) })
	}
}

func TestRename(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int CONSTRAINT pk_t PRIMARY KEY, n int); CREATE INDEX ix ON dbo.t (n)`)
	r := s.run(s.s, `EXEC sp_rename 'dbo.t', 'u'`)
	if len(r.errs) > 0 || len(r.info) != 1 || r.info[0].Number != 15477 {
		t.Errorf("messages of sp_rename: %v %v", r.errs, r.info)
	}
	s.exec(`EXEC sp_rename 'dbo.u.n', 'm', 'COLUMN'; EXEC sp_rename 'dbo.u.ix', 'iy', 'INDEX'; EXEC sp_rename 'pk_t', 'pk_u'`)
	s.want(`SELECT i.name, c.name FROM sys.indexes i JOIN sys.index_columns ic ON ic.object_id = i.object_id AND ic.index_id = i.index_id
		JOIN sys.columns c ON c.object_id = i.object_id AND c.column_id = ic.column_id WHERE i.object_id = OBJECT_ID('u') ORDER BY i.index_id`, "pk_u|id", "iy|m")
	s.fails(15225, `EXEC sp_rename 'dbo.nix', 'x'`)
	s.fails(15248, `EXEC sp_rename 'dbo.u.nix', 'x', 'COLUMN'`)
}
