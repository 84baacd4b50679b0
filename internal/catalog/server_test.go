package catalog_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mssqlcdc/checkpoint"
	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

func start(t *testing.T, cfg mssqltest.Config, script ...string) (*mssqltest.Server, *session.Conn) {
	t.Helper()
	cfg.CaptureStopped = true
	srv := mssqltest.Start(t, cfg)
	for _, s := range append([]string{"EXEC sys.sp_cdc_enable_db"}, script...) {
		if err := srv.Exec(s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	if strings.Contains(strings.Join(script, ""), "enable_table") {
		scan(t, srv)
	}
	return srv, connect(t, srv, srv.ConnString())
}

func scan(t *testing.T, srv *mssqltest.Server) {
	t.Helper()
	if err := srv.Control().CaptureScan(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, srv *mssqltest.Server, dsn string) *session.Conn {
	t.Helper()
	conn, err := session.Open(t.Context(), session.Config{ConnectionString: dsn, Dial: srv.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestLoadDatabase(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	srv, conn := start(t, mssqltest.Config{Location: zone})
	db, err := catalog.LoadDatabase(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if db.Name != "testdb" || db.ID < 5 || !db.CDCEnabled || db.Snapshot || db.ReadCommittedSnapshot || db.ReadOnly || db.Offset != 9*time.Hour ||
		db.Collation != "SQL_Latin1_General_CP1_CI_AS" || db.Major() < 13 || db.Server == "" {
		t.Errorf("LoadDatabase = %+v", db)
	}
	if err := srv.Exec("ALTER DATABASE testdb SET ALLOW_SNAPSHOT_ISOLATION ON"); err != nil {
		t.Fatal(err)
	}
	if db, err = catalog.LoadDatabase(t.Context(), conn); err != nil || !db.Snapshot {
		t.Errorf("LoadDatabase with SNAPSHOT allowed = %+v, %v", db, err)
	}
}

func TestLoadStateIsEmptyAtFirst(t *testing.T) {
	srv := mssqltest.Start(t, mssqltest.Config{CaptureStopped: true})
	if err := srv.Exec("EXEC sys.sp_cdc_enable_db"); err != nil {
		t.Fatal(err)
	}
	s, err := catalog.LoadState(t.Context(), connect(t, srv, srv.ConnString()))
	if err != nil || len(s.Instances) != 0 {
		t.Errorf("LoadState = %+v, %v", s, err)
	}
}

func TestInstances(t *testing.T) {
	srv, conn := start(t, mssqltest.Config{},
		"CREATE TABLE dbo.a (id int IDENTITY PRIMARY KEY, v nvarchar(20) NOT NULL, m varchar(max), r rowversion, c AS id + 1, d decimal(10,2))",
		"CREATE TABLE dbo.h (a int, b int)",
		"CREATE TABLE dbo.u (a int NOT NULL UNIQUE, b int NULL UNIQUE)",
		"EXEC sys.sp_cdc_enable_table N'dbo', N'a', @capture_instance = N'zz', @role_name = NULL",
		"EXEC sys.sp_cdc_enable_table N'dbo', N'h', @role_name = NULL",
		"EXEC sys.sp_cdc_enable_table N'dbo', N'u', @role_name = NULL")
	s, err := catalog.LoadState(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range s.Instances {
		names = append(names, i.Capture+" of "+i.Source.String()+" in "+i.ChangeTable.String())
		if !i.Started() || i.StartLSN.Compare(s.High.LSN) > 0 {
			t.Errorf("%s starts at %s, watermark %s", i.Capture, i.StartLSN, s.High.LSN)
		}
	}
	slices.Sort(names)
	want := []string{"dbo_h of dbo.h in cdc.dbo_h_CT", "dbo_u of dbo.u in cdc.dbo_u_CT", "zz of dbo.a in cdc.zz_CT"}
	if !slices.Equal(names, want) {
		t.Errorf("instances %q, want %q", names, want)
	}
	if s.High.LSN.IsZero() || s.Age < 0 || s.Age > time.Minute {
		t.Errorf("watermark %+v, age %s", s.High, s.Age)
	}

	inst, err := catalog.LoadInstance(t.Context(), conn, "zz")
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, c := range inst.Columns {
		text := c.Name + " " + c.Type.String()
		for _, flag := range []struct {
			on   bool
			name string
		}{{c.Identity, "identity"}, {c.Computed, "computed"}, {c.NotNull && !c.Computed, "not null"}, {c.LOB, "lob"}} {
			if flag.on {
				text += " " + flag.name
			}
		}
		columns = append(columns, text)
	}
	wantColumns := []string{
		"id int identity not null", "v nvarchar(20) not null", "m varchar(max) lob", "r rowversion not null", "c int computed", "d decimal(10,2)",
	}
	if !slices.Equal(columns, wantColumns) {
		t.Errorf("columns\n\t%s\nwant\n\t%s", strings.Join(columns, "\n\t"), strings.Join(wantColumns, "\n\t"))
	}
	if !slices.Equal(inst.Key, []string{"id"}) || !inst.HasCommandID ||
		!slices.Equal(inst.Order, []string{"__$start_lsn", "__$command_id", "__$seqval", "__$operation"}) {
		t.Errorf("key %q, order %q, command id %v", inst.Key, inst.Order, inst.HasCommandID)
	}
	for capture, key := range map[string][]string{"dbo_h": nil, "dbo_u": {"a"}} {
		inst, err := catalog.LoadInstance(t.Context(), conn, capture)
		if err != nil || !slices.Equal(inst.Key, key) {
			t.Errorf("key of %s: %q, %v, want %q", capture, inst.Key, err, key)
		}
	}
	if _, err := catalog.LoadInstance(t.Context(), conn, "ZZZ"); !errors.Is(err, catalog.ErrNoInstance) {
		t.Errorf("an instance that is not there: %v", err)
	}

	if err := srv.Exec("ALTER TABLE dbo.a DROP COLUMN d"); err != nil {
		t.Fatal(err)
	}
	scan(t, srv)
	if inst, err = catalog.LoadInstance(t.Context(), conn, "zz"); err != nil || !inst.Columns[len(inst.Columns)-1].Dropped {
		t.Errorf("after a column was dropped: %+v, %v", inst, err)
	}
	ddl, err := catalog.DDLSince(t.Context(), conn, checkpoint.LSN{})
	if err != nil || len(ddl) != 1 || !strings.Contains(ddl[0].Command, "DROP COLUMN") || ddl[0].ObjectID != inst.ObjectID {
		t.Errorf("DDLSince = %+v, %v", ddl, err)
	}
	if again, err := catalog.DDLSince(t.Context(), conn, ddl[0].LSN); err != nil || len(again) != 0 {
		t.Errorf("DDLSince(%s) = %+v, %v", ddl[0].LSN, again, err)
	}
}

func TestMapping(t *testing.T) {
	srv, conn := start(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)", "EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL")
	base, err := catalog.LoadState(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"INSERT dbo.a VALUES (1)", "INSERT dbo.a VALUES (2)", "INSERT dbo.a VALUES (3)"} {
		if err := srv.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	scan(t, srv)
	s, err := catalog.LoadState(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	low, high := base.High.LSN, s.High.LSN
	txs, err := catalog.Transactions(t.Context(), conn, low.Next(), high)
	if err != nil || len(txs) < 3 || txs[len(txs)-1].LSN != high || len(txs[0].ID) == 0 || txs[0].End.IsZero() {
		t.Fatalf("Transactions = %+v, %v", txs, err)
	}
	if cut, n, err := catalog.Window(t.Context(), conn, low, high, 2); err != nil || n != 2 || cut != txs[1].LSN {
		t.Errorf("Window of 2 = %s, %d, %v, want %s", cut, n, err, txs[1].LSN)
	}
	if cut, n, err := catalog.Window(t.Context(), conn, low, high, 100); err != nil || n != len(txs) || cut != high {
		t.Errorf("Window of 100 = %s, %d, %v", cut, n, err)
	}
	if cut, n, err := catalog.Window(t.Context(), conn, high, high, 100); err != nil || n != 0 || cut != high {
		t.Errorf("empty Window = %s, %d, %v", cut, n, err)
	}
	if tx, found, err := catalog.AtOrBelow(t.Context(), conn, txs[1].LSN.Next()); err != nil || !found || !tx.Proof().Equal(txs[1].Proof()) {
		t.Errorf("AtOrBelow = %+v, %v, %v", tx, found, err)
	}
	if _, found, err := catalog.AtOrBelow(t.Context(), conn, checkpoint.LSN{}); err != nil || found {
		t.Errorf("AtOrBelow zero: %v, %v", found, err)
	}
	if tx, found, err := catalog.FirstAt(t.Context(), conn, txs[2].End.Add(-time.Hour), time.UTC); err != nil || !found || tx.LSN.Compare(txs[2].LSN) > 0 {
		t.Errorf("FirstAt = %+v, %v, %v", tx, found, err)
	}
	if _, found, err := catalog.FirstAt(t.Context(), conn, time.Now().Add(time.Hour), time.UTC); err != nil || found {
		t.Errorf("FirstAt in the future: %v, %v", found, err)
	}
}

func TestRights(t *testing.T) {
	srv, conn := start(t, mssqltest.Config{},
		"CREATE TABLE dbo.a (id int PRIMARY KEY)", "EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL",
		"CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob")
	r, err := catalog.LoadRights(t.Context(), conn)
	if err != nil || len(r.Denied) != 0 || !r.Unmask || !r.ViewState || r.Login != "sa" {
		t.Errorf("rights of sa: %+v, %v", r, err)
	}
	bob := connect(t, srv, as(t, srv.ConnString(), "bob", "Passw0rd!"))
	if r, err = catalog.LoadRights(t.Context(), bob); err != nil || len(r.Denied) != 5 || r.Unmask || r.Login != "bob" {
		t.Errorf("rights of bob: %+v, %v", r, err)
	}
	if ok, err := catalog.MayRead(t.Context(), bob, catalog.Name{Schema: "cdc", Object: "dbo_a_CT"}); err != nil || ok {
		t.Errorf("MayRead of bob: %v, %v", ok, err)
	}
	if err := srv.Exec("GRANT SELECT ON SCHEMA::[cdc] TO bob"); err != nil {
		t.Fatal(err)
	}
	if r, err = catalog.LoadRights(t.Context(), bob); err != nil || len(r.Denied) != 0 {
		t.Errorf("rights of bob with a grant: %+v, %v", r, err)
	}
	if ok, err := catalog.MayRead(t.Context(), bob, catalog.Name{Schema: "cdc", Object: "dbo_a_CT"}); err != nil || !ok {
		t.Errorf("MayRead of bob with a grant: %v, %v", ok, err)
	}
}

func TestLoadJobs(t *testing.T) {
	_, conn := start(t, mssqltest.Config{},
		"CREATE TABLE dbo.a (id int PRIMARY KEY)", "EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL",
		"EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 60")
	j, err := catalog.LoadJobs(t.Context(), conn)
	if err != nil || !j.Capture || !j.Cleanup || j.Retention != time.Hour || j.Polling <= 0 {
		t.Errorf("LoadJobs = %+v, %v", j, err)
	}
}

func TestScanErrors(t *testing.T) {
	srv, conn := start(t, mssqltest.Config{}, "CREATE TABLE dbo.a (id int PRIMARY KEY)", "EXEC sys.sp_cdc_enable_table N'dbo', N'a', @role_name = NULL")
	if err := srv.Control().CaptureError("", 22859, "Log Scan process failed.", 1); err != nil {
		t.Fatal(err)
	}
	if err := srv.Exec("INSERT dbo.a VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := srv.Control().CaptureScan(t.Context(), ""); err == nil {
		t.Fatal("the scan did not fail")
	}
	errs, err := catalog.LoadScanErrors(t.Context(), conn)
	if err != nil || len(errs) != 1 || errs[0].Number != 22859 || !strings.Contains(errs[0].Message, "failed") {
		t.Errorf("LoadScanErrors = %+v, %v", errs, err)
	}
	if _, _, err := catalog.LoadScan(t.Context(), conn); err != nil {
		t.Errorf("LoadScan: %v", err)
	}
	if _, err := catalog.LoadAgent(t.Context(), conn); err != nil {
		t.Errorf("LoadAgent: %v", err)
	}
}

// as is a connection string for another login.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
