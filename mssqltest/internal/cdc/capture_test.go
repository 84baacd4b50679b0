package cdc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/mssqltest/internal/exec"
	"example.com/mssqlcdc/mssqltest/internal/storage"
)

// changes reads a change table in the order of its clustered index.
func (s *server) changes(table, cols string) []string {
	s.t.Helper()
	return s.query(`SELECT __$operation, %s FROM cdc.%s ORDER BY __$start_lsn, __$command_id, __$seqval, __$operation`, cols, table)
}

func (s *server) wantChanges(table, cols string, want ...string) {
	s.t.Helper()
	if got := s.changes(table, cols); strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("changes of %s\n got %q\nwant %q", table, got, want)
	}
}

func TestOperations(t *testing.T) {
	for _, tc := range []struct {
		name string
		sql  string
		want []string // operation, mask, id, v
	}{
		{"insert", `INSERT k VALUES (7, 70)`, []string{"2|0x03|7|70"}},
		{"delete", `DELETE k WHERE id = 1`, []string{"1|0x03|1|10"}},
		{"update", `UPDATE k SET v = 11 WHERE id = 1`, []string{"3|0x02|1|10", "4|0x02|1|11"}},
		{"before and after image of a row stay together", `UPDATE k SET v = v + 1`,
			[]string{"3|0x02|1|10", "4|0x02|1|11", "3|0x02|2|20", "4|0x02|2|21", "3|0x02|3|30", "4|0x02|3|31"}},
		{"update without a change", `UPDATE k SET v = v`, nil},
		{"key update of one row", `UPDATE k SET id = 9 WHERE id = 1`, []string{"1|0x03|1|10", "2|0x03|9|10"}},
		{"key update of many rows", `UPDATE k SET id = id + 1`,
			[]string{"1|0x03|1|10", "1|0x03|2|20", "1|0x03|3|30", "2|0x03|2|10", "2|0x03|3|20", "2|0x03|4|30"}},
		{"delete and insert of a key in one transaction", `BEGIN TRAN; DELETE k WHERE id = 1; INSERT k VALUES (1, 99); COMMIT`,
			[]string{"1|0x03|1|10", "2|0x03|1|99"}},
		{"insert and delete of a key in one transaction", `BEGIN TRAN; INSERT k VALUES (5, 1); DELETE k WHERE id = 5; COMMIT`,
			[]string{"2|0x03|5|1", "1|0x03|5|1"}},
		{"rolled back", `BEGIN TRAN; INSERT k VALUES (5, 1); ROLLBACK`, nil},
		{"rolled back to a savepoint", `BEGIN TRAN; INSERT k VALUES (5, 1); SAVE TRAN s; INSERT k VALUES (6, 1); ROLLBACK TRAN s; COMMIT`,
			[]string{"2|0x03|5|1"}},
		{"merge", `MERGE k AS t USING (VALUES (1, 100), (8, 80)) AS s (id, v) ON t.id = s.id
			WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);`,
			[]string{"3|0x02|1|10", "4|0x02|1|100", "2|0x03|8|80"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t)
			s.exec(`CREATE TABLE dbo.k (id int PRIMARY KEY, v int); INSERT dbo.k VALUES (1, 10), (2, 20), (3, 30)`)
			s.enable("k", "")
			s.exec(tc.sql)
			s.scan()
			s.wantChanges("dbo_k_CT", "__$update_mask, id, v", tc.want...)
			s.want(`SELECT COUNT(*) FROM cdc.lsn_time_mapping WHERE tran_id <> 0x00`, fmt.Sprint(min(len(tc.want), 1)))
		})
	}
}

// TestDeferredUpdate pins which numbers the delete and the insert of a key update share (sql-docs#9325).
func TestDeferredUpdate(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.k (id int PRIMARY KEY, v int); INSERT dbo.k VALUES (1, 10), (2, 20)`)
	s.enable("k", "")
	s.exec(`UPDATE k SET id = 5 WHERE id = 1`)
	s.scan()
	s.want(`SELECT COUNT(DISTINCT __$start_lsn), COUNT(DISTINCT __$seqval), COUNT(DISTINCT __$command_id) FROM cdc.dbo_k_CT`, "1|1|2")
	s.exec(`UPDATE k SET id = id + 10`)
	s.scan()
	s.want(`SELECT COUNT(DISTINCT __$start_lsn), COUNT(DISTINCT __$seqval), COUNT(DISTINCT __$command_id) FROM cdc.dbo_k_CT
		WHERE __$start_lsn = (SELECT MAX(__$start_lsn) FROM cdc.dbo_k_CT)`, "1|4|2")
}

// TestMaskWidths updates the last column of tables whose masks need one more byte than full bytes.
func TestMaskWidths(t *testing.T) {
	for _, n := range []int{8, 9, 17, 65} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newServer(t)
			cols := []string{"c1 int PRIMARY KEY"}
			for i := 2; i <= n; i++ {
				cols = append(cols, fmt.Sprintf("c%d int", i))
			}
			s.exec(`CREATE TABLE dbo.w (%s)`, strings.Join(cols, ", "))
			s.enable("w", "")
			s.exec(`INSERT w (c1) VALUES (1); UPDATE w SET c%d = 1; UPDATE w SET c2 = 1`, n)
			s.scan()
			last := NewMask(n)
			last.Set(n)
			second := NewMask(n)
			second.Set(2)
			s.wantChanges("dbo_w_CT", "__$update_mask", fmt.Sprintf("2|0x%X", FullMask(n)), fmt.Sprintf("3|0x%X", last),
				fmt.Sprintf("4|0x%X", last), fmt.Sprintf("3|0x%X", second), fmt.Sprintf("4|0x%X", second))
			s.want(fmt.Sprintf(`SELECT DISTINCT sys.fn_cdc_has_column_changed(N'dbo_w', N'c%d', __$update_mask),
				sys.fn_cdc_is_bit_set(sys.fn_cdc_get_column_ordinal(N'dbo_w', N'c2'), __$update_mask)
				FROM cdc.dbo_w_CT WHERE __$operation = 4 ORDER BY 1`, n), "0|1", "1|0")
		})
	}
}

// TestValues pins what becomes of the types with rules of their own.
func TestValues(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.l (id int PRIMARY KEY, v int, t text, n nvarchar(max), b varbinary(max), c AS v * 2)`)
	s.enable("l", "")
	s.exec(`INSERT l (id, v, t, n, b) VALUES (1, 1, 'old', N'wide', 0x01)`)
	s.exec(`UPDATE l SET v = 2`)
	s.exec(`UPDATE l SET t = 'new', n = N'wider'`)
	s.exec(`DELETE l`)
	s.scan()
	s.wantChanges("dbo_l_CT", "v, CAST(t AS varchar(10)), n, b, c",
		"2|1|old|wide|0x01|NULL",
		"3|1|NULL|NULL|NULL|NULL", "4|2|NULL|NULL|NULL|NULL",
		"3|2|NULL|wide|NULL|NULL", "4|2|new|wider|NULL|NULL",
		"1|2|NULL|wider|0x01|NULL")

	s.exec(`CREATE TABLE dbo.r (id int IDENTITY(5, 5) PRIMARY KEY, rv rowversion, d decimal(10, 3))`)
	s.enable("r", "")
	s.exec(`INSERT r (d) VALUES (1.5)`)
	s.scan()
	s.want(`SELECT r.id, CASE WHEN ct.rv = CAST(r.rv AS binary(8)) THEN 1 ELSE 0 END, ct.d FROM cdc.dbo_r_CT ct JOIN dbo.r r ON r.id = ct.id`, "5|1|1.500")
}

func TestMaxTextReplSize(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.l (id int PRIMARY KEY, n nvarchar(max)); CREATE TABLE dbo.free (n nvarchar(max))`)
	s.enable("l", "")
	s.exec(`INSERT l VALUES (1, REPLICATE(CAST(N'x' AS nvarchar(max)), 32768))`)
	s.fails(7139, `INSERT l VALUES (2, REPLICATE(CAST(N'x' AS nvarchar(max)), 32769))`)
	s.exec(`INSERT free VALUES (REPLICATE(CAST(N'x' AS nvarchar(max)), 32769))`)
	s.exec(`EXEC sp_configure 'max text repl size', -1; RECONFIGURE`)
	s.exec(`INSERT l VALUES (2, REPLICATE(CAST(N'x' AS nvarchar(max)), 32769))`)
	s.want(`SELECT COUNT(*) FROM l`, "2")
}

// TestCapturedColumns captures a subset: updates of other columns leave no rows unless the option asks for them.
func TestCapturedColumns(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.s (id int PRIMARY KEY, secret int, v int); INSERT s VALUES (1, 1, 1)`)
	s.enable("s", ", @captured_column_list = N'[v], id'")
	s.exec(`UPDATE s SET secret = 2; UPDATE s SET v = 2`)
	s.scan()
	s.wantChanges("dbo_s_CT", "__$update_mask, id, v", "3|0x02|1|1", "4|0x02|1|2")
	s.m.Configure(s.db, Options{EmptyUpdates: true})
	s.exec(`UPDATE s SET secret = 3`)
	s.scan()
	s.wantChanges("dbo_s_CT", "__$update_mask, id, v", "3|0x02|1|1", "4|0x02|1|2", "3|0x00|1|2", "4|0x00|1|2")
}

// TestTimeMapping: one row for each transaction, whatever it touched, in the server's local time.
func TestTimeMapping(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.b (id int PRIMARY KEY); CREATE TABLE dbo.free (id int)`)
	s.enable("a", "")
	s.enable("b", "")
	s.exec(`BEGIN TRAN; INSERT a VALUES (1); INSERT b VALUES (1); COMMIT; INSERT free VALUES (1)`)
	s.scan()
	s.want(`SELECT COUNT(*) FROM cdc.lsn_time_mapping WHERE tran_id <> 0x00`, "1")
	s.want(`SELECT COUNT(*) FROM cdc.lsn_time_mapping m JOIN cdc.dbo_a_CT a ON a.__$start_lsn = m.start_lsn JOIN cdc.dbo_b_CT b ON b.__$start_lsn = m.start_lsn
		WHERE m.tran_begin_lsn < m.start_lsn AND m.tran_begin_time <= m.tran_end_time AND DATEDIFF(minute, m.tran_end_time, GETDATE()) BETWEEN 0 AND 1`, "1")
	s.want(`SELECT CASE WHEN sys.fn_cdc_get_max_lsn() = (SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping) THEN 1 ELSE 0 END`, "1")
}

// TestCaptureRetriesMapped: a transaction whose rows are there already, as after a restore between capture and
// truncation of the log, is not captured twice.
func TestCaptureRetriesMapped(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.m.Job(s.db).Stop()
	s.exec(`INSERT a VALUES (1)`)
	r := s.db.LogRecords([10]byte{}, 0)
	if len(r) != 1 {
		t.Fatalf("%d records in the log, want 1", len(r))
	}
	for range 2 {
		if err := s.m.Job(s.db).capture(t.Context(), r[0], &session{}); err != nil {
			t.Fatal(err)
		}
	}
	s.want(`SELECT COUNT(*) FROM cdc.dbo_a_CT`, "1")
}

// TestLargeTransaction writes more rows in one transaction than are kept before they are flushed.
func TestLargeTransaction(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY); CREATE TABLE dbo.n (id int PRIMARY KEY)`)
	s.enable("a", "")
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf("(%d)", i))
	}
	s.exec(`INSERT n VALUES ` + strings.Join(rows, ", "))
	s.exec(`INSERT a SELECT x.id * 100 + y.id FROM n x CROSS JOIN n y`)
	s.scan()
	s.want(`SELECT COUNT(*), COUNT(DISTINCT __$start_lsn), COUNT(DISTINCT __$seqval), MIN(id), MAX(id) FROM cdc.dbo_a_CT`, "10000|1|10000|0|9999")
	s.want(`SELECT COUNT(*) FROM cdc.lsn_time_mapping WHERE tran_id <> 0x00`, "1")
}

// TestReplica reads a secondary that lags behind: everything on it is of one moment.
func TestReplica(t *testing.T) {
	s := newServer(t)
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	high := s.one(`SELECT sys.fn_cdc_get_max_lsn()`)
	roots := map[*storage.Database]*storage.Root{}
	for _, db := range s.st.Databases() {
		roots[db] = db.Root()
	}
	s.exec(`INSERT a VALUES (2)`)
	s.scan()
	x, err := s.in.NewSession(exec.SessionOptions{Login: "sa", Database: "d", ReadOnlyIntent: true,
		Replica: &exec.Replica{Root: func(db *storage.Database) *storage.Root { return roots[db] }}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for sql, want := range map[string]string{
		`SELECT sys.fn_cdc_get_max_lsn()`:                   high,
		`SELECT MAX(id) FROM cdc.dbo_a_CT`:                  "1",
		`SELECT COUNT(*) FROM sys.dm_cdc_log_scan_sessions`: "0",
		`SELECT id FROM cdc.fn_cdc_get_all_changes_dbo_a(sys.fn_cdc_get_min_lsn(N'dbo_a'), sys.fn_cdc_get_max_lsn(), N'all')`: "1",
	} {
		if got := s.queryAs(x, sql); len(got) != 1 || got[0] != want {
			t.Errorf("%s on the replica gives %q, want %s", sql, got, want)
		}
	}
	s.failsAs(x, 3906, `EXEC sys.sp_cdc_disable_table N'dbo', N'a', N'all'`)
}

// TestLocalTimes: the times of metadata are the server's local ones (DBZ-3479, DBZ-1643).
func TestLocalTimes(t *testing.T) {
	s := newServerIn(t, time.FixedZone("Tokyo", 9*3600))
	s.exec(`CREATE TABLE dbo.a (id int PRIMARY KEY)`)
	s.enable("a", "")
	s.exec(`INSERT a VALUES (1)`)
	s.scan()
	s.want(`SELECT CASE WHEN ABS(DATEDIFF(second, DATEADD(hour, 9, GETUTCDATE()), tran_begin_time)) < 60 AND
		ABS(DATEDIFF(second, DATEADD(hour, 9, GETUTCDATE()), tran_end_time)) < 60 THEN 1 ELSE 0 END FROM cdc.lsn_time_mapping WHERE tran_id <> 0x00`, "1")
	s.want(`SELECT CASE WHEN ABS(DATEDIFF(second, GETDATE(), create_date)) < 60 THEN 1 ELSE 0 END FROM cdc.change_tables`, "1")
	s.want(`SELECT CASE WHEN sys.fn_cdc_map_time_to_lsn('smallest greater than', DATEADD(minute, -1, GETDATE())) IS NOT NULL AND
		sys.fn_cdc_map_time_to_lsn('smallest greater than', DATEADD(minute, 1, GETDATE())) IS NULL THEN 1 ELSE 0 END`, "1")
	s.want(`SELECT CASE WHEN ABS(DATEDIFF(second, GETDATE(), MAX(last_commit_cdc_time))) < 60 THEN 1 ELSE 0 END FROM sys.dm_cdc_log_scan_sessions`, "1")
}
