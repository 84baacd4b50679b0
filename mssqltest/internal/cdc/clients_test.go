package cdc

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// rpc runs sp_executesql with parameters @P0, @P1 … as the JDBC driver sends them: text as nvarchar(4000), bytes as
// varbinary(8000), numbers as int.
func (s *server) rpc(sql string, params ...any) []string {
	s.t.Helper()
	var ps []exec.Param
	for i, p := range params {
		q := exec.Param{Name: fmt.Sprintf("@P%d", i)}
		switch x := p.(type) {
		case string:
			q.Type, q.Value = value.Type{ID: value.NVarChar, Len: 4000}, value.NewNVarChar(x)
		case []byte:
			q.Type, q.Value = value.Type{ID: value.VarBinary, Len: 8000}, value.NewVarBinary(x)
		case int:
			q.Type, q.Value = value.Type{ID: value.Int}, value.NewInt(value.Int, int64(x))
		default:
			q.Type = value.Type{ID: value.NVarChar, Len: 4000}
		}
		ps = append(ps, q)
	}
	r := &recorder{}
	if _, err := s.s.ExecuteSQL(context.Background(), sql, ps, r); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	if len(r.errs) > 0 {
		s.t.Errorf("%s: %v", sql, r.errs[0])
		return nil
	}
	if len(r.sets) == 0 {
		s.t.Errorf("%s: no result set", sql)
		return nil
	}
	return r.sets[len(r.sets)-1]
}

// TestDebezium runs what Debezium 3.6 sends to a server, in its order.
func TestDebezium(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t1 (id int NOT NULL CONSTRAINT pk_t1 PRIMARY KEY, name nvarchar(20) CONSTRAINT df DEFAULT 'abc', amt decimal(10, 2))
		CREATE TABLE dbo.t2 (id int NOT NULL, v int, CONSTRAINT uq UNIQUE (id))`)
	s.enable("t1", "")
	s.enable("t2", "")
	rows := func(what string, got []string, n int) {
		t.Helper()
		if len(got) != n {
			t.Errorf("%s gives %q, want %d rows", what, got, n)
		}
	}
	rows("help", s.query(`EXEC [d].sys.sp_cdc_help_change_data_capture`), 2)
	rows("count", s.query(`SELECT COUNT(*) FROM [d].cdc.change_tables`), 1)
	rows("name", s.rpc(`SELECT name FROM sys.databases WHERE name =  @P0 `, "d"), 1)
	rows("sp_tables", s.rpc(`EXEC sp_tables  @P0 ,  @P1 ,  @P2 ,  @P3 `, "%", nil, "d", `'TABLE'`), 2+len(metadataTables)+2)
	s.exec(`SET LOCK_TIMEOUT 10000`)
	s.exec(`set transaction isolation level  repeatable read `)
	s.exec(`IF @@TRANCOUNT = 0 BEGIN BEGIN TRAN IF @@TRANCOUNT = 2 COMMIT TRAN END SAVE TRAN [dbz_schema_snapshot]`)
	rows("lock", s.query(`SELECT TOP(0) * FROM [d].[dbo].[t1] WITH (TABLOCKX)`), 0)
	rows("max", s.query(`SELECT [d].sys.fn_cdc_get_max_lsn()`), 1)
	rows("captured", s.query(`SELECT object_id, column_name FROM [d].cdc.captured_columns ORDER BY object_id, column_id`), 5)
	const tables = `WITH ordered_change_tables AS (SELECT ROW_NUMBER() OVER (PARTITION BY ct.source_object_id, ct.start_lsn ORDER BY ct.create_date DESC) AS ct_sequence, ct.* FROM [d].cdc.change_tables AS ct%s) SELECT OBJECT_SCHEMA_NAME(source_object_id, DB_ID( @P%d )), OBJECT_NAME(source_object_id, DB_ID( @P%d )), capture_instance, object_id, start_lsn FROM ordered_change_tables WHERE ct_sequence = 1`
	got := s.rpc(fmt.Sprintf(tables, "", 0, 1), "d", "d")
	rows("change tables", got, 2)
	if len(got) > 0 && !strings.HasPrefix(got[0], "dbo|t1|dbo_t1|") {
		t.Errorf("change tables %q", got)
	}
	rows("edition", s.query(`SELECT CAST(SERVERPROPERTY('EngineEdition') as INT)`), 1)
	for _, proc := range []string{"sp_columns_100", "sp_columns_170"} {
		rows(proc, s.rpc(strings.ReplaceAll(getColumns, "sp_columns_100", proc), "%", "dbo", "d", "%", 2, 3), 5)
	}
	rows("sp_pkeys", s.rpc(`EXEC sp_pkeys  @P0 ,  @P1 ,  @P2 `, "t1", "dbo", "d"), 1)
	rows("sp_statistics", s.rpc(`EXEC sp_statistics_100  @P0 , @P1 , @P2 , @P3 , @P4 ,  @P5 `, "t2", "dbo", "d", "%", "Y", "Q"), 2)
	s.exec(`IF @@TRANCOUNT > 0 ROLLBACK TRAN [dbz_schema_snapshot]`)
	s.exec(`IF @@TRANCOUNT > 0 ROLLBACK TRAN`)
	s.exec(`set transaction isolation level  read committed `)
	s.exec(`SET LOCK_TIMEOUT -1`)
	rows("min start_lsn", s.query(`select min(start_lsn) from [d].cdc.change_tables`), 1)
	rows("sp_cdc_help_jobs", s.rpc(`EXEC sys.sp_cdc_help_jobs`), 2)

	s.exec(`INSERT t1 (id, amt) VALUES (1, 1.5); UPDATE t1 SET amt = 2.5; UPDATE t1 SET id = 2`)
	s.scan()
	zero := make([]byte, 10)
	rows("next", s.rpc(`SELECT MAX(start_lsn) FROM (SELECT TOP ( @P0 ) start_lsn FROM [d].cdc.lsn_time_mapping WHERE tran_id <> 0x00 ORDER BY start_lsn) as next_lsns`, 500), 1)
	rows("next", s.rpc(`SELECT MAX(start_lsn) FROM (SELECT TOP ( @P0 + 1) start_lsn FROM [d].cdc.lsn_time_mapping WHERE start_lsn >=  @P1 AND tran_id <> 0x00 ORDER BY start_lsn) as next_lsns`, 500, zero), 1)
	rows("agent", s.query(`SELECT CASE WHEN dss.[status]=4 THEN 1 ELSE 0 END AS isRunning FROM [d].sys.dm_server_services dss WHERE dss.[servicename] LIKE N'SQL Server Agent (%';`), 1)
	rows("increment", s.rpc(`SELECT [d].sys.fn_cdc_increment_lsn( @P0 )`, zero), 1)
	high := bytesOf(t, s.one(`SELECT sys.fn_cdc_get_max_lsn()`))
	low := bytesOf(t, s.one(`SELECT sys.fn_cdc_get_min_lsn(N'dbo_t1')`))
	rows("change tables", s.rpc(`SELECT * FROM [d].cdc.change_tables WHERE start_lsn BETWEEN  @P0 AND  @P1 `, zero, high), 2)
	rows("change tables", s.rpc(fmt.Sprintf(tables, " WHERE ct.start_lsn <=  @P0 ", 1, 2), high, "d", "d"), 2)
	direct := s.rpc(`SELECT cdc_data.[__$start_lsn], cdc_data.[__$seqval], cdc_data.[__$operation], cdc_data.[__$update_mask], [id], [name], [amt], TODATETIMEOFFSET(ltm.tran_begin_time, DATEPART(TZOFFSET, SYSDATETIMEOFFSET())) FROM [d].cdc.[dbo_t1_CT] AS cdc_data LEFT JOIN [d].cdc.lsn_time_mapping ltm ON ltm.start_lsn = cdc_data.[__$start_lsn]  WHERE (([cdc_data].[__$start_lsn] =  @P0 AND [cdc_data].[__$seqval] =  @P1 AND [cdc_data].[__$operation] >  @P2 ) OR ([cdc_data].[__$start_lsn] =  @P3 AND [cdc_data].[__$seqval] >  @P4 ) OR ([cdc_data].[__$start_lsn] >  @P5 )) AND [cdc_data].[__$start_lsn] <=  @P6 ORDER BY cdc_data.[__$start_lsn] ASC, cdc_data.[__$command_id] ASC, cdc_data.[__$seqval] ASC, cdc_data.[__$operation] ASC`,
		zero, zero, 0, zero, zero, zero, high)
	var ops []string
	for _, r := range direct {
		ops = append(ops, strings.Join(strings.Split(r, "|")[2:7], "|"))
	}
	if got, want := strings.Join(ops, " "), "2|0x07|1|abc|1.50 3|0x04|1|abc|1.50 4|0x04|1|abc|2.50 1|0x07|1|abc|2.50 2|0x07|2|abc|2.50"; got != want {
		t.Errorf("changes\n got %s\nwant %s", got, want)
	}
	rows("function", s.rpc(`SELECT [__$start_lsn], [__$seqval], [__$operation], [__$update_mask], [id], [name], [amt], TODATETIMEOFFSET([d].sys.fn_cdc_map_lsn_to_time([__$start_lsn]), DATEPART(TZOFFSET, SYSDATETIMEOFFSET())) FROM [d].cdc.[fn_cdc_get_all_changes_dbo_t1]( @P0 ,  @P1 , N'all update old') WHERE (([__$start_lsn] =  @P2 AND [__$seqval] =  @P3 AND [__$operation] >  @P4 ) OR ([__$start_lsn] =  @P5 AND [__$seqval] >  @P6 ) OR ([__$start_lsn] >  @P7 )) AND [__$start_lsn] <=  @P8 ORDER BY [__$start_lsn] ASC, [__$seqval] ASC, [__$operation] ASC`,
		low, high, zero, zero, 0, zero, zero, zero, high), 5)
	rows("scan", s.query(`SELECT TOP 1 start_lsn from sys.dm_cdc_log_scan_sessions ORDER BY session_id DESC`), 1)
	rows("override", s.query(`SELECT tables.object_id, columns.name FROM [d].sys.columns columns INNER JOIN [d].cdc.change_tables tables ON tables.source_object_id = columns.object_id ORDER BY tables.object_id, columns.column_id`), 5)
}

func bytesOf(t *testing.T, hex string) []byte {
	t.Helper()
	l := hexLSN(t, strings.ToLower(strings.TrimPrefix(hex, "0x")))
	return l[:]
}

// getColumns is what DatabaseMetaData.getColumns of the JDBC driver runs.
const getColumns = `DECLARE @mssqljdbc_temp_sp_columns_result TABLE(TABLE_QUALIFIER SYSNAME, TABLE_OWNER SYSNAME,TABLE_NAME SYSNAME, COLUMN_NAME SYSNAME, DATA_TYPE SMALLINT, TYPE_NAME SYSNAME, PRECISION INT,LENGTH INT, SCALE SMALLINT, RADIX SMALLINT, NULLABLE SMALLINT, REMARKS VARCHAR(254), COLUMN_DEF NVARCHAR(4000),SQL_DATA_TYPE SMALLINT, SQL_DATETIME_SUB SMALLINT, CHAR_OCTET_LENGTH INT, ORDINAL_POSITION INT,IS_NULLABLE VARCHAR(254), SS_IS_SPARSE SMALLINT, SS_IS_COLUMN_SET SMALLINT, SS_IS_COMPUTED SMALLINT,SS_IS_IDENTITY SMALLINT, SS_UDT_CATALOG_NAME NVARCHAR(128), SS_UDT_SCHEMA_NAME NVARCHAR(128),SS_UDT_ASSEMBLY_TYPE_NAME NVARCHAR(max), SS_XML_SCHEMACOLLECTION_CATALOG_NAME NVARCHAR(128),SS_XML_SCHEMACOLLECTION_SCHEMA_NAME NVARCHAR(128), SS_XML_SCHEMACOLLECTION_NAME NVARCHAR(128),SS_DATA_TYPE TINYINT);INSERT INTO @mssqljdbc_temp_sp_columns_result EXEC sp_columns_100  @P0 , @P1 , @P2 , @P3 , @P4 , @P5 ;SELECT TABLE_QUALIFIER AS TABLE_CAT, TABLE_OWNER AS TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, DATA_TYPE,TYPE_NAME, PRECISION AS COLUMN_SIZE, LENGTH AS BUFFER_LENGTH, SCALE AS DECIMAL_DIGITS, RADIX AS NUM_PREC_RADIX,NULLABLE, REMARKS, COLUMN_DEF, SQL_DATA_TYPE, SQL_DATETIME_SUB, CHAR_OCTET_LENGTH, ORDINAL_POSITION, IS_NULLABLE,NULL AS SCOPE_CATALOG, NULL AS SCOPE_SCHEMA, NULL AS SCOPE_TABLE, SS_DATA_TYPE AS SOURCE_DATA_TYPE,CASE SS_IS_IDENTITY WHEN 0 THEN 'NO' WHEN 1 THEN 'YES' WHEN '' THEN '' END AS IS_AUTOINCREMENT,CASE SS_IS_COMPUTED WHEN 0 THEN 'NO' WHEN 1 THEN 'YES' WHEN '' THEN '' END AS IS_GENERATEDCOLUMN, SS_IS_SPARSE, SS_IS_COLUMN_SET, SS_UDT_CATALOG_NAME, SS_UDT_SCHEMA_NAME, SS_UDT_ASSEMBLY_TYPE_NAME,SS_XML_SCHEMACOLLECTION_CATALOG_NAME, SS_XML_SCHEMACOLLECTION_SCHEMA_NAME, SS_XML_SCHEMACOLLECTION_NAME FROM @mssqljdbc_temp_sp_columns_result ORDER BY TABLE_CAT, TABLE_SCHEM, TABLE_NAME, ORDINAL_POSITION;`
