package diagnose_test

import (
	"strings"
	"testing"

	"example.com/mssqlcdc/internal/catalog"
	"example.com/mssqlcdc/internal/diagnose"
	"example.com/mssqlcdc/internal/session"
	"example.com/mssqlcdc/mssqltest"
)

const (
	bob     = "; CREATE LOGIN bob WITH PASSWORD = 'Passw0rd!'; CREATE USER bob FOR LOGIN bob"
	bobCDC  = bob + "; GRANT SELECT ON SCHEMA::cdc TO bob"
	bobAll  = bobCDC + "; GRANT VIEW DEFINITION TO bob; GRANT VIEW DATABASE STATE TO bob"
	asBob   = "bob:Passw0rd!"
	signals = "; CREATE TABLE dbo.signals (id varchar(42) NOT NULL PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048) NULL); EXEC sys.sp_cdc_enable_table N'dbo', N'signals', @role_name = NULL, @allow_partition_switch = 0"
)

// seed is one thing that is wrong in a database, or in what somebody says of it.
type seed struct {
	name     string
	script   string
	old      bool // change tables of the old kind
	late     bool // the newest captured transaction is an hour old
	prepare  func(*testing.T, *mssqltest.Server)
	login    string // user:password, for sa's
	database string
	options  diagnose.Options

	check    string
	severity diagnose.Severity
	table    string
	message  string
	byHand   func(*testing.T, *seed, *mssqltest.Server) // does what the message says, where no T-SQL is given
}

// seeds are what people get wrong most.
func seeds() []*seed {
	sql := func(text string) func(*testing.T, *seed, *mssqltest.Server) {
		return func(t *testing.T, _ *seed, s *mssqltest.Server) {
			if err := s.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []*seed{
		{name: "wrong password", script: enableA, login: "sa:wrong", check: "connect", severity: diagnose.Error, message: "check user name and password",
			byHand: func(_ *testing.T, s *seed, _ *mssqltest.Server) { s.login = "" }},
		{name: "database missing", script: enableA, database: "nowhere", check: "connect", severity: diagnose.Error, message: `check "database" in the connection string`,
			byHand: func(_ *testing.T, s *seed, _ *mssqltest.Server) { s.database = "" }},
		{name: "CDC off", script: "SELECT 1", check: "cdc", severity: diagnose.Error, message: "not enabled in database testdb"},
		{name: "table not enabled", script: enableA + "; CREATE TABLE dbo.b (id int PRIMARY KEY)", options: diagnose.Options{Include: []string{`dbo\.a`, `dbo\.b`}},
			check: "tables", severity: diagnose.Error, message: `dbo\.b matches no table`},
		{name: "include pattern without a match", script: enableA + "; CREATE TABLE dbo.o1 (id int PRIMARY KEY); CREATE TABLE dbo.o2 (id int PRIMARY KEY); CREATE TABLE dbo.o3 (id int PRIMARY KEY)",
			options: diagnose.Options{Include: []string{`dbo\.a`, `dbo\.o\d`}, Exclude: []string{`.*3`}}, check: "tables", severity: diagnose.Error, message: `dbo\.o\d matches no table`},
		{name: "no SELECT on cdc", script: enableA + bob + "; GRANT VIEW DEFINITION TO bob", login: asBob, check: "rights", severity: diagnose.Error, message: "bob may not read cdc."},
		{name: "no VIEW DEFINITION", script: enableA + bobCDC, login: asBob, check: "rights", severity: diagnose.Warning, message: "source table of capture instance dbo_a"},
		{name: "no VIEW DATABASE STATE", script: enableA + bobCDC + "; GRANT VIEW DEFINITION TO bob", login: asBob, check: "capture errors", severity: diagnose.Info, message: "sys.dm_cdc_errors"},
		{name: "capture job missing", script: enableA + "; EXEC sys.sp_cdc_drop_job N'capture'", late: true, check: "capture job", severity: diagnose.Warning, message: "no capture job"},
		{name: "capture job stopped", script: enableA, late: true, check: "capture", severity: diagnose.Warning, message: "changes are not being captured"},
		{name: "cleanup job missing", script: enableA + "; EXEC sys.sp_cdc_drop_job N'cleanup'", check: "cleanup job", severity: diagnose.Warning, message: "grow without end"},
		{name: "short retention", script: enableA + "; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = 60", check: "retention", severity: diagnose.Warning, message: "1h"},
		{name: "partition switch", script: strings.Replace(enableA, ", @allow_partition_switch = 0", "", 1), check: "partition switch", severity: diagnose.Warning, table: "dbo.a", message: "not captured"},
		{name: "masked column without UNMASK", script: strings.Replace(enableA, "v int", "v nvarchar(20) MASKED WITH (FUNCTION = 'default()')", 1) + bobAll + "; GRANT SELECT ON dbo.a TO bob",
			login: asBob, check: "masking", severity: diagnose.Error, table: "dbo.a", message: "masked values from v"},
		{name: "no command ids", script: enableA, old: true, check: "change table", severity: diagnose.Warning, table: "dbo.a", message: "no __$command_id"},
		{name: "SNAPSHOT off", script: enableA, check: "isolation", severity: diagnose.Info, message: "SNAPSHOT"},
		{name: "agent stopped", script: enableA, late: true, prepare: func(_ *testing.T, s *mssqltest.Server) { s.Control().Agent(false) },
			check: "agent", severity: diagnose.Warning, message: "start the service", byHand: func(_ *testing.T, _ *seed, s *mssqltest.Server) { s.Control().Agent(true) }},
		{name: "capture errors", script: enableA, prepare: func(t *testing.T, s *mssqltest.Server) {
			if err := s.Control().CaptureError("", 22859, "Log Scan process failed.", 1); err != nil {
				t.Fatal(err)
			}
			sql("INSERT dbo.a (id) VALUES (1)")(t, nil, s)
			if err := s.Control().CaptureScan(t.Context(), ""); err == nil {
				t.Fatal("the scan did not fail")
			}
		}, check: "capture errors", severity: diagnose.Warning, message: "Once its cause is mended", byHand: func(t *testing.T, _ *seed, s *mssqltest.Server) {
			if err := s.Control().CaptureErrorsClear(""); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "foreign collation", script: strings.Replace(enableA, "v int", "v varchar(9) COLLATE Japanese_CI_AS", 1), check: "collation", severity: diagnose.Warning, table: "dbo.a",
			message: "make these columns nchar or nvarchar", byHand: sql("ALTER TABLE dbo.a ALTER COLUMN v nvarchar(9)")},
		{name: "no key", script: strings.Replace(enableA, "PRIMARY KEY", "NOT NULL", 1), check: "key", severity: diagnose.Info, table: "dbo.a",
			message: "ALTER TABLE [dbo].[a] ADD CONSTRAINT … PRIMARY KEY (…)", byHand: sql("ALTER TABLE [dbo].[a] ADD CONSTRAINT pk PRIMARY KEY (id)")},
		{name: "signal table without INSERT", script: enableA + signals + bobAll, login: asBob, options: diagnose.Options{Signals: catalog.Name{Schema: "dbo", Object: "signals"}},
			check: "signals", severity: diagnose.Error, table: "dbo.signals", message: "may not write watermarks"},
		{name: "signal table missing", script: enableA, options: diagnose.Options{Signals: catalog.Name{Schema: "dbo", Object: "signals"}},
			check: "signals", severity: diagnose.Error, table: "dbo.signals", message: "not there"},
	}
}

// Each thing that is wrong is found; an administrator who runs its T-SQL as it is printed, or does what the message says where
// there is none, has it no more.
func TestSeededMisconfigurations(t *testing.T) {
	for _, s := range seeds() {
		t.Run(s.name, func(t *testing.T) {
			srv := mssqltest.Start(t, mssqltest.Config{CaptureStopped: true})
			scan := func() {
				t.Helper()
				rows, err := srv.Query("SELECT COUNT(*) FROM sys.tables WHERE is_tracked_by_cdc = 1")
				if err == nil && rows[0][0] != "0" {
					err = srv.Control().CaptureScan(t.Context(), "")
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := srv.Control().OldChangeTables("", s.old); err != nil {
				t.Fatal(err)
			}
			if err := srv.Exec(s.script); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.script, "drop_job N'capture'") {
				scan()
			}
			if s.late {
				if err := srv.Exec("UPDATE cdc.lsn_time_mapping SET tran_end_time = DATEADD(hour, -1, tran_end_time)"); err != nil {
					t.Fatal(err)
				}
			}
			if s.prepare != nil {
				s.prepare(t, srv)
			}
			found, all := s.examine(t, srv)
			if found == nil {
				t.Fatalf("no %s of check %s for table %q with %q in %v", s.severity, s.check, s.table, s.message, all)
			}
			if err := srv.Control().OldChangeTables("", false); err != nil {
				t.Fatal(err)
			}
			if s.byHand != nil {
				if found.SQL() != "" {
					t.Errorf("T-SQL for what is done by hand: %s", found.SQL())
				}
				s.byHand(t, s, srv)
			} else {
				administer(t, srv, found.SQL())
			}
			if s.late {
				if err := srv.Exec("INSERT dbo.a (id) VALUES (7)"); err != nil {
					t.Fatal(err)
				}
			}
			scan()
			if still, all := s.examine(t, srv); still != nil {
				t.Errorf("after\n%s\nthere is still %s among %v", found.SQL(), still, all)
			} else if still := diagnose.Worst(all); still != nil && s.check != "cdc" {
				t.Errorf("after\n%s\nthere is %v", found.SQL(), still)
			}
		})
	}
}

// examine runs the checks as the seed's login and looks for its finding.
func (s *seed) examine(t *testing.T, srv *mssqltest.Server) (*diagnose.Finding, []diagnose.Finding) {
	t.Helper()
	var params []string
	if s.database != "" {
		params = append(params, "database="+s.database)
	}
	dsn := srv.ConnString(params...)
	if user, password, ok := strings.Cut(s.login, ":"); ok {
		dsn = as(t, dsn, user, password)
	}
	opts := s.options
	opts.Session = session.Config{ConnectionString: dsn, Dial: srv.DialContext}
	all := diagnose.Run(t.Context(), opts).Findings
	for i, f := range all {
		if f.Check == s.check && f.Severity == s.severity && f.Table == s.table && strings.Contains(f.Message, s.message) {
			return &all[i], all
		}
	}
	return nil, all
}

// administer runs what doctor printed, as one batch on a connection of the administrator's.
func administer(t *testing.T, srv *mssqltest.Server, text string) {
	t.Helper()
	if text == "" {
		t.Fatal("there is no T-SQL to run")
	}
	conn, err := session.Open(t.Context(), session.Config{ConnectionString: srv.ConnString(), Dial: srv.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Batch(t.Context(), text)
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatalf("running\n%s: %v", text, err)
	}
}
