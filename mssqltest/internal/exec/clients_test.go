package exec

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/value"
)

// cdcTables are tables in the form of those that clients read, with two transactions of one row each.
const cdcTables = `CREATE TABLE t1 (id int PRIMARY KEY, name nvarchar(20) NULL, amt decimal(10,2) NULL)`

const cdcTables2 = `CREATE TABLE cdc.change_tables (object_id int, version int, source_object_id int, capture_instance sysname, start_lsn binary(10), end_lsn binary(10), create_date datetime);
CREATE TABLE cdc.lsn_time_mapping (start_lsn binary(10) NOT NULL PRIMARY KEY, tran_begin_time datetime, tran_end_time datetime, tran_id varbinary(10));
CREATE TABLE cdc.dbo_t1_CT ([__$start_lsn] binary(10) NOT NULL, [__$end_lsn] binary(10), [__$seqval] binary(10) NOT NULL, [__$operation] int NOT NULL, [__$update_mask] varbinary(128), id int, name nvarchar(20), amt decimal(10,2), [__$command_id] int);
CREATE UNIQUE CLUSTERED INDEX dbo_t1_CT_clustered_idx ON cdc.dbo_t1_CT ([__$start_lsn], [__$command_id], [__$seqval], [__$operation]);
INSERT cdc.change_tables VALUES (10, 0, 20, 'dbo_t1', CAST(1 AS binary(10)), NULL, '2024-01-01'), (11, 0, 20, 'dbo_t1_2', CAST(1 AS binary(10)), NULL, '2024-01-02');
INSERT cdc.lsn_time_mapping VALUES (CAST(1 AS binary(10)), '2024-01-01', '2024-01-01', 0x00), (CAST(2 AS binary(10)), '2024-01-01', '2024-01-01', 0x0A), (CAST(3 AS binary(10)), '2024-01-02', '2024-01-02', 0x0B);
INSERT cdc.dbo_t1_CT VALUES (CAST(2 AS binary(10)), NULL, CAST(1 AS binary(10)), 2, 0x07, 1, N'a', 1.5, 1), (CAST(3 AS binary(10)), NULL, CAST(1 AS binary(10)), 3, 0x02, 1, N'a', 1.5, 1), (CAST(3 AS binary(10)), NULL, CAST(1 AS binary(10)), 4, 0x02, 1, N'b', 1.5, 1);`

// TestClientStatements runs what Debezium and the drivers under it send, as far as it needs no system views.
func TestClientStatements(t *testing.T) {
	s := newSession(t)
	check(t, s, []sqlTest{
		{"tables", cdcTables, ""}, {"schema", "CREATE SCHEMA cdc", ""}, {"cdc", cdcTables2, ""},
		{"implicit", "set implicit_transactions on ", ""},
		{"commit", "IF @@TRANCOUNT > 0 COMMIT TRAN", ""},
		{"off", "set implicit_transactions off", ""},
		{"count", "SELECT COUNT(*) FROM [db].cdc.change_tables", "2"},
		{"lock timeout", "SET LOCK_TIMEOUT 10000", ""},
		{"isolation", "set transaction isolation level  repeatable read ; set transaction isolation level  read committed ", ""},
		{"sets of tedious", "set ansi_nulls on\nset ansi_null_dflt_on on\nset ansi_padding on\nset ansi_warnings on\nset arithabort on\nset concat_null_yields_null on\nset datefirst 7\nset dateformat mdy\nset implicit_transactions off\nset language us_english\nset numeric_roundabort off\nset quoted_identifier on\nset textsize 2147483647\nset transaction isolation level read committed\nset xact_abort off", ""},
		{"sets of pymssql", "SET ARITHABORT ON;SET CONCAT_NULL_YIELDS_NULL ON;SET ANSI_NULLS ON;SET ANSI_NULL_DFLT_ON ON;SET ANSI_PADDING ON;SET ANSI_WARNINGS ON;SET CURSOR_CLOSE_ON_COMMIT ON;SET QUOTED_IDENTIFIER ON;SET TEXTSIZE 2147483647;", ""},
		{"fmtonly", "SET FMTONLY ON SELECT * FROM dbo.t1 SET FMTONLY OFF", ""},
		{"top 0", "SELECT TOP 0 * FROM dbo.t1", ""},
		{"minimum", "select min(start_lsn) from [db].cdc.change_tables", "0x00000000000000000001"},
		{"maximum of transactions", "SELECT MAX(start_lsn) FROM [db].cdc.lsn_time_mapping WHERE tran_id <> 0x00", "0x00000000000000000003"},
		{"parse", "SELECT PARSE('2019-02-03' AS date)", "2019-02-03"},
		{"signal", "SELECT TOP 1 id FROM dbo.t1 ORDER BY id DESC", ""},
		{"offset", "SELECT id FROM t1 ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", ""},
		{"columns", "DECLARE @Column_Names NVARCHAR(MAX) = NULL;\nDECLARE @sql NVARCHAR(MAX);\nSET @sql = N'SELECT @CN = COALESCE(@CN + N'', '', N'''') + QUOTENAME([name]) FROM (VALUES (1, N''a''), (2, N''b'')) v([column_id], [name]) WHERE [column_id] > @ObjId';\nSET @sql = @sql + N' ORDER BY [column_id] ASC';\nEXEC sp_executesql @sql, N'@CN NVARCHAR(MAX) OUTPUT, @ObjId INT', @CN = @Column_Names OUTPUT, @ObjId = 0;\nSELECT @Column_Names = COALESCE(@Column_Names, '*');\nSELECT @Column_Names", "[a], [b]"},
		{"fmtonly of a text", "SET FMTONLY ON; EXEC(N'SELECT ' + N'id' + N' FROM [dbo].[t1]'); SET FMTONLY OFF", ""},
	})
	str := func(name, v string) Param {
		return Param{Name: name, Type: nvarcharType(4000, s.db.Collation), Value: value.NewNVarChar(v)}
	}
	raw := func(name string, n byte) Param {
		b := make([]byte, 10)
		b[9] = n
		return Param{Name: name, Type: value.Type{ID: value.VarBinary, Len: 8000}, Value: value.NewVarBinary(b)}
	}
	for _, tt := range []struct {
		name, sql string
		params    []Param
		want      string
	}{
		{"ordered change tables", "WITH ordered_change_tables AS (SELECT ROW_NUMBER() OVER (PARTITION BY ct.source_object_id, ct.start_lsn ORDER BY ct.create_date DESC) AS ct_sequence, ct.* FROM [db].cdc.change_tables AS ct WHERE ct.start_lsn <=  @P0 ) SELECT capture_instance, object_id, start_lsn FROM ordered_change_tables WHERE ct_sequence = 1", []Param{raw("@P0", 5)}, "dbo_t1_2|11|0x00000000000000000001"},
		{"next LSNs", "SELECT MAX(start_lsn) FROM (SELECT TOP ( @P0 + 1) start_lsn FROM [db].cdc.lsn_time_mapping WHERE start_lsn >=  @P1 AND tran_id <> 0x00 ORDER BY start_lsn) as next_lsns", []Param{intParam("@P0", 500), raw("@P1", 2)}, "0x00000000000000000003"},
		{"first LSNs", "SELECT MAX(start_lsn) FROM (SELECT TOP ( @P0 ) start_lsn FROM [db].cdc.lsn_time_mapping WHERE tran_id <> 0x00 ORDER BY start_lsn) as next_lsns", []Param{intParam("@P0", 1)}, "0x00000000000000000002"},
		{"between", "SELECT * FROM [db].cdc.change_tables WHERE start_lsn BETWEEN  @P0 AND  @P1 ", []Param{raw("@P0", 2), raw("@P1", 3)}, ""},
		{"changes", "SELECT cdc_data.[__$start_lsn], cdc_data.[__$seqval], cdc_data.[__$operation], cdc_data.[__$update_mask], [id], [name], [amt], TODATETIMEOFFSET(ltm.tran_begin_time, DATEPART(TZOFFSET, SYSDATETIMEOFFSET())) FROM [db].cdc.[dbo_t1_CT] AS cdc_data LEFT JOIN [db].cdc.lsn_time_mapping ltm ON ltm.start_lsn = cdc_data.[__$start_lsn]  WHERE (([cdc_data].[__$start_lsn] =  @P0 AND [cdc_data].[__$seqval] =  @P1 AND [cdc_data].[__$operation] >  @P2 ) OR ([cdc_data].[__$start_lsn] =  @P3 AND [cdc_data].[__$seqval] >  @P4 ) OR ([cdc_data].[__$start_lsn] >  @P5 )) AND [cdc_data].[__$start_lsn] <=  @P6 ORDER BY cdc_data.[__$start_lsn] ASC, cdc_data.[__$command_id] ASC, cdc_data.[__$seqval] ASC, cdc_data.[__$operation] ASC",
			[]Param{raw("@P0", 2), raw("@P1", 1), intParam("@P2", 2), raw("@P3", 2), raw("@P4", 1), raw("@P5", 2), raw("@P6", 3)},
			"0x00000000000000000003|0x00000000000000000001|3|0x02|1|a|1.50|2024-01-02 00:00:00.000 +00:00\n0x00000000000000000003|0x00000000000000000001|4|0x02|1|b|1.50|2024-01-02 00:00:00.000 +00:00"},
		{"chunk", "SELECT [id], [name] FROM [db].[dbo].[t1] WHERE ([id] >= @P0) AND ([id] < @P1) ORDER BY [id] OPTION(RECOMPILE)", []Param{intParam("@P0", 1), intParam("@P1", 9)}, ""},
		{"insert", "INSERT INTO dbo.t1 VALUES (@P0, @P1, NULL)", []Param{intParam("@P0", 7), str("@P1", "x")}, ""},
	} {
		sink := &textSink{}
		if _, err := s.ExecuteSQL(context.Background(), tt.sql, tt.params, sink); err != nil {
			t.Fatal(err)
		}
		for _, e := range sink.errs {
			t.Errorf("%s: %v", tt.name, e)
		}
		if got := strings.TrimSuffix(sink.b.String(), "\n"); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestColumnsOfJDBC is the batch that mssql-jdbc sends for getColumns, on a procedure that answers as sp_columns_100 does.
func TestColumnsOfJDBC(t *testing.T) {
	in := newInstance(t)
	cols := strings.Split("TABLE_QUALIFIER TABLE_OWNER TABLE_NAME COLUMN_NAME DATA_TYPE TYPE_NAME PRECISION LENGTH SCALE RADIX NULLABLE REMARKS COLUMN_DEF SQL_DATA_TYPE SQL_DATETIME_SUB CHAR_OCTET_LENGTH ORDINAL_POSITION IS_NULLABLE SS_IS_SPARSE SS_IS_COLUMN_SET SS_IS_COMPUTED SS_IS_IDENTITY SS_UDT_CATALOG_NAME SS_UDT_SCHEMA_NAME SS_UDT_ASSEMBLY_TYPE_NAME SS_XML_SCHEMACOLLECTION_CATALOG_NAME SS_XML_SCHEMACOLLECTION_SCHEMA_NAME SS_XML_SCHEMACOLLECTION_NAME SS_DATA_TYPE", " ")
	p := &Proc{Schema: "sys", Name: "sp_columns_100"}
	for range 6 {
		p.Params = append(p.Params, ProcParam{Name: "@p" + string(rune('a'+len(p.Params)))})
	}
	p.Run = func(c *Context, args []value.Value, given []bool) (int32, error) {
		out := make([]Column, len(cols))
		row := make([]value.Value, len(cols))
		for i, n := range cols {
			out[i] = Column{Name: n, Type: sysnameType(nil), Nullable: true}
			row[i] = value.NewNVarChar("1")
		}
		return 0, c.Send(out, [][]value.Value{row})
	}
	in.Registry.AddProc(p)
	s := open(t, in, SessionOptions{})
	sql := `DECLARE @mssqljdbc_temp_sp_columns_result TABLE(TABLE_QUALIFIER SYSNAME, TABLE_OWNER SYSNAME,TABLE_NAME SYSNAME, COLUMN_NAME SYSNAME, DATA_TYPE SMALLINT, TYPE_NAME SYSNAME, PRECISION INT,LENGTH INT, SCALE SMALLINT, RADIX SMALLINT, NULLABLE SMALLINT, REMARKS VARCHAR(254), COLUMN_DEF NVARCHAR(4000),SQL_DATA_TYPE SMALLINT, SQL_DATETIME_SUB SMALLINT, CHAR_OCTET_LENGTH INT, ORDINAL_POSITION INT,IS_NULLABLE VARCHAR(254), SS_IS_SPARSE SMALLINT, SS_IS_COLUMN_SET SMALLINT, SS_IS_COMPUTED SMALLINT,SS_IS_IDENTITY SMALLINT, SS_UDT_CATALOG_NAME NVARCHAR(128), SS_UDT_SCHEMA_NAME NVARCHAR(128),SS_UDT_ASSEMBLY_TYPE_NAME NVARCHAR(max), SS_XML_SCHEMACOLLECTION_CATALOG_NAME NVARCHAR(128),SS_XML_SCHEMACOLLECTION_SCHEMA_NAME NVARCHAR(128), SS_XML_SCHEMACOLLECTION_NAME NVARCHAR(128),SS_DATA_TYPE TINYINT);INSERT INTO @mssqljdbc_temp_sp_columns_result EXEC sp_columns_100  @P0 , @P1 , @P2 , @P3 , @P4 , @P5 ;SELECT TABLE_QUALIFIER AS TABLE_CAT, TABLE_OWNER AS TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, CAST(DATA_TYPE AS INT) AS DATA_TYPE,TYPE_NAME, PRECISION AS COLUMN_SIZE, LENGTH AS BUFFER_LENGTH, NULL AS SCOPE_CATALOG, CAST(NULL AS VARCHAR) AS SCOPE_SCHEMA, SS_DATA_TYPE AS SOURCE_DATA_TYPE,CASE SS_IS_IDENTITY WHEN 0 THEN 'NO' WHEN 1 THEN 'YES' WHEN '' THEN '' END AS IS_AUTOINCREMENT FROM @mssqljdbc_temp_sp_columns_result ORDER BY TABLE_CAT, TABLE_SCHEM, TABLE_NAME, ORDINAL_POSITION;`
	var params []Param
	for i := range 6 {
		params = append(params, Param{Name: "@P" + string(rune('0'+i)), Type: nvarcharType(4000, s.db.Collation), Value: value.NewNVarChar("%")})
	}
	sink := &textSink{}
	if _, err := s.ExecuteSQL(context.Background(), sql, params, sink); err != nil {
		t.Fatal(err)
	}
	if got, want := sink.b.String(), "1|1|1|1|1|1|1|1|NULL|NULL|1|YES\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
