package syscat

import (
	"context"
	"strings"
	"testing"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/value"
)

func TestTableProcedures(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE SCHEMA x`)
	s.exec(`CREATE TABLE dbo.t1 (id int IDENTITY CONSTRAINT pk PRIMARY KEY, a nvarchar(20) NOT NULL DEFAULT N'abc', b datetime2(3), m varchar(max))
		CREATE TABLE x.t2 (id int, r int CONSTRAINT fk REFERENCES dbo.t1 (id) ON DELETE CASCADE)
		CREATE UNIQUE INDEX ux ON x.t2 (id)`)
	s.exec(`CREATE VIEW dbo.v AS SELECT id FROM dbo.t1`)
	s.want(`EXEC sp_tables '%', NULL, 'd', '''TABLE'''`, "d|dbo|t1|TABLE|NULL", "d|x|t2|TABLE|NULL")
	s.want(`EXEC sp_tables NULL, 'dbo', 'd', '''VIEW'',''MATERIALIZED VIEW'',''TABLE'''`, "d|dbo|t1|TABLE|NULL", "d|dbo|v|VIEW|NULL")
	s.fails(15250, `EXEC sp_tables '%', NULL, 'master'`)
	s.want(`EXEC sp_pkeys 't1', 'dbo', 'd'`, "d|dbo|t1|id|1|pk")
	s.want(`EXEC sp_fkeys @fktable_name = 't2', @fktable_owner = 'x'`, "d|dbo|t1|id|d|x|t2|r|1|1|0|fk|pk|7")
	s.want(`EXEC sp_statistics_100 't2', 'x', 'd', '%', 'Y', 'Q'`, "d|x|t2|NULL|NULL|NULL|0|NULL|NULL|NULL|0|1|NULL", "d|x|t2|0|t2|ux|3|1|id|A|0|1|NULL")
	s.want(`EXEC sp_special_columns 't1'`, "1|id|4|int|10|4|0|1")
	r := s.run(s.s, `EXEC sp_columns_100 't1', 'dbo', 'd', '%', 2, 3`)
	if len(r.errs) > 0 || len(r.cols) != 29 {
		t.Fatalf("sp_columns_100: %d columns, %v", len(r.cols), r.errs)
	}
	want := []string{
		"d|dbo|t1|id|4|int identity|10|4|0|10|0|NULL|NULL|4|NULL|NULL|1|NO|0|0|0|1|",
		"d|dbo|t1|a|-9|nvarchar|20|40|NULL|NULL|0|NULL|(N'abc')|-9|NULL|40|2|NO|0|0|0|0|",
		"d|dbo|t1|b|93|datetime2|23|16|3|NULL|1|NULL|NULL|9|3|NULL|3|YES|0|0|0|0|",
		"d|dbo|t1|m|12|varchar|2147483647|2147483647|NULL|NULL|1|NULL|NULL|12|NULL|2147483647|4|YES|0|0|0|0|",
	}
	for i, w := range want {
		if i >= len(r.sets[0]) || !strings.HasPrefix(r.sets[0][i], w) {
			t.Errorf("row %d of sp_columns_100 is %q, want %q…", i, r.sets[0], w)
			break
		}
	}
	for proc, n := range map[string]int{"sp_columns": 19, "sp_columns_90": 25, "sp_columns_170": 29} {
		if r := s.run(s.s, `EXEC `+proc+` 't1'`); len(r.cols) != n || len(r.sets[0]) != 4 {
			t.Errorf("%s gives %d columns and %d rows, want %d and 4", proc, len(r.cols), len(r.sets[0]), n)
		}
	}
	s.want(`EXEC sp_tablecollations_100 N'[dbo].[t1]'`, "1|id|NULL|NULL", "2|a|0x0904D00034|SQL_Latin1_General_CP1_CI_AS", "3|b|NULL|NULL",
		"4|m|0x0904D00034|SQL_Latin1_General_CP1_CI_AS")
}

func TestDescribeFirstResultSet(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.t (id int IDENTITY PRIMARY KEY, n nvarchar(20) NULL)`)
	r := s.run(s.s, `EXEC sp_describe_first_result_set N'select * from dbo.t'`)
	if len(r.errs) > 0 || len(r.cols) != 39 {
		t.Fatalf("%d columns, want 39; %v", len(r.cols), r.errs)
	}
	if len(r.sets[0]) != 2 || !strings.HasPrefix(r.sets[0][0], "0|1|id|0|56|int|4|10|0|NULL|NULL|") ||
		!strings.HasPrefix(r.sets[0][1], "0|2|n|1|231|nvarchar(20)|40|0|0|SQL_Latin1_General_CP1_CI_AS|NULL|") {
		t.Errorf("rows %q", r.sets[0])
	}
}

func TestAppLocks(t *testing.T) {
	s := newServer(t)
	get := func(x *exec.Session, owner string) int64 {
		t.Helper()
		text := func(name, v string) exec.Param {
			return exec.Param{Name: name, Type: value.Type{ID: value.NVarChar, Len: 255}, Value: value.NewNVarChar(v)}
		}
		status, _, err := x.Call(context.Background(), "sp_getapplock", []exec.Param{text("@Resource", "r"), text("@LockMode", "Exclusive"),
			text("@LockOwner", owner), {Name: "@LockTimeout", Type: value.Type{ID: value.Int}, Value: value.NewInt(value.Int, 0)}}, &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		return int64(status)
	}
	other := s.session("sa", "d")
	if got := get(s.s, "Session"); got != 0 {
		t.Errorf("first lock: %d, want 0", got)
	}
	if got := get(other, "Session"); got != -1 {
		t.Errorf("lock that another holds: %d, want -1", got)
	}
	s.want(`SELECT APPLOCK_MODE('public', 'r', 'Session'), APPLOCK_TEST('public', 'x', 'Shared', 'Session')`, "Exclusive|1")
	s.exec(`EXEC sp_releaseapplock 'r', 'Session'`)
	if got := get(other, "Session"); got != 0 {
		t.Errorf("lock after its release: %d, want 0", got)
	}
	if got := get(s.s, "Transaction"); got != -999 {
		t.Errorf("lock of a transaction that is not there: %d, want -999", got)
	}
	s.fails(1223, `EXEC sp_releaseapplock 'r', 'Session'`)
}

func TestConfigure(t *testing.T) {
	s := newServer(t)
	s.want(`SELECT value_in_use FROM sys.configurations WHERE name = 'max text repl size (B)'`, "65536")
	r := s.run(s.s, `EXEC sp_configure 'max text repl size', 100`)
	if len(r.info) != 1 || r.info[0].Number != 15457 {
		t.Errorf("messages %v %v", r.errs, r.info)
	}
	s.want(`SELECT value_in_use FROM sys.configurations WHERE name = 'max text repl size (B)'`, "100")
	s.fails(15123, `EXEC sp_configure 'nix', 1`)
	s.fails(15129, `EXEC sp_configure 'max text repl size (B)', -2`)
}
