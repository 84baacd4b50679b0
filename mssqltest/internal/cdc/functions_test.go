package cdc

import (
	"strings"
	"testing"
)

func TestMinAndMaxLSN(t *testing.T) {
	zero := "0x" + strings.Repeat("0", 20)
	for _, tc := range []struct {
		name            string
		start           StartMode
		before, atTable string // before the capture job: NULL, set; start_lsn in the table
	}{
		{"at scan", StartAtScan, "NULL", "NULL"},
		{"at enable", StartAtEnable, "set", "set"},
		{"hidden until scanned", StartHidden, "NULL", "set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			s.want(`SELECT sys.fn_cdc_get_max_lsn()`, "NULL")
			s.want(`SELECT sys.fn_cdc_get_min_lsn(N'nix')`, zero)
			s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY)`)
			s.enable("b", "")
			s.exec(`EXEC sys.sp_cdc_stop_job N'capture'`)
			s.m.Configure(s.db, Options{Start: tc.start})
			s.exec(`EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL`)
			shape := func(v string) string {
				if v == "NULL" {
					return v
				}
				return "set"
			}
			if got := shape(s.one(`SELECT sys.fn_cdc_get_min_lsn(N'dbo_a')`)); got != tc.before {
				t.Errorf("fn_cdc_get_min_lsn before the capture job is %s, want %s", got, tc.before)
			}
			if got := shape(s.one(`SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = 'dbo_a'`)); got != tc.atTable {
				t.Errorf("start_lsn before the capture job is %s, want %s", got, tc.atTable)
			}
			if tc.before == "set" {
				s.want(`SELECT CASE WHEN sys.fn_cdc_get_min_lsn(N'dbo_a') > sys.fn_cdc_get_max_lsn() THEN 1 ELSE 0 END`, "1")
			}
			s.exec(`INSERT a VALUES (1)`)
			s.scan()
			s.want(`SELECT CASE WHEN sys.fn_cdc_get_min_lsn(N'dbo_a') <= sys.fn_cdc_get_max_lsn() THEN 1 ELSE 0 END`, "1")
			s.want(`SELECT id FROM cdc.fn_cdc_get_all_changes_dbo_a(sys.fn_cdc_get_min_lsn(N'dbo_a'), sys.fn_cdc_get_max_lsn(), N'all')`, "1")
		})
	}
}

func TestAllChanges(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY, v int); CREATE TABLE dbo.h (v int)`)
	s.enable("a", "")
	s.enable("h", "")
	s.exec(`INSERT a VALUES (1, 1), (2, 2); UPDATE a SET v = 3 WHERE id = 1; DELETE a WHERE id = 2`)
	s.scan()
	const head = `DECLARE @f binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_a'), @t binary(10) = sys.fn_cdc_get_max_lsn(); `
	for _, tc := range []struct {
		name, option string
		want         []string
	}{
		{"all", "N'all'", []string{"2|0x03|1|1", "2|0x03|2|2", "4|0x02|1|3", "1|0x03|2|2"}},
		{"all update old", "N'all update old'", []string{"2|0x03|1|1", "2|0x03|2|2", "3|0x02|1|1", "4|0x02|1|3", "1|0x03|2|2"}},
		{"options are trimmed and lowered", "N' ALL '", []string{"2|0x03|1|1", "2|0x03|2|2", "4|0x02|1|3", "1|0x03|2|2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.want(head+`SELECT __$operation, __$update_mask, id, v FROM cdc.fn_cdc_get_all_changes_dbo_a(@f, @t, `+tc.option+`)
				ORDER BY __$start_lsn, __$seqval, __$operation`, tc.want...)
		})
	}
	for _, tc := range []struct{ name, args string }{
		{"NULL bound", "NULL, @t, N'all'"},
		{"below the low end", "0x00000000000000000001, @t, N'all'"},
		{"above the newest", "@f, sys.fn_cdc_increment_lsn(@t), N'all'"},
		{"turned round", "@t, @f, N'all'"},
		{"unknown option", "@f, @t, N'some'"},
		{"NULL option", "@f, @t, NULL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.fails(313, head+`SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_a(`+tc.args+`)`)
			s.fails(313, head+`SELECT * FROM cdc.fn_cdc_get_net_changes_dbo_a(`+tc.args+`)`)
			s.want(head+`SELECT sys.fn_cdc_check_parameters(N'dbo_a', `+tc.args+`, 0)`, "0")
		})
	}
	s.want(head+`SELECT sys.fn_cdc_check_parameters(N'dbo_a', @f, @t, N'all', 0)`, "1")
	s.want(head+`SELECT __$operation, __$update_mask, id, v FROM cdc.fn_cdc_get_net_changes_dbo_a(@f, @t, N'all') ORDER BY id`, "2|NULL|1|3")
	s.want(head+`SELECT __$operation, id FROM cdc.fn_cdc_get_net_changes_dbo_a(@f, @t, N'all with merge') ORDER BY id`, "5|1")
	s.fails(208, head+`SELECT * FROM cdc.fn_cdc_get_all_changes_nix(@f, @t, N'all')`)
	s.fails(208, head+`SELECT * FROM cdc.fn_cdc_get_net_changes_dbo_h(@f, @t, N'all')`)
}

func TestLSNFunctions(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	s.exec(`UPDATE cdc.lsn_time_mapping SET tran_end_time = '2024-01-01T00:00:00' WHERE tran_id = 0x00
		UPDATE cdc.lsn_time_mapping SET tran_end_time = '2024-01-01T01:00:00' WHERE tran_id <> 0x00`)
	s.want(`SELECT sys.fn_cdc_increment_lsn(0x000000250000004800FF), sys.fn_cdc_decrement_lsn(0x00000025000000480100), sys.fn_cdc_increment_lsn(NULL)`,
		"0x00000025000000480100|0x000000250000004800FF|NULL")
	s.want(`SELECT sys.fn_cdc_map_lsn_to_time(sys.fn_cdc_get_max_lsn()), sys.fn_cdc_map_lsn_to_time(0x01)`, "2024-01-01 01:00:00.000|NULL")
	const at = `SELECT CASE sys.fn_cdc_map_time_to_lsn('%s', '%s') WHEN sys.fn_cdc_get_max_lsn() THEN 'second' WHEN (SELECT MIN(start_lsn) FROM cdc.lsn_time_mapping)
		THEN 'first' ELSE 'none' END`
	for _, tc := range []struct{ op, at, want string }{
		{"largest less than", "2024-01-01T01:00:00", "first"},
		{"largest less than or equal", "2024-01-01T01:00:00", "second"},
		{"smallest greater than", "2024-01-01T00:00:00", "second"},
		{"smallest greater than or equal", "2024-01-01T00:00:00", "first"},
		{"largest less than", "2024-01-01T00:00:00", "none"},
		{"smallest greater than", "2024-01-01T01:00:00", "none"},
	} {
		if got := s.one(at, tc.op, tc.at); got != tc.want {
			t.Errorf("%s %s gives the %s, want %s", tc.op, tc.at, got, tc.want)
		}
	}
	s.want(`SELECT sys.fn_cdc_get_column_ordinal(N'dbo_a', N'ID'), sys.fn_cdc_get_column_ordinal(N'dbo_a', N'nix'), sys.fn_cdc_get_column_ordinal(N'nix', N'id')`, "1|NULL|NULL")
}

// TestMaxLSNIgnoresSnapshot: the function shows present progress inside a SNAPSHOT transaction.
func TestMaxLSNIgnoresSnapshot(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	reader := s.session("sa", "d")
	before := s.queryAs(reader, `SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT MAX(start_lsn), sys.fn_cdc_get_max_lsn() FROM cdc.lsn_time_mapping`)
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	after := s.queryAs(reader, `SELECT MAX(start_lsn), sys.fn_cdc_get_max_lsn() FROM cdc.lsn_time_mapping`)
	b, a := strings.Split(before[0], "|"), strings.Split(after[0], "|")
	if a[0] != b[0] {
		t.Errorf("the table moved inside the snapshot: %s, then %s", b[0], a[0])
	}
	if a[1] <= b[1] {
		t.Errorf("fn_cdc_get_max_lsn did not move: %s, then %s", b[1], a[1])
	}
}

// TestGating: without the role, or without SELECT on the source, there is nothing to read.
func TestGating(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY, v int)`)
	s.exec(`EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = N'readers'`)
	s.scan()
	s.exec(`INSERT a VALUES (1, 1)`)
	s.scan()
	s.want(`SELECT name, type FROM sys.database_principals WHERE name = 'readers'`, "readers|R")
	for _, u := range []string{"norole", "noselect", "both", "columns"} {
		s.exec(`CREATE LOGIN %[1]s WITH PASSWORD = 'x'; CREATE USER %[1]s FOR LOGIN %[1]s`, u)
	}
	s.exec(`GRANT SELECT ON dbo.a TO norole; GRANT SELECT ON dbo.a TO [both]; GRANT SELECT ON dbo.a (id, v) TO [columns]
		ALTER ROLE readers ADD MEMBER noselect; ALTER ROLE readers ADD MEMBER [both]; ALTER ROLE readers ADD MEMBER [columns]`)
	const read = `DECLARE @f binary(10) = sys.fn_cdc_get_min_lsn(N'dbo_a'), @t binary(10) = sys.fn_cdc_get_max_lsn()
		SELECT __$operation, id FROM cdc.fn_cdc_get_all_changes_dbo_a(@f, @t, N'all')`
	zero := "0x" + strings.Repeat("0", 20)
	for _, tc := range []struct {
		login string
		ok    bool
	}{{"norole", false}, {"noselect", false}, {"both", true}, {"columns", true}} {
		t.Run(tc.login, func(t *testing.T) {
			x := s.session(tc.login, "d")
			help := s.queryAs(x, `EXEC sys.sp_cdc_help_change_data_capture`)
			low := s.queryAs(x, `SELECT sys.fn_cdc_get_min_lsn(N'dbo_a')`)[0]
			if tc.ok {
				if got := s.queryAs(x, read); len(got) != 1 || got[0] != "2|1" {
					t.Errorf("changes %q, want the insert", got)
				}
				if len(help) != 1 || low == zero {
					t.Errorf("help %q, minimum %s", help, low)
				}
				// The role gives the functions, not the tables.
				s.failsAs(x, 229, `SELECT * FROM cdc.dbo_a_CT`)
				s.failsAs(x, 229, `SELECT * FROM cdc.change_tables`)
				return
			}
			s.failsAs(x, 229, read)
			if len(help) != 0 || low != zero {
				t.Errorf("help %q, minimum %s, want nothing", help, low)
			}
			s.failsAs(x, 22904, `EXEC sys.sp_cdc_help_jobs`)
			r := s.run(x, `SELECT * FROM sys.dm_cdc_log_scan_sessions`)
			if len(r.errs) != 2 || r.errs[0].Number != 262 || r.errs[1].Number != 297 {
				t.Errorf("dm_cdc_log_scan_sessions gives %v, want 262 and 297", r.errs)
			}
		})
	}
	s.m.Configure(s.db, Options{NullRowOnDenied: true})
	if got := s.queryAs(s.session("norole", "d"), read); len(got) != 1 || got[0] != "NULL|NULL" {
		t.Errorf("denied rows %q, want one of NULLs", got)
	}
}
