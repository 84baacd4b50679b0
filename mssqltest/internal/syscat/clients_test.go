package syscat

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

// TestIndexInfoOfJDBC13 is what getIndexInfo of mssql-jdbc 13.4 runs.
func TestIndexInfoOfJDBC13(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk PRIMARY KEY, v int); CREATE UNIQUE INDEX ux ON dbo.t (v DESC); INSERT dbo.t VALUES (1, 1)`)
	const sql = `DECLARE @temp_sp_statistics TABLE(TABLE_QUALIFIER sysname NULL, TABLE_OWNER sysname NULL, TABLE_NAME sysname NULL, NON_UNIQUE smallint NULL, INDEX_QUALIFIER sysname NULL, INDEX_NAME sysname NULL, TYPE smallint NULL, ORDINAL_POSITION smallint NULL, COLUMN_NAME sysname NULL, ASC_OR_DESC varchar(1) NULL, CARDINALITY int NULL, PAGES int NULL, FILTER_CONDITION varchar(128) NULL); INSERT INTO @temp_sp_statistics EXEC sp_statistics  @P0 ,  @P1 ,  @P2 ,  @P3 ,  @P4 ,  @P5 ; SELECT TABLE_QUALIFIER COLLATE DATABASE_DEFAULT AS TABLE_CAT, TABLE_OWNER COLLATE DATABASE_DEFAULT AS TABLE_SCHEM, TABLE_NAME COLLATE DATABASE_DEFAULT AS TABLE_NAME, NON_UNIQUE, INDEX_QUALIFIER COLLATE DATABASE_DEFAULT AS INDEX_QUALIFIER, INDEX_NAME COLLATE DATABASE_DEFAULT AS INDEX_NAME, TYPE, ORDINAL_POSITION, COLUMN_NAME COLLATE DATABASE_DEFAULT AS COLUMN_NAME, ASC_OR_DESC, CARDINALITY, PAGES, FILTER_CONDITION FROM @temp_sp_statistics UNION ALL SELECT db_name() AS TABLE_CAT, sch.name COLLATE DATABASE_DEFAULT AS TABLE_SCHEM, t.name COLLATE DATABASE_DEFAULT AS TABLE_NAME, CASE WHEN i.is_unique = 1 THEN 0 ELSE 1 END AS NON_UNIQUE, t.name COLLATE DATABASE_DEFAULT AS INDEX_QUALIFIER, i.name COLLATE DATABASE_DEFAULT AS INDEX_NAME, i.type AS TYPE, ic.key_ordinal AS ORDINAL_POSITION, c.name COLLATE DATABASE_DEFAULT AS COLUMN_NAME, CASE WHEN ic.is_descending_key = 1 THEN 'D' ELSE 'A' END AS ASC_OR_DESC, CASE WHEN i.index_id <= 1 THEN ps.row_count ELSE NULL END AS CARDINALITY, CASE WHEN i.index_id <= 1 THEN ps.used_page_count ELSE NULL END AS PAGES, NULL AS FILTER_CONDITION FROM sys.indexes i INNER JOIN sys.index_columns ic ON i.object_id = ic.object_id AND i.index_id = ic.index_id INNER JOIN sys.columns c ON ic.object_id = c.object_id AND ic.column_id = c.column_id INNER JOIN sys.tables t ON i.object_id = t.object_id INNER JOIN sys.schemas sch ON t.schema_id = sch.schema_id LEFT JOIN sys.dm_db_partition_stats ps ON ps.object_id = i.object_id AND ps.index_id = i.index_id AND ps.index_id IN (0,1) WHERE t.name =  @P6 AND sch.name =  @P7 AND ic.key_ordinal = 0 ORDER BY NON_UNIQUE, TYPE, INDEX_NAME COLLATE DATABASE_DEFAULT, ORDINAL_POSITION`
	var ps []exec.Param
	for i, v := range []string{"t", "dbo", "d", "%", "N", "Q", "t", "dbo"} {
		ps = append(ps, exec.Param{Name: fmt.Sprintf("@P%d", i), Type: value.Type{ID: value.NVarChar, Len: 4000}, Value: value.NewNVarChar(v)})
	}
	r := &recorder{}
	if _, err := s.s.ExecuteSQL(context.Background(), sql, ps, r); err != nil {
		t.Fatal(err)
	}
	if len(r.errs) > 0 {
		t.Fatal(r.errs[0])
	}
	want := []string{"d|dbo|t|NULL|NULL|NULL|0|NULL|NULL|NULL|1|1|NULL", "d|dbo|t|0|t|pk|1|1|id|A|1|1|NULL", "d|dbo|t|0|t|ux|3|1|v|D|1|1|NULL"}
	if got := r.sets[len(r.sets)-1]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBulkProbeOfMSSQLPython is the batch that the bulk copy of mssql-python and SqlClient sends before INSERT BULK.
func TestBulkProbeOfMSSQLPython(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.lab_bulk (id bigint NOT NULL, v varchar(100), n nvarchar(10))`)
	r := s.run(s.s, `SELECT @@TRANCOUNT;

DECLARE @Column_Names NVARCHAR(MAX) = NULL;
DECLARE @object_id INT = OBJECT_ID(N'[dbo].[lab_bulk]');
DECLARE @sql NVARCHAR(MAX);
SET @sql = N'SELECT @CN = COALESCE(@CN + N'', '', N'''') + QUOTENAME([name]) FROM sys.all_columns WHERE [object_id] = @ObjId';
IF EXISTS (SELECT TOP 1 * FROM sys.all_columns WHERE [object_id] = OBJECT_ID('sys.all_columns') AND [name] = 'graph_type')
    SET @sql = @sql + N' AND COALESCE([graph_type], 0) NOT IN (1, 3, 4, 6, 7)';
SET @sql = @sql + N' ORDER BY [column_id] ASC';
EXEC sp_executesql @sql, N'@CN NVARCHAR(MAX) OUTPUT, @ObjId INT', @CN = @Column_Names OUTPUT, @ObjId = @object_id;

SELECT @Column_Names = COALESCE(@Column_Names, '*');

SET FMTONLY ON;
EXEC(N'SELECT ' + @Column_Names + N' FROM [dbo].[lab_bulk]');
SET FMTONLY OFF;

EXEC sp_tablecollations_100 N'[dbo].[lab_bulk]';`)
	if len(r.errs) > 0 {
		t.Fatal(r.errs[0])
	}
	if len(r.sets) != 3 || len(r.sets[1]) != 0 || len(r.sets[2]) != 3 {
		t.Errorf("result sets %q, want a count, no row, three collations", r.sets)
	}
}

// TestBulkProbes are the other questions that clients ask before INSERT BULK.
func TestBulkProbes(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.lab_bulk (id bigint NOT NULL, v varchar(100), c AS id)`)
	s.want(`select collation_name, is_computed from sys.columns where object_id=OBJECT_ID('dbo.lab_bulk') order by column_id ASC`,
		"NULL|0", "SQL_Latin1_General_CP1_CI_AS|0", "NULL|1")
	s.want(`SELECT column_id, TYPE_NAME(system_type_id) AS system_type_name, is_identity FROM sys.columns WHERE object_id = OBJECT_ID(N'dbo.lab_bulk')`,
		"1|bigint|0", "2|varchar|0", "3|bigint|0")
	for _, sql := range []string{
		`SET FMTONLY ON select * from dbo.lab_bulk SET FMTONLY OFF`,
		`sp_executesql N'SET FMTONLY ON SELECT * FROM dbo.lab_bulk '`, // mssql-jdbc
		`SET FMTONLY ON; EXEC(N'SELECT [id], [v], [c] FROM dbo.lab_bulk'); SET FMTONLY OFF`,
	} {
		r := s.run(s.s, sql)
		if len(r.errs) > 0 || len(r.cols) != 3 || len(r.sets) != 1 || len(r.sets[0]) != 0 {
			t.Errorf("%s gives %d columns, rows %q, %v; want three columns and no row", sql, len(r.cols), r.sets, r.errs)
		}
		s.exec(`SET FMTONLY OFF`)
	}
	s.exec(`INSERT dbo.lab_bulk (id) VALUES (1)`)
	s.want(`SELECT id FROM dbo.lab_bulk`, "1") // FMTONLY is off
	for _, sql := range []string{
		`SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, CHARACTER_MAXIMUM_LENGTH FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'dbo' AND TABLE_NAME = 'lab_bulk' ORDER BY ORDINAL_POSITION`,
	} {
		s.want(sql, "id|bigint|NO|NULL", "v|varchar|YES|100", "c|bigint|NO|NULL")
	}
}
